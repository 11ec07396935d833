use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use refs::{Cause, Definitions, Encoder, Frame, Log, Order};

use crate::calls::SystemCall;
use crate::decode::Target;
use crate::functions::Functions;
use crate::lock;
use crate::lock_call::{BlockFacts, LockCalls, Shared};
use crate::mappings::Mappings;
use crate::objects::Objects;
use crate::only::{Only, Whereabouts};
use crate::order::Orders;
use crate::output::Pipes;

/// The state that all threads share.
pub(crate) struct Process {
    pub(crate) target: Target,
    /// The process id of the recorded process. Forked processes are not recorded.
    id: u32,
    pub(crate) definitions: Mutex<Definitions>,
    pub(crate) orders: Orders,
    pub(crate) output: Pipes,
    objects: Objects,
    /// The function that is recorded alone; `None` if everything is recorded.
    pub(crate) only: Option<Only>,
    /// Returns the kernel's number of the calling thread.
    tid: fn() -> u32,
    mappings: Mutex<Mappings>,
    functions: Mutex<Functions>,
    /// Whether the program might have mapped files with code since the mappings were last read.
    maps: AtomicBool,
    threads: AtomicU32,
}

/// The maximum number of threads in a recording.
pub(crate) const MOST_THREADS: u32 = 1 << 16;

#[derive(Clone, Copy)]
struct Start {
    signal: u64,
    /// The address of the word that the kernel clears when the thread has ended.
    tid: Option<u64>,
}

thread_local! {
    /// The thread that this host thread is about to start. [`Process::thread`] takes this value when it is called on this host thread.
    static START: Cell<Option<Start>> = const { Cell::new(None) };
}

impl Process {
    /// Returns this process. Must be called before the emulator loads the program.
    pub(crate) fn new(target: Target, output: Pipes, only: Option<Only>, tid: fn() -> u32) -> Self {
        Self {
            target,
            id: std::process::id(),
            definitions: Mutex::new(Definitions::default()),
            orders: Orders::default(),
            output,
            objects: Objects::default(),
            only,
            tid,
            mappings: Mutex::new(Mappings::before_the_program()),
            functions: Mutex::default(),
            maps: AtomicBool::new(true),
            threads: AtomicU32::new(0),
        }
    }

    /// Returns `true` in the recorded process, `false` in a forked one.
    pub(crate) fn is_own(&self) -> bool {
        std::process::id() == self.id
    }

    /// Defines a block of instructions. Ends the program if there are too many blocks.
    pub(crate) fn block(&self, address: u64, instructions: &[&[u8]]) -> BlockFacts {
        self.look();
        let block = self.target.block(address, instructions);
        let leave = self.target.leave(&block.exit, instructions);
        let number = lock(&self.definitions).block(block);
        let number = number.unwrap_or_else(|error| self.output.stop("ends", &error.to_string()));
        let enters = lock(&self.functions).at(address);
        BlockFacts::new(number, instructions.len(), leave, enters)
    }

    fn shared(&self) -> Shared<'_> {
        let Self { objects, orders, definitions, target, tid, .. } = self;
        Shared { objects, orders, definitions, target: *target, tid: *tid }
    }

    /// Returns the thread that the calling host thread has just started.
    pub(crate) fn thread(&self) -> Thread {
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        if number >= MOST_THREADS {
            self.output.stop("ends", "it has started more threads than a recording can have");
        }
        let start = START.take();
        let tid = start.and_then(|start| start.tid);
        let mut thread = Thread::new(number, tid);
        if let Some(start) = start {
            thread.log.order(Order::Wait(Cause::Start, start.signal));
        }
        if let Some(tid) = tid {
            self.orders.watch(tid, number);
        }
        thread
    }

    /// Notes that a thread enters the kernel.
    pub(crate) fn call(&self, thread: &mut Thread, call: SystemCall) {
        self.look();
        thread.waits = None;
        match call {
            // The thread executes a lock function. The replay decides which thread takes the lock, so this system call is not recorded.
            SystemCall::Wait { .. } | SystemCall::Wake { .. } if thread.locks.is_inside() => {}
            SystemCall::Thread { tid } => {
                let signal = self.orders.signal();
                thread.log.order(Order::Start(signal));
                START.set(Some(Start { signal, tid }));
            }
            SystemCall::Wait { futex } => thread.waits = Some(futex),
            SystemCall::Wake { futex, other } => {
                let signal = self.orders.wake([futex].into_iter().chain(other));
                thread.log.order(Order::Signal(signal));
            }
            SystemCall::Exit => {
                let signal = self.orders.end(thread.tid, thread.number);
                thread.log.order(Order::Signal(signal));
            }
            SystemCall::MapCode => self.maps.store(true, Ordering::Relaxed),
            SystemCall::Exec { path } => {
                if let Some(path) = program_at(path) {
                    thread.write(self, true);
                    self.output.say("turns", &path);
                }
                return;
            }
            SystemCall::Kill => return thread.write(self, true),
            SystemCall::Sleep { time } => thread.sleeps = self.target.time(time),
            SystemCall::Blocking { call } => thread.log.order(Order::Call(call)),
            SystemCall::Process | SystemCall::Other => {}
        }
        thread.write_now_and_then(self);
    }

    /// Notes that a thread returns from the kernel with the result `value`.
    pub(crate) fn returned(&self, thread: &mut Thread, call: SystemCall, value: i64) {
        match call {
            SystemCall::Wait { .. } if value == 0 => {
                let woken = thread.waits.and_then(|futex| self.orders.woken(futex));
                if let Some(signal) = woken {
                    thread.log.order(Order::Wait(Cause::Wake, signal));
                }
            }
            // The value is 0 if no signal has interrupted the sleep. Only then did the sleep take the time that the thread asked for.
            SystemCall::Sleep { .. } if value == 0 => {
                if let Some(time) = thread.sleeps.take() {
                    thread.log.order(Order::Sleep(time));
                }
            }
            SystemCall::Exec { .. } => self.output.say("stays", ""),
            _ => {}
        }
    }

    /// Handles a system call of a forked process. If the call replaces the process's program, sends a message that names the new program.
    pub(crate) fn forked_call(&self, call: SystemCall) {
        if let SystemCall::Exec { path } = call
            && let Some(path) = program_at(path)
        {
            self.output.say("starts", &path);
        }
    }

    /// Notes that the program has exited. Must be called after all threads have written their references.
    pub(crate) fn exited(&self) {
        self.maps.store(true, Ordering::Relaxed);
        self.look();
        self.output.say("exits", "");
    }

    /// Writes the mappings of files that have appeared since the previous call.
    pub(crate) fn look(&self) {
        if self.maps.swap(false, Ordering::Relaxed) {
            let new = lock(&self.mappings).look();
            if !new.is_empty() {
                lock(&self.functions).add(&new);
                self.only.iter().for_each(|only| only.add(&new));
                self.output.frame(&Frame::mappings(&new));
            }
        }
    }
}

/// Returns the path at `address` in memory if it is the path of a program.
fn program_at(address: u64) -> Option<String> {
    let path = text(address)?;
    let metadata = fs::metadata(&path).ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then_some(path)
}

/// Returns the C string at `address`. The program may pass a bad address, so memory is read through /proc/self/mem.
fn text(address: u64) -> Option<String> {
    let memory = File::open("/proc/self/mem").ok()?;
    let mut bytes = [0; 4096];
    let read = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// At a system call, the recorder writes a thread's references if the last write was long enough ago: at least `PERIOD`, and at least the
/// thread's age divided by [`TIMES`]. So a recording has few frames, and loses few references if the program is killed.
const PERIOD: Duration = Duration::from_millis(2);
const TIMES: u32 = 100;

/// When a log has this number of words (16 MiB), it is encoded even if the thread holds a lock. The section of that lock then keeps its
/// recorded place among the sections of the lock.
const LONGEST_SECTION: usize = 16 * Log::FULL;

/// A thread, and its references since the last frame.
pub(crate) struct Thread {
    pub(crate) log: Log,
    number: u32,
    locks: LockCalls,
    /// If the log has at least this number of words, each new block is examined. 0 while the thread executes a lock function.
    examined_from: usize,
    /// The number of instructions that the thread has executed since the last frame.
    instructions: u64,
    /// The address of the word that the kernel clears when the thread has ended.
    tid: Option<u64>,
    /// The address of the futex that the thread waits for; `None` if the thread does not wait for a futex.
    waits: Option<u64>,
    /// The time in nanoseconds for which the thread sleeps; `None` if the thread does not sleep.
    sleeps: Option<u64>,
    /// Where the thread is, if a function is recorded alone.
    pub(crate) at: Whereabouts,
    encoder: Encoder,
    frame: Frame,
    began: Instant,
    wrote: Instant,
}

impl Thread {
    fn new(number: u32, tid: Option<u64>) -> Self {
        Self {
            log: Log::default(),
            number,
            locks: LockCalls::default(),
            examined_from: Log::FULL,
            instructions: 0,
            tid,
            waits: None,
            sleeps: None,
            at: Whereabouts::default(),
            encoder: Encoder::new(number),
            frame: Frame::default(),
            began: Instant::now(),
            wrote: Instant::now(),
        }
    }

    /// Logs the start of a block.
    #[inline(always)]
    pub(crate) fn block(&mut self, process: &Process, block: BlockFacts) {
        if self.log.len() >= self.examined_from || block.0 >= 1 << BlockFacts::ENTERS {
            self.examine(process, block);
        }
        self.instructions += u64::from(block.instructions());
        self.log.block(block.number());
    }

    /// Logs the start of a block if a thread executes the function that is recorded alone. `enters` is `true` if the function begins with
    /// the block. Returns `true` if all blocks have to be translated again.
    pub(crate) fn block_alone(
        &mut self,
        process: &Process,
        block: BlockFacts,
        enters: bool,
    ) -> bool {
        let Some(only) = &process.only else { return false };
        let verdict = only.block(&mut self.at, block, enters);
        if verdict.is_recorded {
            self.block(process, block);
        } else if verdict.pauses && self.locks.is_open() {
            self.locks.pause(self.number, &mut self.log, process.shared());
            self.examined_from = Log::FULL;
        }
        verdict.switches
    }

    /// Examines a block before its start is logged, because the block may belong to a lock function or the log may be full.
    #[cold]
    fn examine(&mut self, process: &Process, block: BlockFacts) {
        let (number, shared) = (self.number, process.shared());
        let left_out = self.locks.block(block, number, &mut self.log, shared);
        self.instructions = self.instructions.saturating_sub(left_out.into());
        if self.locks.is_inside() {
            self.examined_from = 0;
            return;
        }
        let length = self.log.len();
        let is_full = length >= if self.locks.is_open() { LONGEST_SECTION } else { Log::FULL };
        self.examined_from = Log::FULL.max(length + 1);
        if is_full {
            self.write(process, false);
            self.examined_from = Log::FULL;
        }
    }

    /// Logs a load of the current block. If the load joins a thread, also logs the wait for the thread's end.
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
            self.log.order(Order::Wait(Cause::Thread, end));
        }
    }

    /// Writes the references, unless the last write was recent. The current block must have ended.
    fn write_now_and_then(&mut self, process: &Process) {
        if self.locks.is_open() {
            return;
        }
        let now = Instant::now();
        if now - self.wrote >= PERIOD.max((now - self.began) / TIMES) {
            self.write(process, true);
        }
    }

    /// Writes the references. The current block is written only if it has `ended`.
    #[cold]
    pub(crate) fn write(&mut self, process: &Process, ended: bool) {
        self.locks.close(self.number, &mut self.log, process.shared());
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
