//! Tests the reading of files whose bytes are written by hand from the format's documentation.

use refs::FILE_HEADER;
use simulator::recording::{Cause, Class, Flow, Kind, Mapping, Order, Reference};

use crate::{open, threads};

/// Computes the checksum that the documentation describes.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = bytes.len() as u64;
    for word in bytes.chunks(8) {
        for (at, byte) in word.iter().enumerate() {
            sum ^= u64::from(*byte) << (8 * at);
        }
        sum = sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
    (sum >> 32) as u32 ^ sum as u32
}

/// Returns a frame with uncompressed content.
pub(super) fn frame(kind: u8, thread: u32, references: u64, content: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind, 0, 0, 0];
    frame.extend(thread.to_le_bytes());
    frame.extend((content.len() as u32).to_le_bytes());
    frame.extend((content.len() as u32).to_le_bytes());
    frame.extend(references.to_le_bytes());
    frame.extend(checksum(&frame).to_le_bytes());
    frame.extend(checksum(content).to_le_bytes());
    frame.extend(content);
    frame
}

/// Two blocks and three shapes. The first block is at 0x100 and has instructions of 4 and 2 bytes. The first instruction is for the
/// floating-point unit (class 3). The second is a conditional branch that annuls its delay slot (class 7); if it is not taken, 0x106 is
/// next. The second block follows, with a 5-byte call, which is atomic (class 5). Shapes 0 and 1 are the first block with the branch taken
/// and not taken; the block's first instruction loads 8 bytes. Shape 2 is the second block with an atomic load and store of 4 bytes.
pub(super) const DEFINITIONS: &[u8] = &[
    2, 3, // two blocks, three shapes
    0x80, 0x04, 2, 4, 2, 1, 1, 0, // 0x200 is twice 0x100
    2, 0, 3, 0, 7, // two classes: of instruction 0, and of the instruction after it
    0, 1, 5, 3, 0, // where the first block ends
    1, 0, 5, // one class
    1, 3, 0x03, 0x00, // a load of 2^3 bytes
    1, 2, 0x03, 0x00, //
    2, 2, 0x0a, 0x40, // a store of 2^2 bytes, and an atomic load of the same location
];

/// References that use the blocks and shapes of [`DEFINITIONS`]. The table lists each execution's shape and address, and the shape and
/// address that the predictor expects.
///
/// | execution | shape, address | what the predictor expects |
/// |---|---|---|
/// | 1 | 1, 0x10 | 0, 0 |
/// | 2 | 2, 0x1000 | 0, 0 |
/// | 3 | 1, 0x20 | 0, 0x10: there is no stride yet |
/// | 4 | 0, 0x30 | 0, 0x30: the stride is 0x10 |
pub(super) const REFERENCES: &[u8] = &[
    4, 6, 5, // executions, bytes of events, bytes of literals
    0x11, 1, // shape 1, a literal of one byte
    0x12, 2, // shape 2, three bytes
    0x11, 1, // shape 1, one byte
    0x10, 0x00, 0x10, 0x00, // 0x10 more, 0x1000 more
    0x10, // 0x10 more
    1, 0x50, 3, 0x71, // after one execution signal 5; after three more executions wait for 7
];

fn fetch(kind: Kind, address: u64, size: u16, flow: Flow, class: Class) -> Reference {
    Reference { flow, class, ..Reference::new(address, size, kind) }
}

#[test]
fn a_file_by_hand() {
    assert_eq!(FILE_HEADER, *b"\x8fVFREFS\n\x02\0\0\0\0\0\0\0");
    let file = [
        FILE_HEADER.to_vec(),
        frame(1, 0, 0, b"\x06x86_64\x03\x02ls\x02-l\x03a b"),
        frame(2, 0, 0, b"\x01\x80\x20\x80\x10\x00\x02/l\x02\xab\xcd"),
        frame(3, 0, 0, DEFINITIONS),
        frame(4, 0, 11, REFERENCES),
        frame(5, 0, 0, b"It ran"),
        frame(6, 0, 11, &[1]),
    ]
    .concat();
    let mut recording = open(file).unwrap();
    assert_eq!(recording.threads(), 1);
    assert!(recording.has_flow());
    assert_eq!(recording.target(), Some("x86_64"));
    assert_eq!(recording.command(), Some("ls -l 'a b'"));
    assert_eq!(recording.notes(), ["It ran"]);
    let mapping = Mapping {
        start: 0x1000,
        end: 0x1800,
        offset: 0,
        path: "/l".into(),
        build_id: vec![0xab, 0xcd],
    };
    assert_eq!(recording.mappings(), [mapping]);
    let load = |address, flow| {
        [
            fetch(Kind::FetchLoad, 0x100, 4, Flow::Next, Class::FloatingPoint),
            Reference::new(address, 8, Kind::Load),
            fetch(Kind::FetchOther, 0x104, 2, flow, Class::Annuls),
        ]
    };
    let call = [
        fetch(Kind::FetchModify, 0x106, 5, Flow::Call, Class::Atomic),
        Reference::new(0x1000, 4, Kind::Modify),
    ];
    let references = [
        &load(0x10, Flow::NotTaken)[..],
        &call,
        &load(0x20, Flow::NotTaken),
        &load(0x30, Flow::Taken),
    ]
    .concat();
    let order = vec![(3, Order::Signal(5)), (11, Order::Wait(Cause::Wake, 7))];
    assert_eq!(threads(&mut recording).unwrap(), [(references, order)]);
}
