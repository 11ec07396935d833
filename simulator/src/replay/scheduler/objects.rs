//! A replayed program's locks, semaphores and barriers. A lock or semaphore goes to the thread whose turn comes first.

use std::collections::{HashMap, VecDeque};

/// A program's objects, by address. A lock or barrier takes memory only while threads use it. A semaphore takes memory from its
/// first use on.
#[derive(Debug, Default)]
pub(super) struct Objects {
    locks: HashMap<u64, LockState>,
    semaphores: HashMap<u64, SemaphoreState>,
    /// The threads that have arrived at each barrier.
    barriers: HashMap<u64, Vec<usize>>,
}

/// A lock that at least one thread holds.
#[derive(Debug, Default)]
struct LockState {
    /// The threads that hold the lock, each with a flag that is `true` if the thread shares it. Several holders all share the lock,
    /// unless a thread got it by [force](Objects::force).
    holders: Vec<(usize, bool)>,
    /// The threads that wait for the lock, longest wait first, each with a flag that is `true` if the thread wants to share it.
    waiting: VecDeque<(usize, bool)>,
}

#[derive(Debug)]
struct SemaphoreState {
    value: u64,
    /// The waiting threads, longest wait first. If any thread waits, the value is 0.
    waiting: VecDeque<usize>,
}

impl LockState {
    /// If no thread holds the lock, gives it to the thread that has waited longest. If that thread shares the lock, all other
    /// waiting threads that want to share it get it, too. Returns the threads that got the lock.
    fn grant(&mut self) -> Vec<usize> {
        if !self.holders.is_empty() {
            return Vec::new();
        }
        let Some(first) = self.waiting.pop_front() else {
            return Vec::new();
        };
        self.holders.push(first);
        if first.1 {
            self.holders.extend(self.waiting.iter().filter(|(_, shares)| *shares));
            self.waiting.retain(|(_, shares)| !shares);
        }
        self.holders.iter().map(|(holder, _)| *holder).collect()
    }
}

impl Objects {
    /// Gives a lock to a thread. Returns `false` if the thread has to wait because another thread holds the lock and the two do not
    /// share it. A thread that shares a lock goes ahead of waiting threads, which is the C library's default.
    pub(super) fn acquire(&mut self, lock: u64, shared: bool, thread: usize) -> bool {
        let lock = self.locks.entry(lock).or_default();
        if lock.holders.iter().any(|(holder, _)| *holder == thread) {
            return true;
        }
        let is_shared = lock.holders.iter().all(|(_, shares)| *shares);
        let is_free = lock.holders.is_empty() || is_shared && shared;
        if is_free {
            lock.holders.push((thread, shared));
        } else {
            lock.waiting.push_back((thread, shared));
        }
        is_free
    }

    /// Releases a lock that a thread holds. Returns the threads that get the lock next. Does nothing if the thread does not hold
    /// it.
    pub(super) fn release(&mut self, address: u64, thread: usize) -> Vec<usize> {
        let Some(lock) = self.locks.get_mut(&address) else {
            return Vec::new();
        };
        let Some(at) = lock.holders.iter().position(|(holder, _)| *holder == thread) else {
            return Vec::new();
        };
        lock.holders.swap_remove(at);
        let granted = lock.grant();
        if lock.holders.is_empty() {
            self.locks.remove(&address);
        }
        granted
    }

    /// Decrements a semaphore. `first` is the semaphore's value before its first use. Returns `false` if the thread has to wait.
    pub(super) fn take(&mut self, semaphore: u64, first: u32, thread: usize) -> bool {
        let semaphore = self.semaphore(semaphore, first);
        let Some(less) = semaphore.value.checked_sub(1) else {
            semaphore.waiting.push_back(thread);
            return false;
        };
        semaphore.value = less;
        true
    }

    /// Increments a semaphore. But if threads wait for the semaphore, ends the longest wait instead, and returns the thread that
    /// waited.
    pub(super) fn post(&mut self, semaphore: u64, first: u32) -> Option<usize> {
        let semaphore = self.semaphore(semaphore, first);
        let next = semaphore.waiting.pop_front();
        if next.is_none() {
            semaphore.value += 1;
        }
        next
    }

    fn semaphore(&mut self, semaphore: u64, first: u32) -> &mut SemaphoreState {
        self.semaphores
            .entry(semaphore)
            .or_insert_with(|| SemaphoreState { value: first.into(), waiting: VecDeque::new() })
    }

    /// Notes that a thread arrives at a barrier. If it is the last of `threads` threads, returns the other threads of this round.
    /// Returns `None` if the thread has to wait.
    pub(super) fn arrive(
        &mut self,
        barrier: u64,
        threads: u32,
        thread: usize,
    ) -> Option<Vec<usize>> {
        let arrived = self.barriers.entry(barrier).or_default();
        if arrived.len() + 1 >= threads as usize {
            return Some(self.barriers.remove(&barrier).unwrap_or_default());
        }
        arrived.push(thread);
        None
    }

    /// Ends a thread's wait because all threads wait. If it waits for a lock, it gets the lock although another thread holds it.
    pub(super) fn force(&mut self, wait: ObjectWait, thread: usize) {
        match wait {
            ObjectWait::Lock(lock) => {
                if let Some(lock) = self.locks.get_mut(&lock) {
                    let waiting = lock.waiting.iter().position(|(waiting, _)| *waiting == thread);
                    lock.holders.extend(waiting.and_then(|at| lock.waiting.remove(at)));
                }
            }
            ObjectWait::Semaphore(semaphore) => {
                if let Some(semaphore) = self.semaphores.get_mut(&semaphore) {
                    semaphore.waiting.retain(|waiting| *waiting != thread);
                }
            }
            ObjectWait::Barrier(barrier) => {
                if let Some(arrived) = self.barriers.get_mut(&barrier) {
                    arrived.retain(|waiting| *waiting != thread);
                }
            }
        }
    }
}

/// The object that a thread waits for, by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectWait {
    Lock(u64),
    Semaphore(u64),
    Barrier(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: u64 = 0x100;

    #[test]
    fn a_lock_goes_to_the_longest_wait() {
        let mut objects = Objects::default();
        assert!(objects.acquire(LOCK, false, 1));
        assert!(objects.acquire(LOCK + 8, false, 1));
        assert!(!objects.acquire(LOCK, false, 3));
        assert!(!objects.acquire(LOCK, false, 2));
        assert!(objects.release(LOCK, 2).is_empty(), "thread 2 does not have it");
        assert_eq!(objects.release(LOCK, 1), [3]);
        assert_eq!(objects.release(LOCK, 3), [2]);
        assert!(objects.release(LOCK, 2).is_empty());
        assert!(objects.acquire(LOCK, false, 3));
    }

    #[test]
    fn readers_share_a_lock_and_writers_do_not() {
        let mut objects = Objects::default();
        assert!(objects.acquire(LOCK, true, 1));
        assert!(objects.acquire(LOCK, true, 2));
        assert!(!objects.acquire(LOCK, false, 3));
        assert!(objects.acquire(LOCK, true, 4), "a reader does not wait for a waiting writer");
        for reader in [1, 4] {
            assert!(objects.release(LOCK, reader).is_empty());
        }
        assert_eq!(objects.release(LOCK, 2), [3]);
        for (reader, shared) in [(5, true), (6, false), (7, true)] {
            assert!(!objects.acquire(LOCK, shared, reader));
        }
        assert_eq!(objects.release(LOCK, 3), [5, 7]);
        assert!(objects.release(LOCK, 5).is_empty());
        assert_eq!(objects.release(LOCK, 7), [6]);
    }

    #[test]
    fn a_semaphore_has_a_value() {
        let mut objects = Objects::default();
        assert!(objects.take(LOCK, 2, 1));
        assert!(objects.take(LOCK, 2, 2));
        assert!(!objects.take(LOCK, 2, 3));
        assert!(!objects.take(LOCK, 2, 4));
        assert_eq!(objects.post(LOCK, 2), Some(3));
        assert_eq!(objects.post(LOCK, 2), Some(4));
        assert_eq!(objects.post(LOCK, 2), None);
        assert!(objects.take(LOCK, 2, 1));
        assert!(!objects.take(LOCK, 2, 1));
    }

    #[test]
    fn a_barrier_has_rounds() {
        let mut objects = Objects::default();
        for round in 0..2 {
            assert_eq!(objects.arrive(LOCK, 3, 1), None, "{round}");
            assert_eq!(objects.arrive(LOCK, 3, 2), None);
            assert_eq!(objects.arrive(LOCK, 3, 0), Some(vec![1, 2]));
        }
        assert_eq!(objects.arrive(LOCK, 1, 0), Some(vec![]));
    }

    #[test]
    fn a_forced_writer_has_the_lock_alone_as_soon_as_the_others_give_it_back() {
        let mut objects = Objects::default();
        assert!(objects.acquire(LOCK, true, 1));
        assert!(!objects.acquire(LOCK, false, 2));
        objects.force(ObjectWait::Lock(LOCK), 2);
        assert!(!objects.acquire(LOCK, true, 3), "the writer does not share the lock");
        assert!(objects.release(LOCK, 1).is_empty());
        assert!(!objects.acquire(LOCK, true, 4));
        assert_eq!(objects.release(LOCK, 2), [3, 4]);
    }

    #[test]
    fn a_forced_thread_no_longer_waits() {
        let mut objects = Objects::default();
        objects.acquire(LOCK, false, 1);
        objects.acquire(LOCK, false, 2);
        objects.force(ObjectWait::Lock(LOCK), 2);
        assert!(objects.release(LOCK, 1).is_empty());
        assert!(objects.release(LOCK, 2).is_empty());
        objects.arrive(LOCK, 3, 1);
        objects.force(ObjectWait::Barrier(LOCK), 1);
        assert_eq!(objects.arrive(LOCK, 3, 2), None);
        objects.take(LOCK, 0, 1);
        objects.force(ObjectWait::Semaphore(LOCK), 1);
        assert_eq!(objects.post(LOCK, 0), None);
    }
}
