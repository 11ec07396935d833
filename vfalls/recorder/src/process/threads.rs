//! What a process notes when its threads start and make system calls.

use std::cell::Cell;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;

use refs::{BLOCKING_CALLS, Cause, Order, process_begins, process_ends};

use super::{MAX_THREADS, Process};
use crate::calls::{LARGE, SystemCall};
use crate::lock;
use crate::new_program::NewProgram;
use crate::program_memory::string_at;
use crate::share::Share;
use crate::thread::Thread;

/// The index of the system call `wait4` in [`BLOCKING_CALLS`].
const WAIT_FOR_CHILD: u8 = 7;
const _: () = assert!(matches!(BLOCKING_CALLS[WAIT_FOR_CHILD as usize].as_bytes(), b"wait4"));

/// The results that report a system call's failure.
const ERRORS: RangeInclusive<i64> = -4095..=-1;

#[derive(Clone, Copy)]
struct Start {
    signal: u64,
    /// The address of the word that the kernel clears when the thread has ended.
    tid: Option<u64>,
}

thread_local! {
    /// The thread that this host thread is about to start. [`Process::thread`] takes this value on the same host thread.
    static START: Cell<Option<Start>> = const { Cell::new(None) };
}

impl Process {
    /// Returns the thread that the calling host thread has just started.
    pub(crate) fn thread(&self) -> Thread {
        let number = self.threads.fetch_add(1, Ordering::Relaxed);
        if number >= MAX_THREADS {
            self.output.stop("ends", "it has started more threads than a recording can have");
        }
        let start = START.take();
        let tid = start.and_then(|start| start.tid);
        let mut thread = Thread::new(number, tid, self.describe);
        let first = (number == 0).then(|| process_begins(self.output.process()));
        let signal =
            start.map(|start| start.signal).or(first.filter(|_| self.output.process() != 0));
        if let Some(signal) = signal {
            thread.log.order(Order::Wait(Cause::Start, signal));
        }
        if let Some(tid) = tid {
            self.orders.watch(tid, number);
        }
        thread
    }

    /// Notes that a thread makes a system call. A call that forks the process has its own function, [`before_fork`](Self::before_fork).
    pub(crate) fn before_call(&self, thread: &mut Thread, call: SystemCall) {
        self.update_mappings();
        thread.waited_futex = None;
        match call {
            // The replay determines which thread takes a lock, so a futex wait or wake inside a lock function is not recorded.
            SystemCall::Wait { .. } | SystemCall::Wake { .. } if thread.locks.is_inside() => {}
            SystemCall::Thread { tid } => {
                let signal = self.orders.signal();
                thread.log.order(Order::Start(signal));
                START.set(Some(Start { signal, tid }));
            }
            SystemCall::Wait { futex } => thread.waited_futex = Some(futex),
            SystemCall::Wake { futex, other } => {
                let signal = self.orders.wake([futex].into_iter().chain(other));
                thread.log.order(Order::Signal(signal));
            }
            SystemCall::Exit => {
                let signal = self.orders.end(thread.tid, thread.number);
                thread.log.order(Order::Signal(signal));
            }
            SystemCall::MapCode => self.maps.store(true, Ordering::Relaxed),
            SystemCall::MapLarge { bytes } => self.output.notify("maps", &bytes.to_string()),
            SystemCall::Exec { path, .. } => {
                if let Some(path) = program_at(path) {
                    thread.write(self, true);
                    self.output.notify("turns", &path);
                }
                return;
            }
            SystemCall::Kill => return thread.write(self, true),
            SystemCall::Sleep { time } => thread.sleeps = self.target.time(time),
            SystemCall::Blocking { call } => thread.log.order(Order::Call(call)),
            SystemCall::Child { status } => thread.status = status,
            SystemCall::Share { length, file, offset } => {
                if length >= LARGE {
                    self.output.notify("maps", &length.to_string());
                }
                thread.shares = Some(Share::new(length, file, offset));
            }
            SystemCall::Process | SystemCall::Other => {}
        }
        thread.write_if_due(self);
    }

    /// Notes that a system call returns `value` to a thread.
    pub(crate) fn after_call(&self, thread: &mut Thread, call: SystemCall, value: i64) {
        if let Some(share) = thread.shares.take().filter(|_| !ERRORS.contains(&value)) {
            self.output.notify("shares", &format!("{} {share}", value.cast_unsigned()));
        }
        match call {
            SystemCall::Wait { .. } if value == 0 => {
                let woken = thread.waited_futex.and_then(|futex| self.orders.wake_signal(futex));
                if let Some(signal) = woken {
                    thread.log.order(Order::Wait(Cause::Wake, signal));
                }
            }
            // The value is 0 if no signal interrupted the sleep. The sleep then lasted as long as the thread asked.
            SystemCall::Sleep { .. } if value == 0 => {
                if let Some(time) = thread.sleeps.take() {
                    thread.log.order(Order::Sleep(time));
                }
            }
            SystemCall::Exec { .. } => self.output.notify("stays", ""),
            SystemCall::Child { .. } => thread.log.order(self.after_child(thread.status, value)),
            _ => {}
        }
    }

    /// Returns the order (the log entry) for a thread that has waited for a child process. `id` is the child's process id.
    fn after_child(&self, status: u64, id: i64) -> Order {
        let word = if status == 0 { 0 } else { self.target.word(status).unwrap_or(0) };
        // The call also returns when the child has stopped or continued (wait.h: WIFSTOPPED, WIFCONTINUED). In these cases, the child has
        // not ended.
        let has_ended = word & 0xff != 0x7f && word != 0xffff;
        let id = u32::try_from(id).ok().filter(|id| *id != 0 && has_ended);
        match id.and_then(|id| self.orders.ended_child(id)) {
            Some(process) => Order::Wait(Cause::Thread, process_ends(process)),
            None => Order::Call(WAIT_FOR_CHILD),
        }
    }

    /// Notes that a thread is about to fork this process. Returns the number of the new process in the recording.
    pub(crate) fn before_fork(&self, thread: &mut Thread) -> Option<u32> {
        self.update_mappings();
        let process = self.output.new_process("forks", "", &[])?;
        thread.log.order(Order::Start(process_begins(process)));
        Some(process)
    }

    /// Notes that this process is a forked copy with the number `process`. Returns the only thread of the copy. This thread continues
    /// `before`, which is the thread that called fork.
    pub(crate) fn after_fork(&self, process: u32, before: &mut Thread) -> Thread {
        self.orders.forget();
        self.objects.forget();
        lock(&self.mappings).forget();
        self.maps.store(true, Ordering::Relaxed);
        self.threads.store(0, Ordering::Relaxed);
        START.take();
        self.output.after_fork(process);
        let mut thread = self.thread();
        thread.tracker = std::mem::take(&mut before.tracker);
        self.only.iter().for_each(|only| only.after_fork(&thread.tracker));
        thread
    }

    /// Notes that a thread is about to replace the program of this process. Returns the new program and its number in the recording;
    /// `None` if the emulator cannot execute the program.
    pub(crate) fn before_exec(
        &self,
        thread: &mut Thread,
        call: SystemCall,
    ) -> Option<(NewProgram, u32)> {
        let SystemCall::Exec { path, arguments, .. } = call else {
            return None;
        };
        let program = NewProgram::new(self.target, path, arguments)?;
        let command = program.command();
        let process = self.output.new_process("execs", &command.len().to_string(), &command)?;
        thread.log.order(Order::Start(process_begins(process)));
        thread.write(self, true);
        Some((program, process))
    }
}

/// Returns the path that is stored at `address`, if this path names an executable file.
fn program_at(address: u64) -> Option<String> {
    let path = string_at(address)?.to_string_lossy().into_owned();
    let metadata = fs::metadata(&path).ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then_some(path)
}
