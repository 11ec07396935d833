//! Compares the reader with a second reader, on all descriptions of certain shapes. The second reader is written from the format's
//! specification (FWARC/2005/115): it splits the bytes, and then reads node by node.

use std::string::String;
use std::vec::Vec;

use super::EVERYTHING;
use crate::md::{Md, Value};

/// A value as the second reader reads it. An arc holds the index of its target's first element.
#[derive(Debug, PartialEq)]
enum Read {
    Arc(usize),
    Number(u64),
    String(String),
    Data(Vec<u8>),
}

/// The index of a node's first element, the node's name, and its properties: index, name and value.
type ReadNode = (usize, String, Vec<(usize, String, Read)>);

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Returns the text of `length` bytes at `offset`. A NUL must follow the text, and the text itself must have no NUL.
fn text(block: &[u8], offset: u64, length: u64) -> Option<String> {
    let rest = block.get(usize::try_from(offset).ok()?..)?;
    let nul = rest.iter().position(|byte| *byte == 0)?;
    if nul as u64 != length {
        return None;
    }
    String::from_utf8(rest[..nul].to_vec()).ok()
}

/// The second reader. Returns `None` if the bytes are not a description.
fn second(bytes: &[u8]) -> Option<Vec<ReadNode>> {
    let field = |at: usize| bytes.get(at..at + 4).map(|field| number(field) as usize);
    let (version, nodes, names, data) = (field(0)?, field(4)?, field(8)?, field(12)?);
    if version >> 16 != 1 || nodes % 16 != 0 || bytes.len() < 16 + nodes + names + data {
        return None;
    }
    let (node_block, rest) = bytes[16..].split_at(nodes);
    let (names, rest) = rest.split_at(names);
    let data = &rest[..data];
    let elements: Vec<&[u8]> =
        node_block.chunks(16).take_while(|element| element[0] != 0).collect();
    if elements.len() == nodes / 16 {
        return None;
    }

    let name = |element: &[u8]| {
        let is_zero = element[2..4] == [0, 0];
        text(names, number(&element[4..8]), element[1].into()).filter(|_| is_zero)
    };
    let value = |element: &[u8]| {
        let whole = number(&element[8..]);
        let (length, offset) = (number(&element[8..12]), number(&element[12..]));
        match element[0] {
            b'a' => {
                let target = usize::try_from(whole).ok()?;
                (elements.get(target)?[0] == b'N').then_some(Read::Arc(target))
            }
            b'v' => Some(Read::Number(whole)),
            b's' => text(data, offset, length.checked_sub(1)?).map(Read::String),
            b'd' => {
                let end = usize::try_from(offset + length).ok()?;
                data.get(offset as usize..end).map(|data| Read::Data(data.to_vec()))
            }
            _ => None,
        }
    };
    // A no-op has an index like other elements, but no meaning.
    let mut used = elements.iter().enumerate().filter(|(_, element)| element[0] != b' ').peekable();
    let mut read = Vec::new();
    while let Some((begin, element)) = used.next() {
        if element[0] != b'N' {
            return None;
        }
        let mut properties = Vec::new();
        let end = loop {
            let (index, property) = used.next()?;
            if property[0] == b'E' {
                break index;
            }
            properties.push((index, name(property)?, value(property)?));
        };
        // The stated index of the next node may also be the index of a no-op before that node.
        let next = used.peek().map_or(elements.len(), |(index, _)| *index);
        if !(end as u64 + 1..=next as u64).contains(&number(&element[8..])) {
            return None;
        }
        read.push((begin, name(element)?, properties));
    }
    Some(read)
}

/// Asserts that both readers accept the bytes and read the same nodes, or that both refuse the bytes. Returns `true` if both accept them.
fn compare(bytes: &[u8]) -> bool {
    let first = Md::new(bytes);
    let second = second(bytes);
    let Some(expected) = second else {
        assert!(first.is_err(), "accepted: {bytes:x?}");
        return false;
    };
    let md = first.unwrap_or_else(|error| panic!("{error}: {bytes:x?}"));
    let mut expected = expected.into_iter();
    for node in md.nodes() {
        let (index, name, properties) = expected.next().expect("a node");
        assert_eq!((node.index(), node.name()), (index, &*name), "{bytes:x?}");
        let mut properties = properties.into_iter();
        for property in node.properties() {
            let (index, name, value) = properties.next().expect("a property");
            assert_eq!((property.offset(), property.name()), (16 + 16 * index, &*name));
            let is_same = match (property.value(), value) {
                (Value::Arc(target), Read::Arc(index)) => target.index() == index,
                (Value::Number(number), Read::Number(expected)) => number == expected,
                (Value::String(string), Read::String(expected)) => string == expected,
                (Value::Data(data), Read::Data(expected)) => data == expected,
                _ => false,
            };
            assert!(is_same, "{name}: {bytes:x?}");
        }
        assert!(properties.next().is_none(), "{name} has more properties: {bytes:x?}");
    }
    assert!(expected.next().is_none(), "there are more nodes: {bytes:x?}");
    true
}

/// Compares the readers on `EVERYTHING` with each of `changes`, which is a list of offsets and bytes. Returns the number of changes after
/// which the readers accept the bytes.
fn accepted<const N: usize>(changes: impl Iterator<Item = [(usize, u8); N]>) -> usize {
    let changed = |change: &[(usize, u8); N]| {
        let mut bytes = EVERYTHING;
        change.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        compare(&bytes)
    };
    changes.filter(changed).count()
}

/// Compares the readers on a 224-byte description with every kind of element, after each of the 57,344 changes of one byte and each of the
/// 224 truncations.
#[test]
fn every_byte_takes_every_value() {
    let all = (0..EVERYTHING.len()).flat_map(|at| (0..=u8::MAX).map(move |byte| [(at, byte)]));
    assert!((224..57_344).contains(&accepted(all)));
    assert!((0..EVERYTHING.len()).all(|length| !compare(&EVERYTHING[..length])));
}

/// Compares the readers on all 65,536 values of two bytes, for each of the ten elements. There are three choices of the two bytes: the tag
/// and the name length; the name length and the low byte of the name offset; or the low bytes of the value's two halves (the length and the
/// offset of a string or data).
#[test]
#[cfg_attr(
    target_arch = "sparc64",
    ignore = "takes minutes on an emulated processor, and its result does not depend on the processor"
)]
fn two_bytes_of_an_element_take_all_values() {
    for (one, other) in [(0, 1), (1, 7), (11, 15)] {
        for element in (16..176).step_by(16) {
            let all = (0..=u16::MAX).map(u16::to_be_bytes);
            let change = |[a, b]: [u8; 2]| [(element + one, a), (element + other, b)];
            assert!(accepted(all.map(change)) > 0, "element {element:#x}, bytes {one} and {other}");
        }
    }
}

/// A field of a description: its offset and its size in bytes.
type Field = (usize, usize);

fn put(bytes: &mut [u8], (at, size): Field, value: u64) {
    bytes[at..at + size].copy_from_slice(&value.to_be_bytes()[8 - size..]);
}

/// Compares the readers on all changes of two fields in a 224-byte description. The description has 64 fields: four in the header, and six
/// in each element (the tag, the name length, the reserved bytes, the name offset, and the two halves of the value). Each field gets 11 to
/// 19 values: around 0, around the correct value, around the sizes of the blocks, and the largest. A tag also gets the value of each kind
/// of element.
#[test]
#[cfg_attr(
    target_arch = "sparc64",
    ignore = "takes minutes on an emulated processor, and its result does not depend on the processor"
)]
fn every_pair_of_fields_takes_the_values_around_each_bound() {
    let header = [(0, 4), (4, 4), (8, 4), (12, 4)];
    let parts = [(0, 1), (1, 1), (2, 2), (4, 4), (8, 4), (12, 4)];
    let elements = (1..=10).flat_map(|element| parts.map(|(at, size)| (16 * element + at, size)));
    let fields: Vec<Field> = header.into_iter().chain(elements).collect();
    let values = |(at, size): Field| {
        let right = number(&EVERYTHING[at..at + size]);
        let most = u64::MAX >> (64 - 8 * size);
        let around = [right, 10, 16, 32, 160].into_iter();
        let around = around.flat_map(|value| [value.wrapping_sub(1), value, value + 1]);
        let tags = b"NEavsd ".iter().map(|tag| u64::from(*tag)).filter(|_| at % 16 == 0 && at > 0);
        let mut values: Vec<u64> = around.chain([0, 1, most - 1, most]).chain(tags).collect();
        values.retain(|value| *value <= most);
        values.sort_unstable();
        values.dedup();
        values
    };
    let mut accepted = 0;
    for (index, one) in fields.iter().enumerate() {
        for other in &fields[..index] {
            for value in values(*one) {
                let mut bytes = EVERYTHING;
                put(&mut bytes, *one, value);
                for value in values(*other) {
                    put(&mut bytes, *other, value);
                    accepted += usize::from(compare(&bytes));
                }
            }
        }
    }
    assert!(accepted > 2016, "only the unchanged pairs are accepted: {accepted}");
}

const NAMES: &[u8] = b"a\0bc\0\0";
const DATA: &[u8] = b"x\0\x02\x03";

fn element(tag: u8, length: u8, name: u32, value: u64) -> [u8; 16] {
    let mut element = [0; 16];
    (element[0], element[1]) = (tag, length);
    put(&mut element, (4, 4), name.into());
    put(&mut element, (8, 8), value);
    element
}

/// Compares the readers on all lists of up to `most` of these elements, with `NAMES` and `DATA`. Returns the number of lists, and the
/// number of accepted lists.
fn lists(elements: &[[u8; 16]], most: usize) -> (usize, usize) {
    let (mut all, mut accepted) = (0, 0);
    for count in 0..=most {
        let mut bytes = std::vec![0, 1, 0, 0];
        for size in [16 * count + 16, NAMES.len(), DATA.len()] {
            bytes.extend((size as u32).to_be_bytes());
        }
        bytes.resize(bytes.len() + 16 * count + 16, 0);
        bytes.extend(NAMES.iter().chain(DATA));
        for list in 0..elements.len().pow(count as u32) {
            let mut rest = list;
            for at in 1..=count {
                bytes[16 * at..][..16].copy_from_slice(&elements[rest % elements.len()]);
                rest /= elements.len();
            }
            all += 1;
            accepted += usize::from(compare(&bytes));
        }
    }
    (all, accepted)
}

/// Compares the readers on all 837,931 lists of up to four elements, each followed by the end of the list. The 30 elements are: nodes that
/// name index 1, 2, 3 or 4 as the next node; a node with a wrong name; the end of a node; arcs to each index up to 4; numbers, strings and
/// data that are right, or wrong in one field; a no-op; the end of the list; and an unknown tag.
#[test]
fn every_list_of_up_to_four_elements() {
    let part = |length: u64, offset: u64| length << 32 | offset;
    let mut reserved = element(b'v', 1, 0, 5);
    reserved[3] = 1;
    let mut elements: Vec<[u8; 16]> = Vec::new();
    elements.extend((1..5).map(|next| element(b'N', 1, 0, next)));
    elements.extend((0..5).map(|target| element(b'a', 2, 2, target)));
    elements.extend([
        element(b'N', 2, 0, 2),
        element(b'E', 0, 0, 0),
        element(b'E', 9, 9, 9),
        element(b'v', 2, 2, u64::MAX),
        element(b'v', 0, 5, 0),
        // A name is one byte too long, one too short, or outside of its block.
        element(b'v', 2, 0, 7),
        element(b'v', 1, 2, 7),
        element(b'v', 0, 6, 7),
        reserved,
        element(b's', 1, 0, part(2, 0)),
        element(b's', 0, 1, part(1, 1)),
        // A string is too short for its NUL, has another NUL, has no NUL, or has no byte.
        element(b's', 1, 0, part(1, 0)),
        element(b's', 1, 0, part(3, 0)),
        element(b's', 1, 0, part(2, 2)),
        element(b's', 1, 0, part(0, 0)),
        // The data is the whole block, is empty, or is one byte too long.
        element(b'd', 1, 0, part(4, 0)),
        element(b'd', 1, 0, part(0, 4)),
        element(b'd', 1, 0, part(2, 3)),
        element(b' ', 9, 9, 9),
        element(0, 0, 0, 0),
        element(b'x', 1, 0, 0),
    ]);
    assert_eq!(elements.len(), 30);
    let (all, accepted) = lists(&elements, 4);
    assert_eq!(all, 837_931);
    assert!(accepted > 1000, "{accepted}");
}

/// Compares the readers on all 1,111,111 lists of up to six elements, each followed by the end of the list. The 10 elements are: nodes that
/// name the index 2, 3, 4 or 6 as the next node, the end of a node, arcs to the indexes 0, 2 and 3, a number, and a no-op.
#[test]
#[cfg_attr(
    target_arch = "sparc64",
    ignore = "takes minutes on an emulated processor, and its result does not depend on the processor"
)]
fn every_list_of_up_to_six_elements_that_are_right() {
    let nodes = [2, 3, 4, 6].map(|next| element(b'N', 1, 0, next));
    let arcs = [0, 2, 3].map(|target| element(b'a', 2, 2, target));
    let end = element(b'E', 0, 0, 0);
    let others = [end, element(b'v', 1, 0, 1), element(b' ', 0, 0, 0)];
    let (all, accepted) = lists(&[&nodes[..], &arcs, &others].concat(), 6);
    assert_eq!(all, 1_111_111);
    assert!(accepted > 300, "{accepted}");
}
