use std::collections::HashSet;

use simulator::recording::{Cause, Class, Flow, Kind, Order, bundled};

use crate::threads;

/// The numbers match those in `bundled/README.md`.
#[test]
fn the_bundled_recording_is_real() {
    let recording = bundled();
    assert_eq!(recording.command(), Some("/tmp/bundled/workload"));
    assert!(recording.has_flow() && recording.notes().is_empty());
    let threads = threads(&mut bundled()).unwrap();
    assert_eq!(threads.len(), 8);
    let all = || threads.iter().flat_map(|(references, _)| references);
    assert_eq!(all().count(), 2_982_862);
    let fetches = all().filter(|reference| reference.kind.is_fetch()).count();
    let count = |kind| all().filter(|reference| reference.kind == kind).count();
    let data = [Kind::Load, Kind::Store, Kind::Modify].map(count);
    assert_eq!((fetches, data), (2_515_549, [334_779, 127_946, 4_588]));
    let of_class = |class| all().filter(|reference| reference.class == class).count();
    assert_eq!(
        [Class::Atomic, Class::Multiply, Class::Divide].map(of_class),
        [4_588, 12_379, 2_190]
    );
    // Every thread has references for every kind of control flow.
    for (references, _) in &threads {
        assert!(references.len() > 330_000, "{}", references.len());
        let flows = HashSet::<Flow>::from_iter(references.iter().map(|reference| reference.flow));
        assert_eq!(flows.len(), 7, "{flows:?}");
    }
}

/// The first thread starts all other threads, and waits until they have ended. The threads wait for each other at a barrier before each of
/// seven phases, and at semaphores in each of the ledger's twelve rounds. The recorder notices all of these waits.
#[test]
fn the_threads_are_ordered() {
    for (number, (_, order)) in threads(&mut bundled()).unwrap().iter().enumerate() {
        let count = |counts: fn(&Order) -> bool| order.iter().filter(|(_, it)| counts(it)).count();
        let of_first = |times| if number == 0 { times } else { 0 };
        assert_eq!(count(|it| matches!(it, Order::Start(_))), of_first(7));
        assert_eq!(count(|it| matches!(it, Order::Wait(Cause::Thread, _))), of_first(7));
        let first = order.first();
        assert_eq!(matches!(first, Some((0, Order::Wait(Cause::Start, _)))), number > 0);
        assert_eq!(count(|it| matches!(it, Order::Arrive { threads: 8, .. })), 7);
        assert_eq!(count(|it| matches!(it, Order::Take(_))), 12);
        assert_eq!(count(|it| matches!(it, Order::Post(_))), 12);
        assert_eq!(count(|it| matches!(it, Order::Wait(Cause::Wake, _))), 0);
    }
}
