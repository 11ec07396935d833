//! The gate of a hub: one access in flight, and a turn for every strand that asks.
//!
//! The hypervisor never waits for a hub: a call that cannot have it at once is refused with EWOULDBLOCK. Who is served next, so
//! that every guest that keeps asking makes progress, is decided by [`Turns`], a function. Here its state is kept in
//! words that strands change at the same time.
//!
//! An uncontended hub costs one compare-and-swap each way. Otherwise a strand enters the gate by a lock that is
//! never held across a device access. It guards some hundred instructions without a loop but over words of strand
//! bits, and is tried at most [`LOCK_TRIES`] times. A strand that never gets it is refused and remembered like any
//! other, but no turn was decided: in r and b, "asks" are those that got the lock.

use guest_abi::{Node, StrandId};
use hv_core::sync::{AtomicId, AtomicU32, AtomicU64, BEFORE_DEVICE, Ordering, OwnedLock};

use super::turns::{Answer, Event, Turns};
use crate::rights::policy::StrandSet;

/// How often a strand tries to get the lock before it is refused. The model checker gives it one try, which may succeed or
/// fail.
const LOCK_TRIES: usize = if cfg!(loom) { 1 } else { 10_000 };

/// Set in the state while strands are remembered: the fast path is closed.
const REMEMBERED: u32 = 1;

/// The right to access one hub.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Gate {
    /// The strand that has an access in flight ([`Token`]), and [`REMEMBERED`].
    state: AtomicU32,
    /// [`Turns::remembered`]. Every strand may change its own bit.
    remembered: [AtomicU64; Node::ALL.len()],
    /// Serialises entry to a free hub while [`REMEMBERED`] is set.
    lock: OwnedLock,
    /// How often a strand has entered. Only the lock's owner changes this.
    entered: AtomicU32,
    /// [`Turns::turn`]. While the hub is free, the lock's owner owns this and the fields below; while the hub is taken, its
    /// holder does, without the lock.
    turn: AtomicId<StrandId>,
    /// [`Turns::refusals`].
    refusals: AtomicU32,
    /// [`Turns::last`].
    last: AtomicU32,
}

/// Why a strand does not get the hub now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Another access is in flight.
    Taken,
    /// It is another strand's turn.
    Turn,
    /// The lock was not to be had.
    Locked,
}

/// The number that stands for a strand in [`Gate::state`]: twice its number plus 2, so that bit 0 is free and 0 stands for
/// no strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u32);

impl From<StrandId> for Token {
    #[inline(always)]
    fn from(strand: StrandId) -> Self {
        Self((strand.index() as u32 + 1) << 1)
    }
}

impl Gate {
    /// Returns the gate of a free hub.
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            remembered: Default::default(),
            lock: OwnedLock::default(),
            entered: AtomicU32::new(0),
            turn: AtomicId::default(),
            refusals: AtomicU32::new(0),
            last: AtomicU32::new(Turns::NEW.last),
        }
    }

    /// Takes the hub if it is free and no strand is remembered, and returns `true` if it did. Otherwise the caller goes on
    /// with [`ask`](Self::ask).
    #[inline(always)]
    pub(super) fn take_free(&self, strand: impl Into<Token>) -> bool {
        let Token(taken) = strand.into();
        let (Ok(state) | Err(state)) =
            self.state
                .compare_exchange(0, taken, BEFORE_DEVICE, Ordering::Relaxed);
        // Relaxed on failure, here and below: the strand does not access the device then. (`release` goes on with an exchange that
        // has an order.) The state is never negative, so this says `state == 0`. Written so, LLVM would test the success flag of the
        // exchange instead, which takes three more instructions on SPARC.
        state as i32 <= 0
    }

    /// Asks for the hub. On success the caller has the only access in flight, until it calls
    /// [`release`](Self::release) or [`give_back`](Self::give_back).
    pub(super) fn ask(&self, strand: StrandId) -> Result<(), Refused> {
        if self.take_free(strand) {
            return Ok(());
        }
        let Some(_lock) = self.lock.lock(strand, LOCK_TRIES) else {
            self.remember(strand);
            self.state.fetch_or(REMEMBERED, Ordering::SeqCst);
            return Err(Refused::Locked);
        };
        // Relaxed: the lock orders those who write it, and who misses the latest entry finds it when it asks again.
        let entered = self.entered.load(Ordering::Relaxed);
        (self.entered).store(entered.wrapping_add(1), Ordering::Relaxed);
        let taken = self.state.fetch_or(REMEMBERED, Ordering::SeqCst) & !REMEMBERED != 0;
        if taken {
            self.remember(strand);
            return Err(Refused::Taken);
        }
        match self.step(Event::AsksFree(strand)) {
            Answer::Served => {
                self.take_in_turn(strand);
                Ok(())
            }
            Answer::Refused => Err(Refused::Turn),
        }
    }

    /// The access is done. `ended` is called before the hub is free if another strand may have been refused meanwhile.
    #[inline(always)]
    pub(super) fn release(&self, strand: impl Into<Token>, ended: impl FnOnce()) {
        let Token(taken) = strand.into();
        let (Ok(state) | Err(state)) =
            self.state
                .compare_exchange(taken, 0, Ordering::Release, Ordering::Relaxed);
        // As in `take_free`. The state is `taken`, alone or with REMEMBERED, and others set no other bit meanwhile.
        if state > taken {
            ended();
            self.state.swap(REMEMBERED, Ordering::Release);
        }
    }

    /// The chip was busy with an earlier access after all, and did nothing. The strand is refused and keeps its turn.
    #[inline(always)]
    pub(super) fn give_back(&self, strand: StrandId) {
        self.step(Event::ChipBusy(strand));
        self.state.swap(REMEMBERED, Ordering::Release);
    }

    /// Returns whether the strand has an access in flight.
    pub(super) fn is_held_by(&self, strand: StrandId) -> bool {
        let Token(taken) = strand.into();
        // Relaxed: a strand sees what it wrote itself, and no other strand writes this number.
        self.state.load(Ordering::Relaxed) & !REMEMBERED == taken
    }

    /// Returns how often a strand has entered. While this does not change, nobody enters.
    pub(super) fn entered(&self) -> u32 {
        self.entered.load(Ordering::SeqCst)
    }

    /// Releases all that a strand held, which has died, and forgets it. `ended` is called before the hub is free if the strand
    /// held it.
    ///
    /// What it left half-done is put right by those that ask next: REMEMBERED may be set though no strand is remembered.
    pub(super) fn abandon(&self, strand: StrandId, ended: impl FnOnce()) {
        let Token(dead) = strand.into();
        if self.state.load(Ordering::SeqCst) & !REMEMBERED == dead {
            ended();
        }
        // Exchanged, because another strand may report the same death at the same time. The flag may be set in between.
        for flag in [0, REMEMBERED] {
            let _ =
                self.state
                    .compare_exchange(dead | flag, flag, Ordering::SeqCst, Ordering::Relaxed);
        }
        self.step(Event::Died(strand));
        self.lock.abandon(strand);
    }

    /// Forgets everyone, as in a new hub. Only while nobody can ask.
    pub(super) fn renew(&self) {
        for word in &self.remembered {
            word.store(0, Ordering::SeqCst);
        }
        self.turn.store(None);
        // Relaxed: before the state, by which the next strand enters.
        self.refusals.store(0, Ordering::Relaxed);
        self.lock.reset();
        self.state.store(0, Ordering::SeqCst);
    }

    /// Makes a step of [`Turns`]. The strand owns the words of the turn, or the event is a death, which ends no turn but the strand's.
    ///
    /// Inlined: what is left for a given event is short, but for one, and on SPARC calls nest in few register windows.
    #[inline(always)]
    fn step(&self, event: Event) -> Answer {
        // Relaxed, here and below: who decides by these words owns the lock or the hub, and both are given on by a release.
        let turns = Turns {
            remembered: self.remembered(),
            turn: self.turn.load(),
            refusals: self.refusals.load(Ordering::Relaxed),
            last: self.last.load(Ordering::Relaxed),
        };
        let (next, answer) = turns.step(event);
        let (old, new) = (turns.remembered.words(), next.remembered.words());
        // Bit by bit, because other strands change theirs at the same time.
        for (word, (old, new)) in self.remembered.iter().zip(old.into_iter().zip(new)) {
            if new & !old != 0 {
                word.fetch_or(new & !old, Ordering::SeqCst);
            }
            if old & !new != 0 {
                word.fetch_and(!(old & !new), Ordering::SeqCst);
            }
        }
        match next.turn {
            turn if turn == turns.turn => {}
            // Exchanged, because a death may end the turn at the same time.
            None => {
                self.turn.replace(turns.turn, None);
            }
            turn => self.turn.store(turn),
        }
        if next.refusals != turns.refusals {
            self.refusals.store(next.refusals, Ordering::Relaxed);
        }
        if next.last != turns.last {
            self.last.store(next.last, Ordering::Relaxed);
        }
        answer
    }

    fn take_in_turn(&self, strand: StrandId) {
        let Token(taken) = strand.into();
        self.state.swap(taken | REMEMBERED, Ordering::SeqCst);
        if self.remembered().is_empty() {
            self.state.fetch_and(!REMEMBERED, Ordering::SeqCst);
            // A strand that could not enter may have been remembered between the two.
            if !self.remembered().is_empty() {
                self.state.fetch_or(REMEMBERED, Ordering::SeqCst);
            }
        }
    }

    /// [`Event::AsksTaken`]. It adds the strand's bit, whatever the words are, and these may be another strand's.
    fn remember(&self, strand: StrandId) {
        let (added, _) = Turns::NEW.step(Event::AsksTaken(strand));
        for (word, bits) in self.remembered.iter().zip(added.remembered.words()) {
            if bits != 0 {
                word.fetch_or(bits, Ordering::SeqCst);
            }
        }
    }

    fn remembered(&self) -> StrandSet {
        let words = self.remembered.each_ref();
        StrandSet::from_words(words.map(|word| word.load(Ordering::SeqCst)))
    }
}
