//! Recordings of memory references, plain and compressed. The reader finds the same references however the input is split; in
//! texts it finds the same references as a second reader, which is slow and plain.

mod by_hand;
mod native;

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
    /// A recording with a wrong line, or one that is damaged.
    Wrong(Form),
    /// A valid recording with this number of references.
    Whole(Form, usize),
}

/// How a recording is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    Plain,
    Gzip,
    Zstd,
    /// Text that is written by hand.
    ByHand,
    /// Our own format.
    Native,
}

impl Form {
    fn of(bytes: &[u8]) -> Self {
        let head = &bytes[..bytes.len().min(256)];
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x8f, b'V', b'F', b'R', b'E', b'F', b'S', b'\n', ..] => Self::Native,
            _ => match head.trim_ascii_start() {
                [b'#' | b'0'..=b'9', ..] => Self::ByHand,
                _ => Self::Plain,
            },
        }
    }
}

/// The number of references after which reading ends: a small compressed file can hold very many.
const MOST: usize = 2 * BLOCK;

/// The length of the longest text that the second reader decompresses.
const LONGEST: u64 = 1 << 20;

/// Reads these bytes as a recording.
pub fn check(bytes: &[u8]) -> Recording {
    let found = read(Cursor::new(bytes.to_vec()));
    if let [0xfd, b'7', b'z', b'X', b'Z', 0, ..] | [b'B', b'Z', b'h', ..] = bytes {
        assert!(found.is_err());
        return Recording::Unknown;
    }
    let form = Form::of(bytes);
    let in_pieces = read(Bytewise(Cursor::new(bytes.to_vec())));
    match form {
        Form::Gzip | Form::Zstd => {
            // If an input is both damaged and wrong, the pieces decide which error is found first.
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
        Form::Plain => same(&found, &plain(bytes)),
        Form::ByHand => by_hand::check(bytes),
        Form::Native => native::check(bytes),
        Form::Zstd => {}
        Form::Gzip => {
            let mut text = Vec::new();
            let mut decoder = MultiGzDecoder::new(bytes).take(LONGEST + 1);
            let decoded = decoder.read_to_end(&mut text);
            match (decoded, Form::of(&text)) {
                (Ok(length), Form::Plain) if length as u64 <= LONGEST => {
                    same(&found, &plain(&text))
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
            let text = error.to_string();
            assert!(!text.contains(char::is_control), "{text:?}");
            Recording::Wrong(form)
        }
    }
}

/// Returns the first references of a recording's first thread, up to [`MOST`] or a block more.
fn read(stream: impl Read + Send + 'static) -> Result<Vec<Reference>, RecordingError> {
    let mut reader = recording::Recording::from_reader("recording", stream, None)?;
    let (mut all, mut block) = (Vec::new(), Chunk::default());
    while all.len() < MOST && reader.next_chunk(0, &mut block)? {
        assert!(block.len() <= BLOCK + BLOCK_SLACK);
        all.extend(block.references().iter());
    }
    Ok(all)
}

/// A stream that returns one byte at a time.
struct Bytewise(Cursor<Vec<u8>>);

impl Read for Bytewise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(1);
        self.0.read(&mut buffer[..end])
    }
}

/// Asserts that both readers find the same references, or the same wrong line. Only the first reader rejects a recording
/// without references, with an error that has no line.
fn same(found: &Result<Vec<Reference>, RecordingError>, expected: &Result<Vec<Reference>, u64>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let end = found.len().min(expected.len());
            assert!(end == expected.len() || end >= MOST, "references are missing");
            assert_eq!(found[..end], expected[..end]);
        }
        (Err(error), Err(line)) => assert_eq!(error.line(), Some(*line), "{error}"),
        (Err(error), Ok(expected)) => {
            assert!(expected.is_empty() && error.line().is_none(), "{error}");
        }
        // The first reader has not reached the wrong line.
        (Ok(found), Err(line)) => assert!(found.len() >= MOST, "line {line} is wrong"),
    }
}

/// Returns the references of a text, or the number of the first wrong line.
fn plain(text: &[u8]) -> Result<Vec<Reference>, u64> {
    let mut references = Vec::new();
    let lines = text.split(|byte| *byte == b'\n');
    for (line, number) in lines.zip(1_u64..) {
        let is_message = [b"==", b"--", b"**"].iter().any(|mark| line.starts_with(*mark));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !is_message && !line.is_empty() {
            references.push(reference(line).ok_or(number)?);
        }
    }
    // The kind of a fetch depends on the references of its instruction, which are those before the next fetch.
    let (mut loads, mut stores) = (false, false);
    for reference in references.iter_mut().rev() {
        match reference.kind {
            Kind::Load => loads = true,
            Kind::Store => stores = true,
            Kind::Modify => (loads, stores) = (true, true),
            _ => {
                reference.kind = match (loads, stores) {
                    (false, false) => Kind::FetchOther,
                    (true, false) => Kind::FetchLoad,
                    (false, true) => Kind::FetchStore,
                    (true, true) => Kind::FetchModify,
                };
                (loads, stores) = (false, false);
            }
        }
    }
    Ok(references)
}

/// Returns the reference of a line: `I`, ` L`, ` S` or ` M`, the address, a comma, the size.
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
    let (address, size) = rest.split_once(',')?;
    let digits = |text: &str, most, radix| {
        (1..=most).contains(&text.len()) && text.chars().all(|digit| digit.is_digit(radix))
    };
    if !digits(address, 16, 16) || !digits(size, 4, 10) {
        return None;
    }
    let size = size.parse().ok().filter(|size| (1..=4096).contains(size))?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some(Reference::new(address, size, kind))
}
