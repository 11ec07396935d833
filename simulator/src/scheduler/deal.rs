//! References of one thread that are dealt to several strands in turns.

use std::collections::VecDeque;

use crate::placement::Placement;
use crate::recording::{Chunk, Order, Position, Recording, RecordingError, Reference};

/// A recording whose thread is dealt: player n of k executes turns n, n + k, and so on, each after the turn before.
///
/// A turn has [`Placement::TURN`] references, and those that complete its last instruction. How the thread is ordered among
/// others is left out.
pub(super) struct Deal {
    recording: Recording,
    chunk: Chunk,
    /// How much of the chunk has been dealt.
    dealt: Position,
    /// The turns that have been read, by player.
    hands: Vec<VecDeque<Chunk>>,
    /// The number of the turn that is read next.
    turn: u64,
}

impl Deal {
    pub(super) fn new(recording: Recording, players: usize) -> Self {
        Self {
            recording,
            chunk: Chunk::default(),
            dealt: Position::default(),
            hands: vec![VecDeque::new(); players],
            turn: 0,
        }
    }

    pub(super) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Replaces the content of `chunk` by a player's next turn. Returns `false` at the end.
    pub(super) fn next_chunk(
        &mut self,
        player: usize,
        chunk: &mut Chunk,
    ) -> Result<bool, RecordingError> {
        loop {
            if let Some(turn) = self.hands[player].pop_front() {
                *chunk = turn;
                return Ok(true);
            }
            let references = self.read()?;
            if references.is_empty() {
                return Ok(false);
            }
            let after = self.turn.checked_sub(1).map(|turn| (0, Order::Wait(turn)));
            let before = (references.len(), Order::Signal(self.turn));
            let order = after.into_iter().chain([before]);
            let turn = Chunk::new(references, order.collect());
            let to = self.turn % self.hands.len() as u64;
            self.hands[to as usize].push_back(turn);
            self.turn += 1;
        }
    }

    /// Reads the references of a turn; none at the end.
    fn read(&mut self) -> Result<Vec<Reference>, RecordingError> {
        let mut turn: Vec<Reference> = Vec::with_capacity(Placement::TURN);
        loop {
            let left = self.chunk.from(&self.dealt, usize::MAX);
            let wanted = Placement::TURN.saturating_sub(turn.len());
            // A chunk that begins with data has no instructions, each of which is dealt whole.
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
