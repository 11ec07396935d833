//! Reads zip archives. The content is that of all members, in the order of the archive's directory.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use flate2::bufread::DeflateDecoder;
use rawzip::{
    CompressionMethod, FileReader, RECOMMENDED_BUFFER_SIZE, RangeReader, ZipArchive,
    ZipArchiveEntryWayfinder,
};

use super::counted::Counted;

/// Decompresses an archive's members one after the other, and verifies their checksums.
pub(super) struct Members {
    file: File,
    archive: ZipArchive<FileReader>,
    members: std::vec::IntoIter<Member>,
    current: Option<Box<dyn Read + Send>>,
    /// The number of bytes read from the file so far.
    read: Arc<AtomicU64>,
}

/// A member of the archive: where it is, and how it is compressed.
struct Member {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

impl Members {
    /// Reads the archive's directory.
    pub(super) fn new(file: File, read: Arc<AtomicU64>) -> io::Result<Self> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive =
            ZipArchive::from_file(file.try_clone()?, &mut buffer).map_err(io::Error::other)?;
        let mut members = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        while let Some(entry) = entries.next_entry().map_err(io::Error::other)? {
            if !entry.is_dir() {
                let (place, method) = (entry.wayfinder(), entry.compression_method());
                members.push(Member { place, method });
            }
        }
        Ok(Self { file, archive, members: members.into_iter(), current: None, read })
    }

    fn open(&self, member: &Member) -> io::Result<Box<dyn Read + Send>> {
        let entry = self.archive.get_entry(member.place).map_err(io::Error::other)?;
        let (start, end) = entry.compressed_data_range();
        let file = FileReader::from(self.file.try_clone()?);
        let stored =
            Counted { stream: RangeReader::new(file, start..end), read: Arc::clone(&self.read) };
        Ok(match member.method {
            CompressionMethod::STORE => Box::new(entry.verifying_reader(stored)),
            CompressionMethod::DEFLATE => {
                let stored = BufReader::with_capacity(1 << 16, stored);
                Box::new(entry.verifying_reader(DeflateDecoder::new(stored)))
            }
            _ => return Err(io::Error::other("a member that is not deflated")),
        })
    }
}

impl Read for Members {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(current) = &mut self.current {
                let count = current.read(buffer)?;
                if count > 0 || buffer.is_empty() {
                    return Ok(count);
                }
            }
            let Some(next) = self.members.next() else {
                return Ok(0);
            };
            self.current = Some(self.open(&next)?);
        }
    }
}
