//! The headers of frames, and their limits.

use refs::{FRAME_HEADER, FrameKind, hash};

/// The maximum number of bytes in a frame's content.
pub(super) const MAX_CONTENT_BYTES: u32 = 1 << 24;

/// The maximum number of references in a frame. The size of the content does not limit this number, because correctly predicted
/// references take little room.
const MAX_REFERENCES: u64 = 1 << 28;

/// The maximum number of threads in a recording.
pub(super) const MAX_THREADS: u32 = 1 << 16;

/// A frame header that has been checked.
#[derive(Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) kind: u8,
    pub(super) is_zstd: bool,
    pub(super) thread: u32,
    pub(super) content: u32,
    pub(super) stored: u32,
    pub(super) references: u64,
    pub(super) sum: u32,
}

impl FrameHeader {
    /// Returns the header in these bytes; `None` if they are not a valid header.
    pub(super) fn new(bytes: &[u8; FRAME_HEADER]) -> Option<Self> {
        let word = |at: usize| {
            let (word, _) = bytes[at..].split_first_chunk()?;
            Some(u32::from_le_bytes(*word))
        };
        let header = Self {
            kind: bytes[0],
            is_zstd: bytes[1] == 1,
            thread: word(4)?,
            content: word(8)?,
            stored: word(12)?,
            references: u64::from(word(16)?) | u64::from(word(20)?) << 32,
            sum: word(28)?,
        };
        let is_right = hash(&bytes[..24]) == word(24)?
            && bytes[1..4] == [u8::from(header.is_zstd), 0, 0]
            && header.thread < MAX_THREADS
            && header.content <= MAX_CONTENT_BYTES
            && (header.references <= MAX_REFERENCES || header.kind == FrameKind::End as u8)
            && header.stored <= MAX_CONTENT_BYTES + (1 << 16)
            && (header.is_zstd || header.stored == header.content);
        is_right.then_some(header)
    }
}
