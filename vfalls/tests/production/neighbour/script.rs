//! What the guest does, which is the same in both copies.

use simulator::conform::attacks::ALL;
use simulator::conform::caller::{Request, resume_at};
use simulator::conform::guest::IDLE;
use simulator::execute::Execution;
use simulator::interpreter::Level;
use tests::random::Random;

use super::super::lists::{GET, SET};
use super::super::strand;
use super::others::all_calls;
use super::{GUEST, MEMORIES, MEMORY, Ready};

#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    /// A call, and the seed for the values in the other registers.
    Call(Request, u64),
    /// A program: the index of its kind, and the program's index within its kind. Programs of most kinds take traps.
    Program(usize, usize),
    /// The operator asks the guest's strand for a heartbeat, which interrupts the strand.
    Heartbeat,
}

/// The index of the kind of attack that ends the guest.
const ENDS: usize = 7;

impl Action {
    pub(super) fn drawn(random: &mut Random) -> Self {
        match random.below(20) {
            0..9 => Self::Call(call(random), random.next_u64()),
            9..13 => Self::Call(random.one_of(all_calls()), random.next_u64()),
            // An interrupt takes as long as hundreds of calls, so it comes rarely.
            13 if random.below(8) == 0 => Self::Heartbeat,
            13 => Self::Call(call(random), random.next_u64()),
            kind => {
                let kind = match kind {
                    14..16 => ALL.len() - 1,
                    // The guest rarely ends, because the script ends with it.
                    _ => Some(random.below(ALL.len())).filter(|kind| *kind != ENDS).unwrap_or(4),
                };
                Self::Program(kind, random.below(ALL[kind].count))
            }
        }
    }

    /// A call that reads a register.
    pub(super) fn get(random: &mut Random, register: u64) -> Self {
        let registers = [register, random.next_u64(), 2, 3, 4, GET];
        Self::Call(Request { trap: 0x80, registers }, random.next_u64())
    }

    /// Lets the guest begin the action.
    pub(super) fn begin(self, ready: &Ready, execution: &mut Execution) {
        let id = strand(GUEST);
        match self {
            Self::Call(request, seed) => {
                request.put(execution.strand_mut(id), &mut Random(seed));
            }
            Self::Program(kind, number) => {
                let begun =
                    ALL[kind].begin(execution, (id, 0), MEMORIES[0], &ready.control, number);
                begun.unwrap();
            }
            Self::Heartbeat => {
                // The interrupt may take some instructions to arrive, so the strand executes instructions that do nothing.
                resume_at(execution.strand_mut(id), IDLE);
                execution.heartbeat(id);
                let mut steps = 0;
                while execution.strand(id).level() < Level::Hyperprivileged {
                    assert!(steps < LATEST, "no interrupt comes");
                    execution.step(id);
                    steps += 1;
                }
            }
        }
    }
}

/// The maximum number of instructions that the guest executes before an interrupt arrives.
const LATEST: u32 = 100_000;

/// The %pcr value with which both counters count instructions of user and privileged code. With the [`HT`] bit, they also count hypervisor
/// instructions.
const INSTRUCTIONS: u64 = 2 << 27 | 0xfd << 19 | 2 << 14 | 0xfd << 6 | 1 << 2 | 1 << 1;
const HT: u64 = 1 << 3;

/// Returns a call to the performance counter service.
pub(super) fn call(random: &mut Random) -> Request {
    let any = random.below(256) as u64;
    let register = match random.below(8) {
        0 => 0,
        1 => 1,
        2..5 => 2 + any % 4,
        5..7 => 18 + any % 72,
        _ => any,
    };
    let value = match random.below(3) {
        _ if register == 0 => random.one_of(&[INSTRUCTIONS, INSTRUCTIONS | HT, u64::MAX, any]),
        0 => random.next_u64(),
        1 => any % 16,
        _ => random.one_of(&[0, 0x0101, 0x0202, u64::MAX]),
    };
    let (trap, function) = match random.below(16) {
        0 => {
            let minor = random.one_of(&[0, 1, 1, 1]);
            return Request { trap: 0xff, registers: [0x205, 1, minor, 3, 4, 0] };
        }
        1 => return Request { trap: 0xff, registers: [0x205, 1, value, 3, 4, 3] },
        2..8 => (0x80, GET),
        _ => (0x80, SET),
    };
    Request { trap, registers: [register, value, 2, 3, 4, function] }
}

/// Writes random words to the beginning, the middle and the end of a guest's memory, where the other guest's attacks look.
pub(super) fn store_values(execution: &mut Execution, base: u64, random: &mut Random) {
    for offset in [0x8, 0x60_0000, MEMORY - 16] {
        let words: Vec<u8> = (0..2).flat_map(|_| random.next_u64().to_be_bytes()).collect();
        // The first word of the memory is the guest's first instruction.
        let length = if offset == 8 { 8 } else { 16 };
        execution.load(base + offset, &words[..length]).unwrap();
    }
}
