//! Checks recordings of memory references, plain and compressed. The reader must find the same references however the input is split. For
//! text recordings, a second reader, slow and simple, must find the same references too.

mod by_hand;
mod native;

use std::fmt::Debug;
use std::io::{self, Cursor, Read, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use simulator::recording::{self, BLOCK, BLOCK_SLACK, Chunk, Kind, RecordingError, Reference};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// A compressed file of an unknown format.
    Unknown,
    /// A damaged recording, or one with a malformed line.
    Wrong(Form),
    /// A valid recording with this number of references.
    Whole(Form, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    Plain,
    Gzip,
    Zstd,
    Zip,
    ByHand,
    Native,
    Drmemtrace,
    ChampSim,
}

impl Form {
    /// Returns the form that the first bytes indicate.
    fn detect(bytes: &[u8]) -> Self {
        let head = &bytes[..bytes.len().min(256)];
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [b'P', b'K', 3, 4, _, _, ..] => Self::Zip,
            [0x8f, b'V', b'F', b'R', b'E', b'F', b'S', b'\n', ..] => Self::Native,
            [25, 0, _, _, 1..=255, 0, 0, 0, _, _, _, _, ..] => Self::Drmemtrace,
            _ if is_champsim(head) => Self::ChampSim,
            _ => match head.trim_ascii_start() {
                [b'#' | b'0'..=b'9', ..] | [b'P' | b'p', b'0'..=b'9', ..] => Self::ByHand,
                _ => Self::Plain,
            },
        }
    }
}

/// Returns whether all whole 64-byte records have flags that are 0 or 1, an instruction address that is not 0, and 48-bit addresses.
fn is_champsim(head: &[u8]) -> bool {
    let is_address =
        |word: &[u8]| matches!(word, [.., 0..=0x7f, 0, 0] | [.., 0x80..=0xff, 0xff, 0xff]);
    head.len() >= 64
        && head.chunks_exact(64).all(|record| {
            let mut words = record[..8].chunks(8).chain(record[16..].chunks(8));
            words.all(is_address) && record[..8] != [0; 8] && record[8] <= 1 && record[9] <= 1
        })
}

/// The number of references after which reading ends, because even a small compressed file can hold a huge number of references.
const MAX_REFERENCES: usize = 2 * BLOCK;

/// The maximum length of a text recording that the second reader decompresses.
const MAX_TEXT_LENGTH: u64 = 1 << 20;

pub fn check(bytes: &[u8]) -> Recording {
    let found = read(Cursor::new(bytes.to_vec()));
    if let [0xfd, b'7', b'z', b'X', b'Z', 0, ..]
    | [b'B', b'Z', b'h', ..]
    | [0x04, 0x22, 0x4d, 0x18, ..]
    | [0xff, 6, 0, 0, b's', b'N', ..] = bytes
    {
        assert!(found.is_err());
        return Recording::Unknown;
    }
    let form = Form::detect(bytes);
    let in_pieces = read(Bytewise(Cursor::new(bytes.to_vec())));
    match form {
        Form::Gzip | Form::Zstd | Form::Zip => {
            // If an input is damaged and also has a malformed line, the way it is split determines which of the two errors comes first.
            assert_eq!(found.as_ref().ok(), in_pieces.as_ref().ok());
        }
        _ => {
            assert_eq!(found, in_pieces, "read byte by byte");
            if found.is_ok() {
                let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
                gzip.write_all(bytes).expect("there is memory enough");
                let gzip = gzip.finish().expect("there is memory enough");
                assert_eq!(read(Cursor::new(gzip)), found, "with gzip");
                let zstd = compress_to_vec(bytes, CompressionLevel::Fastest);
                assert_eq!(read(Cursor::new(zstd)), found, "with zstd");
            }
        }
    }
    match form {
        Form::Plain => same(&found, &plain(bytes), MAX_REFERENCES),
        Form::ByHand => by_hand::check(bytes),
        Form::Native => native::check(bytes),
        Form::Zstd | Form::Zip | Form::Drmemtrace | Form::ChampSim => {}
        Form::Gzip => {
            let mut text = Vec::new();
            let mut decoder = MultiGzDecoder::new(bytes).take(MAX_TEXT_LENGTH + 1);
            let decoded = decoder.read_to_end(&mut text);
            match (decoded, Form::detect(&text)) {
                (Ok(length), Form::Plain) if length as u64 <= MAX_TEXT_LENGTH => {
                    same(&found, &plain(&text), MAX_REFERENCES)
                }
                (Err(_), Form::Plain) => {
                    assert!(found.is_err(), "a damaged recording was accepted")
                }
                _ => {}
            }
        }
    }
    match found {
        Ok(references) => Recording::Whole(form, references.len()),
        Err(error) => {
            is_one_line(&error);
            Recording::Wrong(form)
        }
    }
}

fn is_one_line(error: &RecordingError) {
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// Returns the beginning of the first thread's references: at most [`MAX_REFERENCES`] plus one block.
fn read(stream: impl Read + Send + 'static) -> Result<Vec<Reference>, RecordingError> {
    let mut reader = recording::Recording::from_reader("recording", stream, None)?;
    let (mut all, mut block) = (Vec::new(), Chunk::default());
    while all.len() < MAX_REFERENCES && reader.next_chunk(0, &mut block)? {
        assert!(block.len() <= BLOCK + BLOCK_SLACK);
        all.extend(block.references().iter());
    }
    Ok(all)
}

struct Bytewise(Cursor<Vec<u8>>);

impl Read for Bytewise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(1);
        self.0.read(&mut buffer[..end])
    }
}

/// Asserts that both readers find the same references, or report the same wrong line. The first reader may end after `most` references.
/// Only the first reader rejects a recording without references, and that error has no line.
fn same<T: PartialEq + Debug>(
    found: &Result<Vec<T>, RecordingError>,
    expected: &Result<Vec<T>, u64>,
    most: usize,
) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let end = if found.len() < most { expected.len() } else { found.len() };
            assert_eq!(found[..], expected[..end]);
        }
        (Err(error), Err(line)) => assert_eq!(error.line(), Some(*line), "{error}"),
        (Err(error), Ok(expected)) => {
            assert!(expected.is_empty() && error.line().is_none(), "{error}");
        }
        (Ok(found), Err(line)) => assert!(found.len() >= most, "line {line} is wrong"),
    }
}

/// Returns the references of a text recording, or the number of the first wrong line.
fn plain(text: &[u8]) -> Result<Vec<Reference>, u64> {
    let mut references = Vec::new();
    let lines = text.split(|byte| *byte == b'\n');
    for (line, number) in lines.zip(1_u64..) {
        let is_message = [b"==", b"--", b"**"].iter().any(|mark| line.starts_with(*mark));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !is_message && !line.is_empty() {
            let reference = reference(line).ok_or(number)?;
            // An ` M` line becomes two references: a load and a store.
            match reference.kind {
                Kind::Modify => references
                    .extend([Kind::Load, Kind::Store].map(|kind| Reference { kind, ..reference })),
                _ => references.push(reference),
            }
        }
    }
    // The kind of a fetch depends on its instruction's data references, which follow it.
    let (mut loads, mut stores) = (false, false);
    for reference in references.iter_mut().rev() {
        match reference.kind {
            Kind::Load => loads = true,
            Kind::Store => stores = true,
            Kind::Modify => (loads, stores) = (true, true),
            _ => {
                reference.kind = fetching(loads, stores);
                (loads, stores) = (false, false);
            }
        }
    }
    Ok(references)
}

/// Returns the kind of a fetch. `loads` and `stores` say what the fetched instruction does.
fn fetching(loads: bool, stores: bool) -> Kind {
    match (loads, stores) {
        (false, false) => Kind::FetchOther,
        (true, false) => Kind::FetchLoad,
        (false, true) => Kind::FetchStore,
        (true, true) => Kind::FetchModify,
    }
}

/// Parses a number of at most `most` digits in base `radix`.
fn number(text: &str, most: usize, radix: u32) -> Option<u64> {
    let valid = (1..=most).contains(&text.len()) && text.chars().all(|digit| digit.is_digit(radix));
    valid.then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

fn size(text: &str) -> Option<u16> {
    number(text, 4, 10).filter(|size| (1..=4096).contains(size)).map(|size| size as u16)
}

/// Returns the reference on a line. A line has `I`, ` L`, ` S` or ` M`, the address, a comma, and the size.
fn reference(line: &[u8]) -> Option<Reference> {
    let line = str::from_utf8(line).ok()?;
    let (lead, rest) = line.split_at_checked(3)?;
    let kind = match lead {
        "I  " => Kind::FetchOther,
        " L " => Kind::Load,
        " S " => Kind::Store,
        " M " => Kind::Modify,
        _ => return None,
    };
    let (address, bytes) = rest.split_once(',')?;
    Some(Reference::new(number(address, 16, 16)?, size(bytes)?, kind))
}
