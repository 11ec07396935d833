//! Reads and decodes a recording in a separate thread, before the data are needed.
//!
//! The thread serves requests in order, and ends when the requests' sender is dropped. The number of requests under way bounds how
//! far the thread reads ahead.

use std::collections::VecDeque;
use std::io;
use std::panic;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::chunk::Chunk;
use super::error::RecordingError;
use super::formats::Reader;
use super::source::BytesRead;

/// The maximum number of chunks that are read ahead: one for each strand of the largest machine.
const MAX_CHUNKS: usize = 256;

/// A request for a thread's next chunk. `chunk` is storage, and its content is overwritten.
struct ChunkRequest {
    thread: usize,
    chunk: Chunk,
}

/// The answer to a request: the next chunk, and the number of bytes (`read`) that were read for it.
struct ChunkReply {
    thread: usize,
    chunk: Chunk,
    result: Result<bool, RecordingError>,
    read: u64,
}

/// The state of one of the recording's threads.
#[derive(Default)]
struct Lane {
    /// Answers that have arrived but have not been used.
    pieces: VecDeque<ChunkReply>,
    /// The number of requests under way.
    asked: usize,
    ended: bool,
}

/// A recording that is read ahead.
pub(super) struct Ahead {
    requests: Sender<ChunkRequest>,
    pieces: Receiver<ChunkReply>,
    /// The reading thread. It ends after `requests` is dropped and its current read returns. No other thread waits for it to end,
    /// because a read from a pipe may never return.
    thread: Option<JoinHandle<()>>,
    lanes: Vec<Lane>,
    /// The number of chunks to read ahead for each thread.
    depth: usize,
    /// The number of chunks, of all threads together, that have been requested but not used yet.
    ahead: usize,
    progress: BytesRead,
}

impl Ahead {
    /// Starts the reading thread. If the host cannot start one, returns the reader.
    pub(super) fn new(reader: Reader, threads: usize, depth: usize) -> Result<Self, Reader> {
        let (requests, asked) = mpsc::channel();
        let (answers, pieces) = mpsc::channel();
        let (give, take) = mpsc::channel();
        let work = move || {
            if let Ok(reader) = take.recv() {
                read(reader, &asked, &answers);
            }
        };
        let spawned: io::Result<_> = thread::Builder::new().name("recording".into()).spawn(work);
        let Ok(thread) = spawned else {
            return Err(reader);
        };
        let progress = reader.progress();
        give.send(reader).map_err(|unsent| unsent.0)?;
        Ok(Self {
            requests,
            pieces,
            thread: Some(thread),
            lanes: (0..threads).map(|_| Lane::default()).collect(),
            depth,
            ahead: 0,
            progress,
        })
    }

    /// Returns how much of the recording has been used. The reading thread may have read more.
    pub(super) fn progress(&self) -> BytesRead {
        self.progress
    }

    pub(super) fn next_chunk(
        &mut self,
        thread: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        let used = std::mem::take(chunk);
        if self.lanes.get(thread).is_none_or(|lane| lane.ended) {
            return Ok(false);
        }
        if self.outstanding(thread) == 0 {
            self.ask(thread, Chunk::default());
        }
        let piece = self.wait(thread);
        *chunk = piece.chunk;
        self.progress.read += piece.read;
        if !matches!(piece.result, Ok(true)) {
            let lane = &mut self.lanes[thread];
            lane.ended = true;
            self.ahead -= lane.pieces.len();
            lane.pieces.clear();
            return piece.result;
        }
        let mut used = Some(used);
        while self.outstanding(thread) < self.depth && self.ahead < MAX_CHUNKS {
            self.ask(thread, used.take().unwrap_or_default());
        }
        Ok(true)
    }

    /// Returns the number of a thread's chunks that have been requested but not used yet.
    fn outstanding(&self, thread: usize) -> usize {
        let lane = &self.lanes[thread];
        lane.asked + lane.pieces.len()
    }

    /// Waits for a thread's next answer. A request for that thread must be under way.
    fn wait(&mut self, thread: usize) -> ChunkReply {
        while let Ok(piece) = self.pieces.try_recv() {
            self.store_reply(piece);
        }
        loop {
            if let Some(piece) = self.lanes[thread].pieces.pop_front() {
                self.ahead -= 1;
                return piece;
            }
            let Ok(piece) = self.pieces.recv() else {
                self.propagate_panic();
            };
            self.store_reply(piece);
        }
    }

    fn store_reply(&mut self, piece: ChunkReply) {
        let lane = &mut self.lanes[piece.thread];
        lane.asked -= 1;
        match lane.ended {
            true => self.ahead -= 1,
            false => lane.pieces.push_back(piece),
        }
    }

    fn ask(&mut self, thread: usize, chunk: Chunk) {
        self.lanes[thread].asked += 1;
        self.ahead += 1;
        // If the request cannot be sent, the reading thread has panicked. `propagate_panic` reports that when the answer does not come.
        let _ = self.requests.send(ChunkRequest { thread, chunk });
    }

    /// Passes on the reading thread's panic, because that thread ended although `requests` was not dropped.
    fn propagate_panic(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(cause)) => panic::resume_unwind(cause),
            _ => unreachable!("the thread reads until `requests` is dropped"),
        }
    }
}

/// Serves requests until either channel is closed.
fn read(mut reader: Reader, requests: &Receiver<ChunkRequest>, pieces: &Sender<ChunkReply>) {
    for ChunkRequest { thread, mut chunk } in requests {
        let before = reader.progress().read;
        let result = reader.next_chunk(thread, &mut chunk);
        let read = reader.progress().read - before;
        let piece = ChunkReply { thread, chunk, result, read };
        if pieces.send(piece).is_err() {
            return;
        }
    }
}
