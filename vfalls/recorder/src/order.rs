//! Orders the events of different threads: starts, ends, waits and wakes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// Assigns a number to each signal of a process. Here, a signal is an event that other threads wait for: the start of a thread, the end of
/// a thread, or a wake.
///
/// When a thread has ended, the kernel clears a word that belongs to it. The C library joins the thread when it loads the cleared word, so
/// the recorder watches all loads of such words.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    signals: AtomicU64,
    /// A filter of 512 bits. Bit n is set if bits 11:3 of the address of some watched 8-byte word have the value n.
    watched: [AtomicU64; 8],
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The signal of the latest wake at each address.
    wakes: HashMap<u64, u64>,
    /// The watched words. The key is the word's address divided by 8.
    threads: HashMap<u64, Watched>,
    /// The child processes that this process has not waited for. The key is the child's process id, and the value is its number in the
    /// recording.
    children: HashMap<u32, u32>,
}

#[derive(Debug)]
struct Watched {
    thread: u32,
    /// The number of the signal that was sent when the thread ended; `None` before its end.
    end: Option<u64>,
}

impl Orders {
    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    pub(crate) fn signal(&self) -> u64 {
        self.signals.fetch_add(1, Ordering::Relaxed)
    }

    /// Forgets everything, because the process is a forked copy, which has only one thread.
    pub(crate) fn forget(&self) {
        self.signals.store(0, Ordering::Relaxed);
        for word in &self.watched {
            word.store(0, Ordering::Relaxed);
        }
        *self.known() = Known::default();
    }

    /// Notes that the child process with the process id `id` has the number `process` in the recording.
    pub(crate) fn child(&self, id: u32, process: u32) {
        self.known().children.insert(id, process);
    }

    /// Returns the recording's number for a child process that has ended.
    pub(crate) fn ended_child(&self, id: u32) -> Option<u32> {
        self.known().children.remove(&id)
    }

    /// Returns a new signal for the threads that wait at the addresses `futexes`.
    pub(crate) fn wake(&self, futexes: impl IntoIterator<Item = u64>) -> u64 {
        let signal = self.signal();
        let mut known = self.known();
        known.wakes.extend(futexes.into_iter().map(|futex| (futex, signal)));
        signal
    }

    /// Returns the signal that ended a wait at the address `futex`.
    pub(crate) fn wake_signal(&self, futex: u64) -> Option<u64> {
        self.known().wakes.get(&futex).copied()
    }

    /// Watches the word at `tid`, which the kernel clears when `thread` has ended.
    pub(crate) fn watch(&self, tid: u64, thread: u32) {
        let mut known = self.known();
        known.threads.insert(tid >> 3, Watched { thread, end: None });
        let (word, bit) = filter_bit(tid);
        self.watched[word].fetch_or(bit, Ordering::Relaxed);
    }

    /// Returns a new signal for the end of a thread whose word is at `tid`.
    pub(crate) fn end(&self, tid: Option<u64>, thread: u32) -> u64 {
        let signal = self.signal();
        let mut known = self.known();
        let watched = tid.and_then(|tid| known.threads.get_mut(&(tid >> 3)));
        if let Some(watched) = watched.filter(|watched| watched.thread == thread) {
            watched.end = Some(signal);
        }
        signal
    }

    /// Returns `true` if a thread's word is watched.
    pub(crate) fn watches(&self) -> bool {
        self.watched.iter().any(|word| word.load(Ordering::Relaxed) != 0)
    }

    /// Returns `true` if a load of `address` may join a thread.
    #[inline(always)]
    pub(crate) fn may_join(&self, address: u64) -> bool {
        let (word, bit) = filter_bit(address);
        self.watched[word].load(Ordering::Relaxed) & bit != 0
    }

    /// If a load of `address` joins a thread, returns the signal of the thread's end.
    #[cold]
    pub(crate) fn joined(&self, address: u64) -> Option<u64> {
        let mut known = self.known();
        let end = known.threads.get(&(address >> 3))?.end?;
        known.threads.remove(&(address >> 3));
        if known.threads.is_empty() {
            for word in &self.watched {
                word.store(0, Ordering::Relaxed);
            }
        }
        Some(end)
    }
}

/// Returns where [`Orders::watched`] has the bit for `address`: the index of the word, and a mask of the bit.
fn filter_bit(address: u64) -> (usize, u64) {
    ((address >> 9) as usize & 7, 1 << (address >> 3 & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_ended_by_the_latest_wake_of_its_address() {
        let orders = Orders::default();
        assert_eq!(orders.wake_signal(0x10), None);
        assert_eq!(orders.wake([0x10]), 0);
        assert_eq!(orders.wake([0x10, 0x20]), 1);
        assert_eq!(orders.wake([0x30]), 2);
        let woken = [0x10, 0x20, 0x30].map(|futex| orders.wake_signal(futex));
        assert_eq!(woken, [Some(1), Some(1), Some(2)]);
    }

    #[test]
    fn a_load_joins_a_thread_that_has_ended_once() {
        let orders = Orders::default();
        assert!(!orders.may_join(0x7990));
        orders.watch(0x7990, 3);
        assert!(orders.may_join(0x7990) && orders.may_join(0x7994) && orders.may_join(0x2_7990));
        assert!(!orders.may_join(0x7998));
        assert_eq!(orders.joined(0x7990), None);
        assert_eq!(orders.end(Some(0x7990), 3), 0);
        assert_eq!(orders.joined(0x2_7990), None);
        assert_eq!(orders.joined(0x7990), Some(0));
        assert_eq!(orders.joined(0x7990), None);
        assert!(!orders.may_join(0x7990));
    }

    #[test]
    fn a_new_thread_takes_the_word_of_an_old_one() {
        let orders = Orders::default();
        orders.watch(0x7990, 1);
        orders.end(Some(0x7990), 1);
        orders.watch(0x7990, 2);
        assert_eq!(orders.joined(0x7990), None);
        // The first thread cannot end twice.
        orders.end(Some(0x7990), 1);
        assert_eq!(orders.joined(0x7990), None);
        orders.end(Some(0x7990), 2);
        assert_eq!(orders.joined(0x7990), Some(2));
    }
}
