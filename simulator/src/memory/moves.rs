//! Counts how often lines move between nodes.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::geometry::{ADDRESS_MASK, L2Line, LINE_SHIFT};
use super::traffic::{NodeRequest, SnoopAnswer, Supplier};
use crate::lookup::Lookup;

/// How often a line moved between the L2 caches of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moves {
    /// How often a node missed the line and received it from another node's cache.
    pub transfers: u64,
    /// How often a node lost its copy of the line because another node wrote to the line.
    pub invalidations: u64,
}

impl Moves {
    /// Returns the sum of transfers and invalidations. Reports sort lines by this sum.
    pub const fn all(self) -> u64 {
        self.transfers + self.invalidations
    }
}

/// The lines that have moved between nodes. The key is a line's number.
#[derive(Clone, Debug)]
pub(crate) struct MovedLines {
    lines: Lookup<u64, Moves>,
    others: OtherMoves,
    /// One bit for each line. A line's bit is selected by the low bits of its number, so several lines share a bit. The bit is set
    /// if any of them has moved.
    bits: Box<[u64; WORDS]>,
}

/// The moves of lines that moved too rarely to be kept individually.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OtherMoves {
    /// The number of lines. A line that moves again later is counted again.
    pub(crate) lines: usize,
    pub(crate) moves: Moves,
}

/// The maximum number of lines whose moves are kept individually. If more lines move, only the sum of the moves is kept for the
/// half that moved least.
const MAX_LINES: usize = 1 << 19;

/// The number of words in [`MovedLines::bits`]. Together, they have one bit for each of the 2^20 lines in 64 MB of memory.
const WORDS: usize = 1 << 14;

impl Default for MovedLines {
    fn default() -> Self {
        let bits = vec![0; WORDS].try_into().expect("the length is right");
        Self { lines: Lookup::default(), others: OtherMoves::default(), bits }
    }
}

impl MovedLines {
    /// Returns the moves of the line with the number `line`; `None` if the line has not moved, or if its moves are kept only as
    /// part of a sum for many lines.
    pub(crate) fn get(&self, line: u64) -> Option<Moves> {
        self.lines.get(&line).copied()
    }

    /// Returns the lines and their moves, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Moves)> {
        self.lines.iter().map(|(line, moves)| (*line, *moves))
    }

    /// Returns the sum of the moves that are not kept individually.
    pub(super) fn others(&self) -> OtherMoves {
        self.others
    }

    /// Returns the number of lines whose moves are kept individually.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns `false` if no line of these bytes has moved.
    #[inline(always)]
    pub(super) fn may_have_any(&self, address: u64, size: u16) -> bool {
        let further = u64::from(size).saturating_sub(1);
        let within = address % (1 << LINE_SHIFT) + further;
        self.may_have(address)
            || within >> LINE_SHIFT != 0
                && (1..=within >> LINE_SHIFT)
                    .any(|next| self.may_have(address.wrapping_add(next << LINE_SHIFT)))
    }

    /// Returns `false` if the line at a physical address has not moved.
    #[inline(always)]
    pub(super) fn may_have(&self, address: u64) -> bool {
        let line = address >> LINE_SHIFT;
        let word = (line / u64::from(u64::BITS)) as usize % WORDS;
        self.bits[word] >> (line % u64::from(u64::BITS)) & 1 != 0
    }

    /// Returns `true` if the line at a physical address has moved and its moves are kept individually.
    #[inline(always)]
    pub(super) fn has(&self, address: u64) -> bool {
        self.may_have(address)
            && self.lines.get(&((address & ADDRESS_MASK) >> LINE_SHIFT)).is_some()
    }

    /// Adds the transfers and invalidations of a completed request for the line. Returns `true` if the line has moved for the first
    /// time.
    pub(super) fn record(&mut self, line: L2Line, request: &NodeRequest) -> bool {
        let lost = |answers: &[Option<SnoopAnswer>]| {
            let answers = answers.iter().flatten();
            answers.filter(|answer| answer.has()).count() as u64
        };
        let (transfers, invalidations) = match request {
            NodeRequest::Read { to_own, source, answers } => (
                u64::from(matches!(source, Supplier::Cache(_))),
                if *to_own { lost(answers) } else { 0 },
            ),
            NodeRequest::Invalidate { answers } => (0, lost(answers)),
            NodeRequest::WriteBack { .. } => (0, 0),
        };
        let moves = transfers + invalidations > 0;
        let is_first = moves && !self.may_have(line.0 << LINE_SHIFT);
        if moves {
            let moves = self.lines.or_insert_with(line.0, Moves::default);
            moves.transfers += transfers;
            moves.invalidations += invalidations;
            let bits = u64::from(u64::BITS);
            self.bits[(line.0 / bits) as usize % WORDS] |= 1 << (line.0 % bits);
            if self.lines.len() > MAX_LINES {
                self.drop_rare_lines();
            }
        }
        is_first
    }

    /// Keeps the moves of the half of the lines that moved most, and adds the moves of the other half to `others`.
    #[cold]
    fn drop_rare_lines(&mut self) {
        let mut lines = self.lines.take();
        lines.sort_unstable_by_key(|(line, moves)| (Reverse(moves.all()), *line));
        for (_, moves) in lines.split_off(MAX_LINES / 2) {
            self.others.lines += 1;
            self.others.moves.transfers += moves.transfers;
            self.others.moves.invalidations += moves.invalidations;
        }
        for (line, moves) in lines {
            self.lines.or_insert_with(line, || moves);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_move_least_are_summed_up() {
        let invalidate =
            || NodeRequest::Invalidate { answers: [Some(SnoopAnswer::Shared), None, None, None] };
        let mut moved = MovedLines::default();
        let all = MAX_LINES as u64 + 1;
        for line in (0..all).chain(0..1000) {
            moved.record(L2Line(line), &invalidate());
        }
        assert_eq!(moved.get(999), Some(Moves { transfers: 0, invalidations: 2 }));
        assert_eq!(moved.len(), MAX_LINES / 2);
        let kept: u64 = moved.iter().map(|(_, moves)| moves.all()).sum();
        assert_eq!(moved.len() + moved.others().lines, all as usize);
        assert_eq!(kept + moved.others().moves.all(), all + 1000);
    }
}
