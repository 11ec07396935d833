//! Tests properties that hold for any input.

use std::io::{self, Cursor, Read};

use proptest::prelude::*;
use refs::FILE_HEADER;
use simulator::recording::{Kind, Reference};

use crate::{gzip, read, read_bytes, zstd};

/// A stream that delivers its bytes in pieces of the given lengths.
struct Pieces(Cursor<Vec<u8>>, Vec<usize>, usize);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.2 += 1;
        let length = self.1[self.2 % self.1.len()].min(buffer.len());
        self.0.read(&mut buffer[..length])
    }
}

fn reference(kinds: &'static [Kind]) -> impl Strategy<Value = Reference> {
    let address = (any::<u64>(), 0..64u32).prop_map(|(address, shift)| address >> shift);
    (prop::sample::select(kinds), address, prop_oneof![4 => 1..17u16, 1 => 1..4097u16])
        .prop_map(|(kind, address, size)| Reference::new(address, size, kind))
}

fn data() -> impl Strategy<Value = Vec<Reference>> {
    prop::collection::vec(reference(&[Kind::Load, Kind::Load, Kind::Store, Kind::Modify]), 0..4)
}

/// Generates a fetch and its instruction's data references. The kind of the fetch tells which data
/// references follow.
fn instruction() -> impl Strategy<Value = Vec<Reference>> {
    (reference(&[Kind::FetchOther]), data()).prop_map(|(fetch, data)| {
        let has = |kinds: [Kind; 2]| data.iter().any(|one| kinds.contains(&one.kind));
        let kind = match [Kind::Load, Kind::Store].map(|kind| has([kind, Kind::Modify])) {
            [false, false] => Kind::FetchOther,
            [true, false] => Kind::FetchLoad,
            [false, true] => Kind::FetchStore,
            [true, true] => Kind::FetchModify,
        };
        [&[Reference { kind, ..fetch }], &*data].concat()
    })
}

/// Returns the line that lackey writes for a reference.
fn line(reference: &Reference) -> String {
    let lead = match reference.kind {
        Kind::Load => " L ",
        Kind::Store => " S ",
        Kind::Modify => " M ",
        _ => "I  ",
    };
    format!("{lead}{:08x},{}\n", reference.address, reference.size)
}

/// Returns the references that reading a written reference yields: a load and a store for lackey's
/// `M`, otherwise the reference itself.
fn in_parts(reference: Reference) -> Vec<Reference> {
    match reference.kind {
        Kind::Modify => {
            [Kind::Load, Kind::Store].map(|kind| Reference { kind, ..reference }).to_vec()
        }
        _ => vec![reference],
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        // A recording may begin with a data reference.
        first in data(),
        instructions in prop::collection::vec(instruction(), 1..120),
        pieces in prop::collection::vec(1..40usize, 1..8),
    ) {
        let expected = [first, instructions.concat()].concat();
        let text: String = expected.iter().map(line).collect();
        let text = text.into_bytes();
        let expected: Vec<_> = expected.into_iter().flat_map(in_parts).collect();
        prop_assert_eq!(&read_bytes(gzip(&text)).unwrap(), &expected);
        prop_assert_eq!(&read_bytes(zstd(&text)).unwrap(), &expected);
        prop_assert_eq!(&read(Pieces(Cursor::new(text), pieces, 0)).unwrap(), &expected);
    }

    #[test]
    fn no_bytes_panic(head in 0..7usize, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let magic: [&[u8]; 7] = [b"", b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18", b"==", &FILE_HEADER, b"#"];
        let _ = read_bytes([magic[head], &bytes].concat());
    }

    #[test]
    fn no_lines_panic(lines in prop::collection::vec("([ ILSM=*-]{0,4}[0-9a-fA-F]{0,18},{0,2}[0-9]{0,5}\r?\n?)", 0..60)) {
        let count = lines.concat().lines().count() as u64;
        if let Err(error) = read_bytes(lines.concat()) {
            prop_assert!(error.line().is_none_or(|line| (1..=count).contains(&line)), "{}", error);
        }
    }
}
