//! A thread of the recorded program, and its references.

use std::time::{Duration, Instant};

use refs::{Cause, Describe, Encoder, Frame, Log, Order, block_word};

use crate::lock_call::{BlockFacts, LockCalls};
use crate::only::FunctionTracker;
use crate::process::Process;
use crate::share::Share;

/// At a system call, the recorder writes a thread's references if the last write was at least this long ago, and at least the thread's age
/// divided by [`TIMES`]. A recording then has few frames, and still loses few references if the program is killed.
const PERIOD: Duration = Duration::from_millis(2);
const TIMES: u32 = 100;

/// The length of a log, in words (32 MiB), at which the log is encoded even if the thread holds a lock. The section of that lock then keeps
/// its recorded place among the lock's sections.
const MAX_SECTION_WORDS: usize = 16 * Log::FULL;

/// A thread, and its references since the last frame.
pub(crate) struct Thread {
    pub(crate) log: Log,
    pub(crate) number: u32,
    pub(crate) locks: LockCalls,
    /// If the log has at least this length, in words, each new block is examined. The length is 0 while the thread executes a lock
    /// function.
    examine_threshold: usize,
    /// The address of the word that the kernel clears when the thread has ended.
    pub(crate) tid: Option<u64>,
    /// The address of the futex that the thread waits for; `None` if the thread does not wait for a futex.
    pub(crate) waited_futex: Option<u64>,
    /// The time in nanoseconds for which the thread sleeps; `None` if the thread does not sleep.
    pub(crate) sleeps: Option<u64>,
    /// The address where the kernel writes a child process's status, or 0.
    pub(crate) status: u64,
    /// The memory that the thread is mapping.
    pub(crate) shares: Option<Share>,
    /// Whether the thread is inside the function that is recorded alone, if there is one.
    pub(crate) tracker: FunctionTracker,
    encoder: Encoder,
    frame: Frame,
    began: Instant,
    wrote: Instant,
}

impl Thread {
    pub(crate) fn new(number: u32, tid: Option<u64>, describe: Describe) -> Self {
        Self {
            log: Log::new(describe),
            number,
            locks: LockCalls::default(),
            examine_threshold: Log::FULL,
            tid,
            waited_futex: None,
            sleeps: None,
            status: 0,
            shares: None,
            tracker: FunctionTracker::default(),
            encoder: Encoder::new(number),
            frame: Frame::default(),
            began: Instant::now(),
            wrote: Instant::now(),
        }
    }

    /// Logs the start of a block.
    pub(crate) fn block(&mut self, process: &Process, block: BlockFacts) {
        if self.log.len() >= self.examine_threshold || block.entered().is_some() {
            self.examine(process, block);
        }
        self.log.words().push(block_word(block.0));
    }

    /// Returns the length of the log, in words, from which [`block`](Self::block) examines each block.
    pub(crate) fn examine_threshold(&self) -> usize {
        self.examine_threshold
    }

    /// Logs the start of a block if any thread is executing the function that is recorded alone. `enters` is `true` if the block is the
    /// function's first. Returns `true` if all blocks have to be translated again.
    pub(crate) fn block_if_recorded(
        &mut self,
        process: &Process,
        block: BlockFacts,
        enters: bool,
    ) -> bool {
        let Some(only) = &process.only else { return false };
        let verdict = only.block(&mut self.tracker, block, enters);
        if verdict.is_recorded {
            self.block(process, block);
        } else if verdict.pauses && self.locks.is_open() {
            self.locks.pause(self.number, &mut self.log, process.shared());
            self.examine_threshold = Log::FULL;
        }
        verdict.needs_retranslation
    }

    /// Examines a block before its start is logged, because the block may belong to a lock function, or the log may be full.
    #[cold]
    fn examine(&mut self, process: &Process, block: BlockFacts) {
        let (number, shared) = (self.number, process.shared());
        self.locks.block(block, number, &mut self.log, shared);
        if self.locks.is_inside() {
            self.examine_threshold = 0;
            return;
        }
        let length = self.log.len();
        let is_full = length >= if self.locks.is_open() { MAX_SECTION_WORDS } else { Log::FULL };
        self.examine_threshold = Log::FULL.max(length + 1);
        if is_full {
            self.write(process, false);
            self.examine_threshold = Log::FULL;
        }
    }

    /// Logs an access of the current block. `words` are the words of the access in the log.
    pub(crate) fn access(&mut self, words: [u64; 2]) {
        self.log.words().extend(words);
    }

    /// If a load of `address` joins a thread, logs the wait for the thread's end.
    pub(crate) fn join(&mut self, process: &Process, address: u64) {
        if let Some(end) = process.orders.joined(address) {
            self.log.order(Order::Wait(Cause::Thread, end));
        }
    }

    /// Writes the thread's references, unless the last write was recent. The current block must have ended.
    pub(crate) fn write_if_due(&mut self, process: &Process) {
        if self.locks.is_open() {
            return;
        }
        let now = Instant::now();
        if now - self.wrote >= PERIOD.max((now - self.began) / TIMES) {
            self.write(process, true);
        }
    }

    /// Writes the thread's references. If `ended` is `false`, the latest block stays in the log, because only the next block shows whether
    /// the branch at its end was taken.
    #[cold]
    pub(crate) fn write(&mut self, process: &Process, ended: bool) {
        self.locks.close(self.number, &mut self.log, process.shared());
        let Self { log, encoder, frame, .. } = self;
        match encoder.encode(log, ended, &process.definitions, frame) {
            Ok(Some(instructions)) => {
                process.output.references(frame, instructions, &process.definitions);
            }
            Ok(None) => {}
            Err(error) => process.output.stop("ends", &error.to_string()),
        }
        self.wrote = Instant::now();
    }
}
