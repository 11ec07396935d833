//! A simple model of the scheduler. It executes item by item, and searches all strands and all waits each time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Begin, Item, cycles};
use crate::machine::clock::HZ;
use crate::recording::{Acquire, Cause, Order, Semaphore};
use crate::run::{State, States};

/// What threads do according to the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Modelled {
    pub(super) begins: Vec<Begin>,
    pub(super) ends: u64,
    pub(super) dropped: u64,
    pub(super) states: Vec<States>,
}

struct Thread {
    items: VecDeque<Item>,
    strand: usize,
    state: State,
    /// The time at which the state began.
    since: u64,
    states: States,
    /// The time at which the thread's latest wait ended.
    woken: u64,
    /// The number of cycles by which the thread's start is delayed.
    late: u64,
}

#[derive(Default)]
struct Strand {
    ready: u64,
    /// The threads that have not ended, in the order of their turns. The first one executes.
    threads: VecDeque<usize>,
}

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    Signal(u64),
    Lock { lock: u64, shared: bool },
    Semaphore(u64),
    Barrier(u64),
    Time(u64),
}

#[derive(Default)]
struct Model {
    threads: Vec<Thread>,
    strands: BTreeMap<usize, Strand>,
    /// The time at which each pipeline can issue its next instruction.
    free: BTreeMap<usize, u64>,
    signals: BTreeSet<u64>,
    /// The threads that hold each lock, each with a flag that is `true` if the thread shares the lock.
    locks: BTreeMap<u64, Vec<(usize, bool)>>,
    semaphores: BTreeMap<u64, u32>,
    /// The waiting threads, longest wait first.
    waiting: Vec<(usize, Until)>,
    begins: Vec<Begin>,
    time: u64,
    dropped: u64,
}

/// Executes threads on strands. `placed` holds the number of each thread's strand, and `late` the number of cycles by which its
/// start is delayed.
pub(super) fn modelled(threads: &[Vec<Item>], placed: &[usize], late: &[u64]) -> Modelled {
    let mut model = Model::default();
    for (number, (items, strand)) in threads.iter().zip(placed).enumerate() {
        let has_begun = !matches!(items.first(), Some(Item::Order(Order::Wait(Cause::Start, _))));
        model.strands.entry(*strand).or_default().threads.push_back(number);
        model.threads.push(Thread {
            items: items.iter().copied().collect(),
            strand: *strand,
            state: State::NotBegun,
            since: 0,
            states: States::default(),
            woken: late[number],
            late: late[number],
        });
        if has_begun {
            model.enter(number, State::Ready, late[number]);
        }
    }
    model.choose_threads();
    while model.step() {
        model.choose_threads();
    }
    for thread in 0..threads.len() {
        model.enter(thread, State::Ended, model.time);
    }
    Modelled {
        begins: model.begins,
        ends: model.time,
        dropped: model.dropped,
        states: model.threads.into_iter().map(|thread| thread.states).collect(),
    }
}

impl Model {
    fn waits(&self, thread: usize) -> bool {
        self.waiting.iter().any(|(who, _)| *who == thread)
    }

    fn enter(&mut self, thread: usize, state: State, at: u64) {
        let thread = &mut self.threads[thread];
        let spent = at.checked_sub(thread.since).expect("states follow each other");
        thread.states.add(thread.state, spent);
        (thread.state, thread.since) = (state, at);
    }

    /// Does what comes first: a sleep ends, a strand executes, or a wait is dropped. Returns `false` if all threads have ended.
    fn step(&mut self) -> bool {
        let turn = self.strands.iter().filter_map(|(strand, Strand { ready, threads })| {
            let thread = *threads.front().filter(|thread| !self.waits(**thread))?;
            let at = *ready.max(self.free.get(&(strand / 4)).unwrap_or(&0));
            Some((at, strand / 4, *ready, *strand, thread))
        });
        let turn = turn.min();
        let sleeper = self.waiting.iter().filter_map(|(thread, until)| match until {
            Until::Time(at) => Some((*at, *thread)),
            _ => None,
        });
        let sleeper = sleeper.min();
        if let Some((at, thread)) =
            sleeper.filter(|(at, _)| turn.is_none_or(|(turn, ..)| *at <= turn))
        {
            self.time = at;
            self.wake(thread);
        } else if let Some((at, _, ready, _, thread)) = turn {
            self.time = at;
            self.execute(thread, ready);
        } else {
            let earliest = self.waiting.iter().map(|(thread, _)| {
                let strand = self.threads[*thread].strand;
                (self.strands[&strand].ready, strand, *thread)
            });
            let Some((.., thread)) = earliest.min() else { return false };
            self.drop_wait(thread);
        }
        true
    }

    /// Executes the next item of a thread whose strand is ready at this time.
    fn execute(&mut self, thread: usize, ready: u64) {
        let item = self.threads[thread].items.pop_front();
        let strand = self.threads[thread].strand;
        match item {
            None => {
                self.enter(thread, State::Ended, ready);
                self.strands.get_mut(&strand).unwrap().threads.pop_front();
            }
            Some(Item::Instruction(address, data)) => {
                self.begins.push((thread, address, self.time));
                let ends = self.time + cycles(address, data);
                self.strands.get_mut(&strand).unwrap().ready = ends;
                self.free.insert(strand / 4, self.time + 1);
            }
            Some(Item::Order(order)) => {
                if let Some((state, until)) = self.order(thread, order) {
                    self.enter(thread, state, ready);
                    self.waiting.push((thread, until));
                }
            }
        }
    }

    /// Carries out a thread's order. Returns what the thread then waits for.
    fn order(&mut self, thread: usize, order: Order) -> Option<(State, Until)> {
        match order {
            Order::Signal(number) | Order::Start(number) => self.signal(number),
            Order::Wait(cause, number) => {
                let state = match cause {
                    Cause::Wake => State::Recorded,
                    Cause::Start => State::NotBegun,
                    Cause::Thread => State::Thread,
                    Cause::Condition => State::Condition,
                    Cause::Section => State::Lock,
                };
                return (!self.signals.contains(&number)).then_some((state, Until::Signal(number)));
            }
            Order::Acquire(Acquire { lock, shared, .. }) => {
                let holders = self.locks.entry(lock).or_default();
                let is_shared = holders.iter().all(|(_, shares)| *shares);
                if holders.iter().any(|(holder, _)| *holder == thread) {
                    return None;
                }
                let is_free = holders.is_empty() || shared && is_shared;
                if !is_free {
                    return Some((State::Lock, Until::Lock { lock, shared }));
                }
                holders.push((thread, shared));
            }
            Order::Release { lock, signal } => {
                self.signal(signal);
                self.release(lock, thread);
            }
            Order::Take(Semaphore { address, first }) => {
                let value = self.semaphores.entry(address).or_insert(first);
                if *value == 0 {
                    return Some((State::Semaphore, Until::Semaphore(address)));
                }
                *value -= 1;
            }
            Order::Post(Semaphore { address, first }) => {
                self.semaphores.entry(address).or_insert(first);
                match self.who_waits(Until::Semaphore(address)).first() {
                    Some(thread) => self.wake(*thread),
                    None => *self.semaphores.get_mut(&address).unwrap() += 1,
                }
            }
            Order::Arrive { barrier, threads } => {
                let others = self.who_waits(Until::Barrier(barrier));
                if others.len() + 1 < threads as usize {
                    return Some((State::Barrier, Until::Barrier(barrier)));
                }
                others.iter().for_each(|thread| self.wake(*thread));
            }
            Order::Sleep(nanoseconds) => {
                let cycles = u128::from(nanoseconds) * u128::from(HZ) / 1_000_000_000;
                let until = self.time + u64::try_from(cycles).unwrap();
                return Some((State::Sleep, Until::Time(until)));
            }
            Order::Call(_) | Order::LeftOut(_) => {}
        }
        None
    }

    fn signal(&mut self, number: u64) {
        self.signals.insert(number);
        for thread in 0..self.threads.len() {
            let first = self.threads[thread].items.front();
            let begins = matches!(first, Some(Item::Order(Order::Wait(Cause::Start, wanted))) if *wanted == number);
            if self.threads[thread].state == State::NotBegun && begins {
                let at = self.time + self.threads[thread].late;
                self.enter(thread, State::Ready, at);
                self.threads[thread].woken = at;
            }
        }
        let waiting = self.who_waits(Until::Signal(number));
        waiting.iter().for_each(|thread| self.wake(*thread));
    }

    fn release(&mut self, lock: u64, thread: usize) {
        let holders = self.locks.entry(lock).or_default();
        let Some(held) = holders.iter().position(|(holder, _)| *holder == thread) else { return };
        holders.remove(held);
        if !holders.is_empty() {
            return;
        }
        let longest = self.waiting.iter().find_map(|(thread, until)| match *until {
            Until::Lock { lock: wanted, shared } if wanted == lock => Some((*thread, shared)),
            _ => None,
        });
        let gets = match longest {
            Some((_, true)) => self.who_waits(Until::Lock { lock, shared: true }),
            Some((thread, false)) => vec![thread],
            None => Vec::new(),
        };
        for thread in gets {
            let shared = longest.is_some_and(|(_, shared)| shared);
            self.locks.get_mut(&lock).unwrap().push((thread, shared));
            self.wake(thread);
        }
    }

    fn who_waits(&self, wanted: Until) -> Vec<usize> {
        let who = self.waiting.iter().filter(|(_, until)| *until == wanted);
        who.map(|(thread, _)| *thread).collect()
    }

    /// Ends one thread's wait, because otherwise all threads would wait forever.
    fn drop_wait(&mut self, thread: usize) {
        self.dropped += 1;
        let until = self.waiting.iter().find_map(|(who, until)| (*who == thread).then_some(*until));
        if let Some(Until::Lock { lock, shared }) = until {
            self.locks.entry(lock).or_default().push((thread, shared));
        }
        self.wake(thread);
    }

    /// Ends a thread's wait. If its strand is idle, the thread is the next to execute.
    fn wake(&mut self, thread: usize) {
        self.waiting.retain(|(who, _)| *who != thread);
        let Thread { state, late, .. } = self.threads[thread];
        let at = self.time + if state == State::NotBegun { late } else { 0 };
        self.threads[thread].woken = at;
        self.enter(thread, State::Ready, at);
        let threads = &self.strands[&self.threads[thread].strand].threads;
        if threads.iter().all(|other| *other == thread || self.waits(*other)) {
            let strand = self.strands.get_mut(&self.threads[thread].strand).unwrap();
            while strand.threads[0] != thread {
                strand.threads.rotate_left(1);
            }
        }
    }

    /// Moves the next thread that is not waiting to the front of each strand.
    fn choose_threads(&mut self) {
        let strands: Vec<usize> = self.strands.keys().copied().collect();
        for strand in strands {
            let threads = &self.strands[&strand].threads;
            let Some(next) = threads.iter().position(|thread| !self.waits(*thread)) else {
                continue;
            };
            let strand = self.strands.get_mut(&strand).unwrap();
            strand.threads.rotate_left(next);
            let thread = strand.threads[0];
            // A woken thread does not continue before the time at which it was woken.
            strand.ready = strand.ready.max(self.threads[thread].woken);
            let ready = strand.ready;
            if self.threads[thread].state == State::Ready {
                self.enter(thread, State::Running, ready);
            }
        }
    }
}
