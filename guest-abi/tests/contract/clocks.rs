//! A reference to a clock source reads and describes the same counter.

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};

/// A counter that shows 100 plus the number of the strand, and cannot be read on strand 9.
struct Counter;

impl ClockSource for Counter {
    fn describe(&self) -> Description {
        Description {
            name: "counter",
            width: Width::WORD,
            hz: 7,
            step: 3,
            rating: 5,
            scope: Scope::Machine,
            hazards: Hazards { tears: true, ..Hazards::default() },
        }
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        (strand.index() != 9).then_some(100 + strand.index() as u64)
    }
}

#[test]
fn a_reference_reads_and_describes() {
    fn shows<S: ClockSource>(source: S, strand: usize) -> (Option<u64>, Description) {
        (source.read(StrandId::new(strand).unwrap()), source.describe())
    }
    assert_eq!(shows(&Counter, 4), (Some(104), Counter.describe()));
    assert_eq!(shows(&Counter, 9), (None, Counter.describe()));
}
