//! Descriptions for tests: handwritten bytes, and a builder that does not use the reader.

mod exhaustive;
mod format;
mod lookups;
mod machine;
mod random;

use std::vec::Vec;

use super::{Md, NodeError, Problem, Value};

/// The bytes of a description with every kind of element.
pub(super) const EVERYTHING: [u8; 224] = {
    let mut bytes = [0; 224];
    let rows: [&[u8; 16]; 14] = [
        // Header: version 1.0; 10 elements, 32 bytes of names, 16 bytes of data.
        b"\0\x01\0\0\0\0\0\xa0\0\0\0\x20\0\0\0\x10",
        // Elements 0 to 2: node root, which names element 3 as the next node; an arc to element 3; the end of the node.
        b"N\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\x03",
        b"a\x03\0\0\0\0\0\x05\0\0\0\0\0\0\0\x03",
        b"E\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        // Elements 3 to 8: node unit, which names element 9 as the next node; a number, a string, data, a no-op; the end of the node.
        b"N\x04\0\0\0\0\0\x09\0\0\0\0\0\0\0\x09",
        b"v\x02\0\0\0\0\0\x0e\x01\x23\x45\x67\x89\xab\xcd\xef",
        b"s\x04\0\0\0\0\0\x11\0\0\0\x04\0\0\0\0",
        b"d\x04\0\0\0\0\0\x16\0\0\0\x03\0\0\0\x08",
        b" \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"E\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        // Element 9: the end of the list.
        b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"root\0fwd\0unit\0id",
        b"\0name\0data\0\0\0\0\0\0",
        b"abc\0\0\0\0\0\x01\0\x02\0\0\0\0\0",
    ];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = rows[at / 16][at % 16];
        at += 1;
    }
    bytes
};

pub(super) fn error<'a>(node: &'a str, offset: usize, problem: Problem<'a>) -> NodeError<'a> {
    NodeError { node, offset, problem }
}

/// Builds a description. Each name and string gets its own bytes, even if two are equal.
#[derive(Default)]
pub(super) struct Build {
    elements: Vec<[u8; 16]>,
    names: Vec<u8>,
    data: Vec<u8>,
}

impl Build {
    fn element(&mut self, tag: u8, name: &str, value: u64) {
        let name_offset = self.names.len() as u32;
        self.names.extend(name.bytes().chain([0]));
        let mut element = [0; 16];
        element[0] = tag;
        element[1] = u8::try_from(name.len()).unwrap();
        element[4..8].copy_from_slice(&name_offset.to_be_bytes());
        element[8..].copy_from_slice(&value.to_be_bytes());
        self.elements.push(element);
    }

    /// Adds a node with `properties`, and returns its index.
    pub(super) fn node(&mut self, name: &str, properties: impl FnOnce(&mut Self)) -> u64 {
        let index = self.elements.len();
        self.element(b'N', name, 0);
        properties(self);
        self.element(b'E', "", 0);
        let next = self.elements.len() as u64;
        self.elements[index][8..].copy_from_slice(&next.to_be_bytes());
        index as u64
    }

    pub(super) fn arc(&mut self, name: &str, target: u64) {
        self.element(b'a', name, target);
    }

    pub(super) fn number(&mut self, name: &str, number: u64) {
        self.element(b'v', name, number);
    }

    pub(super) fn string(&mut self, name: &str, string: &str) {
        let value = (string.len() as u64 + 1) << 32 | self.data.len() as u64;
        self.data.extend(string.bytes().chain([0]));
        self.element(b's', name, value);
    }

    pub(super) fn md(self) -> Md<'static> {
        Md::new(Vec::leak(self.bytes())).unwrap()
    }

    pub(super) fn bytes(mut self) -> Vec<u8> {
        self.elements.push([0; 16]);
        let sizes = [self.elements.len() * 16, self.names.len(), self.data.len()];
        let mut bytes = std::vec![0, 1, 0, 0];
        for size in sizes {
            bytes.extend((size as u32).to_be_bytes());
        }
        bytes.extend(self.elements.concat());
        bytes.extend(self.names);
        bytes.extend(self.data);
        bytes
    }
}

/// Looks up everything in a description with all public functions. Returns the number of properties.
pub(super) fn walk(md: Md<'_>) -> usize {
    let mut properties = 0;
    for node in md.nodes() {
        assert_eq!(md.node(node.index()), Some(node));
        assert!(md.nodes_named(node.name()).any(|named| named == node));
        for property in node.properties() {
            properties += 1;
            assert!(property.offset() > node.offset());
            let name = property.name();
            match property.value() {
                Value::Arc(target) => {
                    assert_eq!(md.node(target.index()), Some(target));
                    assert!(node.arcs(name).any(|named| named == target));
                    let _ = node.child(target.name());
                }
                Value::Number(_) => drop(node.number(name)),
                Value::String(_) => drop(node.string(name)),
                Value::Data(_) => drop(node.property(name)),
            }
        }
    }
    let _ = (md.platform(), md.machine());
    properties
}
