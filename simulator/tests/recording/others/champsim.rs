//! Tests recordings in ChampSim's format.

use proptest::prelude::*;
use simulator::recording::{BLOCK, Flow, Kind, Reference};
use tests::recordings::{ChampSim, zip};

use crate::{gzip, open, read_bytes, reference, threads, zstd};

/// ChampSim's numbers for registers: the stack pointer, the flags, the instruction pointer, and two others.
const SP: u8 = 6;
const FLAGS: u8 = 25;
const IP: u8 = 26;
const A: u8 = 3;
const B: u8 = 60;

fn branch(address: u64, is_taken: u8, written: [u8; 2], read: [u8; 4]) -> ChampSim {
    ChampSim { address, is_branch: 1, is_taken, written, read, ..ChampSim::default() }
}

fn plain(address: u64) -> ChampSim {
    ChampSim { address, written: [A, 0], read: [B, 0, 0, 0], ..ChampSim::default() }
}

fn bytes(instructions: &[ChampSim]) -> Vec<u8> {
    instructions.iter().flat_map(ChampSim::bytes).collect()
}

/// Instructions of all kinds, and their references.
fn everything() -> (Vec<u8>, Vec<Reference>) {
    let instructions = [
        // The next instruction is 3 bytes further on, so the size of this one is 3.
        plain(0x40_1000),
        ChampSim {
            loads: [0x7fff_0000, 0, 0x7fff_0013, 0],
            stores: [0, 0x7fff_0008],
            ..plain(0x40_1003)
        },
        branch(0x40_1008, 0, [IP, 0], [IP, FLAGS, 0, 0]),
        branch(0x40_100a, 1, [IP, 0], [IP, FLAGS, 0, 0]),
        // On a machine without flags, a conditional branch reads an ordinary register instead.
        branch(0x40_2000, 1, [IP, 0], [IP, A, 0, 0]),
        ChampSim { stores: [0x7fff_fff8, 0], ..branch(0x40_3000, 1, [IP, SP], [IP, SP, 0, 0]) },
        branch(0x40_4000, 1, [SP, IP], [SP, IP, A, 0]),
        ChampSim { loads: [0x7fff_fff8, 0, 0, 0], ..branch(0x40_5000, 1, [IP, SP], [SP, 0, 0, 0]) },
        branch(0x40_6000, 1, [IP, 0], [IP, 0, 0, 0]),
        branch(0x40_7000, 1, [IP, 0], [A, 0, 0, 0]),
        // The sizes of these two instructions are unknown: the first is too far from the next instruction, and the second is the last.
        plain(0x40_8000),
        plain(0x40_8010),
    ];
    let fetch = |kind, address, size, flow| Reference { flow, ..reference(kind, address, size) };
    let expected = vec![
        fetch(Kind::FetchOther, 0x40_1000, 3, Flow::Next),
        fetch(Kind::FetchModify, 0x40_1003, 5, Flow::Next),
        reference(Kind::Load, 0x7fff_0000, 8),
        // The load ends where the 8 bytes at 0x7fff0010 end.
        reference(Kind::Load, 0x7fff_0013, 5),
        reference(Kind::Store, 0x7fff_0008, 8),
        fetch(Kind::FetchOther, 0x40_1008, 2, Flow::NotTaken),
        fetch(Kind::FetchOther, 0x40_100a, 4, Flow::Taken),
        fetch(Kind::FetchOther, 0x40_2000, 4, Flow::Taken),
        fetch(Kind::FetchStore, 0x40_3000, 4, Flow::Call),
        reference(Kind::Store, 0x7fff_fff8, 8),
        fetch(Kind::FetchOther, 0x40_4000, 4, Flow::Call),
        fetch(Kind::FetchLoad, 0x40_5000, 4, Flow::Return),
        reference(Kind::Load, 0x7fff_fff8, 8),
        fetch(Kind::FetchOther, 0x40_6000, 4, Flow::Jump),
        fetch(Kind::FetchOther, 0x40_7000, 4, Flow::Jump),
        fetch(Kind::FetchOther, 0x40_8000, 4, Flow::Next),
        fetch(Kind::FetchOther, 0x40_8010, 4, Flow::Next),
    ];
    (bytes(&instructions), expected)
}

#[test]
fn instructions_become_references() {
    let (bytes, expected) = everything();
    for form in [bytes.clone(), gzip(&bytes), zstd(&bytes), zip(&[&bytes])] {
        let mut recording = open(form).unwrap();
        assert!(recording.has_flow());
        assert_eq!((recording.threads(), recording.references()), (1, None));
        let note = "refs is a recording for ChampSim: it has no symbols, no threads and no sizes, and does not tell atomic and floating-point \
                    instructions from others";
        assert_eq!(recording.notes(), [note]);
        assert_eq!(threads(&mut recording).unwrap(), [(expected.clone(), vec![])]);
    }
}

#[test]
fn an_instruction_is_in_one_block() {
    let load = |number: u64| ChampSim { loads: [8, 16, 24, 32], ..plain(0x1000 + 4 * number) };
    let instructions: Vec<_> = (0..20_000).map(load).collect();
    let references = read_bytes(bytes(&instructions)).unwrap();
    assert_eq!(references.len(), 100_000);
    let blocks = crate::blocks(open(bytes(&instructions)).unwrap()).unwrap();
    let lengths: Vec<_> = blocks.iter().map(Vec::len).collect();
    // A block of 65,536 references is full after 13,108 instructions of five references each.
    assert_eq!((BLOCK, &lengths[..]), (65_536, &[65_540, 34_460][..]));
    assert_eq!(blocks.concat(), references);
}

#[test]
fn wrong_records_are_named() {
    let whole = everything().0;
    let mut wrong = whole.clone();
    // This is the fifth record. The format is detected from the records before it.
    wrong[4 * 64 + 9] = 7;
    let error = read_bytes(wrong).unwrap_err().to_string();
    let message =
        "refs: found is_branch 1 and branch_taken 7 in record 5, expected 0 or 1 for both";
    assert_eq!(error, message);
    let error = read_bytes(&whole[..100]).unwrap_err().to_string();
    assert_eq!(error, "refs: found 36 bytes after record 1, expected whole records");
}

#[test]
fn other_bytes_are_not_instructions() {
    let (whole, _) = everything();
    let refused = |bytes: &[u8]| {
        let error = read_bytes(bytes).unwrap_err().to_string();
        assert!(error.starts_with("refs:1: found \"") && error.contains(", expected "), "{error}");
    };
    refused(&[0; 256]);
    // In these cases, there are too few bytes for one record, a flag in the first record is neither 0 nor 1, or an address has more than 48
    // bits.
    refused(&whole[..63]);
    for (at, byte) in [(8, 2), (7, 1), (16 + 6, 1), (63, 0x80)] {
        let mut wrong = whole.clone();
        wrong[at] = byte;
        refused(&wrong);
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), flags in any::<bool>()) {
        let mut bytes = [&everything().0, &bytes[..]].concat();
        if flags {
            // All records have correct flags.
            bytes.chunks_mut(64).filter(|record| record.len() > 9).for_each(|record| (record[8], record[9]) = (1, 0));
        }
        let _ = read_bytes(bytes);
    }
}
