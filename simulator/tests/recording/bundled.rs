//! The recording that comes with the program.

use std::collections::HashSet;

use simulator::recording::{Chunk, Flow, Kind, Order, Reference, bundled};

#[derive(Default)]
struct Thread {
    references: Vec<Reference>,
    order: Vec<(usize, Order)>,
}

/// What each thread did.
fn threads() -> Vec<Thread> {
    let mut recording = bundled();
    let (mut all, mut chunk) = (Vec::new(), Chunk::default());
    for thread in 0..recording.threads() {
        let mut whole = Thread::default();
        while recording.next_chunk(thread, &mut chunk).unwrap() {
            let before = whole.references.len();
            let order = chunk.order.iter();
            (whole.order).extend(order.map(|&(at, order)| (before + at, order)));
            whole.references.extend(chunk.references().iter());
        }
        all.push(whole);
    }
    all
}

/// `bundled/README.md` has these numbers.
#[test]
fn the_bundled_recording_is_real() {
    let recording = bundled();
    assert_eq!(recording.command(), Some("/tmp/bundled/workload"));
    assert!(recording.has_flow() && recording.notes().is_empty());
    let threads = threads();
    assert_eq!(threads.len(), 8);
    let all = || threads.iter().flat_map(|thread| &thread.references);
    assert_eq!(all().count(), 3_024_846);
    let fetches = all().filter(|reference| reference.kind.is_fetch()).count();
    let count = |kind| all().filter(|reference| reference.kind == kind).count();
    let data = [Kind::Load, Kind::Store, Kind::Modify].map(count);
    assert_eq!((fetches, data), (2_552_121, [339_200, 128_763, 4_762]));
    // No thread is idle, and each way of passing control on occurs in each.
    for thread in &threads {
        assert!(
            thread.references.len() > 330_000,
            "{}",
            thread.references.len()
        );
        for flow in [
            Flow::NotTaken,
            Flow::Taken,
            Flow::Jump,
            Flow::Call,
            Flow::Return,
            Flow::Trap,
        ] {
            assert!(
                thread
                    .references
                    .iter()
                    .any(|reference| reference.flow == flow),
                "{flow:?}"
            );
        }
    }
}

/// Every other thread begins after a signal of the first, and the threads wait for each other at the end of each of seven
/// phases.
#[test]
fn the_threads_are_ordered() {
    let threads = threads();
    let signals: HashSet<u64> = (threads.iter().flat_map(|thread| &thread.order))
        .filter_map(|&(_, order)| match order {
            Order::Signal(number) => Some(number),
            Order::Wait(_) => None,
        })
        .collect();
    let mut waits = 0;
    for (number, thread) in threads.iter().enumerate() {
        let first = thread.order.first();
        assert_eq!(
            matches!(first, Some((0, Order::Wait(_)))),
            number > 0,
            "{number}"
        );
        for (_, order) in &thread.order {
            if let Order::Wait(number) = order {
                assert!(signals.contains(number), "nothing signals {number}");
                waits += 1;
            }
        }
    }
    // Seven beginnings and ends, seven barriers for all but the last to come, and turns with the ledger.
    assert!(waits > 7 + 7 + 7 * 7, "{waits}");
}
