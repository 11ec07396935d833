//! Carries out orders: signals, waits, locks, semaphores, barriers and sleeps.

use guest_abi::StrandId;
use refs::{Acquire, Cause, Semaphore, is_of_process, process_ends};

use super::objects::ObjectWait;
use super::{ReferenceSource, Scheduler};
use crate::machine::clock::HZ;
use crate::recording::Order;
use crate::run::State;

/// The latest time, in cycles, at which a sleep can end: more than a day. This limit makes sums over 65,536 threads fit into 64
/// bits.
const MAX_WAKE_TIME: u64 = 1 << 47;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Signal(Cause, u64),
    /// The number of the program whose memory holds the object, and what the thread waits for.
    Object(usize, ObjectWait),
    Sleep,
}

impl Wait {
    fn state(self) -> State {
        match self {
            Self::Signal(Cause::Wake, _) => State::Recorded,
            Self::Signal(Cause::Start, _) => State::NotBegun,
            Self::Signal(Cause::Thread, _) => State::Thread,
            Self::Signal(Cause::Condition, _) => State::Condition,
            Self::Signal(Cause::Section, _) | Self::Object(_, ObjectWait::Lock(_)) => State::Lock,
            Self::Object(_, ObjectWait::Semaphore(_)) => State::Semaphore,
            Self::Object(_, ObjectWait::Barrier(_)) => State::Barrier,
            Self::Sleep => State::Sleep,
        }
    }
}

impl Scheduler {
    /// Carries out an order of the executing thread at the time `now`. Returns `false` if another strand or thread is next.
    pub(super) fn order(&mut self, order: Order, strand: StrandId, now: u64) -> bool {
        let thread = self.executing;
        let number = self.threads[thread].program;
        let (holder, order) = self.shared.order(number, order);
        let program = &mut self.programs[number];
        let family = &mut self.families[program.family];
        let signals = match order {
            Order::Start(signal) | Order::Wait(_, signal) if is_of_process(signal) => {
                &mut family.signals
            }
            _ => &mut program.signals,
        };
        let (woken, wait) = match order {
            Order::Signal(signal) => (signals.send(signal), None),
            Order::Start(signal) => {
                signals.start(signal, now);
                (signals.send(signal), None)
            }
            Order::Wait(Cause::Start, signal) if signals.is_sent(signal) => {
                let started = signals.started(signal).unwrap_or(now);
                return self.begin_started(thread, strand, started);
            }
            // If a process made no reference or is not replayed, nothing sends the signal for its end, so do not wait for it.
            Order::Wait(Cause::Thread, signal)
                if is_of_process(signal) && !family.ends.contains(&signal) =>
            {
                (Vec::new(), None)
            }
            Order::Wait(cause, signal) => {
                // In a dealt recording, threads wait for turns. The recorded program did not wait there.
                if cause == Cause::Wake && matches!(program.source, ReferenceSource::Threads(_)) {
                    self.accounts.waits_as_recorded(number, self.threads[thread].instruction());
                }
                if signals.is_sent(signal) {
                    (Vec::new(), None)
                } else {
                    self.accounts.kept_orders += u64::from(cause == Cause::Section);
                    signals.wait(signal, thread);
                    (Vec::new(), Some(Wait::Signal(cause, signal)))
                }
            }
            Order::Acquire(acquire) => {
                self.accounts.taken(holder, &acquire, thread);
                let Acquire { lock, shared, .. } = acquire;
                let is_given = self.programs[holder].objects.acquire(lock, shared, thread);
                (Vec::new(), (!is_given).then_some(Wait::Object(holder, ObjectWait::Lock(lock))))
            }
            Order::Release { lock, signal } => {
                let mut woken = signals.send(signal);
                woken.extend(self.programs[holder].objects.release(lock, thread));
                (woken, None)
            }
            Order::Take(Semaphore { address, first }) => {
                let is_given = self.programs[holder].objects.take(address, first, thread);
                let wait = Wait::Object(holder, ObjectWait::Semaphore(address));
                (Vec::new(), (!is_given).then_some(wait))
            }
            Order::Post(Semaphore { address, first }) => {
                let objects = &mut self.programs[holder].objects;
                (objects.post(address, first).into_iter().collect(), None)
            }
            Order::Arrive { barrier, threads } => {
                match self.programs[holder].objects.arrive(barrier, threads, thread) {
                    Some(others) => (others, None),
                    None => (Vec::new(), Some(Wait::Object(holder, ObjectWait::Barrier(barrier)))),
                }
            }
            Order::Sleep(nanoseconds) => {
                let cycles = u128::from(nanoseconds) * u128::from(HZ) / 1_000_000_000;
                let until = cycles.saturating_add(now.into()).min(MAX_WAKE_TIME.max(now).into());
                self.sleepers.add(thread, until as u64);
                (Vec::new(), Some(Wait::Sleep))
            }
            Order::Call(call) => {
                self.accounts.called(call);
                (Vec::new(), None)
            }
            Order::LeftOut(references) => {
                let left_out = &mut self.accounts.left_out;
                *left_out = left_out.saturating_add(references);
                (Vec::new(), None)
            }
        };
        if let Some(wait) = wait {
            self.wait(wait, thread, strand);
            return false;
        }
        woken.iter().for_each(|woken| self.wake(*woken, thread, now));
        woken.is_empty()
    }

    /// Notes that a thread ended at the time `now`. A process ends with its last thread.
    pub(super) fn end_thread(&mut self, thread: usize, now: u64) {
        let program = &mut self.programs[self.threads[thread].program];
        program.threads -= 1;
        if program.threads > 0 {
            return;
        }
        if let Some(process) = program.source.recording().process().ends {
            let family = &mut self.families[program.family];
            let woken = family.signals.send(process_ends(process));
            woken.iter().for_each(|woken| self.wake(*woken, thread, now));
        }
    }

    /// Records that a thread has begun although no other thread started it. Does nothing if the thread has already begun.
    pub(super) fn begin(&mut self, thread: usize) {
        self.accounts.begin(thread, self.delay(thread));
    }

    /// Returns the number of cycles by which a thread's start is delayed.
    fn delay(&self, thread: usize) -> u64 {
        self.delays.get(thread).copied().unwrap_or(0)
    }

    /// Begins the executing thread, which another thread started at the time `started`. If the thread begins later than the
    /// strand's turn, lets the strand choose its next thread again, and returns `false`.
    fn begin_started(&mut self, thread: usize, strand: StrandId, started: u64) -> bool {
        if self.accounts.state(thread) != State::NotBegun {
            return true;
        }
        let begins = started + self.delay(thread);
        self.accounts.begin(thread, begins);
        self.threads[thread].woken = begins;
        let is_later = begins > self.strands[strand.index()].ready;
        if is_later {
            self.change_thread(strand);
        }
        !is_later
    }

    /// Begins a wait of the executing thread.
    fn wait(&mut self, wait: Wait, thread: usize, strand: StrandId) {
        let at = self.strands[strand.index()].ready;
        if !matches!(wait, Wait::Signal(Cause::Start, _)) {
            self.begin(thread);
        }
        let lock = match wait {
            Wait::Object(holder, ObjectWait::Lock(lock)) => Some((holder, lock)),
            Wait::Signal(Cause::Section, _) => {
                let next = self.threads[thread].next_lock();
                next.map(|lock| self.shared.object(self.threads[thread].program, lock))
            }
            _ => None,
        };
        match lock {
            Some(lock) => self.accounts.wait_for_lock(thread, lock, at),
            None => self.accounts.enter(thread, wait.state(), at),
        }
        self.threads[thread].wait = Some(wait);
        self.change_thread(strand);
    }

    /// Ends a thread's wait at the time `now`. `by` is the thread that ends it.
    pub(super) fn wake(&mut self, thread: usize, by: usize, now: u64) {
        let delay = match self.accounts.state(thread) {
            State::NotBegun => self.delay(thread),
            _ => 0,
        };
        let at = now + delay;
        let woken = &mut self.threads[thread];
        (woken.wait, woken.woken) = (None, at);
        let strand = woken.strand;
        self.accounts.woken(thread, by, at);
        self.accounts.enter(thread, State::Ready, at);
        // If the strand is executing another thread, that thread continues.
        let first = self.strands[strand.index()].threads[0];
        if first == thread || self.threads[first].wait.is_some() {
            self.change_thread(strand);
        }
    }

    /// Notes that a strand executes a thread from the time at which the strand is ready.
    pub(super) fn run(&mut self, thread: usize, strand: StrandId) {
        if self.accounts.state(thread) != State::Running {
            self.begin(thread);
            self.accounts.enter(thread, State::Running, self.strands[strand.index()].ready);
        }
    }

    /// Lets a strand continue with its next thread that is not waiting.
    pub(super) fn change_thread(&mut self, id: StrandId) {
        let strand = &mut self.strands[id.index()];
        let waits = |thread: &usize| self.threads[*thread].wait.is_some();
        let waiting = strand.threads.iter().take_while(|thread| waits(thread)).count();
        if waiting == strand.threads.len() {
            return self.turns.set(id, None);
        }
        strand.threads.rotate_left(waiting);
        strand.ready = strand.ready.max(self.threads[strand.threads[0]].woken);
        if !self.ahead.wake(id, strand.ready) {
            self.turns.set(id, Some(strand.ready));
        }
    }

    /// Ends one thread's wait, on the strand with the earliest time. Must be called only when all threads wait. This can happen if
    /// a recording is cut off, so that signals are missing. It can also happen if threads take locks in a different order than in
    /// the recorded execution, and then wait for each other's locks. Returns `false` if no thread waits.
    pub(super) fn break_deadlock(&mut self) -> bool {
        let waiting = (self.threads.iter().enumerate())
            .filter_map(|(number, thread)| Some((number, thread, thread.wait?)));
        let first = waiting.min_by_key(|(number, thread, _)| {
            (self.strands[thread.strand.index()].ready, thread.strand, *number)
        });
        let Some((number, thread, wait)) = first else { return false };
        let program = &mut self.programs[thread.program];
        match wait {
            Wait::Signal(cause, signal) => {
                let signals = match is_of_process(signal) {
                    true => &mut self.families[program.family].signals,
                    false => &mut program.signals,
                };
                signals.cancel_wait(signal, number);
                match cause {
                    Cause::Section => program.forced += 1,
                    _ => program.dropped += 1,
                }
            }
            Wait::Object(holder, object) => {
                program.forced += 1;
                self.programs[holder].objects.force(object, number);
            }
            Wait::Sleep => {}
        }
        self.wake(number, number, self.time);
        true
    }
}
