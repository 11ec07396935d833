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
//! **The slow path** refuses a strand without a lock if the hub is taken, or if it is free and it is another strand's turn
//! ([`Kept::refuse`]). Otherwise the strand enters the gate by a lock that is never held across a device access.
//!
//! It sets `closed`, and then [`CLOSED`] in `state`: of a free hub, no fast path goes on then until the hub is given to a strand in turn
//! and nobody is remembered any more. Where it is not set, the fast path has left the state, and that counts nothing: whoever sets it
//! counts the end of an access first. So a strand that finds the hub taken twice knows by the count whether an access has ended in
//! between, even if a strand has taken the free hub only for the moment until it sees that the fast path is closed.
//!
//! A strand that is refused without the lock is remembered before it sets `closed`. The strand that opens the fast path clears `closed`,
//! and then looks whether anybody is remembered.
//!
//! **The lock** guards some hundred instructions without a loop but over words of strand bits, and is tried once. Its owner takes the
//! hub, and then others are refused anyway, or says whose turn it is, and then others need no lock. So nobody gains by waiting for it.
//! A strand that does not get it is refused and remembered like any other, but no turn was decided: in r and b, "asks" are those
//! that got the lock, or were refused because it was another strand's turn.

#[cfg(target_arch = "sparc64")]
use core::mem::offset_of;

use guest_abi::StrandId;
use hv_core::sync::{AtomicU32, EXCHANGE_AND_LOOK, Ordering, OwnedLock, exchanged};

use super::kept::Kept;
use super::turns::{Answer, Event};

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
    /// Of a free hub only the lock's owner decides, of a taken one only its holder.
    kept: Kept,
    /// Serialises entry to a free hub while the fast path is closed.
    lock: OwnedLock,
    /// How often a strand has entered. Only the lock's owner changes this.
    entered: AtomicU32,
}

/// Why a strand does not get the hub now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Another access is in flight.
    Taken,
    /// It is another strand's turn.
    Turn,
    /// Another strand has the lock.
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
            kept: Kept::new(),
            lock: OwnedLock::default(),
            entered: AtomicU32::new(0),
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
        let state = self.state.load(Ordering::SeqCst);
        // Nothing is to be counted or closed: the hub is free and shut until the strand has its turn.
        if state == CLOSED && self.kept.refuse(strand) {
            return Err(Refused::Turn);
        }
        let (tries, why) = match state & !CLOSED {
            0 => (1, Refused::Locked),
            _ => (0, Refused::Taken),
        };
        let Some(_lock) = self.lock.lock(strand, tries) else {
            self.kept.remember(strand);
            self.close();
            self.shut(ended);
            return Err(why);
        };
        // Relaxed: the lock orders those who write it, and who misses the latest entry finds it when it asks again.
        let entered = self.entered.load(Ordering::Relaxed);
        (self.entered).store(entered.wrapping_add(1), Ordering::Relaxed);
        self.close();
        if !self.shut(ended) {
            self.kept.remember(strand);
            return Err(Refused::Taken);
        }
        match self.kept.decide(Event::AsksFree(strand)) {
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
        self.kept.decide(Event::ChipBusy(strand));
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
        self.kept.died(strand);
        self.lock.abandon(strand);
    }

    /// Forgets everyone, as in a new hub. Only while nobody can ask.
    pub(super) fn renew(&self) {
        // Before the state, by which the next strand enters.
        self.kept.decide(Event::Renewed);
        self.lock.reset();
        self.closed.store(0, Ordering::SeqCst);
        self.state.store(0, Ordering::SeqCst);
    }

    fn take_in_turn(&self, strand: StrandId) {
        let Token(taken) = strand.into();
        self.state.store(taken | CLOSED, Ordering::SeqCst);
        if self.kept.is_empty() {
            self.closed.swap(0, Ordering::SeqCst);
            // A strand that could not enter may have been remembered between the two.
            if !self.kept.is_empty() {
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
}
