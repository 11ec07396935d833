//! Tests the statistics. Each strand counts in words of its own, without a read-modify-write, and any strand can read these words at any
//! time.

use perfctr_service::statistics::Outcome;

use crate::machine::{DRAM, Modelled};
use hv_core::sync::model::{explore, run_concurrently};

fn served(machine: &Modelled) -> u64 {
    let counts = machine.service().statistics(machine.guest());
    counts.outcome(Outcome::Ok)
}

/// Two strands make two calls each while a third strand reads the counts twice. The counts only
/// grow and are never too large. In the end, every call is counted once. At most 3 preemptions.
#[test]
fn calls_are_counted_once() {
    fn calls<const STRAND: usize>(machine: &Modelled) {
        assert_eq!(machine.get(STRAND, DRAM), 0);
        assert_eq!(machine.get(STRAND, DRAM), 0);
    }
    explore(3, 1_000, || {
        let machine = Modelled::new();
        machine.negotiate(0, 1);
        run_concurrently(
            &machine,
            [calls::<0>, calls::<1>, |machine| {
                let first = served(machine);
                let second = served(machine);
                assert!(first <= second && second <= 4);
            }],
        );
        assert_eq!(served(&machine), 4);
    });
}
