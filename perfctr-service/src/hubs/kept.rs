//! [`Turns`], kept in words that strands change at the same time.
//!
//! **A decision** ([`decide`](Kept::decide)) is a step by the strand that has the words: of a free hub the owner of the gate's lock,
//! of a taken hub its holder. It sets a bit in [`Kept::turn`] for as long as it takes.
//!
//! **A refusal** ([`refuse`](Kept::refuse)) is the step of a strand that asks for a free hub while it is the turn of another, and
//! changes nothing but the count of refusals, and the strand's own bit. It is made by one compare-and-swap of [`Kept::turn`], which
//! succeeds only if no decision has begun since the strand looked, so by any strand without the lock.
//!
//! A death changes the strand's own bit, and ends no turn but the strand's, at any time.

use guest_abi::{Node, StrandId};
use hv_core::sync::{AtomicU32, AtomicU64, Ordering};

use super::turns::{Answer, Event, Turns};
use crate::rights::policy::StrandSet;

/// What is known of the strands that ask for a hub.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Kept {
    /// [`Turns::remembered`]. Every strand may change its own bit.
    remembered: [AtomicU64; Node::ALL.len()],
    /// A [`Turn`].
    turn: AtomicU64,
    /// [`Turns::last`]. Only decisions change this.
    last: AtomicU32,
}

/// [`Turns::turn`], as its number plus 1 or 0, in bits 15:0; [`Turns::refusals`] in bits 30:16; [`DECIDING`](Self::DECIDING); and in
/// bits 63:32 how many decisions there have been.
#[derive(Clone, Copy)]
struct Turn(u64);

impl Turn {
    /// A decision has begun and has not ended, or its strand has died in it.
    const DECIDING: u64 = 1 << 31;

    fn strand(self) -> Option<StrandId> {
        StrandId::new((self.0 as u16).checked_sub(1)?.into())
    }

    const fn refusals(self) -> u32 {
        (self.0 as u32 & !(Self::DECIDING as u32)) >> 16
    }

    /// Returns what the word is with these, of the same decision.
    fn with(self, strand: Option<StrandId>, refusals: u32) -> Self {
        let strand = strand.map_or(0, |strand| strand.index() as u64 + 1);
        Self(self.0 >> 32 << 32 | u64::from(refusals) << 16 | strand)
    }

    /// Returns what the word is with these after the next decision.
    fn next(self, strand: Option<StrandId>, refusals: u32) -> Self {
        Self(self.0.wrapping_add(1 << 32)).with(strand, refusals)
    }
}

impl Kept {
    /// Returns what is known of a new hub.
    pub(super) fn new() -> Self {
        Self {
            remembered: Default::default(),
            turn: AtomicU64::new(0),
            last: AtomicU32::new(Turns::NEW.last),
        }
    }

    /// Returns whether no strand is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.remembered().is_empty()
    }

    /// [`Event::AsksTaken`]. It adds the strand's bit, whatever the words are, and these may be another strand's.
    #[inline(always)]
    pub(super) fn remember(&self, strand: StrandId) {
        let (added, _) = Turns::NEW.step(Event::AsksTaken(strand));
        self.change(StrandSet::EMPTY, added.remembered);
    }

    /// [`Event::AsksFree`], if all that it does is to refuse the strand on behalf of another: returns `true` then. Otherwise nothing
    /// has changed, or the strand has been remembered.
    ///
    /// While it is a strand's turn the hub is free, and the fast path closed: the decision that ended the turn would find this strand
    /// remembered.
    #[inline(always)]
    pub(super) fn refuse(&self, strand: StrandId) -> bool {
        let mut found = Turn(self.turn.load(Ordering::SeqCst));
        let turn = found.strand();
        if found.0 & Turn::DECIDING != 0 || turn.is_none_or(|turn| turn == strand) {
            return false;
        }
        let turns = self.turns(found);
        // Before the exchange, so that the next decision finds the strand.
        if !turns.remembered.has(strand) {
            self.remember(strand);
        }
        // Whenever the exchange fails, another strand has been refused, or a decision has begun.
        for _ in 0..StrandId::COUNT {
            let refusals = found.refusals();
            let (next, answer) = Turns { refusals, ..turns }.step(Event::AsksFree(strand));
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

    /// Makes a step by the strand that has the words, or while no strand can ask.
    ///
    /// Inlined: what is left for a given event is short, but for one, and on SPARC calls nest in few register windows.
    #[inline(always)]
    pub(super) fn decide(&self, event: Event) -> Answer {
        let found = Turn(self.turn.fetch_or(Turn::DECIDING, Ordering::SeqCst));
        let turns = self.turns(found);
        let (next, answer) = turns.step(event);
        self.change(turns.remembered, next.remembered);
        if next.last != turns.last {
            self.last.store(next.last, Ordering::Relaxed);
        }
        let next = found.next(next.turn, next.refusals);
        // Whoever finds this finds what the decision has changed.
        self.turn.swap(next.0, Ordering::SeqCst);
        answer
    }

    /// [`Event::Died`]. If a decision about the strand is under way, the turn may still be given to it; then it is nobody's.
    pub(super) fn died(&self, strand: StrandId) {
        let event = Event::Died(strand);
        // Who is not remembered has no turn. Others may have begun to refuse somebody on its behalf: each of them once.
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

    /// Returns what is known if this is the word of the turn.
    #[inline(always)]
    fn turns(&self, turn: Turn) -> Turns {
        Turns {
            remembered: self.remembered(),
            turn: turn.strand(),
            refusals: turn.refusals(),
            last: self.last.load(Ordering::Relaxed),
        }
    }

    /// Changes the bits in which these differ, one word after the other, because other strands change theirs at the same time.
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
