//! Recordings in memory.

use std::collections::VecDeque;

use super::chunk::Chunk;
use super::source::Progress;

/// The chunks of all threads.
pub(super) struct Threads {
    pub(super) threads: Vec<VecDeque<Chunk>>,
    /// The strands of the threads, if the recording names them.
    pub(super) strands: Vec<usize>,
    pub(super) progress: Progress,
}

impl Threads {
    pub(super) fn new(threads: Vec<Vec<Chunk>>) -> Self {
        Self {
            threads: threads.into_iter().map(VecDeque::from).collect(),
            strands: Vec::new(),
            progress: Progress { read: 0, total: Some(0) },
        }
    }

    /// Moves the next chunk of a thread into `chunk`. Returns `false`, with an empty chunk, at the thread's end.
    pub(super) fn next_chunk(&mut self, thread: usize, chunk: &mut Chunk) -> bool {
        let next = self.threads.get_mut(thread).and_then(VecDeque::pop_front);
        let any = next.is_some();
        *chunk = next.unwrap_or_default();
        any
    }
}
