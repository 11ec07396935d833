//! Which instructions miss.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::Serialize;

use crate::memory::{Served, Waited};
use crate::nearest::known_hexadecimal;

/// How many instructions are told apart while the programs execute, and of how many is said in the end what they missed.
const MOST: usize = 1 << 16;
const SHOWN: usize = 1024;

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Instruction {
    /// The number of its program, in the order of the recordings.
    pub program: usize,
    /// Its address; `None` for data that belong to no instruction, as in recordings by hand.
    #[serde(serialize_with = "known_hexadecimal")]
    pub address: Option<u64>,
    /// What it missed.
    #[serde(flatten)]
    pub missed: Missed,
}

/// What instructions missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Missed {
    /// The requests that the L1 caches did not serve, and all stores, by what served them.
    pub misses: Served,
    /// The cycles that were waited there, for whatever.
    pub cycles: u64,
}

impl Missed {
    fn add(&mut self, other: &Self) {
        self.misses += other.misses;
        self.cycles += other.cycles;
    }
}

/// A program, and the address of an instruction.
type Address = (usize, Option<u64>);

/// What was missed until now.
#[derive(Debug, Default)]
pub(super) struct Misses {
    instructions: HashMap<Address, Missed>,
    others: Missed,
}

impl Misses {
    pub(super) fn note(&mut self, program: usize, instruction: Option<u64>, waited: &Waited) {
        let missed = Missed {
            misses: waited.served,
            cycles: waited.cycles(),
        };
        self.instructions
            .entry((program, instruction))
            .or_default()
            .add(&missed);
        if self.instructions.len() > MOST {
            let others;
            (self.instructions, others) = {
                let mut sorted = self.sorted();
                let others = sorted.split_off(MOST / 2);
                (sorted.into_iter().collect(), others)
            };
            others
                .iter()
                .for_each(|(_, missed)| self.others.add(missed));
        }
    }

    /// Returns all instructions, those that were waited for longest first.
    fn sorted(&self) -> Vec<(Address, Missed)> {
        let instructions = self.instructions.iter();
        let mut sorted: Vec<_> = instructions.map(|(at, missed)| (*at, *missed)).collect();
        sorted.sort_unstable_by_key(|(at, missed)| (Reverse(missed.cycles), *at));
        sorted
    }

    /// Returns the instructions that were waited for longest, at most 1,024, the longest first, and what all others missed.
    pub(super) fn code(&self) -> (Vec<Instruction>, Missed) {
        let mut sorted = self.sorted();
        let mut others = self.others;
        let rest = sorted.split_off(SHOWN.min(sorted.len()));
        rest.iter().for_each(|(_, missed)| others.add(missed));
        let instruction = |((program, address), missed)| Instruction {
            program,
            address,
            missed,
        };
        (sorted.into_iter().map(instruction).collect(), others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_least_is_summed_up() {
        let mut misses = Misses::default();
        // More instructions than are told apart, each of which waits for a cycle more than the one before.
        let all = MOST as u64 + 1;
        for address in 0..all {
            let waited = Waited {
                stores: address,
                ..Waited::default()
            };
            misses.note(0, Some(address), &waited);
        }
        assert_eq!(misses.instructions.len(), MOST / 2);
        let (code, others) = misses.code();
        assert_eq!(code.len(), SHOWN);
        assert_eq!(
            (code[0].address, code[0].missed.cycles),
            (Some(all - 1), all - 1)
        );
        let shown: u64 = code.iter().map(|one| one.missed.cycles).sum();
        assert_eq!(shown + others.cycles, all * (all - 1) / 2);
    }
}
