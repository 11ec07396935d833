//! Recordings of memory references, plain and compressed. However they come, what is read from them is what stands in
//! the text, by a second reader that is slow and plain.

use std::io::{self, Cursor, Read, Write};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use simulator::recording::{BLOCK, BLOCK_SLACK, Kind, RecordingError, RecordingReader, Reference};

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// No recording that is known here.
    Unknown,
    /// One with a line that is wrong, or that is damaged.
    Wrong(Form),
    /// One with so many references.
    Whole(Form, usize),
}

/// How a recording is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// Its text.
    Plain,
    /// Compressed with gzip.
    Gzip,
    /// Compressed with zstd.
    Zstd,
}

/// More references than this are not read: a few bytes can be compressed from very many.
const MOST: usize = 2 * BLOCK;

/// Longer texts are not decompressed by the second reader.
const LONGEST: u64 = 1 << 20;

/// Reads these bytes as a recording.
///
/// # Panics
/// If something does not hold.
pub fn check(bytes: &[u8]) -> Recording {
    let found = read(Cursor::new(bytes.to_vec()));
    let form = match bytes {
        [0x1f, 0x8b, ..] => Form::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Form::Zstd,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] | [b'B', b'Z', b'h', ..] => {
            assert!(found.is_err());
            return Recording::Unknown;
        }
        _ => Form::Plain,
    };
    let in_pieces = read(Bytewise(Cursor::new(bytes.to_vec())));
    match form {
        Form::Plain => {
            assert_eq!(found, in_pieces, "byte by byte it is another recording");
            same(&found, &plain(bytes));
            if found.is_ok() {
                let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
                gzip.write_all(bytes).expect("there is memory enough");
                let gzip = gzip.finish().expect("there is memory enough");
                assert_eq!(read(Cursor::new(gzip)), found, "with gzip");
                let zstd = compress_to_vec(bytes, CompressionLevel::Fastest);
                assert_eq!(read(Cursor::new(zstd)), found, "with zstd");
            }
        }
        Form::Gzip | Form::Zstd => {
            // Of what is damaged and wrong, which is told first depends on the pieces.
            assert_eq!(found.as_ref().ok(), in_pieces.as_ref().ok());
        }
    }
    if form == Form::Gzip {
        let mut text = Vec::new();
        let mut decoder = MultiGzDecoder::new(bytes).take(LONGEST + 1);
        match decoder.read_to_end(&mut text) {
            Ok(length) if length as u64 <= LONGEST => same(&found, &plain(&text)),
            Ok(_) => {}
            Err(_) => assert!(found.is_err(), "damaged, and still whole"),
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

/// The references of a recording, up to [`MOST`].
fn read(stream: impl Read + Send + 'static) -> Result<Vec<Reference>, RecordingError> {
    let mut reader = RecordingReader::from_reader("recording", stream, None)?;
    let (mut all, mut block) = (Vec::new(), Vec::new());
    while all.len() < MOST && reader.next_block(&mut block)? {
        assert!(block.len() <= BLOCK + BLOCK_SLACK);
        all.extend(&block);
    }
    Ok(all)
}

/// A stream that comes byte by byte.
struct Bytewise(Cursor<Vec<u8>>);

impl Read for Bytewise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = buffer.len().min(1);
        self.0.read(&mut buffer[..end])
    }
}

/// Both readers have found the same: the references, or the line that is wrong. Where there is no reference at all, the
/// first one says so, without a line.
fn same(found: &Result<Vec<Reference>, RecordingError>, expected: &Result<Vec<Reference>, u64>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let end = found.len().min(expected.len());
            assert!(
                end == expected.len() || end >= MOST,
                "references are missing"
            );
            assert_eq!(found[..end], expected[..end]);
        }
        (Err(error), Err(line)) => assert_eq!(error.line(), Some(*line), "{error}"),
        (Err(error), Ok(expected)) => {
            assert!(expected.is_empty() && error.line().is_none(), "{error}");
        }
        // It has not come to the wrong line.
        (Ok(found), Err(line)) => assert!(found.len() >= MOST, "line {line} is wrong"),
    }
}

/// The references of a text, or the number of the first line that is wrong.
fn plain(text: &[u8]) -> Result<Vec<Reference>, u64> {
    let mut references = Vec::new();
    let lines = text.split(|byte| *byte == b'\n');
    for (line, number) in lines.zip(1_u64..) {
        let is_message = [b"==", b"--", b"**"]
            .iter()
            .any(|mark| line.starts_with(*mark));
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !is_message && !line.is_empty() {
            references.push(reference(line).ok_or(number)?);
        }
    }
    // A fetch says what its instruction does to data: the references up to the next fetch.
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

/// What a line says: `I`, ` L`, ` S` or ` M`, the address, a comma, the size.
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
    Some(Reference {
        address: u64::from_str_radix(address, 16).ok()?,
        size,
        kind,
    })
}
