//! Tests the binary format, byte by byte.

use platform::md::Md;
use simulator::machine::description::{BuildError, Description, Node, Property, Value, parse};

use crate::{built, machine};

const SOURCE: &str = r#"
[root]
fwd = ["unit"]

[unit]
id = 0x0123456789abcdef
name = "abc"
key = { data = "01 02 03" }
fwd = ["unit"]
none = { data = "" }
"#;

#[rustfmt::skip]
const BYTES: &[u8] = &[
    // Header: version 1.0; 11 elements, 32 bytes of names, 16 bytes of data.
    0, 1, 0, 0,  0, 0, 0, 0xb0,  0, 0, 0, 0x20,  0, 0, 0, 0x10,
    // Elements 0 to 2: node root (the next node is element 3), its arc fwd to element 3, and its end.
    b'N', 4, 0, 0,  0, 0, 0, 0,     0, 0, 0, 0, 0, 0, 0, 3,
    b'a', 3, 0, 0,  0, 0, 0, 5,     0, 0, 0, 0, 0, 0, 0, 3,
    b'E', 0, 0, 0,  0, 0, 0, 0,     0, 0, 0, 0, 0, 0, 0, 0,
    // Elements 3 to 9: node unit (the next node would be element 10), a number, a string, data, an arc whose name occurs earlier, empty
    // data, and the end of the node.
    b'N', 4, 0, 0,  0, 0, 0, 9,     0, 0, 0, 0, 0, 0, 0, 10,
    b'v', 2, 0, 0,  0, 0, 0, 14,    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
    b's', 4, 0, 0,  0, 0, 0, 17,    0, 0, 0, 4,  0, 0, 0, 0,
    b'd', 3, 0, 0,  0, 0, 0, 22,    0, 0, 0, 3,  0, 0, 0, 8,
    b'a', 3, 0, 0,  0, 0, 0, 5,     0, 0, 0, 0, 0, 0, 0, 3,
    b'd', 4, 0, 0,  0, 0, 0, 26,    0, 0, 0, 0,  0, 0, 0, 16,
    b'E', 0, 0, 0,  0, 0, 0, 0,     0, 0, 0, 0, 0, 0, 0, 0,
    // Element 10: the end of the list.
    0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0,
    // Names, padded to 16 bytes.
    b'r', b'o', b'o', b't', 0, b'f', b'w', b'd', 0, b'u', b'n', b'i', b't', 0, b'i', b'd',
    0, b'n', b'a', b'm', b'e', 0, b'k', b'e', b'y', 0, b'n', b'o', b'n', b'e', 0, 0,
    // Data. Each item is padded to 8 bytes.
    b'a', b'b', b'c', 0, 0, 0, 0, 0,  1, 2, 3, 0, 0, 0, 0, 0,
];

#[test]
fn a_description_byte_by_byte() {
    let bytes = built(SOURCE);
    for (number, (row, expected)) in bytes.chunks(16).zip(BYTES.chunks(16)).enumerate() {
        assert_eq!(row, expected, "bytes from {:#x}", number * 16);
    }
    assert_eq!(bytes.len(), BYTES.len());
    let read = Description::read(Md::new(BYTES).unwrap());
    assert_eq!(read, parse(SOURCE).unwrap());
}

#[test]
fn a_hypervisor_description_begins_as_those_of_sun() {
    // Like Sun's T1 hypervisor description, this one begins with N, 4, 0, and its first name is "root". After four arcs, the next node is
    // element 6.
    let bytes = built(&machine("t1"));
    assert_eq!(bytes[..4], [0, 1, 0, 0]);
    assert_eq!(bytes[16..32], *b"N\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\x06");
    let sizes: Vec<usize> = bytes[4..16]
        .chunks(4)
        .map(|size| u32::from_be_bytes(size.try_into().unwrap()) as usize)
        .collect();
    assert_eq!(bytes.len(), 16 + sizes.iter().sum::<usize>());
    assert!(sizes[0].is_multiple_of(16) && sizes[1].is_multiple_of(16));
    // Numbers and arcs add nothing to the data block.
    assert_eq!(sizes[2], 0);
}

#[test]
fn an_empty_description() {
    assert_eq!(
        Description::default().build().unwrap(),
        *b"\0\x01\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    );
}

#[test]
fn descriptions_that_do_not_fit_are_rejected() {
    let build = |name: &str, value| {
        let name = name.to_owned();
        let properties = vec![Property { name: "p".to_owned(), value }];
        let nodes = vec![Node { name, properties }];
        Description { nodes }.build()
    };
    let long = "n".repeat(256);
    let zero = Value::Number(0);
    assert_eq!(build(&long, zero.clone()), Err(BuildError::LongName(long.clone())));
    assert!(build(&long[1..], zero.clone()).is_ok());
    assert_eq!(build("a\0b", zero), Err(BuildError::Nul("a\0b".to_owned())));
    let text = Value::String("\0".to_owned());
    assert_eq!(build("a", text), Err(BuildError::Nul("\0".to_owned())));
    assert_eq!(build("a", Value::Arc(1)), Err(BuildError::Arc(1)));
}

#[test]
fn what_was_removed_is_left_out() {
    let mut bytes = built(SOURCE);
    // Turns the number in node `unit` into a gap: an element whose tag is a space.
    bytes[16 + 4 * 16] = b' ';
    let read = Description::read(Md::new(&bytes).unwrap());
    let mut expected = parse(SOURCE).unwrap();
    expected.nodes[1].properties.remove(0);
    assert_eq!(read, expected);
}
