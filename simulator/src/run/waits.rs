//! Accounts for threads' time: when they execute, and what they wait for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counts::counts;
use crate::json;

/// What a thread is doing. A *section* is what a thread executes between taking and releasing a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The thread is executing on its strand.
    Running,
    /// The thread could execute, but its strand executes another thread.
    Ready,
    /// The thread waits for a mutex, a spin lock or a read-write lock. Or it uses the results of an earlier section of such a lock, and
    /// waits until another thread has left that section.
    Lock,
    /// The thread waits for a condition variable. Or it uses the results of an earlier section that signals a condition variable, and waits
    /// until another thread has left that section.
    Condition,
    /// The thread waits at a barrier.
    Barrier,
    /// The thread waits until a semaphore is above 0.
    Semaphore,
    /// The thread waits until another thread has ended.
    Thread,
    /// The thread sleeps for the time that it asked for.
    Sleep,
    /// The thread waits for another thread, as it did in the recorded execution. The recording does not name what the thread waits for,
    /// such as a lock.
    Recorded,
    /// No other thread has started the thread yet.
    NotBegun,
    /// The thread has ended.
    Ended,
}

impl State {
    /// All states. Tables and pictures show them in this order.
    pub const ALL: [Self; 11] = [
        Self::Running,
        Self::Ready,
        Self::Lock,
        Self::Condition,
        Self::Barrier,
        Self::Semaphore,
        Self::Thread,
        Self::Sleep,
        Self::Recorded,
        Self::NotBegun,
        Self::Ended,
    ];

    /// Returns the state's name in tables and pictures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Lock => "lock",
            Self::Condition => "condition",
            Self::Barrier => "barrier",
            Self::Semaphore => "semaphore",
            Self::Thread => "thread",
            Self::Sleep => "sleep",
            Self::Recorded => "as recorded",
            Self::NotBegun => "not begun",
            Self::Ended => "ended",
        }
    }

    /// Returns `true` if it takes another thread to end this state.
    #[must_use]
    pub const fn waits_for_a_thread(self) -> bool {
        match self {
            Self::Lock
            | Self::Condition
            | Self::Barrier
            | Self::Semaphore
            | Self::Thread
            | Self::Recorded => true,
            Self::Running | Self::Ready | Self::Sleep | Self::NotBegun | Self::Ended => false,
        }
    }
}

/// How many cycles a thread spent in each [`State`]. The sum is the length of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "`State` says it")]
pub struct States {
    pub running: u64,
    pub ready: u64,
    pub lock: u64,
    pub condition: u64,
    pub barrier: u64,
    pub semaphore: u64,
    pub thread: u64,
    pub sleep: u64,
    pub recorded: u64,
    pub not_begun: u64,
    pub ended: u64,
}

counts! {
    States {
        running, ready, lock, condition, barrier, semaphore, thread, sleep, recorded, not_begun, ended
    }
}

impl States {
    /// Returns how many cycles were spent in a state.
    #[must_use]
    pub const fn of(&self, state: State) -> u64 {
        match state {
            State::Running => self.running,
            State::Ready => self.ready,
            State::Lock => self.lock,
            State::Condition => self.condition,
            State::Barrier => self.barrier,
            State::Semaphore => self.semaphore,
            State::Thread => self.thread,
            State::Sleep => self.sleep,
            State::Recorded => self.recorded,
            State::NotBegun => self.not_begun,
            State::Ended => self.ended,
        }
    }

    /// Adds `cycles` to the cycles spent in `state`.
    pub(crate) fn add(&mut self, state: State, cycles: u64) {
        let count = match state {
            State::Running => &mut self.running,
            State::Ready => &mut self.ready,
            State::Lock => &mut self.lock,
            State::Condition => &mut self.condition,
            State::Barrier => &mut self.barrier,
            State::Semaphore => &mut self.semaphore,
            State::Thread => &mut self.thread,
            State::Sleep => &mut self.sleep,
            State::Recorded => &mut self.recorded,
            State::NotBegun => &mut self.not_begun,
            State::Ended => &mut self.ended,
        };
        *count += cycles;
    }

    /// Returns the number of cycles in all states, which is the length of the run.
    #[must_use]
    pub fn sum(&self) -> u64 {
        State::ALL.iter().map(|state| self.of(*state)).sum()
    }
}

/// One thread's waits for one other thread, in one state. The other thread ended these waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitFor {
    /// The waiting thread's number.
    pub thread: usize,
    /// The thread's state during these waits.
    pub state: State,
    /// The thread that ended the waits, by number.
    pub ended_by: usize,
    /// How often the thread waited.
    pub times: u64,
    /// The total cycles of these waits.
    pub cycles: u64,
}

/// A lock in a program, and how threads used it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRun {
    /// The index of the lock's program, in the order of the recordings.
    pub program: usize,
    /// The lock's recorded address.
    #[serde(with = "json")]
    pub address: u64,
    /// How often threads took the lock.
    pub taken: u64,
    /// How often a thread had to wait for the lock.
    pub waits: u64,
    /// The cycles that threads waited for the lock.
    pub cycles: u64,
    /// The places in the program that take the lock.
    pub sites: Vec<LockSite>,
}

/// A place in a program that takes a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockSite {
    /// The return address of the call that takes the lock.
    #[serde(with = "json")]
    pub address: u64,
    /// How many threads took the lock there.
    pub threads: u64,
    /// The smallest number of times that a thread took the lock there. Threads that never did are not counted.
    pub least: u64,
    /// The largest number of times that a thread took the lock there.
    pub most: u64,
}

impl LockSite {
    /// Returns `true` if a thread took the lock here fewer times than another thread, by more than 2%. This suggests that the lock protects
    /// a work list, from which each thread takes the next item. How the threads divide this work then depends on the recording host.
    #[must_use]
    pub const fn divides_work(&self) -> bool {
        self.most - self.least > self.most / 50 && self.threads > 1
    }
}

/// A place in a program where threads waited in the state `Recorded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitPlace {
    /// The index of the program that contains the place, in the order of the recordings.
    pub program: usize,
    /// The address of the instruction before the wait; `None` if the recording has no instruction there.
    #[serde(with = "json")]
    pub address: Option<u64>,
    /// How often threads waited there.
    pub waits: u64,
}

/// The waits of all threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The waits of one thread for another, longest first, for at most [`Waits::MAX_ENTRIES`] pairs of threads.
    pub pairs: Vec<WaitFor>,
    /// The locks that threads took, longest waits first. There are at most [`Waits::MAX_ENTRIES`].
    pub locks: Vec<LockRun>,
    /// How often threads made system calls that can block, by call name. These calls take no time in the replay.
    pub calls: BTreeMap<String, u64>,
    /// The number of waits whose lock the recorder did not know. In the replay, these waits end as in the recorded execution.
    pub as_recorded: u64,
    /// The places of the waits that `as_recorded` counts, most waits first. There are at most [`Waits::MAX_ENTRIES`].
    #[serde(default)]
    pub recorded_at: Vec<WaitPlace>,
    /// How often a thread used the results of an earlier section of a lock, and so had to wait until another thread had left that section.
    /// Waits for condition variables are not counted.
    pub kept_orders: u64,
    /// The number of references that threads performed while they waited for locks in the recorded execution. The recording lacks these
    /// references.
    pub left_out: u64,
}

impl Waits {
    /// The maximum length of each of the lists `pairs`, `locks` and `recorded_at`.
    pub const MAX_ENTRIES: usize = 1000;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_count() {
        let mut states = States::default();
        for (cycles, state) in (1..).zip(State::ALL) {
            states.add(state, cycles);
            assert_eq!(states.of(state), cycles);
        }
        assert_eq!(states.sum(), 66);
        assert_eq!((states.running, states.recorded, states.ended), (1, 9, 11));
    }
}
