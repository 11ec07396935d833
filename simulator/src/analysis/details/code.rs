//! Counts cache misses by instruction.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::counts::{Counts, counts};
use crate::json;
use crate::lookup::{Key, Lookup, mix};
use crate::memory::Served;

/// The maximum number of instructions whose misses are counted separately during a replay.
const MAX_INSTRUCTIONS: usize = 1 << 16;
/// The maximum number of instructions in [`Details`](super::Details).
pub(crate) const MAX_CODE: usize = 1024;

/// An instruction of a replayed program, with its misses and the number of cycles that strands waited at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct InstructionMisses {
    /// The index of the instruction's program, in the order of the recordings.
    pub program: usize,
    /// The instruction's address; `None` for references without an instruction, as in handwritten recordings.
    #[serde(with = "json")]
    pub address: Option<u64>,
    #[serde(flatten)]
    pub missed: Missed,
}

/// The misses and waiting cycles of one or more instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// The number of requests to the L2 cache: all stores, and the loads and fetches that missed the L1 caches. Each kind of unit that
    /// serves requests has its own number.
    pub misses: Served,
    /// How many cycles strands waited at these instructions, for any reason.
    pub cycles: u64,
}

counts! {
    Missed { misses, cycles }
}

/// A program's index, and the address of one of its instructions.
type Address = (usize, Option<u64>);

impl Key for Address {
    #[inline(always)]
    fn hash_value(&self) -> u64 {
        mix(self.0 as u64, self.1.unwrap_or(u64::MAX))
    }
}

/// The number of entries in [`Misses::latest`].
const LATEST: usize = 1 << 10;

#[derive(Debug)]
pub(super) struct Misses {
    instructions: Lookup<Address, Missed>,
    others: Missed,
    /// Each entry is the index in `instructions` of an instruction that has stored recently. The low bits of an instruction's address
    /// select the instruction's entry.
    latest: Box<[u32; LATEST]>,
}

impl Misses {
    pub(super) fn new() -> Self {
        let (instructions, others) = (Lookup::default(), Missed::default());
        Self { instructions, others, latest: Box::new([u32::MAX; LATEST]) }
    }

    /// Adds the misses and the waiting cycles of one execution of an instruction.
    pub(super) fn note(&mut self, program: usize, instruction: Option<u64>, missed: &Missed) {
        self.instructions.or_insert_with((program, instruction), Missed::default).add(missed);
        if self.instructions.len() > MAX_INSTRUCTIONS {
            self.forget();
        }
    }

    /// Notes that an instruction stored to a line that was in its node's L2 cache.
    #[inline(always)]
    pub(super) fn note_stored(&mut self, program: usize, instruction: u64) {
        let address = (program, Some(instruction));
        // The two lowest bits of a T2 instruction's address are always 0. Mixing in higher bits makes all entries usable.
        let place = (instruction ^ instruction >> 2) as usize % LATEST;
        match self.instructions.at(self.latest[place], &address) {
            Some(known) => known.misses.l2 += 1,
            None => self.note_first_stored(place, address),
        }
    }

    /// Notes a store by an instruction that is not in `latest`, and puts the instruction there.
    #[cold]
    #[inline(never)]
    fn note_first_stored(&mut self, place: usize, (program, instruction): Address) {
        let missed = Missed { misses: Served { l2: 1, ..Served::default() }, cycles: 0 };
        self.note(program, instruction, &missed);
        self.latest[place] = self.instructions.number(&(program, instruction));
    }

    /// Keeps the half of the instructions with the most waiting cycles. Adds the other half's misses and cycles to the sum
    /// `others`.
    #[cold]
    fn forget(&mut self) {
        let mut kept = self.sorted();
        for (_, missed) in kept.split_off(MAX_INSTRUCTIONS / 2) {
            self.others.add(&missed);
        }
        self.instructions.take();
        for (at, missed) in kept {
            self.instructions.or_insert_with(at, || missed);
        }
    }

    /// Returns all instructions, in descending order of their waiting cycles.
    fn sorted(&self) -> Vec<(Address, Missed)> {
        let instructions = self.instructions.iter();
        let mut sorted: Vec<_> = instructions.map(|(at, missed)| (*at, *missed)).collect();
        sorted.sort_unstable_by_key(|(at, missed)| (Reverse(missed.cycles), *at));
        sorted
    }

    /// Returns the 1,024 instructions with the most waiting cycles, in descending order of these cycles. Also returns the total
    /// misses of all other instructions.
    pub(super) fn code(&self) -> (Vec<InstructionMisses>, Missed) {
        let mut sorted = self.sorted();
        let mut others = self.others;
        let rest = sorted.split_off(MAX_CODE.min(sorted.len()));
        rest.iter().for_each(|(_, missed)| others.add(missed));
        let instruction =
            |((program, address), missed)| InstructionMisses { program, address, missed };
        (sorted.into_iter().map(instruction).collect(), others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_least_is_summed_up() {
        let mut misses = Misses::new();
        // The number of instructions exceeds the maximum by 1. Each instruction waits one cycle longer than the previous one.
        let all = MAX_INSTRUCTIONS as u64 + 1;
        for address in 0..all {
            misses.note(0, Some(address), &Missed { cycles: address, ..Missed::default() });
        }
        assert_eq!(misses.instructions.len(), MAX_INSTRUCTIONS / 2);
        let (code, others) = misses.code();
        assert_eq!(code.len(), MAX_CODE);
        assert_eq!((code[0].address, code[0].missed.cycles), (Some(all - 1), all - 1));
        let shown: u64 = code.iter().map(|one| one.missed.cycles).sum();
        assert_eq!(shown + others.cycles, all * (all - 1) / 2);
    }

    #[test]
    fn stores_are_counted_by_instruction_and_program() {
        let mut misses = Misses::new();
        let stores = [(0, 0x1000), (0, 0x1000), (1, 0x1000), (0, 0x1004), (0, 0x1000), (1, 0x1000)];
        for (program, instruction) in stores {
            misses.note_stored(program, instruction);
        }
        misses.note(1, Some(0x1000), &Missed { cycles: 7, ..Missed::default() });
        let code: Vec<_> = (misses.code().0.iter())
            .map(|one| (one.program, one.address, one.missed.misses.l2, one.missed.cycles))
            .collect();
        let address = Some(0x1000);
        assert_eq!(code, [(1, address, 2, 7), (0, address, 3, 0), (0, Some(0x1004), 1, 0)]);
    }
}
