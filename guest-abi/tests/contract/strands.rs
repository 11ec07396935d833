//! The numbers of strands: 64 to a node, 8 to a core.

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
