//! The turns at a hub. A single function takes a state and an event, and returns the next state and an answer. The gate takes these steps
//! with atomics.
//!
//! - A refused strand is *remembered*. While no strand is remembered, every strand that asks for a free hub is served.
//! - When an access that was granted on the slow path ends, the *turn* goes to the next remembered strand after the last strand that had a
//!   turn. The order is the cyclic order of strand numbers. After any other access, the next decision at the free hub gives the turn. The
//!   turn lasts until its strand asks and is served, or is forgotten.
//! - Another strand that asks for the free hub during the turn is refused and remembered. This happens at most **r = 2w** times in one
//!   turn, where w is the number of remembered strands, including the strand that asks now. After that, the strand that has the turn is
//!   forgotten until it asks again, and the turn moves on. With N strands at the hub, r is at most 2N. A strand that has gone costs the
//!   others at most these refusals, once.
//! - A refusal during an access in flight is not counted, because it serves no other strand's turn.
//! - A refusal within `REPEAT_TICKS` after the strand's last counted refusal is not counted, and is not an event here.
//! - A dead strand is not remembered, and has no turn.
//!
//! **Why b = N - 1.** Other strands get at most b accesses before a refused strand Y is served. Let Y ask at least once in every r asks of
//! the other strands. Every access now follows a turn, because Y is remembered. The turn moves forward through the strand numbers, and a
//! newcomer joins only ahead of the turn. Every strand but Y therefore has at most one turn, and one access, before the turn reaches Y. The
//! turn stays at Y for r refusals of other strands, and Y asks in this time.
//!
//! **Why r = 2w.** In [`ABSENCE_TICKS`](crate::ABSENCE_TICKS), which is twice `REPEAT_TICKS`, at most two refusals are counted for each of
//! the w - 1 others: fewer than r in all. If a strand asks at least once in this time, fewer than r asks of other strands are therefore
//! counted between two of its asks, no matter how often they ask. A strand that starts to spin increases w, so newcomers do not shorten a
//! turn.

use guest_abi::StrandId;

use crate::rights::policy::StrandSet;

/// The state of the turns at a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turns {
    /// The strands that have been refused and are not forgotten.
    pub remembered: StrandSet,
    /// The strand whose turn it is. If this strand is not remembered, it died while it got the turn, so no strand has the turn.
    pub turn: Option<StrandId>,
    /// The number of refusals in the current turn: at most r.
    pub refusals: u32,
    /// The strand that had the last turn, as a number.
    pub last: u32,
}

/// What happens at a hub: the input of [`Turns::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubEvent {
    /// A strand asks while an access is in flight.
    AsksTaken(StrandId),
    /// A strand asks while no access is in flight.
    AsksFree(StrandId),
    /// The access in flight, which was granted on the slow path, ends.
    Ended,
    /// The strand that was served has found the chip busy with an earlier access.
    ChipBusy(StrandId),
    /// The death of this strand is reported.
    Died(StrandId),
    /// The hub is scrubbed for another guest. No strand can ask during the scrub.
    Reset,
}

/// The answer to the strand that asks; always [`Refused`](Self::Refused) for an event in which no strand asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The strand's access is in flight.
    Served,
    /// The strand has to ask again.
    Refused,
}

impl Turns {
    /// The state of a new hub: no strand is remembered, and no strand has the turn.
    pub const NEW: Self = Self {
        remembered: StrandSet::EMPTY,
        turn: None,
        refusals: 0,
        last: StrandId::COUNT as u32 - 1,
    };

    /// Returns the next state, and the answer to the strand that asks.
    #[inline(always)]
    pub fn step(mut self, event: HubEvent) -> (Self, Answer) {
        match event {
            HubEvent::AsksFree(strand) => return self.asks_free(strand),
            HubEvent::AsksTaken(strand) => self.remembered.insert(strand),
            HubEvent::Ended if self.live().is_none() => {
                self.turn = self.remembered.next_after(self.last);
                self.refusals = 0;
            }
            HubEvent::Ended => {}
            HubEvent::ChipBusy(strand) => {
                self.remembered.insert(strand);
                self.turn = Some(strand);
                self.refusals = 0;
            }
            HubEvent::Died(strand) => {
                self.remembered.remove(strand);
                self.turn = self.turn.filter(|turn| *turn != strand);
            }
            // `last` is reset too, because it would tell the next guest which of the previous guest's strands had the last turn.
            HubEvent::Reset => self = Self::NEW,
        }
        (self, Answer::Refused)
    }

    fn asks_free(mut self, strand: StrandId) -> (Self, Answer) {
        if self.remembered.is_empty() {
            return (self, Answer::Served);
        }
        self.remembered.insert(strand);
        let turn = self.live();
        let most = 2 * self.remembered.len() as u32;
        let turn = match turn {
            Some(turn) if turn == strand || self.refusals < most => turn,
            ended => {
                if let Some(ended) = ended {
                    self.end_turn(ended);
                }
                self.refusals = 0;
                // Some strand is remembered: at least the one that asks.
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

    /// Returns the strand that has the turn, if it is remembered.
    fn live(&self) -> Option<StrandId> {
        self.turn.filter(|turn| self.remembered.contains(*turn))
    }

    fn end_turn(&mut self, strand: StrandId) {
        self.remembered.remove(strand);
        self.turn = None;
        self.refusals = 0;
        self.last = strand.index() as u32;
    }
}
