//! The recorded threads.

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::lock;
use crate::thread::Thread;

/// A thread. While the thread executes, only its host thread uses this value. During a system call, only the holder of the lock `in_call`
/// uses it.
pub(super) struct SharedThread {
    /// `true` while the thread is in a system call. During the call, this lock guards `thread`.
    pub(super) in_call: Mutex<bool>,
    pub(super) thread: UnsafeCell<Thread>,
}

impl SharedThread {
    pub(super) fn new(thread: Thread, in_call: bool) -> Arc<Self> {
        Arc::new(Self { in_call: Mutex::new(in_call), thread: UnsafeCell::new(thread) })
    }
}

// SAFETY: one thread uses `thread` at a time, as the documentation of `SharedThread` says.
unsafe impl Sync for SharedThread {}
// SAFETY: nothing in a `Thread` is bound to a host thread.
unsafe impl Send for SharedThread {}

/// All threads, indexed by QEMU's number for the thread's virtual processor. QEMU reuses these numbers.
static THREADS: Mutex<Vec<Option<Arc<SharedThread>>>> = Mutex::new(Vec::new());

/// Whether a load can join a thread (read the word that the kernel cleared at the thread's end). This is possible once the process has had
/// several threads.
pub(super) static MAY_JOIN: AtomicBool = AtomicBool::new(false);

pub(super) fn threads() -> MutexGuard<'static, Vec<Option<Arc<SharedThread>>>> {
    lock(&THREADS)
}
