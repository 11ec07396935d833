//! A thread of the program.

use std::time::{Duration, Instant};

use simulator::recording::Order;
use simulator::recording::native::{Encoder, Frame, Log};

use crate::output::Compressed;
use crate::process::Process;

/// A thread writes its references at a system call if this time has passed since it wrote, and a hundredth of its life: so that
/// little is lost if the program is killed, and frames are few.
const PERIOD: Duration = Duration::from_millis(2);
const TIMES: u32 = 100;

/// What a thread has done since it wrote to the file, and what it is about to do.
pub(crate) struct Thread {
    pub(crate) log: Log,
    pub(crate) number: u32,
    /// Instructions of the blocks that it has executed since it wrote.
    instructions: u64,
    /// The address of the word that the kernel clears when the thread has ended.
    pub(crate) tid: Option<u64>,
    /// The futex that the thread waits for.
    pub(crate) waits: Option<u64>,
    encoder: Encoder,
    frame: Frame,
    compressed: Compressed,
    began: Instant,
    wrote: Instant,
}

impl Thread {
    /// Returns a new thread.
    pub(crate) fn new(number: u32, tid: Option<u64>) -> Self {
        Self {
            log: Log::new(),
            number,
            instructions: 0,
            tid,
            waits: None,
            encoder: Encoder::new(number),
            frame: Frame::new(),
            compressed: Compressed::new(),
            began: Instant::now(),
            wrote: Instant::now(),
        }
    }

    /// A block begins to execute, with so many instructions.
    #[inline(always)]
    pub(crate) fn block(&mut self, process: &Process, block: u32, instructions: u32) {
        if self.log.is_full() {
            self.write(process, false);
        }
        self.instructions += u64::from(instructions);
        self.log.block(block);
    }

    /// An instruction of the block loads.
    #[inline(always)]
    pub(crate) fn load(
        &mut self,
        process: &Process,
        instruction: u16,
        size_log2: u8,
        address: u64,
    ) {
        self.log.access(instruction, false, size_log2, address);
        if process.orders.may_join(address) {
            self.join(process, address);
        }
    }

    #[cold]
    fn join(&mut self, process: &Process, address: u64) {
        if let Some(end) = process.orders.joined(address) {
            self.log.order(Order::Wait(end));
        }
    }

    /// Writes what was done, if the thread has not for a while. The block that executes has come to its end.
    pub(crate) fn write_now_and_then(&mut self, process: &Process) {
        let now = Instant::now();
        if now - self.wrote >= PERIOD.max((now - self.began) / TIMES) {
            self.write(process, true);
        }
    }

    /// Writes what was done; the block that executes only if it has come to its end.
    #[cold]
    pub(crate) fn write(&mut self, process: &Process, ended: bool) {
        let Self {
            log,
            encoder,
            frame,
            ..
        } = self;
        let encoded = match ended {
            true => encoder.finish(log, &process.definitions, frame),
            false => encoder.encode(log, &process.definitions, frame),
        };
        match encoded {
            Ok(true) => {
                let instructions = std::mem::take(&mut self.instructions);
                let compressed = &mut self.compressed;
                process
                    .output
                    .references(frame, instructions, &process.definitions, compressed);
            }
            Ok(false) => {}
            Err(error) => process.output.stop("ends", &error.to_string()),
        }
        self.wrote = Instant::now();
    }
}
