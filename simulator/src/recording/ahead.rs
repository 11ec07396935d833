//! A recording is read and decoded in a thread of its own, ahead of who uses it.
//!
//! The thread reads what it is asked for, in order, and ends when nobody can ask any more. So the requests that are under way bound
//! how much is read ahead.

use std::collections::VecDeque;
use std::io;
use std::panic;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::chunk::Chunk;
use super::error::RecordingError;
use super::recording::Reader;
use super::source::Progress;

/// So many chunks are read ahead at most: one for each strand of the largest machine.
const MOST: usize = 256;

/// A request for the next chunk of a thread. It has a chunk to write over.
struct Request {
    thread: usize,
    chunk: Chunk,
}

/// What was read, and how many bytes of the recording were needed for it.
struct Piece {
    thread: usize,
    chunk: Chunk,
    result: Result<bool, RecordingError>,
    read: u64,
}

/// A thread of a recording.
#[derive(Default)]
struct Lane {
    /// What has been read, and how many requests are under way.
    pieces: VecDeque<Piece>,
    asked: usize,
    ended: bool,
}

/// A recording that is read ahead.
pub(super) struct Ahead {
    requests: Sender<Request>,
    pieces: Receiver<Piece>,
    /// Ends once `requests` is gone: at once, or when it has read what it is reading. Nobody waits for that, as there may never be
    /// more in a pipe.
    thread: Option<JoinHandle<()>>,
    lanes: Vec<Lane>,
    /// How many chunks are read ahead of each thread.
    depth: usize,
    /// How many chunks of all threads have been asked for, and not been used.
    ahead: usize,
    progress: Progress,
}

impl Ahead {
    /// Reads the threads of a recording ahead. If the host has no thread for it, the reader comes back.
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

    /// Returns the progress of who uses the recording.
    pub(super) fn progress(&self) -> Progress {
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
        if self.held(thread) == 0 {
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
        while self.held(thread) < self.depth && self.ahead < MOST {
            self.ask(thread, used.take().unwrap_or_default());
        }
        Ok(true)
    }

    /// Returns how many chunks of a thread have been asked for, and not been used.
    fn held(&self, thread: usize) -> usize {
        let lane = &self.lanes[thread];
        lane.asked + lane.pieces.len()
    }

    /// Returns what the thread does next, for which there is a request.
    fn wait(&mut self, thread: usize) -> Piece {
        while let Ok(piece) = self.pieces.try_recv() {
            self.keep(piece);
        }
        loop {
            if let Some(piece) = self.lanes[thread].pieces.pop_front() {
                self.ahead -= 1;
                return piece;
            }
            let Ok(piece) = self.pieces.recv() else {
                self.fail();
            };
            self.keep(piece);
        }
    }

    fn keep(&mut self, piece: Piece) {
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
        // If the thread has panicked, that is found when its answer is missing.
        let _ = self.requests.send(Request { thread, chunk });
    }

    /// The thread has ended, though somebody can ask it: it panicked.
    fn fail(&mut self) -> ! {
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(cause)) => panic::resume_unwind(cause),
            _ => unreachable!("it reads as long as it is asked"),
        }
    }
}

/// Reads what is asked for, until nobody can ask or wants it any more.
fn read(mut reader: Reader, requests: &Receiver<Request>, pieces: &Sender<Piece>) {
    for Request { thread, mut chunk } in requests {
        let before = reader.progress().read;
        let result = reader.next_chunk(thread, &mut chunk);
        let read = reader.progress().read - before;
        let piece = Piece {
            thread,
            chunk,
            result,
            read,
        };
        if pieces.send(piece).is_err() {
            return;
        }
    }
}
