//! Memory that processes share.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Memory that a thread maps and shares with other processes.
pub(crate) struct Share {
    length: u64,
    /// The device and inode numbers of the file; `None` if the memory belongs to no file.
    file: Option<(u64, u64)>,
    offset: u64,
}

impl Share {
    pub(crate) fn new(length: u64, file: i32, offset: u64) -> Self {
        let metadata = fs::metadata(format!("/proc/self/fd/{file}")).ok();
        let file = metadata.filter(fs::Metadata::is_file);
        Self { length, file: file.map(|file| (file.dev(), file.ino())), offset }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, offset, .. } = self;
        match self.file {
            Some((device, number)) => write!(f, "{length} {device}:{number} {offset}"),
            None => write!(f, "{length}"),
        }
    }
}
