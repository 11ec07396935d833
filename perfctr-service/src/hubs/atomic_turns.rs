//! [`Turns`], stored in atomics that several strands change at the same time.
//!
//! **A decision** ([`decide`](AtomicTurns::decide)) is a step that only one strand takes at a time. While the hub is free, only the owner
//! of the gate's lock decides. While the hub is taken, only the strand that holds it decides. A decision sets a bit in
//! [`AtomicTurns::turn`] until it ends.
//!
//! **A refusal** ([`refuse`](AtomicTurns::refuse)) is a step that any strand can take without the lock, when it asks for a free hub in
//! another strand's turn. A refusal sets the strand's bit. If no decision has begun, it also adds 1 to the count of refusals in
//! [`AtomicTurns::turn`].
//!
//! A death, at any time, clears the bit of the dead strand and ends its turn.

use guest_abi::{Node, StrandId};
use hv_core::sync::{AtomicU32, AtomicU64, Ordering, array_of, const_unless_loom};

use super::turns::{Answer, HubEvent, Turns};
use crate::rights::policy::StrandSet;

#[derive(Debug)]
#[repr(C)]
pub(super) struct AtomicTurns {
    /// [`Turns::remembered`]. Every strand may change its own bit.
    remembered: [AtomicU64; Node::ALL.len()],
    /// The bits of a [`Turn`], so that one exchange changes all its parts.
    turn: AtomicU64,
    /// [`Turns::last`]. Only decisions change this number.
    last: AtomicU32,
}

/// Bits 15:0: the number of the strand in [`Turns::turn`] plus 1; 0 if no strand has the turn. Bits 30:16: [`Turns::refusals`]. Bit 31:
/// `DECIDING`. Bits 63:32: the number of decisions.
#[derive(Clone, Copy)]
struct Turn(u64);

impl Turn {
    /// Set while a decision is in progress, and after a decision in which the deciding strand died.
    const DECIDING: u64 = 1 << 31;

    fn strand(self) -> Option<StrandId> {
        StrandId::new((self.0 as u16).checked_sub(1)?.into())
    }

    const fn refusals(self) -> u32 {
        (self.0 as u32 & !(Self::DECIDING as u32)) >> 16
    }

    /// Returns a word for the turn of `strand` with this number of refusals. The number of decisions stays the same.
    fn with(self, strand: Option<StrandId>, refusals: u32) -> Self {
        let strand = strand.map_or(0, |strand| strand.index() as u64 + 1);
        Self(self.0 >> 32 << 32 | u64::from(refusals) << 16 | strand)
    }

    /// Returns a word for the turn of `strand` with this number of refusals. The number of decisions grows by one.
    fn next(self, strand: Option<StrandId>, refusals: u32) -> Self {
        Self(self.0.wrapping_add(1 << 32)).with(strand, refusals)
    }
}

impl AtomicTurns {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                remembered: array_of!(AtomicU64::new(0); Node::ALL.len()),
                turn: AtomicU64::new(0),
                last: AtomicU32::new(Turns::NEW.last),
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.remembered().is_empty()
    }

    /// Returns [`Turns::turn`], even if the strand that has the turn died while it got the turn.
    pub(super) fn turn(&self) -> Option<StrandId> {
        Turn(self.turn.load(Ordering::SeqCst)).strand()
    }

    /// Takes the step [`HubEvent::AsksTaken`], which only adds the strand's bit. Another strand may be deciding at this moment.
    #[inline(always)]
    pub(super) fn remember(&self, strand: StrandId) {
        let (added, _) = Turns::NEW.step(HubEvent::AsksTaken(strand));
        self.change(StrandSet::EMPTY, added.remembered);
    }

    /// Tries to take the step [`HubEvent::AsksFree`] without the lock. If another strand has the turn and no decision begins, refuses the
    /// strand and returns `true`. Otherwise returns `false`. Even then, the strand's bit may be set; a decision that later ends the turn
    /// finds the bit.
    #[inline(always)]
    pub(super) fn refuse(&self, strand: StrandId) -> bool {
        let mut found = Turn(self.turn.load(Ordering::SeqCst));
        let turn = found.strand();
        if found.0 & Turn::DECIDING != 0 || turn.is_none_or(|turn| turn == strand) {
            return false;
        }
        let turns = self.turns(found);
        // Add the bit before the exchange, so that the next decision finds the strand.
        if !turns.remembered.contains(strand) {
            self.remember(strand);
        }
        // If the exchange fails, another refusal was counted, or a decision has begun.
        for _ in 0..StrandId::COUNT {
            let refusals = found.refusals();
            let (next, answer) = Turns { refusals, ..turns }.step(HubEvent::AsksFree(strand));
            if answer == Answer::Served || next.turn != turn {
                return false;
            }
            let counted = found.with(turn, next.refusals);
            match (self.turn).compare_exchange(
                found.0,
                counted.0,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => return true,
                Err(now) if found.with(turn, Turn(now).refusals()).0 == now => found = Turn(now),
                Err(_) => return false,
            }
        }
        false
    }

    /// Decides the turn after an event. The caller must ensure that no other strand decides at the same time.
    // Inlined, because the code for most events is short, and SPARC has few register windows for nested calls.
    #[inline(always)]
    pub(super) fn decide(&self, event: HubEvent) -> Answer {
        let found = Turn(self.turn.fetch_or(Turn::DECIDING, Ordering::SeqCst));
        let turns = self.turns(found);
        let (next, answer) = turns.step(event);
        self.change(turns.remembered, next.remembered);
        if next.last != turns.last {
            self.last.store(next.last, Ordering::Relaxed);
        }
        let next = found.next(next.turn, next.refusals);
        // Exchange `turn` last, so that a strand that finds the new word also finds the other changes of the decision.
        self.turn.swap(next.0, Ordering::SeqCst);
        answer
    }

    /// Takes the step [`HubEvent::Died`]. A decision in progress may still give the turn to the dead strand; no strand then has the turn.
    pub(super) fn died(&self, strand: StrandId) {
        let event = HubEvent::Died(strand);
        // Once the strand's bit is clear, its turn is over, and no further refusal begins in this turn. Every other strand may already have
        // begun a refusal, which makes the exchange fail at most once.
        for _ in 0..StrandId::COUNT {
            let found = Turn(self.turn.load(Ordering::SeqCst));
            let turns = self.turns(found);
            let (next, _) = turns.step(event);
            self.change(turns.remembered, next.remembered);
            let ended = found.next(next.turn, next.refusals);
            if next.turn == turns.turn
                || (self.turn)
                    .compare_exchange(found.0, ended.0, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
        }
    }

    #[inline(always)]
    fn turns(&self, turn: Turn) -> Turns {
        Turns {
            remembered: self.remembered(),
            turn: turn.strand(),
            refusals: turn.refusals(),
            last: self.last.load(Ordering::Relaxed),
        }
    }

    /// Changes only the bits that differ, because other strands change their own bits at the same time.
    #[inline(always)]
    fn change(&self, old: StrandSet, new: StrandSet) {
        let changes = old.words().into_iter().zip(new.words());
        for (word, (old, new)) in self.remembered.iter().zip(changes) {
            let (added, removed) = (new & !old, old & !new);
            if added != 0 {
                word.fetch_or(added, Ordering::SeqCst);
            }
            if removed != 0 {
                word.fetch_and(!removed, Ordering::SeqCst);
            }
        }
    }

    fn remembered(&self) -> StrandSet {
        let words = self.remembered.each_ref();
        StrandSet::from_words(words.map(|word| word.load(Ordering::SeqCst)))
    }
}
