//! Strand numbers (64 per node, 8 per core), and clocks that strands read.

use guest_abi::clock::{ClockSource, Description, Hazards, Scope, Width};
use guest_abi::{Node, StrandId};

#[test]
fn there_are_256() {
    assert_eq!([256, 257, 512, usize::MAX].map(StrandId::new), [None; 4]);
    for number in 0..256 {
        let strand = StrandId::new(number).unwrap();
        assert_eq!((strand.index(), usize::from(strand.number())), (number, number));
        assert_eq!(strand.to_string(), number.to_string());
    }
}

#[test]
fn their_nodes_and_cores() {
    for number in 0..256 {
        let strand = StrandId::new(number).unwrap();
        let found = (strand.node(), strand.core());
        assert_eq!(found, (Node::ALL[number / 64], number / 8), "strand {number}");
    }
}

/// A counter whose value is 100 plus the number of the strand that reads it. Strand 9 cannot read
/// it.
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
