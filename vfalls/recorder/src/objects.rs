//! Tracks the recorded program's locks, conditions, semaphores and barriers, which all threads share.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::flow::{Flow, Section};
use crate::lock;

/// The size of the C library's largest object (`pthread_rwlock_t`), in bytes.
const MAX_OBJECT_BYTES: u64 = 56;

#[derive(Debug, Default)]
pub(crate) struct Objects {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    flows: HashMap<u64, Arc<Mutex<Flow>>>,
    conditions: BTreeMap<u64, Condition>,
    /// The value that each semaphore had before the first operation on it.
    semaphores: HashMap<u64, u32>,
}

/// The threads that wait for a condition variable.
#[derive(Debug, Default)]
struct Condition {
    /// The waiting threads that no signal has woken, each with the latest signal before its wait. The thread that has waited longest comes
    /// first.
    waiting: VecDeque<(u32, Option<u64>)>,
    /// The woken threads that have not continued, with their signals.
    woken: Vec<(u32, u64)>,
    /// The latest signal to this condition variable.
    latest: Option<u64>,
}

impl Objects {
    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    /// Forgets all objects, because the process is a forked copy, in which no other thread uses them.
    pub(crate) fn forget(&self) {
        *self.known() = Known::default();
    }

    /// Returns the data flow between the sections of the lock at this address.
    pub(crate) fn flow(&self, lock: u64) -> Arc<Mutex<Flow>> {
        Arc::clone(self.known().flows.entry(lock).or_default())
    }

    /// Notes that the latest section of a thread has signalled a condition.
    pub(crate) fn mark_signalling(&self, at: u64, section: Section) {
        lock(&self.flow(at)).mark_signalling(section);
    }

    /// Notes that a thread waits for the condition variable at this address.
    pub(crate) fn wait(&self, condition: u64, thread: u32) {
        let mut known = self.known();
        let condition = known.conditions.entry(condition).or_default();
        condition.waiting.push_back((thread, condition.latest));
    }

    /// Notes that a signal wakes threads that wait for a condition variable. If `all` is `true`, the signal wakes all of them. Otherwise,
    /// the signal wakes only the thread that has waited longest. `inside` is an address within the condition variable.
    pub(crate) fn wake(&self, inside: u64, signal: u64, all: bool) {
        let mut known = self.known();
        let found = known.conditions.range_mut(..=inside).next_back();
        let Some((_, condition)) = found.filter(|(at, _)| inside - **at < MAX_OBJECT_BYTES) else {
            return;
        };
        condition.latest = Some(signal);
        let most = if all { usize::MAX } else { 1 };
        for _ in 0..most.min(condition.waiting.len()) {
            let woken = condition.waiting.pop_front();
            condition.woken.extend(woken.map(|(thread, _)| (thread, signal)));
        }
    }

    /// Notes that a thread no longer waits for a condition variable. Returns the signal that woke the thread; `None` if no signal did.
    ///
    /// The C library can wake a thread other than the one that has waited longest, and a wait can time out. In both cases, this function
    /// assumes that the latest signal woke the thread, if that signal came after the wait began.
    pub(crate) fn end_wait(&self, condition: u64, thread: u32) -> Option<u64> {
        let mut known = self.known();
        let condition = known.conditions.get_mut(&condition)?;
        if let Some(at) = condition.woken.iter().position(|(woken, _)| *woken == thread) {
            return Some(condition.woken.swap_remove(at).1);
        }
        let waiting = condition.waiting.iter().position(|(waiting, _)| *waiting == thread)?;
        let (_, before) = condition.waiting.remove(waiting)?;
        // The signal was meant for another thread, which therefore still waits.
        if let Some((meant, _)) = condition.woken.pop() {
            condition.waiting.push_front((meant, None));
            return condition.latest;
        }
        condition.latest.filter(|latest| Some(*latest) != before)
    }

    /// Returns the value that a semaphore had before the first operation on it. At the first operation, `value` computes this value.
    pub(crate) fn semaphore(&self, at: u64, value: impl FnOnce() -> u32) -> u32 {
        *self.known().semaphores.entry(at).or_insert_with(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_wakes_the_longest_wait_and_a_broadcast_all() {
        let objects = Objects::default();
        for thread in [3, 1, 2] {
            objects.wait(0x100, thread);
        }
        objects.wake(0x100 + 32, 7, false);
        assert_eq!(objects.end_wait(0x100, 3), Some(7));
        objects.wake(0x100, 8, true);
        assert_eq!([1, 2].map(|thread| objects.end_wait(0x100, thread)), [Some(8); 2]);
        // No thread waits for a condition variable that has one of these addresses.
        objects.wake(0x100 + 56, 9, false);
        objects.wake(0x80, 9, false);
        assert_eq!(objects.end_wait(0x100, 1), None);
    }

    #[test]
    fn another_thread_than_the_longest_waiting_may_wake() {
        let objects = Objects::default();
        objects.wait(0x100, 1);
        objects.wait(0x100, 2);
        objects.wake(0x100, 5, false);
        assert_eq!(objects.end_wait(0x100, 2), Some(5));
        objects.wake(0x100, 6, false);
        assert_eq!(objects.end_wait(0x100, 1), Some(6));
    }

    /// Thread 2's wait times out just after the signal for thread 1. Both threads stay after the signal.
    #[test]
    fn a_wait_that_ends_at_its_time_takes_no_signal_from_another() {
        let objects = Objects::default();
        objects.wait(0x100, 1);
        objects.wait(0x100, 2);
        objects.wake(0x100, 5, false);
        assert_eq!([2, 1].map(|thread| objects.end_wait(0x100, thread)), [Some(5); 2]);
        // No signal comes in the next wait.
        objects.wait(0x100, 2);
        assert_eq!(objects.end_wait(0x100, 2), None);
    }

    #[test]
    fn a_wait_may_end_without_a_signal() {
        let objects = Objects::default();
        objects.wait(0x100, 1);
        assert_eq!(objects.end_wait(0x100, 1), None);
        objects.wake(0x100, 5, true);
        assert_eq!(objects.end_wait(0x100, 1), None);
    }

    #[test]
    fn a_semaphore_has_one_first_value() {
        let objects = Objects::default();
        assert_eq!(objects.semaphore(0x10, || 4), 4);
        assert_eq!(objects.semaphore(0x10, || unreachable!()), 4);
    }
}
