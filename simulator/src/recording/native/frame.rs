//! Frames, which a file consists of.

use super::super::Mapping;
use super::bytes::{hash, put_text, put_varint};

/// What a file begins with.
pub(in super::super) const MAGIC: [u8; 8] = *b"\x8fVFREFS\n";

/// A file begins with this: what it is, the version of the format (1), and 0.
pub const FILE_HEADER: [u8; 16] = *b"\x8fVFREFS\n\x01\0\0\0\0\0\0\0";

/// The length of a frame's header.
pub const FRAME_HEADER: usize = 32;

/// What a frame has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// The program that was recorded.
    Program = 1,
    /// Files that it had in memory.
    Mappings = 2,
    /// Blocks, and shapes of their executions.
    Definitions = 3,
    /// What one thread did.
    References = 4,
    /// What a reader of results should know.
    Note = 5,
    /// The end of the program.
    End = 6,
}

/// How the content of a frame is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stored {
    /// As it is.
    Plain = 0,
    /// As one zstd frame.
    Zstd = 1,
}

/// A frame before compression. To write it: compress [`content`](Self::content), then write [`header`](Self::header) and
/// what was compressed, with nothing between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it has.
    pub kind: FrameKind,
    /// The number of the thread, of references.
    pub thread: u32,
    /// The number of references.
    pub references: u64,
    /// What is to be compressed.
    pub content: Vec<u8>,
}

impl Frame {
    /// Returns an empty frame, to be filled and used again.
    #[must_use]
    pub fn new() -> Self {
        Self::of(FrameKind::References, Vec::new())
    }

    fn of(kind: FrameKind, content: Vec<u8>) -> Self {
        Self {
            kind,
            thread: 0,
            references: 0,
            content,
        }
    }

    /// Returns the frame that names the program.
    #[must_use]
    pub fn program(program: &Program) -> Self {
        let mut content = Vec::new();
        put_text(&mut content, &program.target);
        put_varint(&mut content, program.command.len() as u64);
        for argument in &program.command {
            put_text(&mut content, argument);
        }
        Self::of(FrameKind::Program, content)
    }

    /// Returns a frame with files that the program had in memory. There may be several frames of them.
    #[must_use]
    pub fn mappings(mappings: &[Mapping]) -> Self {
        let mut content = Vec::new();
        put_varint(&mut content, mappings.len() as u64);
        for mapping in mappings {
            put_varint(&mut content, mapping.start);
            put_varint(&mut content, mapping.end.wrapping_sub(mapping.start));
            put_varint(&mut content, mapping.offset);
            put_text(&mut content, &mapping.path);
            put_varint(&mut content, mapping.build_id.len() as u64);
            content.extend_from_slice(&mapping.build_id);
        }
        Self::of(FrameKind::Mappings, content)
    }

    /// Returns a frame with a [note](super::super::Recording::notes).
    #[must_use]
    pub fn note(text: &str) -> Self {
        Self::of(FrameKind::Note, text.as_bytes().to_vec())
    }

    /// Returns the frame that ends a file: the number of all references, and the status with which the program exited, if
    /// it did by itself.
    #[must_use]
    pub fn end(references: u64, status: Option<u8>) -> Self {
        let content = status.into_iter().collect();
        Self {
            references,
            ..Self::of(FrameKind::End, content)
        }
    }

    /// Returns the header of this frame, whose content is stored as `data`.
    #[must_use]
    pub fn header(&self, stored: Stored, data: &[u8]) -> [u8; FRAME_HEADER] {
        let mut header = [0; FRAME_HEADER];
        header[0] = self.kind as u8;
        header[1] = stored as u8;
        header[4..8].copy_from_slice(&self.thread.to_le_bytes());
        header[8..12].copy_from_slice(&(self.content.len() as u32).to_le_bytes());
        header[12..16].copy_from_slice(&(data.len() as u32).to_le_bytes());
        header[16..24].copy_from_slice(&self.references.to_le_bytes());
        let sum = hash(&header[..24]);
        header[24..28].copy_from_slice(&sum.to_le_bytes());
        header[28..].copy_from_slice(&hash(data).to_le_bytes());
        header
    }
}

impl Default for Frame {
    fn default() -> Self {
        Self::new()
    }
}

/// The program that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The machine that it is for, in the emulator's words: `x86_64`, `sparc64`.
    pub target: String,
    /// Its command line.
    pub command: Vec<String>,
}
