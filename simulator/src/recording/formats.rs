//! A reader for recordings in any format.

use std::collections::VecDeque;

use guest_abi::StrandId;

use super::champsim::ChampSimReader;
use super::chunk::Chunk;
use super::drmemtrace::DrmemtraceReader;
use super::error::RecordingError;
use super::lackey::LackeyReader;
use super::native::NativeReader;
use super::source::BytesRead;

/// Reads a recording's references, each thread chunk by chunk.
pub(super) enum Reader {
    Native(Box<NativeReader>),
    Lackey(Box<LackeyReader>),
    Drmemtrace(Box<DrmemtraceReader>),
    ChampSim(Box<ChampSimReader>),
    Memory(MemoryReader),
}

impl Reader {
    pub(super) fn progress(&self) -> BytesRead {
        match self {
            Self::Native(reader) => reader.progress(),
            Self::Lackey(reader) => reader.progress(),
            Self::Drmemtrace(reader) => reader.progress(),
            Self::ChampSim(reader) => reader.progress(),
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
            Self::Drmemtrace(reader) => reader.next_chunk(thread, chunk),
            Self::ChampSim(reader) if thread == 0 => {
                chunk.order.clear();
                reader.next_chunk(chunk)
            }
            Self::Lackey(_) | Self::ChampSim(_) => {
                chunk.clear();
                Ok(false)
            }
            Self::Memory(memory) => Ok(memory.next_chunk(thread, chunk)),
        }
    }
}

/// The chunks of all threads, in memory.
pub(super) struct MemoryReader {
    pub(super) threads: Vec<VecDeque<Chunk>>,
    /// Each thread's strand; empty if the recording does not name the strands.
    pub(super) strands: Vec<StrandId>,
    pub(super) progress: BytesRead,
}

impl MemoryReader {
    pub(super) fn new(threads: Vec<Vec<Chunk>>) -> Self {
        Self {
            threads: threads.into_iter().map(VecDeque::from).collect(),
            strands: Vec::new(),
            progress: BytesRead { read: 0, total: Some(0) },
        }
    }

    /// Returns the number of references that have not been read yet.
    pub(super) fn references(&self) -> u64 {
        self.threads.iter().flatten().map(|chunk| chunk.len() as u64).sum()
    }

    /// Moves a thread's next chunk into `chunk`. At the end of the thread, returns `false` and an empty chunk.
    fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> bool {
        let next = self.threads.get_mut(thread).and_then(VecDeque::pop_front);
        let any = next.is_some();
        *chunk = next.unwrap_or_default();
        any
    }
}
