//! Tests that files which are cut off, damaged or malicious are refused.

use refs::{FILE_HEADER, Stored};

use super::layout::{DEFINITIONS, REFERENCES, frame};
use super::{read, small};
use crate::{open, threads};

#[test]
fn a_recording_of_another_version_is_refused() {
    let mut bytes = small(Stored::Plain);
    for version in [1, 3] {
        bytes[8] = version;
        let error = open(&bytes[..]).unwrap_err().to_string();
        let expected =
            format!("refs: found a recording of version {version}, expected one of version 2");
        assert_eq!(error, expected);
    }
}

#[test]
fn a_file_that_is_cut_off_is_read_to_its_last_frame() {
    let whole = small(Stored::Zstd);
    let expected = read(&whole).unwrap();
    let mut longest = 0;
    for length in 0..whole.len() {
        let mut recording = match open(&whole[..length]) {
            Ok(recording) if length >= FILE_HEADER.len() => recording,
            Ok(mut no_magic) => {
                assert!(length < 8 && threads(&mut no_magic).is_err(), "{length} bytes");
                continue;
            }
            Err(error) if length < FILE_HEADER.len() => {
                let start = "refs: found the start of a recording, expected one of version 2";
                assert!(length >= 8 && error.to_string() == start, "{error}");
                continue;
            }
            Err(error) => {
                let nothing = "refs: found no memory reference, expected at least one";
                assert_eq!(error.to_string(), nothing);
                continue;
            }
        };
        let note = recording.notes().last().unwrap().clone();
        assert!(
            note == "refs has no end: the recorder is still running or was killed"
                || note.starts_with("refs is cut off: it is read up to byte ")
                    && note.ends_with(&format!(" of {length}")),
            "{note}"
        );
        let found = threads(&mut recording).unwrap();
        let mut count = 0;
        for (found, expected) in found.iter().zip(&expected) {
            assert!(expected.0.starts_with(&found.0) && expected.1.starts_with(&found.1));
            count += found.0.len();
        }
        assert!(count >= longest);
        longest = count;
    }
    assert_eq!(longest, expected.iter().map(|thread| thread.0.len()).sum::<usize>());
}

/// Version 1 did not mark atomic instructions, so the reader refuses version 1 and all unknown versions.
#[test]
fn other_versions_are_refused() {
    for version in [0, 1, 3, u32::MAX] {
        let mut file = small(Stored::Plain);
        file[8..12].copy_from_slice(&version.to_le_bytes());
        let error = read(&file).unwrap_err().to_string();
        let named =
            format!("refs: found a recording of version {version}, expected one of version 2");
        assert_eq!(error, named);
    }
}

#[test]
fn each_damaged_byte_is_found() {
    for stored in [Stored::Plain, Stored::Zstd] {
        let whole = small(stored);
        for at in 0..whole.len() {
            for flip in [1, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                let error = read(&damaged).expect_err("damage is found").to_string();
                assert!(error.starts_with("refs:") && !error.contains('\n'), "byte {at}: {error}");
            }
        }
    }
}

/// Returns a file with these frames and an end frame.
fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    [FILE_HEADER.to_vec(), frames.concat(), frame(6, 0, 0, &[])].concat()
}

#[test]
fn frames_that_lie_are_refused() {
    let definitions = || frame(3, 0, 0, DEFINITIONS);
    assert!(read(&file(&[definitions(), frame(4, 0, 11, REFERENCES)])).is_ok());
    let whole = "expected a whole frame of a recording";
    let refused = |frames: &[Vec<u8>], found: &str, at: usize| {
        let error = read(&file(frames)).expect_err(found).to_string();
        assert_eq!(error, format!("refs: found {found} at byte {at}, {whole}"));
    };
    let malformed = "a malformed frame";
    for content in [
        &b""[..],
        b"\x01",
        b"\x80",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        // In this order: a block is missing, has no instruction, has too many instructions, has an instruction of size 0, has an unknown
        // exit, or has an exit after its last instruction.
        b"\x01\x00",
        b"\x01\x00\x00\x00\x00",
        b"\x01\x00\x00\x81\x08",
        b"\x01\x00\x00\x01\x00\x00",
        b"\x01\x00\x00\x01\x04\x06\x00",
        b"\x01\x00\x00\x01\x04\x02\x01",
        // A block lacks its classes, has more classes than instructions, has a class after its last instruction, has class 0, or has an
        // unknown class.
        b"\x01\x00\x00\x01\x04\x00",
        b"\x01\x00\x00\x01\x04\x00\x02\x00\x01\x00\x01",
        b"\x01\x00\x00\x01\x04\x00\x01\x01\x01",
        b"\x01\x00\x00\x01\x04\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01",
        b"\x01\x00\x00\x01\x04\x00\x01\x00\x00",
        b"\x01\x00\x00\x01\x04\x00\x01\x00\x09",
        // An instruction of class 0 has an atomic access.
        b"\x01\x01\x00\x01\x04\x00\x00\x01\x02\x0a\x40",
        // A shape names an unknown block, has no references, has too many accesses, or lacks accesses.
        b"\x00\x01\x01\x00",
        b"\x00\x01\x00\x00",
        b"\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x00\x01\x00\x04\x00\x00",
        // There are bytes after the last definition.
        b"\x00\x00\x00",
    ] {
        refused(&[frame(3, 0, 0, content)], malformed, 16);
    }
    for (kind, content) in [
        (1, &b"\x01"[..]),
        (1, b"\x01\xff\x00"),
        (1, b"\x01x\xff\xff\xff\xff\x0f"),
        (2, b"\x01\x00\x00\x00\x00"),
        (2, b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x00\x00\x00"),
        (2, b"\x00\x00"),
        (5, b"\xff"),
        (6, b"\x00\x00"),
        (7, b""),
        (0, b""),
    ] {
        refused(&[frame(kind, 0, 0, content)], malformed, 16);
    }
    let at = 16 + 32 + DEFINITIONS.len();
    for (references, content) in [
        (0, &b""[..]),
        // The number of references is wrong.
        (10, REFERENCES),
        (12, REFERENCES),
        // The shape is undefined.
        (1, b"\x01\x02\x00\x10\x03"),
        // The parts are too long for this frame, or for any file.
        (3, b"\x01\x03\x00\x10\x00"),
        (3, b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"),
        (3, b"\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        // In this order: the run of expected executions leaves no execution for the event, a shape is missing, literals are missing, and
        // literals are left over.
        (3, b"\x01\x02\x00\x30\x00"),
        (3, b"\x01\x01\x00\x10"),
        (3, b"\x01\x01\x00\x01"),
        (3, b"\x01\x01\x02\x01\x00\x00"),
        // An event is left over.
        (3, b"\x01\x02\x00\x01\x01"),
        // There is an order after the last execution, or half an order.
        (3, b"\x01\x00\x00\x02\x00"),
        (3, b"\x01\x00\x00\x01"),
        // There are more executions than references.
        (3, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00"),
    ] {
        refused(&[definitions(), frame(4, 0, references, content)], "malformed references", at);
    }
    let damaged = "a damaged header";
    refused(&[frame(4, 1 << 16, 11, REFERENCES)], damaged, 16);
    refused(&[frame(4, 0, (1 << 28) + 1, REFERENCES)], damaged, 16);
    refused(&[frame(6, 0, 0, &[]), frame(5, 0, 0, b"more")], "unexpected data after the end", 48);
}

#[test]
fn data_that_decompresses_without_end_is_refused() {
    let bomb = crate::zstd(&vec![0; 1 << 20]);
    for length in [0, 1000, (1 << 20) - 1, (1 << 20) + 1, 1 << 24] {
        let mut header = vec![5, 1, 0, 0, 0, 0, 0, 0];
        header.extend(u32::to_le_bytes(length));
        header.extend((bomb.len() as u32).to_le_bytes());
        header.extend([0; 8]);
        header.extend(super::layout::checksum(&header).to_le_bytes());
        header.extend(super::layout::checksum(&bomb).to_le_bytes());
        let error = read(&file(&[[header, bomb.clone()].concat()])).unwrap_err();
        let expected =
            "refs: found damaged zstd data at byte 16, expected a whole frame of a recording";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn little_is_said_of_a_program() {
    let said = |count| {
        let note = frame(5, 0, 0, &[b'x'; (1 << 20) - 1]);
        let references = [frame(3, 0, 0, DEFINITIONS), frame(4, 0, 11, REFERENCES)].concat();
        open(file(&[note.repeat(count), references])).map(|recording| recording.notes().len())
    };
    assert_eq!(said(4), Ok(4));
    let error = said(5).unwrap_err().to_string();
    assert!(error.starts_with("refs: found a malformed frame at byte"), "{error}");
}

#[test]
fn an_error_ends_its_thread_alone() {
    let bad = frame(4, 0, 12, REFERENCES);
    let good = frame(4, 1, 11, REFERENCES);
    let mut recording = open(file(&[frame(3, 0, 0, DEFINITIONS), bad, good])).unwrap();
    let mut chunk = Default::default();
    assert!(recording.next_chunk(0, &mut chunk).is_err());
    assert!(chunk.is_empty());
    assert_eq!(recording.next_chunk(0, &mut chunk), Ok(false));
    assert_eq!(recording.next_chunk(1, &mut chunk), Ok(true));
    assert_eq!(chunk.len(), 11);
    assert_eq!(recording.next_chunk(2, &mut chunk), Ok(false));
}
