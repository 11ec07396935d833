//! The gate of a hub: one access in flight, and a turn for every strand that asks.
//!
//! The hypervisor never waits for a hub: a call that cannot have it at once is refused with EWOULDBLOCK. Who is served next, so
//! that every guest that keeps asking makes progress, is decided by [`Turns`], a function. Here its state is kept in
//! words that strands change at the same time.
//!
//! **The fast path** takes a hub by one compare-and-swap of [`Gate::state`], from 0 to the strand's token, and then a load of
//! [`Gate::closed`]: if that is 0, the hub is the strand's. If it is not, the strand stores 0 to `state` and asks on the slow
//! path. It releases the hub by one store of 0 to `state`. While `state` holds a token, only the strand of that token changes it, but
//! for the bit [`CLOSED`]. So a strand that is refused meanwhile leaves its mark in the other word, and the next to take the hub
//! looks for it there:
//!
//! | a strand is refused | the next strand takes the hub |
//! |---|---|
//! | exchange `closed` for 1 | compare `state` with 0, and exchange it for the token |
//! | compare `state` with 0: it is taken | load `closed` |
//!
//! These four are sequentially consistent. The first strand finds the hub taken only if its comparison comes before the exchange of
//! the next, and so its mark before that strand's load. (A processor with total store order needs no barrier for this: no load
//! overtakes an earlier exchange. Nor does the release need one, which is not followed by a load. A device access comes before the
//! release, as a release store orders all that is before it; a store to a hub, which is slower than that, is completed first.)
//!
//! The assembly of SPARC V9 takes a hub by one compare-and-swap of both words as one number of 64 bits, from 0 to the token and 0. That
//! is the exchange and the load at once, and takes no hub that has to be given back.
//!
//! **The slow path** sets `closed`, enters the gate by a lock that is never held across a device access, and sets [`CLOSED`] in
//! `state`: of a free hub, no fast path goes on then until the hub is given to a strand in turn and nobody is
//! remembered any more. Where it is not set, the fast path has left the state, and that counts nothing: whoever sets it counts the end
//! of an access first. So a strand that finds the hub taken twice knows by the count whether an access has ended in between, even if a
//! strand has taken the free hub only for the moment until it sees that the fast path is closed.
//!
//! The lock guards some hundred instructions without a loop but over words of strand bits, and is tried at
//! most [`LOCK_TRIES`] times. A strand that never gets it is refused and remembered like any other, but no turn was decided: in
//! r and b, "asks" are those that got the lock.

#[cfg(target_arch = "sparc64")]
use core::mem::offset_of;

use guest_abi::{Node, StrandId};
use hv_core::sync::{
    AtomicId, AtomicU32, AtomicU64, EXCHANGE_AND_LOOK, Ordering, OwnedLock, exchanged,
};

use super::turns::{Answer, Event, Turns};
use crate::rights::policy::StrandSet;

/// How often a strand tries to get the lock before it is refused. Model checkers give it one try, which may succeed or
/// fail.
const LOCK_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 10_000 };

/// The fast path is closed, because strands are remembered.
const CLOSED: u32 = 1;

/// The right to access one hub.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Gate {
    /// The strand that has an access in flight ([`Token`]), and [`CLOSED`] if what the fast path left is counted. Of a free hub 0, or
    /// [`CLOSED`], and then only the lock's owner changes it.
    state: AtomicU32,
    /// [`CLOSED`] or 0. Every strand may set it; only the strand that is given its turn clears it.
    closed: AtomicU32,
    /// [`Turns::remembered`]. Every strand may change its own bit.
    remembered: [AtomicU64; Node::ALL.len()],
    /// Serialises entry to a free hub while the fast path is closed.
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

/// The number that stands for a strand in [`Gate::state`]: twice its number plus 2, so that 0 stands for no strand, and bit 0 is
/// [`CLOSED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u32);

impl From<StrandId> for Token {
    #[inline(always)]
    fn from(strand: StrandId) -> Self {
        Self((strand.index() as u32 + 1) << 1)
    }
}

/// What the assembly of SPARC V9 compares and exchanges: [`Gate::state`] and [`Gate::closed`] as one number of 64 bits.
#[cfg(target_arch = "sparc64")]
impl Gate {
    /// Where the number is, in bytes.
    pub(super) const STATE: usize = offset_of!(Self, state);
}

#[cfg(target_arch = "sparc64")]
const _: () = assert!(Gate::STATE % 8 == 0 && offset_of!(Gate, closed) == Gate::STATE + 4);

#[cfg(target_arch = "sparc64")]
impl Token {
    /// Returns the number when the strand has taken the hub.
    pub(crate) const fn taken(self) -> u64 {
        (self.0 as u64) << 32
    }
}

impl Gate {
    /// Returns the gate of a free hub.
    pub(super) fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            closed: AtomicU32::new(0),
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
                .compare_exchange(0, taken, EXCHANGE_AND_LOOK, Ordering::Relaxed);
        // Relaxed on failure: the strand does not access the device then. This compares the state, because of a success flag LLVM
        // would make three more instructions on SPARC.
        if state != 0 {
            return false;
        }
        exchanged();
        let open = self.closed.load(EXCHANGE_AND_LOOK) == 0;
        if !open {
            self.release_free();
        }
        open
    }

    /// Asks for the hub on the slow path. On success the caller has the only access in flight, until it calls
    /// [`release`](Self::release) or [`give_back`](Self::give_back). `ended` is called if an access on the fast path may have ended that
    /// is not counted yet.
    pub(super) fn ask(&self, strand: StrandId, ended: impl FnOnce()) -> Result<(), Refused> {
        let Some(_lock) = self.lock.lock(strand, LOCK_TRIES) else {
            self.remember(strand);
            self.close();
            self.shut(ended);
            return Err(Refused::Locked);
        };
        // Relaxed: the lock orders those who write it, and who misses the latest entry finds it when it asks again.
        let entered = self.entered.load(Ordering::Relaxed);
        (self.entered).store(entered.wrapping_add(1), Ordering::Relaxed);
        self.close();
        if !self.shut(ended) {
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

    /// Releases what [`take_free`](Self::take_free) took: the access is done.
    #[inline(always)]
    pub(super) fn release_free(&self) {
        self.give_up(0);
    }

    /// The access is done. The fast path stays closed if it is. (A strand that closes it now is found as on the fast path.)
    pub(super) fn release(&self) {
        let closed = self.closed.load(Ordering::Relaxed);
        self.give_up(closed);
    }

    /// The chip was busy with an earlier access after all, and did nothing. The strand is refused and keeps its turn.
    #[inline(always)]
    pub(super) fn give_back(&self, strand: StrandId) {
        self.step(Event::ChipBusy(strand));
        self.close();
        self.give_up(CLOSED);
    }

    /// The holder stores the state of a free hub. Loom does not know that what is stored comes after an exchange of what the holder
    /// had stored before; it is given an exchange.
    #[inline(always)]
    fn give_up(&self, state: u32) {
        if cfg!(loom) {
            self.state.swap(state, Ordering::Release);
        } else {
            self.state.store(state, Ordering::Release);
        }
    }

    /// Returns whether the strand has an access in flight.
    pub(super) fn is_held_by(&self, strand: StrandId) -> bool {
        let Token(taken) = strand.into();
        // Relaxed: a strand sees what it wrote itself, and other strands add and remove only the bit.
        self.state.load(Ordering::Relaxed) & !CLOSED == taken
    }

    /// Returns whether the strand has an access in flight or the lock, so that no other strand is served.
    pub(super) fn is_kept_by(&self, strand: StrandId) -> bool {
        self.is_held_by(strand) || self.lock.owner() == Some(strand)
    }

    /// Returns how often a strand has entered. While this does not change, nobody enters.
    pub(super) fn entered(&self) -> u32 {
        self.entered.load(Ordering::SeqCst)
    }

    /// Releases all that a strand held, which has died, and forgets it.
    ///
    /// What it left half-done is put right by those that ask next: the fast path may be closed though no strand is remembered.
    pub(super) fn abandon(&self, strand: StrandId) {
        let Token(dead) = strand.into();
        // Exchanged, because another strand may report the same death at the same time. First without the bit, because a strand may set
        // it in between, and none clears it. Relaxed on failure: then nothing was held, or another strand has done this.
        for held in [dead, dead | CLOSED] {
            let _ = (self.state).compare_exchange(held, 0, Ordering::SeqCst, Ordering::Relaxed);
        }
        self.step(Event::Died(strand));
        self.lock.abandon(strand);
    }

    /// Forgets everyone, as in a new hub. Only while nobody can ask.
    pub(super) fn renew(&self) {
        // Before the state, by which the next strand enters.
        self.step(Event::Renewed);
        self.lock.reset();
        self.closed.store(0, Ordering::SeqCst);
        self.state.store(0, Ordering::SeqCst);
    }

    /// Makes a step of [`Turns`]. The strand owns the words of the turn; or no strand can ask; or the event is a death, which ends no
    /// turn but the strand's.
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
        self.state.store(taken | CLOSED, Ordering::SeqCst);
        if self.remembered().is_empty() {
            self.closed.swap(0, Ordering::SeqCst);
            // A strand that could not enter may have been remembered between the two.
            if !self.remembered().is_empty() {
                self.close();
            }
        }
    }

    /// Sets [`CLOSED`] in the state, behind [`close`](Self::close). Returns `true` if the hub is free: then only the lock's owner
    /// takes it.
    #[inline(always)]
    fn shut(&self, ended: impl FnOnce()) -> bool {
        exchanged();
        let state = self.state.load(Ordering::SeqCst);
        if state & CLOSED != 0 {
            return state == CLOSED;
        }
        // Before the exchange, in case the strand dies between the two.
        ended();
        let shut = state | CLOSED;
        match (self.state).compare_exchange(state, shut, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => shut == CLOSED,
            Err(found) => found == CLOSED,
        }
    }

    /// Closes the fast path. Exchanged, so that two strands that change the word know of each other's changes.
    fn close(&self) {
        self.closed.swap(CLOSED, Ordering::SeqCst);
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
