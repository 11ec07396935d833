//! A reference to a clock source reads and describes the same counter.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

/// A counter that shows 100 plus the number of the strand, and cannot be read on strand 9.
struct Counter;

const DESCRIPTION: Description = Description {
    name: "counter",
    width: Width::WORD,
    hz: 7,
    step: 3,
    rating: 5,
    scope: Scope::Machine,
    hazards: Hazards {
        stops_when_idle: true,
        rate_varies: false,
        tears: true,
        may_be_cpu_clock: false,
    },
};

impl ClockSource for Counter {
    fn describe(&self) -> Description {
        DESCRIPTION
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        (strand.index() != 9).then_some(100 + strand.index() as u64)
    }
}

#[test]
fn a_reference_reads_and_describes() {
    fn shows<S: ClockSource>(source: S, strand: usize) -> (Option<u64>, Description) {
        let value = source.read(StrandId::new(strand).unwrap());
        (value, source.describe())
    }
    assert_eq!(shows(&Counter, 4), (Some(104), DESCRIPTION));
    assert_eq!(shows(&Counter, 9), (None, DESCRIPTION));
}
