//! The turns at a hub, as a function: what is known of the strands that ask, and what happens, in; what is known afterwards,
//! and the answer, out. The gate makes these steps with atomics.
//!
//! - A strand that is refused is *remembered*. While no strand is, whoever asks for a free hub is served.
//! - When the hub is free, the *turn* goes to the next remembered strand in the order of strand numbers, cyclically,
//!   after the last one that had its turn. It stays there until that strand asks and is served, or is forgotten.
//! - Others who ask while the hub is free and the turn is not theirs are refused and remembered. That happens at most
//!   **r = 2w** times in one turn, w being the number of strands remembered (the asking ones included); then the
//!   strand whose turn it is is forgotten until it asks again, and the turn moves on. w is at most the number of
//!   strands N that use the hub, so r is at most 2N. A strand that has gone after being refused costs the others r
//!   refusals, once: four when one other strand uses the hub.
//! - A refusal because an access is in flight does not count: it is not on anyone's behalf.
//! - A strand that has died is not remembered, and has no turn any more.
//!
//! **Why b = N - 1.** Let strand Y be refused, and ask at least once in every r asks of the others. From then on every
//! grant follows the turn, because Y is remembered. The turn moves forward through the strand numbers and takes a
//! newcomer in only in front of it. So each other strand has at most one turn, and so at most one access, before the
//! turn reaches Y. There it stays while others are refused at most r times, in which Y asks and is served.
//!
//! **Why r = 2w.** Guests spin. When all w remembered strands ask at the same rate, each asks once in w - 1 asks of
//! the others, and r leaves a factor of two for a slow one. A strand that has just started to spin enlarges w, so a
//! crowd that arrives in the middle of a turn does not cut it short.

use guest_abi::StrandId;

use crate::rights::policy::StrandSet;

/// What is known of the strands that ask for a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    /// Strands that have been refused.
    pub remembered: StrandSet,
    /// The strand whose turn it is. If it is not remembered, it died while it was given the turn, and the turn is nobody's.
    pub turn: Option<StrandId>,
    /// Refusals on behalf of that strand.
    pub refusals: u32,
    /// The number of the strand that had the last turn.
    pub last: u32,
}

/// What happens at a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A strand asks while an access is in flight.
    AsksTaken(StrandId),
    /// A strand asks while no access is in flight.
    AsksFree(StrandId),
    /// The strand that was served found the chip busy with an earlier access.
    ChipBusy(StrandId),
    /// A strand has died.
    Died(StrandId),
    /// The hub is scrubbed for another guest. No strand can ask meanwhile.
    Renewed,
}

/// What the strand that asks is told. Where nobody asks, it is [`Refused`](Self::Refused).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its access is in flight.
    Served,
    /// It is to ask again.
    Refused,
}

impl Turns {
    /// At a new hub.
    pub const NEW: Self = Self {
        remembered: StrandSet::EMPTY,
        turn: None,
        refusals: 0,
        last: StrandId::COUNT as u32 - 1,
    };

    /// Something happens: returns what is known afterwards, and the answer.
    #[inline(always)]
    pub fn step(mut self, event: Event) -> (Self, Answer) {
        match event {
            Event::AsksFree(strand) => return self.asks_free(strand),
            Event::AsksTaken(strand) => self.remembered.insert(strand),
            Event::ChipBusy(strand) => {
                self.remembered.insert(strand);
                self.turn = Some(strand);
                self.refusals = 0;
            }
            Event::Died(strand) => {
                self.remembered.remove(strand);
                self.turn = self.turn.filter(|turn| *turn != strand);
            }
            // Also the last turn, by which the next guest could learn who of the last one had it.
            Event::Renewed => self = Self::NEW,
        }
        (self, Answer::Refused)
    }

    fn asks_free(mut self, strand: StrandId) -> (Self, Answer) {
        if self.remembered.is_empty() {
            return (self, Answer::Served);
        }
        self.remembered.insert(strand);
        let turn = self.turn.filter(|turn| self.remembered.has(*turn));
        let most = 2 * self.remembered.count();
        let turn = match turn {
            Some(turn) if turn == strand || self.refusals < most => turn,
            ended => {
                if let Some(ended) = ended {
                    self.end_turn(ended);
                }
                self.refusals = 0;
                // The strand that asks is remembered, so there is one.
                self.remembered.next_after(self.last).unwrap_or(strand)
            }
        };
        if turn == strand {
            self.end_turn(strand);
            return (self, Answer::Served);
        }
        self.turn = Some(turn);
        self.refusals += 1;
        (self, Answer::Refused)
    }

    fn end_turn(&mut self, strand: StrandId) {
        self.remembered.remove(strand);
        self.turn = None;
        self.refusals = 0;
        self.last = strand.index() as u32;
    }
}
