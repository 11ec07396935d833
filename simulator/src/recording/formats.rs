//! One reader for all formats.

use super::chunk::Chunk;
use super::error::RecordingError;
use super::lackey::LackeyReader;
use super::native::NativeReader;
use super::source::Progress;
use super::threads::Threads;

/// Reads the threads of a recording in the thread of the caller.
pub(super) enum Reader {
    Native(Box<NativeReader>),
    Lackey(Box<LackeyReader>),
    Memory(Threads),
}

impl Reader {
    pub(super) fn progress(&self) -> Progress {
        match self {
            Self::Native(reader) => reader.progress(),
            Self::Lackey(reader) => reader.progress(),
            Self::Memory(memory) => memory.progress,
        }
    }

    pub(super) fn next_chunk(
        &mut self,
        thread: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        match self {
            Self::Native(reader) => reader.next_chunk(thread, chunk),
            Self::Lackey(reader) if thread == 0 => {
                chunk.order.clear();
                reader.next_chunk(chunk)
            }
            Self::Lackey(_) => {
                chunk.clear();
                Ok(false)
            }
            Self::Memory(memory) => Ok(memory.next_chunk(thread, chunk)),
        }
    }
}
