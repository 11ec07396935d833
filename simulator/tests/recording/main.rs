//! Tests how recordings are read: in each format, in blocks, from files, and in advance by a
//! separate thread.

mod ahead;
mod blocks;
mod bundled;
mod files;
mod format;
mod native;
mod others;
mod properties;
mod text;

use std::io::{Cursor, Read, Write};
use std::path::PathBuf;
use std::{fs, process};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use simulator::recording::{Chunk, Kind, Order, Recording, RecordingError, Reference};

pub(crate) fn blocks(mut reader: Recording) -> Result<Vec<Vec<Reference>>, RecordingError> {
    let (mut blocks, mut block) = (Vec::new(), Chunk::default());
    while reader.next_chunk(0, &mut block)? {
        blocks.push(block.references().iter().collect());
    }
    assert!(block.is_empty());
    Ok(blocks)
}

pub(crate) fn read(stream: impl Read + Send + 'static) -> Result<Vec<Reference>, RecordingError> {
    let blocks = Recording::from_reader("refs", stream, None).and_then(blocks)?;
    Ok(blocks.concat())
}

pub(crate) fn read_bytes(bytes: impl Into<Vec<u8>>) -> Result<Vec<Reference>, RecordingError> {
    read(Cursor::new(bytes.into()))
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

pub(crate) fn reference(kind: Kind, address: u64, size: u16) -> Reference {
    Reference::new(address, size, kind)
}

/// Opens a recording with these bytes.
pub(crate) fn open(content: impl Into<Vec<u8>>) -> Result<Recording, RecordingError> {
    Recording::from_reader("refs", Cursor::new(content.into()), None)
}

/// A thread's references and orders. Each order comes with the number of references before it.
pub(crate) type Thread = (Vec<Reference>, Vec<(usize, Order)>);

/// Reads each thread to the end.
pub(crate) fn threads(recording: &mut Recording) -> Result<Vec<Thread>, RecordingError> {
    let (mut threads, mut chunk) = (Vec::new(), Chunk::default());
    for thread in 0..recording.threads() {
        let (mut references, mut order) = Thread::default();
        while recording.next_chunk(thread, &mut chunk)? {
            let before = references.len();
            order.extend(chunk.order.iter().map(|(at, order)| (before + at, *order)));
            references.extend(chunk.references().iter());
        }
        assert!(chunk.is_empty());
        threads.push((references, order));
    }
    Ok(threads)
}

/// Writes a file whose name no other test uses.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let name = format!("{}-{name}", process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).unwrap();
    path
}
