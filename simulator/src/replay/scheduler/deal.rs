//! Deals (distributes) one thread's references to several strands.

use std::collections::VecDeque;

use crate::recording::{Cause, Chunk, Order, Position, Recording, RecordingError, Reference};
use crate::replay::placement::Placement;

/// A one-thread recording whose references are dealt (distributed) to k parts. Part n executes turns n, n + k, n + 2k and so on.
/// Each turn begins after the turn before it.
///
/// A turn has [`Placement::DEAL_LENGTH`] references, plus the rest of the last instruction. The thread's signals and waits are dropped.
pub(super) struct Deal {
    recording: Recording,
    chunk: Chunk,
    /// The position in the chunk of the first reference that has not been dealt yet.
    dealt: Position,
    /// For each part, the turns that have been read but not executed yet.
    turns: Vec<VecDeque<Chunk>>,
    /// The number of the next turn to read.
    turn: u64,
}

impl Deal {
    pub(super) fn new(recording: Recording, parts: usize) -> Self {
        Self {
            recording,
            chunk: Chunk::default(),
            dealt: Position::default(),
            turns: vec![VecDeque::new(); parts],
            turn: 0,
        }
    }

    pub(super) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Replaces the content of `chunk` with a part's next turn. Returns `false` at the end of the recording.
    pub(super) fn next_chunk(
        &mut self,
        part: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        loop {
            if let Some(turn) = self.turns[part].pop_front() {
                *chunk = turn;
                return Ok(true);
            }
            let references = self.read()?;
            if references.is_empty() {
                return Ok(false);
            }
            let after = self.turn.checked_sub(1).map(|turn| (0, Order::Wait(Cause::Wake, turn)));
            let before = (references.len(), Order::Signal(self.turn));
            let order = after.into_iter().chain([before]);
            let turn = Chunk::new(references, order.collect());
            let to = self.turn % self.turns.len() as u64;
            self.turns[to as usize].push_back(turn);
            self.turn += 1;
        }
    }

    /// Reads the next turn's references. Returns an empty list at the end of the recording.
    fn read(&mut self) -> Result<Vec<Reference>, RecordingError> {
        let mut turn: Vec<Reference> = Vec::with_capacity(Placement::DEAL_LENGTH);
        loop {
            let left = self.chunk.from(&self.dealt, usize::MAX);
            let wanted = Placement::DEAL_LENGTH.saturating_sub(turn.len());
            // A chunk that begins with data has no instructions. In all other chunks, turns end only between instructions.
            let whole =
                (self.chunk.references().first()).is_some_and(|first| first.kind.is_fetch());
            let rest = left.iter().skip(wanted);
            let rest = rest.take_while(|rest| whole && !rest.kind.is_fetch());
            let count = wanted.min(left.len()) + rest.count();
            turn.extend(left.up_to(count).iter());
            self.dealt.advance(&self.chunk, count);
            if self.dealt.passed() < self.chunk.len() {
                return Ok(turn);
            }
            self.dealt = Position::default();
            if !self.recording.next_chunk(0, &mut self.chunk)? {
                return Ok(turn);
            }
        }
    }
}
