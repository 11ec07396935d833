//! The numbers of strands: 64 to a node, 8 to a core.

use guest_abi::{Node, StrandId};

#[test]
fn there_are_256() {
    for number in [256, 257, 512, usize::MAX] {
        assert_eq!(StrandId::new(number), None);
    }
    for number in 0..256 {
        let strand = StrandId::new(number).unwrap();
        assert_eq!(strand.index(), number);
        assert_eq!(usize::from(strand.number()), number);
        assert_eq!(strand.to_string(), number.to_string());
    }
}

#[test]
fn their_nodes_and_cores() {
    for (number, node, core) in [
        (0, Node::Node0, 0),
        (7, Node::Node0, 0),
        (8, Node::Node0, 1),
        (63, Node::Node0, 7),
        (64, Node::Node1, 8),
        (127, Node::Node1, 15),
        (128, Node::Node2, 16),
        (191, Node::Node2, 23),
        (192, Node::Node3, 24),
        (255, Node::Node3, 31),
    ] {
        let strand = StrandId::new(number).unwrap();
        let found = (strand.node(), strand.core());
        assert_eq!(found, (node, core), "strand {number}");
    }
}
