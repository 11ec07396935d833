//! Recordings: the format, blocks, files, the bundled recording.

mod ahead;
mod blocks;
mod bundled;
mod files;
mod format;
mod native;
mod properties;
mod text;

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use simulator::recording::{Chunk, Kind, Recording, RecordingError, Reference};

pub(crate) fn blocks(mut reader: Recording) -> Result<Vec<Vec<Reference>>, RecordingError> {
    let (mut blocks, mut block) = (Vec::new(), Chunk::default());
    while reader.next_chunk(0, &mut block)? {
        blocks.push(block.references().iter().collect());
    }
    assert!(block.is_empty());
    Ok(blocks)
}

pub(crate) fn read(stream: impl Read + Send + 'static) -> Result<Vec<Reference>, RecordingError> {
    Recording::from_reader("refs", stream, None)
        .and_then(blocks)
        .map(|blocks| blocks.concat())
}

pub(crate) fn read_text(text: &str) -> Result<Vec<Reference>, RecordingError> {
    read(Cursor::new(text.to_owned()))
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
