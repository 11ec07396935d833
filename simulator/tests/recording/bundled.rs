use std::collections::HashSet;

use simulator::recording::{Flow, Kind, Order, bundled};

use crate::threads;

/// The numbers are the same as in `bundled/README.md`.
#[test]
fn the_bundled_recording_is_real() {
    let recording = bundled();
    assert_eq!(recording.command(), Some("/tmp/bundled/workload"));
    assert!(recording.has_flow() && recording.notes().is_empty());
    let threads = threads(&mut bundled()).unwrap();
    assert_eq!(threads.len(), 8);
    let all = || threads.iter().flat_map(|(references, _)| references);
    assert_eq!(all().count(), 3_024_846);
    let fetches = all().filter(|reference| reference.kind.is_fetch()).count();
    let count = |kind| all().filter(|reference| reference.kind == kind).count();
    let data = [Kind::Load, Kind::Store, Kind::Modify].map(count);
    assert_eq!((fetches, data), (2_552_121, [339_200, 128_763, 4_762]));
    // Every thread has references with every kind of control flow.
    for (references, _) in &threads {
        assert!(references.len() > 330_000, "{}", references.len());
        let flows = HashSet::<Flow>::from_iter(references.iter().map(|reference| reference.flow));
        assert_eq!(flows.len(), 7, "{flows:?}");
    }
}

/// Every thread except the first begins after a signal. The threads wait for each other at the end of each of seven phases.
#[test]
fn the_threads_are_ordered() {
    let threads = threads(&mut bundled()).unwrap();
    let signals: HashSet<u64> = (threads.iter().flat_map(|(_, order)| order))
        .filter_map(|&(_, order)| match order {
            Order::Signal(number) | Order::Start(number) => Some(number),
            _ => None,
        })
        .collect();
    let mut waits = 0;
    for (number, (_, order)) in threads.iter().enumerate() {
        let first = order.first();
        assert_eq!(matches!(first, Some((0, Order::Wait(_, _)))), number > 0, "{number}");
        for (_, order) in order {
            if let Order::Wait(_, number) = order {
                assert!(signals.contains(number), "nothing signals {number}");
                waits += 1;
            }
        }
    }
    // Seven threads are started and joined, and wait at each of seven barriers. The threads also pass a ledger on to each other, and wait
    // for it.
    assert!(waits > 7 + 7 + 7 * 7, "{waits}");
}
