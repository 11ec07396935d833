//! Handles processes that fork, and processes that replace their programs.

use std::cell::RefCell;
use std::ffi::{CString, OsString, c_uint};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use std::{mem, ptr, thread};

use super::cursor::Cursor;
use super::interface::execve;
use super::threads::{MAY_JOIN, SharedThread, threads};
use crate::calls::SystemCall;
use crate::lock;
use crate::new_program::{NewProgram, escaped};
use crate::process::Process;

/// Keeps the recorder's state consistent in a forked process. QEMU forks only when no thread executes a block, but some callbacks change
/// the state at such times, too. These callbacks hold this lock for reading, and a thread that forks holds it for writing.
static FORKS: RwLock<()> = RwLock::new(());

/// A fork that the current host thread is making.
struct Forking {
    /// The number of the new process in the recording; `None` if it cannot be recorded.
    process: Option<u32>,
    /// This lock is held until the system call has returned, in both processes.
    _whole: RwLockWriteGuard<'static, ()>,
}

thread_local! {
    static FORKING: RefCell<Option<Forking>> = const { RefCell::new(None) };
}

/// Returns the lock that keeps other threads from forking the process.
pub(super) fn no_fork() -> RwLockReadGuard<'static, ()> {
    FORKS.read().unwrap_or_else(PoisonError::into_inner)
}

/// How long an exiting process waits for the end of another thread's fork.
const FORK_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits until no thread is forking this process, which is about to exit. The wait is limited, because QEMU no longer reports the end of a
/// fork at this point. Returns `false` in a forked process that has not begun its own recording.
pub(super) fn wait_for_forks() -> bool {
    if FORKING.take().is_some() {
        return false;
    }
    let began = Instant::now();
    while FORKS.try_read().is_err() && began.elapsed() < FORK_TIMEOUT {
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// This plug-in's arguments. They are passed on when the process starts the emulator with another program.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) plugin: OsString,
    pub(super) socket: OsString,
    pub(super) sysroot: OsString,
    /// The symbols of the function that is recorded alone; empty if everything is recorded.
    pub(super) only: Vec<OsString>,
}

pub(super) static ARGUMENTS: OnceLock<Arguments> = OnceLock::new();

impl Arguments {
    /// Returns a value for the emulator's option `-plugin`. With this value, the emulator records its program as process `process`.
    fn of_process(&self, process: u32) -> CString {
        let [plugin, socket, sysroot] =
            [&self.plugin, &self.socket, &self.sysroot].map(|text| escaped(text).into_vec());
        let mut parts = [&plugin[..], b",plugin=", &plugin, b",socket=", &socket].concat();
        if !sysroot.is_empty() {
            parts.extend_from_slice(&[&b",sysroot="[..], &sysroot].concat());
        }
        for name in &self.only {
            parts.extend_from_slice(&[&b",only="[..], &escaped(name).into_vec()].concat());
        }
        parts.extend(format!(",process={process}").into_bytes());
        CString::new(parts).unwrap_or_default()
    }
}

/// Prepares a fork of the process by the thread `shared`.
pub(super) fn begin_fork(shared: &SharedThread, process: &Process) {
    let whole = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    let mut in_call = lock(&shared.in_call);
    *in_call = true;
    // SAFETY: the lock is held, and the thread is in a system call.
    let number = process.before_fork(unsafe { &mut *shared.thread.get() });
    FORKING.set(Some(Forking { process: number, _whole: whole }));
}

/// Continues after a fork, in both processes. `child` is the id of the new process; 0 in the new process itself, and negative if the fork
/// failed.
pub(super) fn end_fork(vcpu: c_uint, shared: &SharedThread, process: &Process, child: i64) {
    let Some(forking) = FORKING.take() else {
        return;
    };
    if child < 0 {
        *lock(&shared.in_call) = false;
        return;
    }
    let Some(number) = forking.process else {
        process.output.stop("cannot", "a forked process has no number");
    };
    if child == 0 {
        // SAFETY: this host thread is the only one of the process, and the thread is in a system call.
        let before = unsafe { &mut *shared.thread.get() };
        let own = SharedThread::new(process.after_fork(number, before), false);
        let mut threads = threads();
        for other in 0..threads.len() as c_uint {
            Cursor::of(other).set_thread(ptr::null_mut());
        }
        Cursor::of(vcpu).set_thread(Arc::as_ptr(&own).cast_mut());
        MAY_JOIN.store(false, Ordering::Relaxed);
        // The old states must not be dropped. The other threads do not exist in this process, but their locks may be held. This thread's
        // old state is still in use.
        mem::forget(mem::take(&mut *threads));
        threads.resize(vcpu as usize + 1, None);
        threads[vcpu as usize] = Some(own);
    } else {
        if let Ok(child) = u32::try_from(child) {
            process.orders.child(child, number);
            // The parent reports the child. If the child reported its own start, the parent might end before that, and the recording could
            // end without the child.
            process.output.notify("child", &child.to_string());
        }
        *lock(&shared.in_call) = false;
    }
}

/// Replaces the process's program with another one, which the emulator executes. Returns only if this fails.
pub(super) fn replace_program(
    process: &Process,
    program: NewProgram,
    number: u32,
    call: SystemCall,
) {
    let (Some(given), SystemCall::Exec { environment, .. }) = (ARGUMENTS.get(), call) else {
        return;
    };
    let sysroot = CString::new(given.sysroot.as_bytes()).ok().filter(|path| !path.is_empty());
    let words = program.emulated(given.of_process(number), sysroot);
    if let Some(environment) = process.target.strings(environment) {
        let list = |strings: &[CString]| -> Vec<_> {
            strings.iter().map(|one| one.as_ptr()).chain([ptr::null()]).collect()
        };
        let (words, environment) = (list(&words), list(&environment));
        // SAFETY: the path and the strings of both lists end with a null byte, and the lists end with a null pointer.
        unsafe { execve(c"/proc/self/exe".as_ptr(), words.as_ptr(), environment.as_ptr()) };
    }
    process.output.notify("refused", &number.to_string());
}
