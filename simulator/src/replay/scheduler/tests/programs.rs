//! Random programs for the scheduler.

use proptest::prelude::*;

use super::{Item, instruction};
use crate::recording::{Acquire, Cause, Order, Semaphore};

/// Threads, and the number of each thread's strand.
pub(super) type Program = (Vec<Vec<Item>>, Vec<usize>);

/// A choice by the generator: a thread's number, its action, and the action's details.
type Choice = (usize, u8, u16);

/// Programs of up to 8 threads on up to 6 strands of three pipelines. The actions of all threads are chosen in one common order, so
/// no wait for a signal comes before the signal. A tidy program releases all locks that it takes. A program that is not tidy can
/// release locks that it does not hold. A few signals are missing.
pub(super) fn programs() -> impl Strategy<Value = Program> {
    let strands = prop::collection::vec(0..12_usize, 1..7);
    let placed = prop::collection::vec(any::<prop::sample::Index>(), 1..9);
    let choices = prop::collection::vec((0..8_usize, 0..32_u8, any::<u16>()), 1..150);
    (strands, placed, choices, 0..4_u8).prop_map(|(strands, placed, choices, tidy)| {
        let placed: Vec<_> = placed.iter().map(|at| *at.get(&strands)).collect();
        let mut program = Growing::new(placed.len(), tidy > 0);
        choices.into_iter().for_each(|choice| program.choose(choice));
        (program.finish(), placed)
    })
}

struct Growing {
    threads: Vec<Vec<Item>>,
    /// The locks that each thread holds.
    has: Vec<Vec<u64>>,
    /// The number of the next signal. Signals with lower numbers have been sent, or were omitted on purpose.
    signals: u64,
    instructions: u64,
    is_tidy: bool,
}

const LOCKS: u64 = 3;

impl Growing {
    fn new(threads: usize, is_tidy: bool) -> Self {
        let (threads, has) = (vec![Vec::new(); threads], vec![Vec::new(); threads]);
        Self { threads, has, signals: 0, instructions: 0, is_tidy }
    }

    fn push(&mut self, thread: usize, order: Order) {
        self.threads[thread].push(Item::Order(order));
    }

    fn next_signal(&mut self) -> u64 {
        self.signals += 1;
        self.signals - 1
    }

    fn choose(&mut self, (thread, what, seed): Choice) {
        let count = self.threads.len();
        let thread = thread % count;
        let number = u64::from(seed);
        let lock = number % LOCKS;
        let semaphore = Semaphore { address: 100 + number % 2, first: u32::from(seed % 5 / 3) };
        let barrier = 200 + number % 2;
        match what {
            0 | 1 => {
                let signal = self.next_signal();
                if seed % 8 > 0 {
                    self.push(thread, Order::Signal(signal));
                }
            }
            2..=4 if self.signals > 0 => {
                let causes = [Cause::Wake, Cause::Thread, Cause::Condition, Cause::Section];
                let cause = causes[usize::from(seed / 256 % 4)];
                self.push(thread, Order::Wait(cause, number % self.signals));
            }
            5 | 6 => {
                let started = usize::from(seed) % count;
                if self.threads[started].is_empty() && started != thread {
                    let signal = self.next_signal();
                    self.push(started, Order::Wait(Cause::Start, signal));
                    self.push(thread, Order::Start(signal));
                }
            }
            7..=12 => {
                // Threads take locks in any order, so they can wait for each other forever.
                if !self.is_tidy || !self.has[thread].contains(&lock) {
                    self.has[thread].push(lock);
                    let shared = seed / 256 % 2 == 0;
                    self.push(thread, Order::Acquire(Acquire { lock, shared, site: number % 4 }));
                }
            }
            13..=18 => {
                let has = &mut self.has[thread];
                let held = (!has.is_empty()).then(|| has.remove(usize::from(seed) % has.len()));
                let any = (!self.is_tidy && seed / 256 % 4 == 0).then_some(lock);
                if let Some(lock) = any.or(held) {
                    let signal = self.next_signal();
                    self.push(thread, Order::Release { lock, signal });
                }
            }
            19 => self.push(thread, Order::Take(semaphore)),
            20 => self.push(thread, Order::Post(semaphore)),
            21 if self.is_tidy => {
                for arrives in 0..count {
                    self.push(arrives, Order::Arrive { barrier, threads: count as u32 });
                }
            }
            21 => self.push(thread, Order::Arrive { barrier, threads: 1 + u32::from(seed % 4) }),
            22 | 23 => self.push(thread, Order::Sleep(number % 32)),
            24 => self.push(thread, Order::Call((seed % 24) as u8)),
            25 => self.push(thread, Order::LeftOut(number)),
            _ => {
                self.instructions += 1;
                let address = self.instructions * 100 + number % 100;
                self.threads[thread].push(Item::Instruction(address, number % 3));
            }
        }
    }

    /// Returns the threads. In a tidy program, they have released all locks.
    fn finish(mut self) -> Vec<Vec<Item>> {
        if self.is_tidy {
            for thread in 0..self.threads.len() {
                for lock in std::mem::take(&mut self.has[thread]) {
                    self.threads[thread].push(instruction(lock));
                    let signal = self.next_signal();
                    self.push(thread, Order::Release { lock, signal });
                }
            }
        }
        self.threads
    }
}
