use super::bytes::{hash, put_text, put_varint};

/// The first bytes of a file: a magic number, the format's [version](VERSION), and zeros.
pub const FILE_HEADER: [u8; 16] = *b"\x8fVFREFS\n\x02\0\0\0\0\0\0\0";

/// The format's version. Readers reject files of other versions. Version 1 did not mark atomic instructions.
pub const VERSION: u32 = FILE_HEADER[8] as u32;

/// The length of a frame's header, in bytes.
pub const FRAME_HEADER: usize = 32;

/// The part of a recording that a frame contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// The architecture and the command line of the recorded program.
    Program = 1,
    /// Files that the program mapped into memory.
    Mappings = 2,
    /// Definitions of the blocks and shapes that frames of references use.
    Definitions = 3,
    /// A part of one thread's references.
    References = 4,
    /// A note from the recorder, which users need to understand the results.
    Note = 5,
    /// The end of the recording, with the program's exit status if it exited by itself.
    End = 6,
    /// The process that executed the program, and the memory that it shared with other processes.
    Process = 7,
    /// A sentence about an action of the program that the recording does not contain.
    Missing = 8,
}

/// How a frame's content is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stored {
    /// The content is stored uncompressed.
    Plain = 0,
    /// The content is compressed as one zstd frame.
    Zstd = 1,
}

/// A frame before compression. To write a frame, compress its [`content`](Self::content), then write its [`header`](Self::header) and
/// the compressed content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What the content is.
    pub kind: FrameKind,
    /// In a frame of references, the thread's number; otherwise 0.
    pub thread: u32,
    /// The number of references in the frame; in the frame that ends a file, the total over all frames.
    pub references: u64,
    /// The uncompressed content. The [format's documentation](crate) describes it for each kind.
    pub content: Vec<u8>,
}

impl Frame {
    fn with_content(kind: FrameKind, content: Vec<u8>) -> Self {
        Self { kind, thread: 0, references: 0, content }
    }

    /// Returns the frame that names the program.
    pub fn program(program: &Program) -> Self {
        let mut content = Vec::new();
        put_text(&mut content, &program.target);
        put_varint(&mut content, program.command.len() as u64);
        for argument in &program.command {
            put_text(&mut content, argument);
        }
        Self::with_content(FrameKind::Program, content)
    }

    /// Returns a frame with files that the program mapped into memory. A recording may have several such frames.
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
        Self::with_content(FrameKind::Mappings, content)
    }

    /// Returns a frame with a note for the users who read the results.
    pub fn note(text: &str) -> Self {
        Self::with_content(FrameKind::Note, text.as_bytes().to_vec())
    }

    /// Returns a frame with a sentence about something that is not in the recording.
    pub fn missing(text: &str) -> Self {
        Self::with_content(FrameKind::Missing, text.as_bytes().to_vec())
    }

    /// Returns the frame that describes the process.
    pub fn process(process: &Process) -> Self {
        let mut content = Vec::new();
        put_varint(&mut content, process.number.into());
        put_varint(&mut content, process.ends.map_or(0, |first| u64::from(first) + 1));
        put_varint(&mut content, process.shared.len() as u64);
        for range in &process.shared {
            put_varint(&mut content, range.start);
            put_varint(&mut content, range.end.wrapping_sub(range.start));
            put_varint(&mut content, range.owner.into());
            put_varint(&mut content, range.owner_start);
        }
        Self::with_content(FrameKind::Process, content)
    }

    /// Returns the frame that ends the recording of a process. `references` is the total number of references. `status` is the program's
    /// exit status; `None` if the program did not exit by itself.
    pub fn end(references: u64, status: Option<u8>) -> Self {
        let content = status.into_iter().collect();
        Self { references, ..Self::with_content(FrameKind::End, content) }
    }

    /// Returns the header of this frame. `data` is the content as stored.
    pub fn header(&self, stored: Stored, data: &[u8]) -> [u8; FRAME_HEADER] {
        let mut header = [0; FRAME_HEADER];
        header[0] = self.kind as u8;
        header[4..8].copy_from_slice(&self.thread.to_le_bytes());
        header[8..12].copy_from_slice(&(self.content.len() as u32).to_le_bytes());
        header[16..24].copy_from_slice(&self.references.to_le_bytes());
        with_data(header, stored, data)
    }
}

/// Returns this header, completed for the stored `data`: how the data are stored, their length, and their checksum.
pub fn with_data(
    mut header: [u8; FRAME_HEADER],
    stored: Stored,
    data: &[u8],
) -> [u8; FRAME_HEADER] {
    header[1] = stored as u8;
    header[12..16].copy_from_slice(&(data.len() as u32).to_le_bytes());
    let sum = hash(&header[..24]);
    header[24..28].copy_from_slice(&sum.to_le_bytes());
    header[28..].copy_from_slice(&hash(data).to_le_bytes());
    header
}

impl Default for Frame {
    /// Returns an empty frame, to be filled and reused.
    fn default() -> Self {
        Self::with_content(FrameKind::References, Vec::new())
    }
}

/// The program that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// QEMU's name for the program's architecture, such as `x86_64` or `sparc64`.
    pub target: String,
    /// The words of the command line.
    pub command: Vec<String>,
}

/// A recorded process. If a process replaces its program, the new program counts as a further process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// The process's number in the file. The process that the user started has the number 0.
    pub number: u32,
    /// The number of the process that ends after this process's last reference. Usually, this is the process's own number. If this process
    /// is the new program of an earlier process, the number is lower: it belongs to a process whose program has been replaced. `None` if
    /// this process has itself replaced its program; it then ends when the new program ends.
    pub ends: Option<u32>,
    /// The memory that the process shares with other processes.
    pub shared: Vec<SharedRange>,
}

/// Memory that a process shares with the process that first mapped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRange {
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last byte.
    pub end: u64,
    /// The number of the process that first mapped this memory.
    pub owner: u32,
    /// The address of the first byte in that process.
    pub owner_start: u64,
}

/// A file that was mapped into the memory of the recorded program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Mapping {
    /// The address of the mapping's first byte.
    pub start: u64,
    /// The address after the mapping's last byte.
    pub end: u64,
    /// The offset of the mapping's first byte in the file.
    pub offset: u64,
    /// The file's path during the recording.
    pub path: String,
    /// The file's build id; empty if the file has none.
    pub build_id: Vec<u8>,
}
