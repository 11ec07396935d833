//! The fast path from QEMU's callbacks to a thread's log, which uses two pointers and no lock.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::threads::SharedThread;
use crate::process::MAX_THREADS;
use crate::thread::Thread;

/// Where a thread's callbacks append words to the thread's log.
///
/// A cursor is open or closed. While it is open, the words before `next` belong to the log, although the log does not count them yet.
/// During this time, only the callbacks of the thread's blocks and accesses use the log. All other code closes the cursor before it uses
/// the log.
#[repr(align(64))]
pub(super) struct Cursor {
    /// Where the next word goes; null if the cursor is closed.
    next: Cell<*mut u64>,
    /// If `next` has reached this position, blocks take the slow path. From here, the log still has room for two words. Null if the cursor
    /// is closed.
    end: Cell<*mut u64>,
    /// If `next` has reached this position, accesses take the slow path. Equal to `end`, or null if loads may join threads.
    access_end: Cell<*mut u64>,
    thread: AtomicPtr<SharedThread>,
}

// SAFETY: the host thread of the virtual processor uses `next` and `end`. The thread that ends the process uses them, too, but only when no
// other thread executes.
unsafe impl Sync for Cursor {}

/// The cursors of all threads, indexed by QEMU's number for the thread's virtual processor. Each cursor has a cache line of its own.
static CURSORS: [Cursor; MAX_THREADS as usize] = [const {
    Cursor {
        next: Cell::new(ptr::null_mut()),
        end: Cell::new(ptr::null_mut()),
        access_end: Cell::new(ptr::null_mut()),
        thread: AtomicPtr::new(ptr::null_mut()),
    }
}; MAX_THREADS as usize];

impl Cursor {
    /// Returns the cursor of a virtual processor. A processor without a recorded thread does not execute, so it can share another
    /// processor's cursor.
    #[inline(always)]
    pub(super) fn of(vcpu: u32) -> &'static Self {
        const { assert!(MAX_THREADS == 1 << 16) };
        &CURSORS[usize::from(vcpu as u16)]
    }

    pub(super) fn thread(&self) -> *mut SharedThread {
        self.thread.load(Ordering::Relaxed)
    }

    /// Assigns the cursor to a thread, or to no thread if `thread` is null. Closes the cursor.
    pub(super) fn set_thread(&self, thread: *mut SharedThread) {
        self.next.set(ptr::null_mut());
        self.end.set(ptr::null_mut());
        self.access_end.set(ptr::null_mut());
        self.thread.store(thread, Ordering::Release);
    }

    /// Appends the word of a block. Returns `false` if the block has to take the slow path.
    #[inline(always)]
    pub(super) fn block(&self, word: u64) -> bool {
        let next = self.next.get();
        if next >= self.end.get() {
            return false;
        }
        // SAFETY: the log has room for two words from a place before `end`.
        unsafe {
            next.write(word);
            self.next.set(next.add(1));
        }
        true
    }

    /// Appends the words of an access. Returns `false` if the access has to take the slow path.
    #[inline(always)]
    pub(super) fn access(&self, words: [u64; 2]) -> bool {
        self.append_access(words, self.access_end.get())
    }

    /// Appends the words of an access that is known to join no thread. Returns `false` if the cursor is closed or the log has to be
    /// examined.
    #[inline(always)]
    pub(super) fn access_without_join(&self, words: [u64; 2]) -> bool {
        self.append_access(words, self.end.get())
    }

    #[inline(always)]
    fn append_access(&self, words: [u64; 2], end: *mut u64) -> bool {
        let next = self.next.get();
        if next >= end {
            return false;
        }
        // SAFETY: the log has room for two words from a place before `end`.
        unsafe {
            next.write(words[0]);
            next.add(1).write(words[1]);
            self.next.set(next.add(2));
        }
        true
    }

    /// Opens the cursor at the end of the thread's log. `may_join` says whether loads may join threads.
    pub(super) fn open(&self, thread: &mut Thread, may_join: bool) {
        let from = thread.examine_threshold();
        let log = thread.log.words();
        let (length, end) = (log.len(), from.min(log.capacity().saturating_sub(2)));
        let start = log.as_mut_ptr();
        // SAFETY: both places are in the log's memory.
        let (next, end) = unsafe { (start.add(length), start.add(end)) };
        self.next.set(next);
        self.end.set(end);
        self.access_end.set(if may_join { ptr::null_mut() } else { end });
    }

    /// Closes the cursor. The log then counts all words.
    pub(super) fn close(&self, thread: &mut Thread) {
        let next = self.next.replace(ptr::null_mut());
        self.end.set(ptr::null_mut());
        self.access_end.set(ptr::null_mut());
        if !next.is_null() {
            let log = thread.log.words();
            // SAFETY: an open cursor points into this log, and all words before it have been written.
            unsafe { log.set_len(next.offset_from_unsigned(log.as_ptr())) };
        }
    }
}
