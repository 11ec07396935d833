//! Tests the decoder with all contents, and all changes, up to a stated size. Unless a test says otherwise, the checksums match the changed
//! bytes, so that the decoder does not stop at a checksum, but decodes the bytes.

use refs::FILE_HEADER;
use simulator::recording::Chunk;

use super::layout::{DEFINITIONS, REFERENCES, checksum, frame};
use crate::open;

/// Frames of every kind but the end frame, each with its kind, its number of references, and its content. Together they have 11 references.
const FRAMES: [(u8, u64, &[u8]); 7] = [
    (1, 0, b"\x06x86_64\x03\x02ls\x02-l\x03a b"),
    (2, 0, b"\x01\x80\x20\x80\x10\x00\x02/l\x02\xab\xcd"),
    (7, 0, b"\x02\x02\x01\x80\x20\x80\x10\x00\x80\x40"),
    (3, 0, DEFINITIONS),
    (4, 11, REFERENCES),
    (5, 0, b"It ran"),
    (8, 0, b"A thread"),
];

fn file(frames: &[(u8, u64, &[u8])]) -> Vec<u8> {
    let frames = frames.iter().flat_map(|(kind, count, content)| frame(*kind, 0, *count, content));
    FILE_HEADER.into_iter().chain(frames).collect()
}

/// The result of decoding a file.
#[derive(Clone, Debug, PartialEq)]
enum Decoded {
    /// The file is a recording with this number of references, as its headers state.
    References(u64),
    /// The decoder refuses the file with this message, after it has returned this number of references.
    Refused(String, u64),
}

/// Reads a file to its end. Asserts that the decoder never returns more references than the headers state, and that an error message is one
/// line.
fn decode(bytes: impl Into<Vec<u8>>) -> Decoded {
    let refused = |error: &dyn ToString, read| {
        let error = error.to_string();
        assert!(error.starts_with("refs") && !error.contains(char::is_control), "{error:?}");
        Decoded::Refused(error, read)
    };
    let mut recording = match open(bytes) {
        Ok(recording) => recording,
        Err(error) => return refused(&error, 0),
    };
    let stated = recording.references().unwrap_or(0);
    let (mut read, mut chunk) = (0, Chunk::default());
    // All frames belong to the last thread, whichever thread a changed header names.
    if let Some(thread) = recording.threads().checked_sub(1) {
        loop {
            match recording.next_chunk(thread, &mut chunk) {
                Ok(true) => read += chunk.len() as u64,
                Ok(false) => break,
                Err(error) => return refused(&error, read),
            }
            assert!(read <= stated, "{read} references, of {stated}");
        }
    }
    assert_eq!(read, stated);
    Decoded::References(read)
}

/// Returns the message about a frame at this position.
fn at(position: usize, what: &str) -> String {
    format!("refs: found {what} at byte {position}, expected a whole frame of a recording")
}

/// Returns all 257 strings of up to one byte.
fn up_to_one_byte() -> impl Iterator<Item = Vec<u8>> {
    [vec![]].into_iter().chain((0..=u8::MAX).map(|byte| vec![byte]))
}

/// Returns all 65,793 strings of up to two bytes.
fn up_to_two_bytes() -> impl Iterator<Item = Vec<u8>> {
    up_to_one_byte().chain((0..=u16::MAX).map(|bytes| bytes.to_be_bytes().to_vec()))
}

/// Returns whether the format's documentation allows this content, of up to two bytes, in a frame of this kind without references.
fn is_right(kind: u8, content: &[u8]) -> bool {
    match kind {
        // The frame of definitions defines no blocks and no shapes.
        3 => content == [0, 0],
        // The frame of mappings lists no mappings.
        2 => content == [0],
        5 | 8 => str::from_utf8(content).is_ok(),
        6 => content.len() <= 1,
        // All other kinds need more than two bytes or do not exist: a program has two numbers and at least two bytes, and references and
        // processes begin with three numbers.
        _ => false,
    }
}

/// For each content, decodes a recording whose last frame has this content, and asserts the result. Returns how many contents are right.
fn right_frames(kind: u8, contents: impl Iterator<Item = Vec<u8>>) -> usize {
    let before = file(&FRAMES[3..5]);
    let what = if kind == 4 { "malformed references" } else { "a malformed frame" };
    let message = at(before.len(), what);
    let mut right = 0;
    for content in contents {
        // The references before the last frame may be in the same chunk as that frame. If the decoder refuses the frame, it does not return
        // the chunk.
        match decode([&before[..], &frame(kind, 0, 0, &content)].concat()) {
            Decoded::References(11) if is_right(kind, &content) => right += 1,
            Decoded::Refused(said, 0) if said == message && !is_right(kind, &content) => {}
            other => panic!("kind {kind}, {content:x?}: {other:?}"),
        }
    }
    right
}

/// Tests a definitions frame and a references frame with all 65,793 contents of up to two bytes. Tests a frame of each other kind, and of
/// two unknown kinds, with all 257 contents of up to one byte.
#[test]
fn every_content_of_two_bytes() {
    assert_eq!([3, 4].map(|kind| right_frames(kind, up_to_two_bytes())), [1, 0]);
    let kinds = [0, 1, 2, 5, 6, 7, 8, 9];
    let right = kinds.map(|kind| right_frames(kind, up_to_one_byte()));
    // Of the one-byte contents, 128 are ASCII. Every byte is a valid exit status.
    assert_eq!(right, [0, 0, 1, 129, 257, 0, 129, 0]);
}

/// Tests all 65,793 strings of up to two bytes after a file's header, and all 256 bytes after the file's end frame.
#[test]
fn every_two_bytes_after_the_header_and_every_byte_after_the_end() {
    let whole = [file(&FRAMES), frame(6, 0, 11, &[])].concat();
    assert_eq!(decode(&whole[..]), Decoded::References(11));
    let nothing = "refs: found no memory reference, expected at least one".to_owned();
    let nothing = Decoded::Refused(nothing, 0);
    for bytes in up_to_two_bytes() {
        assert_eq!(decode([&FILE_HEADER[..], &bytes].concat()), nothing, "{bytes:x?}");
    }
    let after = Decoded::Refused(at(whole.len(), "unexpected data after the end"), 0);
    for bytes in up_to_one_byte().skip(1) {
        assert_eq!(decode([&whole[..], &bytes].concat()), after, "{bytes:x?}");
    }
}

/// Takes a recording with all kinds of frames, and tests all 255 other values of each byte, and all truncations. The checksums are those of
/// the unchanged recording. The decoder finds each change, and reads a truncated recording up to its last whole frame.
#[test]
fn every_value_of_every_byte_is_found() {
    let whole = [file(&FRAMES), frame(6, 0, 11, &[])].concat();
    let has_references = file(&FRAMES[..5]).len();
    let mut damaged = whole.clone();
    for at in 0..whole.len() {
        for change in 1..=u8::MAX {
            damaged[at] = whole[at] ^ change;
            match decode(&damaged[..]) {
                Decoded::Refused(message, 0) => {
                    let is_placed = at < FILE_HEADER.len() || message.contains(" at byte ");
                    assert!(is_placed, "byte {at}, {change:#x}: {message}");
                }
                other => panic!("byte {at} changed by {change:#x}: {other:?}"),
            }
        }
        damaged[at] = whole[at];
        match decode(&whole[..at]) {
            Decoded::References(11) => assert!(at >= has_references, "{at}"),
            Decoded::Refused(_, 0) => assert!(at < has_references, "{at}"),
            other => panic!("the first {at} bytes: {other:?}"),
        }
    }
}

/// Removes a varint of up to 64 bits from the front of `bytes`, and returns it.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 + bytes.iter().position(|byte| *byte < 0x80)?;
    let (number, rest) = bytes.split_at(length);
    *bytes = rest;
    let bits = |sum: u128, byte: &u8| sum << 7 | u128::from(byte & 0x7f);
    (length <= 10).then(|| number.iter().rev().fold(0, bits)).and_then(|sum| sum.try_into().ok())
}

fn take<'a>(bytes: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(count).ok()?)?;
    *bytes = rest;
    Some(taken)
}

/// A second reader of definitions, written from the format's documentation. Returns `None` if the definitions are wrong. If an access names
/// an instruction before the previous access's instruction, or an instruction that the block lacks, this access and all that follow belong
/// to no instruction.
fn definitions(mut bytes: &[u8]) -> Option<()> {
    const ATOMIC: u8 = 5;
    let rest = &mut bytes;
    let (block_count, shape_count) = (varint(rest)?, varint(rest)?);
    // The class of each instruction of each block. Block 0 has no instruction.
    let mut blocks = vec![vec![]];
    for _ in 0..block_count {
        varint(rest)?;
        let count = varint(rest).filter(|count| (1..=1024).contains(count))?;
        if take(rest, count)?.contains(&0) {
            return None;
        }
        let exit = take(rest, 1)?[0];
        if exit > 5 || exit > 0 && varint(rest)? >= count {
            return None;
        }
        if exit == 1 {
            varint(rest)?;
        }
        let mut classes = vec![0; count as usize];
        let mut unclassified = &mut classes[..];
        for _ in 0..varint(rest)? {
            let between = usize::try_from(varint(rest)?).ok()?;
            let class = take(rest, 1)?[0];
            *unclassified.get_mut(between)? = class;
            unclassified = &mut unclassified[between + 1..];
            if !(1..=8).contains(&class) {
                return None;
            }
        }
        blocks.push(classes);
    }
    for _ in 0..shape_count {
        let classes = blocks.get(usize::try_from(varint(rest)?).ok()?)?;
        let accesses = varint(rest)? >> 1;
        if accesses > 2048 || accesses == 0 && classes.is_empty() {
            return None;
        }
        let mut latest = 0;
        for access in take(rest, 2 * accesses)?.chunks(2) {
            let access = u16::from(access[0]) | u16::from(access[1]) << 8;
            let instruction = usize::from(access >> 4 & 0x3ff);
            if instruction < latest || instruction >= classes.len() {
                break;
            }
            latest = instruction;
            if access >> 14 & 1 == 1 && classes[instruction] != ATOMIC {
                return None;
            }
        }
    }
    rest.is_empty().then_some(())
}

/// Tests all 256 values of each content byte, in frames of all kinds, and all truncations of the contents. An error names the changed
/// frame, or the references frame that uses the changed definitions. A second reader says which definitions are right. No change makes the
/// decoder return more than the 11 references that the header states.
#[test]
fn every_byte_of_every_content_takes_every_value() {
    let (mut right, mut refused) = (0, 0);
    for changed in 0..FRAMES.len() {
        let start = file(&FRAMES[..changed]).len();
        let (kind, _, whole) = FRAMES[changed];
        let spoiled = file(&FRAMES[..4]).len();
        let mut check = |content: &[u8]| {
            let mut frames = FRAMES;
            frames[changed].2 = content;
            let decoded = decode([file(&frames), frame(6, 0, 11, &[])].concat());
            if kind == 3 {
                let malformed = Decoded::Refused(at(start, "a malformed frame"), 0);
                assert_eq!(decoded == malformed, definitions(content).is_none(), "{content:x?}");
            }
            match decoded {
                Decoded::References(11) => {
                    // Only one number of executions and one length of literals fit the events.
                    let fits = [0, 2].iter().all(|at| content.get(*at) == whole.get(*at));
                    assert!(kind != 4 || fits, "{content:x?}");
                    right += 1;
                }
                Decoded::Refused(message, 0) => {
                    refused += 1;
                    let is_own = message == at(start, "a malformed frame") && kind != 4;
                    let is_spoiled =
                        message == at(spoiled, "malformed references") && [3, 4].contains(&kind);
                    assert!(is_own || is_spoiled, "kind {kind}, {content:x?}: {message}");
                }
                other => panic!("kind {kind}, {content:x?}: {other:?}"),
            }
        };
        for index in 0..whole.len() {
            let mut content = whole.to_vec();
            for byte in 0..=u8::MAX {
                content[index] = byte;
                check(&content);
            }
            check(&whole[..index]);
        }
    }
    let bytes: usize = FRAMES.iter().map(|(.., content)| content.len()).sum();
    assert_eq!(right + refused, 257 * bytes);
    assert!(right > 3000 && refused > 3000, "{right} {refused}");
}

/// Tests all 256 values of bytes 0 to 23 of each frame header. The decoder returns as many references as the headers state, or refuses the
/// file.
#[test]
fn every_byte_of_every_header_takes_every_value() {
    let (mut right, mut refused) = (0, 0);
    let frames: Vec<_> = FRAMES.into_iter().chain([(6, 11, &[][..])]).collect();
    for changed in 0..frames.len() {
        for index in 0..24 {
            for byte in 0..=u8::MAX {
                let mut bytes = FILE_HEADER.to_vec();
                for (number, (kind, references, content)) in frames.iter().enumerate() {
                    let mut frame = frame(*kind, 0, *references, content);
                    if number == changed {
                        frame[index] = byte;
                        let sum = checksum(&frame[..24]);
                        frame[24..28].copy_from_slice(&sum.to_le_bytes());
                    }
                    bytes.extend(frame);
                }
                match decode(bytes) {
                    Decoded::References(11) => right += 1,
                    Decoded::Refused(_, read) if read <= 11 => refused += 1,
                    other => panic!("frame {changed}, byte {index} is {byte:#x}: {other:?}"),
                }
            }
        }
    }
    assert_eq!(right + refused, 8 * 24 * 256);
    assert!(right >= 8 * 24 && refused > 8 * 24, "{right} {refused}");
}
