use std::time::{Duration, Instant};

use refs::{Encoder, Frame, Log, Order};

use crate::process::Process;

/// The minimum time between two writes of a thread's references at system calls, or a hundredth of the thread's age if that is
/// longer. So frames are few, and a program that is killed loses little.
const PERIOD: Duration = Duration::from_millis(2);
const TIMES: u32 = 100;

/// A thread, and its references since its previous frame.
pub(crate) struct Thread {
    pub(crate) log: Log,
    pub(crate) number: u32,
    /// The number of instructions since the previous frame.
    instructions: u64,
    /// The address of the word that the kernel clears when the thread has ended.
    pub(crate) tid: Option<u64>,
    /// The futex that the thread waits for.
    pub(crate) waits: Option<u64>,
    encoder: Encoder,
    frame: Frame,
    began: Instant,
    wrote: Instant,
}

impl Thread {
    pub(crate) fn new(number: u32, tid: Option<u64>) -> Self {
        Self {
            log: Log::default(),
            number,
            instructions: 0,
            tid,
            waits: None,
            encoder: Encoder::new(number),
            frame: Frame::default(),
            began: Instant::now(),
            wrote: Instant::now(),
        }
    }

    /// Logs the start of a block with `instructions` instructions.
    #[inline(always)]
    pub(crate) fn block(&mut self, process: &Process, block: u32, instructions: u32) {
        if self.log.is_full() {
            self.write(process, false);
        }
        self.instructions += u64::from(instructions);
        self.log.block(block);
    }

    /// Logs a load of the current block. If the load joins a thread, also logs that thread's end.
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

    /// Writes the references, unless they were last written only a short time ago. The current block must have ended.
    pub(crate) fn write_now_and_then(&mut self, process: &Process) {
        let now = Instant::now();
        if now - self.wrote >= PERIOD.max((now - self.began) / TIMES) {
            self.write(process, true);
        }
    }

    /// Writes the references. The current block is written only if it has `ended`.
    #[cold]
    pub(crate) fn write(&mut self, process: &Process, ended: bool) {
        let Self { log, encoder, frame, .. } = self;
        match encoder.encode(log, ended, &process.definitions, frame) {
            Ok(true) => {
                let instructions = std::mem::take(&mut self.instructions);
                process.output.references(frame, instructions, &process.definitions);
            }
            Ok(false) => {}
            Err(error) => process.output.stop("ends", &error.to_string()),
        }
        self.wrote = Instant::now();
    }
}
