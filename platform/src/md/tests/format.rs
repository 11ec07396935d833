//! Tests the binary format, one element at a time.

use super::{EVERYTHING, walk};
use crate::md::{Defect, Md, MdError, Value};

#[test]
fn every_kind_of_element() {
    let md = Md::new(&EVERYTHING).unwrap();
    let nodes: [_; 2] = [md.node(0).unwrap(), md.node(3).unwrap()];
    assert!(md.nodes().eq(nodes));
    let [root, unit] = nodes;
    for (node, expected) in [(root, ("root", 0, 0x10)), (unit, ("unit", 3, 0x40))] {
        assert_eq!((node.name(), node.index(), node.offset()), expected);
    }
    assert_eq!(md.root(), Some(root));
    for no_node in [1, 2, 4, 9, 10, usize::MAX] {
        assert_eq!(md.node(no_node), None);
    }

    let all = |node: crate::md::Node<'static>| {
        node.properties().map(|property| (property.name(), property.value(), property.offset()))
    };
    assert!(all(root).eq([("fwd", Value::Arc(unit), 0x20)]));
    assert!(all(unit).eq([
        ("id", Value::Number(0x0123_4567_89ab_cdef), 0x50),
        ("name", Value::String("abc"), 0x60),
        ("data", Value::Data(&[1, 0, 2]), 0x70),
    ]));
    assert_eq!(walk(md), 4);
}

#[test]
fn bytes_behind_the_description_are_ignored() {
    let mut longer = std::vec::Vec::from(EVERYTHING);
    longer.extend([0xff; 100]);
    assert_eq!(walk(Md::new(&longer).unwrap()), 4);
}

#[test]
fn an_empty_description() {
    let mut bytes = [0; 32];
    bytes[1] = 1;
    bytes[7] = 16;
    let md = Md::new(&bytes).unwrap();
    assert_eq!(md.nodes().count(), 0);
    assert_eq!(md.root(), None);
    assert_eq!(md.platform(), Ok(None));
    assert_eq!(md.machine(), Ok(None));
}

#[test]
fn truncated_anywhere() {
    for length in 0..EVERYTHING.len() {
        let (offset, what) = match length {
            0..16 => (0, Defect::NoHeader),
            16..176 => (4, Defect::BlockSize(160)),
            176..208 => (8, Defect::BlockSize(32)),
            _ => (12, Defect::BlockSize(16)),
        };
        let error = Md::new(&EVERYTHING[..length]).unwrap_err();
        assert_eq!(error, MdError { offset, what });
    }
}

/// Changes these bytes of `EVERYTHING`, and asserts the defect that the reader finds.
#[track_caller]
fn broken(changes: &[(usize, &[u8])], offset: usize, what: Defect) {
    let mut bytes = EVERYTHING;
    for (at, change) in changes {
        bytes[*at..*at + change.len()].copy_from_slice(change);
    }
    assert_eq!(Md::new(&bytes).unwrap_err(), MdError { offset, what });
}

#[test]
fn broken_headers() {
    broken(&[(0, &[0, 2])], 0, Defect::Version(2, 0));
    broken(&[(0, &[0, 0, 0, 5])], 0, Defect::Version(0, 5));
    broken(&[(7, &[0xa1])], 4, Defect::NodeBlockSize(0xa1));
    broken(&[(7, &[0])], 4, Defect::NoListEnd);
    broken(&[(7, &[0x90])], 4, Defect::NoListEnd);
    let huge: &[u8] = &[0xff; 4];
    broken(&[(4, huge)], 4, Defect::NodeBlockSize(u32::MAX));
    let huge_multiple: &[u8] = &[0xff, 0xff, 0xff, 0xf0];
    broken(&[(4, huge_multiple)], 4, Defect::BlockSize(0xffff_fff0));
    broken(&[(8, huge)], 8, Defect::BlockSize(u32::MAX));
    broken(&[(12, huge)], 12, Defect::BlockSize(u32::MAX));
    // A newer minor version is accepted.
    let mut bytes = EVERYTHING;
    bytes[3] = 1;
    assert!(Md::new(&bytes).is_ok());
}

#[test]
fn broken_elements() {
    broken(&[(0x60, b"q")], 0x60, Defect::Tag(b'q'));
    broken(&[(0x60, b"n")], 0x60, Defect::Tag(b'n'));
    broken(&[(0x52, &[1])], 0x50, Defect::Reserved);
    broken(&[(0x43, &[1])], 0x40, Defect::Reserved);
    // The arc leads to the second element of its own node, to the end of the list, or far beyond the list.
    broken(&[(0x2f, &[1])], 0x20, Defect::ArcTarget(1));
    broken(&[(0x2f, &[9])], 0x20, Defect::ArcTarget(9));
    broken(&[(0x28, &[0xff; 8])], 0x20, Defect::ArcTarget(u64::MAX));
}

#[test]
fn broken_names() {
    // A name begins after the block, or crosses the block's end, or the sum of its offset and length overflows.
    broken(&[(0x57, &[32])], 0x50, Defect::NameOutside);
    broken(&[(0x51, &[18])], 0x50, Defect::NameOutside);
    broken(&[(0x54, &[0xff; 4])], 0x50, Defect::NameOutside);
    // A length is too short, or reaches into the next name.
    broken(&[(0x51, &[1])], 0x50, Defect::NameLength);
    broken(&[(0x51, &[7])], 0x50, Defect::NameLength);
    broken(&[(0xb0 + 14, &[0xff])], 0x50, Defect::NameText);
    broken(&[(0x41, &[5])], 0x40, Defect::NameLength);
}

#[test]
fn broken_values() {
    broken(&[(0x6f, &[13])], 0x60, Defect::DataOutside);
    broken(&[(0x6c, &[0xff; 4])], 0x60, Defect::DataOutside);
    broken(&[(0x68, &[0xff; 8])], 0x60, Defect::DataOutside);
    broken(&[(0x7f, &[14])], 0x70, Defect::DataOutside);
    // A string has no NUL, has no room for a NUL, or has two NULs.
    broken(&[(0x6b, &[3])], 0x60, Defect::StringLength);
    broken(&[(0x6b, &[0])], 0x60, Defect::StringLength);
    broken(&[(0x6b, &[5])], 0x60, Defect::StringLength);
    broken(&[(0xd0, &[0xff])], 0x60, Defect::StringText);
}

#[test]
fn broken_lists() {
    // Node root does not end before node unit begins. Node unit does not end before the list ends.
    broken(&[(0x30, b" ")], 0x40, Defect::NodeInNode);
    broken(&[(0x90, b" ")], 0x40, Defect::NodeOpen);
    // Properties and node ends are before the first node or between two nodes.
    broken(&[(0x10, b" ")], 0x20, Defect::OutsideNode);
    broken(&[(0x10, b" "), (0x20, b" ")], 0x30, Defect::OutsideNode);
    broken(&[(0x20, b"E")], 0x30, Defect::OutsideNode);
    broken(&[(0x20, b" "), (0x40, b" ")], 0x50, Defect::OutsideNode);
}

#[test]
fn wrong_indices_of_the_next_node() {
    // The index is one of the following: the node itself, its property, its end, a property of the next node, the end of the list, or an
    // index far outside of the list.
    for next in [0, 1, 2, 4, 9, u64::MAX] {
        broken(&[(0x18, &next.to_be_bytes())], 0x10, Defect::NextNode(3));
    }
    // The index leads backwards or past the end of the list.
    for next in [0, 3, 8, 10, u64::MAX] {
        broken(&[(0x48, &next.to_be_bytes())], 0x40, Defect::NextNode(9));
    }
    // The index may lead to a no-op between the node and the next node or the end of the list.
    for next in [7, 8, 9] {
        let mut bytes = EVERYTHING;
        bytes[0x70] = b'E';
        bytes[0x90] = b' ';
        bytes[0x4f] = next;
        assert_eq!(walk(Md::new(&bytes).unwrap()), 3);
    }
}
