//! Tests drmemtrace recordings that consist of one file.

use proptest::prelude::*;
use simulator::recording::{BLOCK, BLOCK_SLACK, Chunk, Flow, Kind, Recording, Reference};
use tests::recordings::{Drmemtrace, filetype, kind, marker, zip};

use crate::{file, gzip, open, read_bytes, reference, threads, zstd};

const X86_64: u64 = filetype::X86_64 | filetype::ENCODINGS;

fn begin() -> Drmemtrace {
    Drmemtrace::new(5, X86_64, 77)
}

fn fetch(kind: Kind, address: u64, size: u16, flow: Flow) -> Reference {
    Reference { flow, ..reference(kind, address, size) }
}

const NOTE: &str = "refs is a recording of drmemtrace: it has no symbols, and does not tell atomic and floating-point instructions from \
                    others";

/// A thread with all record types, and the references that a reader must find.
fn everything() -> (Vec<u8>, Vec<Reference>) {
    let bytes = begin()
        .time(13_000_000)
        .instruction(0x40_1000, 4)
        .read(0x7fff_0000, 8)
        .write(0x7fff_0008, 4)
        .instruction(0x40_1004, 3)
        .record(kind::PREFETCH, 1, 0x5000)
        .record(kind::PREFETCH_INSTR, 1, 0x5000)
        .record(kind::PREFETCH_WRITE_L3_NT, 1, 0x5000)
        .record(kind::DATA_FLUSH, 64, 0x5000)
        .record(kind::UNTAKEN_JUMP, 2, 0x40_1007)
        .record(kind::TAKEN_JUMP, 2, 0x40_1009)
        .record(kind::DIRECT_CALL, 5, 0x40_2000)
        .write(0x7fff_fff8, 8)
        .record(kind::INDIRECT_CALL, 2, 0x40_3000)
        .record(kind::RETURN, 1, 0x40_4000)
        .read(0x7fff_fff8, 8)
        .record(kind::DIRECT_JUMP, 5, 0x40_3002)
        .record(kind::INDIRECT_JUMP, 2, 0x40_5000)
        // In old versions of the format, a conditional branch counts as taken unless the next instruction follows it in memory.
        .record(kind::CONDITIONAL_JUMP, 2, 0x40_6000)
        .record(kind::CONDITIONAL_JUMP, 2, 0x40_6002)
        .instruction(0x40_7000, 2)
        // A repeated instruction is fetched once.
        .read(0x9000, 1)
        .record(kind::NO_FETCH, 2, 0x40_7000)
        .read(0x9001, 1)
        .record(kind::BUNDLE, 3, u64::from_le_bytes([2, 3, 1, 0, 0, 0, 0, 0]))
        .write(0xa000, 2)
        .instruction(0x40_7008, 2)
        .record(kind::MARKER, marker::SYSCALL, 1)
        .record(kind::SYSENTER, 2, 0x40_700a)
        // The first read accesses nothing. The second is longer than 4096 bytes, so it becomes several references.
        .read(0xb000, 0)
        .read(0xc000, 9000)
        .end();
    let expected = vec![
        fetch(Kind::FetchModify, 0x40_1000, 4, Flow::Next),
        reference(Kind::Load, 0x7fff_0000, 8),
        reference(Kind::Store, 0x7fff_0008, 4),
        fetch(Kind::FetchOther, 0x40_1004, 3, Flow::Next),
        fetch(Kind::FetchOther, 0x40_1007, 2, Flow::NotTaken),
        fetch(Kind::FetchOther, 0x40_1009, 2, Flow::Taken),
        fetch(Kind::FetchStore, 0x40_2000, 5, Flow::Call),
        reference(Kind::Store, 0x7fff_fff8, 8),
        fetch(Kind::FetchOther, 0x40_3000, 2, Flow::Call),
        fetch(Kind::FetchLoad, 0x40_4000, 1, Flow::Return),
        reference(Kind::Load, 0x7fff_fff8, 8),
        fetch(Kind::FetchOther, 0x40_3002, 5, Flow::Jump),
        fetch(Kind::FetchOther, 0x40_5000, 2, Flow::Jump),
        fetch(Kind::FetchOther, 0x40_6000, 2, Flow::NotTaken),
        fetch(Kind::FetchOther, 0x40_6002, 2, Flow::Taken),
        fetch(Kind::FetchLoad, 0x40_7000, 2, Flow::Next),
        reference(Kind::Load, 0x9000, 1),
        reference(Kind::Load, 0x9001, 1),
        fetch(Kind::FetchOther, 0x40_7002, 2, Flow::Next),
        fetch(Kind::FetchOther, 0x40_7004, 3, Flow::Next),
        fetch(Kind::FetchStore, 0x40_7007, 1, Flow::Next),
        reference(Kind::Store, 0xa000, 2),
        fetch(Kind::FetchOther, 0x40_7008, 2, Flow::Trap),
        fetch(Kind::FetchLoad, 0x40_700a, 2, Flow::Trap),
        reference(Kind::Load, 0xc000, 4096),
        reference(Kind::Load, 0xd000, 4096),
        reference(Kind::Load, 0xe000, 808),
    ];
    (bytes, expected)
}

#[test]
fn records_become_references() {
    let (bytes, expected) = everything();
    let (first, second) = bytes.split_at(12 * 20 + 5);
    for form in [
        bytes.clone(),
        gzip(&bytes),
        zstd(&bytes),
        zip(&[&bytes]),
        // drmemtrace stores the chunks of a thread as members of a zip archive.
        zip(&[first, second]),
    ] {
        let mut recording = open(form.clone()).unwrap();
        assert!(recording.has_flow());
        assert_eq!((recording.threads(), recording.references()), (1, None));
        assert_eq!((recording.target(), recording.command()), (Some("x86_64"), None));
        assert_eq!(recording.notes(), [NOTE]);
        assert_eq!(threads(&mut recording).unwrap(), [(expected.clone(), vec![])]);
        // The content determines the format, whatever the file's name is.
        let path = file("everything.trace.gz", &form);
        let mut recording = Recording::open(&path).unwrap();
        assert_eq!(threads(&mut recording).unwrap()[0].0, expected);
        assert_eq!(recording.progress().read, form.len() as u64 - unread(&form));
        std::fs::remove_file(path).unwrap();
    }
}

/// Returns how many bytes of a zip archive are outside the contents of its members: headers, names and the directory.
fn unread(form: &[u8]) -> u64 {
    let members = match form.starts_with(b"PK") {
        true => form.windows(4).filter(|bytes| *bytes == b"PK\x01\x02").count() as u64,
        false => return 0,
    };
    // The reader reads six bytes to detect the format.
    members * (30 + 10 + 46 + 10) + 22 - 6
}

#[test]
fn what_is_unknown_is_noted() {
    let filtered = Drmemtrace::new(6, filetype::IFILTERED | filetype::INSTRUCTION_ONLY, 1);
    let recording = open(filtered.instruction(0, 4).end()).unwrap();
    assert!(!recording.has_flow());
    let notes = [
        NOTE,
        "refs is filtered: it lacks references that its recorder left out",
        "refs has only instructions, and no references to data",
    ];
    assert_eq!((recording.target(), recording.notes()), (None, &notes.map(String::from)[..]));
    let recording = open(Drmemtrace::new(7, 0, 1).instruction(0, 4).end()).unwrap();
    let newer = "refs has version 7 of its format: the newest known version is 6";
    assert_eq!(recording.notes(), [NOTE, newer]);
}

#[test]
fn malformed_records_are_named() {
    let cases = [
        (begin().record(50, 0, 0).end(), "type 50 in record 9, expected a type from 0 to 49"),
        (
            begin().instruction(0, 0).end(),
            "an instruction of 0 bytes in record 10, expected 1 to 17 bytes",
        ),
        (
            begin().instruction(0, 18).end(),
            "an instruction of 18 bytes in record 10, expected 1 to 17 bytes",
        ),
        (
            begin().record(kind::BUNDLE, 9, 0).end(),
            "a bundle of 9 instructions in record 9, expected 1 to 8",
        ),
        (
            begin().record(kind::BUNDLE, 2, 1).end(),
            "an instruction of 0 bytes in record 9, expected 1 to 17 bytes",
        ),
        (
            begin().instruction(0, 4).unfinished(),
            "the end of the file after record 10, expected a footer, which ends a recording",
        ),
        (
            begin().instruction(0, 4).end()[..12 * 11 + 7].to_vec(),
            "7 bytes after record 11, expected whole records",
        ),
        (begin().end(), "no memory reference, expected at least one"),
        (Drmemtrace::new(1, 0, 1).end(), "version 1 of drmemtrace, expected version 2 or later"),
    ];
    for (bytes, message) in cases {
        let error = read_bytes(bytes).expect_err(message);
        assert_eq!((error.to_string(), error.line()), (format!("refs: found {message}"), None));
    }
    // The records of a 32-bit program have 8 bytes. Here, the records are a header of version 5, and the marker of the version.
    let short = [25, 0, 0, 0, 5, 0, 0, 0, 28, 0, 12, 0, 5, 0, 0, 0];
    let error = read_bytes(short).unwrap_err().to_string();
    let message = "records of 8 bytes, which are of a 32-bit program, expected records of 12 bytes";
    assert_eq!(error, format!("refs: found {message}"));
}

#[test]
fn damaged_archives_are_named() {
    let bytes = begin().instruction(0, 4).read(8, 8).end();
    let whole = zip(&[&bytes]);
    let damaged = "a zip archive that is damaged, cut off or not deflated";
    let error = read_bytes(&whole[..whole.len() - 1]).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("refs: found {damaged}, expected a recording of ")),
        "{error}"
    );
    // Changes the checksum of the only member, in the archive's directory.
    let mut wrong = whole.clone();
    let directory = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    wrong[directory + 16] ^= 1;
    let error = read_bytes(wrong).unwrap_err().to_string();
    let rest = ", expected the rest of the recording";
    assert!(error.starts_with(&format!("refs: found {damaged} after record 1")), "{error}");
    assert!(error.ends_with(rest), "{error}");
    for at in 0..whole.len() {
        let mut wrong = whole.clone();
        wrong[at] ^= 0xff;
        let _ = read_bytes(wrong);
    }
}

#[test]
fn an_instruction_has_its_data_in_its_block_unless_they_are_too_many() {
    let mut one = begin();
    for _ in 0..BLOCK {
        one = one.record(kind::INSTR, 1, 0x1000);
    }
    for _ in 0..BLOCK_SLACK + 100 {
        one = one.read(0x8000, 1);
    }
    let mut recording = open(one.record(kind::INSTR, 1, 0x2000).end()).unwrap();
    let mut chunk = Chunk::default();
    let mut lengths = Vec::new();
    while recording.next_chunk(0, &mut chunk).unwrap() {
        lengths.push(chunk.len());
        if lengths.len() == 1 {
            let last = chunk.references().iter().nth(BLOCK - 1).unwrap();
            assert_eq!(last.kind, Kind::FetchLoad);
        }
    }
    // A record has at most 16 references, and a full block still has room for this number.
    assert_eq!(lengths, [BLOCK + BLOCK_SLACK - 16, 117]);
}

proptest! {
    #[test]
    fn no_records_panic(
        records in prop::collection::vec((0..52_u16, prop_oneof![0..20_u16, any::<u16>()], any::<u64>()), 0..200),
        cut in 0..40_usize,
        form in 0..3,
    ) {
        let mut bytes = begin();
        for (kind, size, address) in records {
            bytes = bytes.record(kind, size, address);
        }
        let bytes = bytes.end();
        let bytes = &bytes[..bytes.len() - cut];
        let _ = read_bytes(match form {
            0 => bytes.to_vec(),
            1 => gzip(bytes),
            _ => zip(&[bytes]),
        });
    }

    #[test]
    fn no_archive_panics(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8), cut in any::<prop::sample::Index>()) {
        let mut bytes = zip(&[&everything().0, b"more"]);
        for (at, flip) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        let _ = read_bytes(bytes.clone());
        bytes.truncate(cut.index(bytes.len()));
        let _ = read_bytes(bytes);
    }
}
