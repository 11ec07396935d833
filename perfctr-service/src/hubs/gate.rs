//! The gate of a hub. It lets one access through at a time, and gives every strand that asks a turn.
//!
//! The hypervisor never waits for a hub. A call that cannot have the hub immediately is refused with EWOULDBLOCK. A pure function of
//! [`Turns`](super::turns::Turns) decides which strand is served next, so that every guest that keeps asking makes progress.
//!
//! **The fast path** takes a hub in two steps: a compare-and-swap of [`Gate::state`], from 0 to the strand's token, and then a load of
//! [`Gate::closed`]. If `closed` is 0, the strand has the hub. Otherwise it stores 0 to `state` and asks on the slow path. A store of 0 to
//! `state` releases the hub. While `state` holds a token, only that token's strand changes it, except for the bit [`CLOSED`]. A strand that
//! is refused meanwhile therefore sets `closed`, and the next strand that takes the hub tests `closed`:
//!
//! | a strand is refused | the next strand takes the hub |
//! |---|---|
//! | exchange `closed` for 1 | compare `state` with 0, and exchange it for the token |
//! | compare `state` with 0: it is taken | load `closed` |
//!
//! These four steps are sequentially consistent. If the refused strand finds the hub taken, its comparison comes before the next strand's
//! exchange, and so its exchange of `closed` comes before the next strand's load of `closed`. (A processor with total store order needs no
//! barrier for this, because no load overtakes an earlier exchange. The release needs no barrier either, because no load follows it, and a
//! release store comes after the device access. A store to a hub may be posted, and is completed before the release.)
//!
//! The SPARC V9 assembly compares and swaps both words in a single step, and so never takes a hub only to release it again.
//!
//! **The slow path** refuses a strand without the lock if the hub is taken, or if it is free but another strand has the turn
//! ([`AtomicTurns::refuse`]). Otherwise the strand enters the gate with a lock that is never held during a device access.
//!
//! The slow path sets `closed`, and then a bit in `state`: [`CLOSED`] if the hub is taken, [`RESERVED`] if it is free. The bit disables the
//! fast path of a free hub until a strand is served in turn and no strand is remembered. If `state` has neither bit, the last access may
//! have been on a fast path, which does not count the end of its access. The strand that sets the bit therefore counts an end first. If a
//! strand finds the hub taken at two asks, the count therefore shows whether an access has ended in between. This holds even if another
//! strand took the hub, found the fast path closed, and released the hub without an access.
//!
//! A strand passes the turn on at the end of its access, or when it is refused. It then stores the next strand's token in `state`, with
//! both bits. A remembered strand therefore needs only this word: while [`CLOSED`] is set, the strand is refused and nothing changes,
//! unless the hub is reserved for the strand ([`standing_refusal`](Gate::standing_refusal)).
//!
//! A strand that is refused without the lock is first remembered, and then sets `closed`. The strand that opens the fast path first clears
//! `closed`, and then tests whether a strand is remembered.
//!
//! **The lock** guards about a hundred instructions. A strand tries to get the lock only once, because waiting would gain nothing. If the
//! owner takes the hub, another strand would be refused even with the lock. If the owner decides the turn, another strand can be refused
//! without the lock. A strand that does not get the lock is refused and remembered, but decides no turn. The bounds r and b (see
//! [`turns`](super::turns)) do not count this ask: they count asks with the lock, and refusals in another strand's turn.

#[cfg(target_arch = "sparc64")]
use core::mem::offset_of;

use guest_abi::StrandId;
use hv_core::sync::{
    AtomicU32, EXCHANGE_THEN_LOAD, Ordering, OwnedLock, const_unless_loom, fence_after_exchange,
};

use super::atomic_turns::AtomicTurns;
use super::turns::{Answer, HubEvent};

/// The bit that is set in `state` while strands are remembered. The token in `state` then belongs to the strand that has the hub or the
/// turn. The assembly tests this bit as the word's sign.
const CLOSED: u32 = 1 << 31;
/// The bit that is set in `state` while the hub is free and only the lock's owner may take it. The fast path is closed then, and the end of
/// the last access is counted.
const RESERVED: u32 = 1;

#[derive(Debug)]
#[repr(C)]
pub(super) struct Gate {
    /// 0 for a free hub, or the [`Token`] of the strand whose access is in flight. For a reserved hub, [`RESERVED`]; if a strand has the
    /// turn at this hub, also [`CLOSED`] and this strand's token. A strand sets [`CLOSED`] or [`RESERVED`] only after counting the end of
    /// the last access. Only the lock's owner clears [`RESERVED`].
    state: AtomicU32,
    /// [`CLOSED`] or 0. Every strand may set it. Only a strand that is served in turn clears it.
    closed: AtomicU32,
    /// While the hub is free, only the lock's owner decides. While the hub is taken, only its holder decides.
    turns: AtomicTurns,
    /// Serialises entry to a free hub while the fast path is closed.
    lock: OwnedLock,
    /// The number of entries to the gate. Only the lock's owner changes this number.
    entered: AtomicU32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Another access is in flight.
    Taken,
    /// Another strand has the turn.
    Turn,
    /// Another strand owns the gate's lock.
    Locked,
}

/// The number that stands for a strand in [`Gate::state`]: twice the strand's number plus 2. This way, 0 stands for no strand, and bit 0 is
/// free for [`RESERVED`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u32);

impl From<StrandId> for Token {
    #[inline(always)]
    fn from(strand: StrandId) -> Self {
        Self((strand.index() as u32 + 1) << 1)
    }
}

#[cfg(target_arch = "sparc64")]
impl Gate {
    /// The offset in bytes of `state` and `closed`, which the SPARC V9 assembly compares and swaps as one number.
    pub(super) const STATE: usize = offset_of!(Self, state);
}

#[cfg(target_arch = "sparc64")]
const _: () = assert!(Gate::STATE % 8 == 0 && offset_of!(Gate, closed) == Gate::STATE + 4);

#[cfg(target_arch = "sparc64")]
impl Token {
    pub(crate) const fn taken(self) -> u64 {
        (self.0 as u64) << 32
    }

    /// Returns both words of a closed gate whose hub is reserved for the strand.
    pub(crate) const fn reserved(self) -> u64 {
        ((self.0 | RESERVED | CLOSED) as u64) << 32 | CLOSED as u64
    }
}

/// Returns `true` if a state shows no access in flight.
const fn is_free(state: u32) -> bool {
    state & RESERVED != 0 || state == 0
}

/// Returns the state of a free hub in a strand's turn.
fn reserved(strand: StrandId) -> u32 {
    let Token(token) = strand.into();
    token | RESERVED | CLOSED
}

impl Gate {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                state: AtomicU32::new(0),
                closed: AtomicU32::new(0),
                turns: AtomicTurns::new(),
                lock: OwnedLock::new(),
                entered: AtomicU32::new(0),
            }
        }
    }

    /// Takes the hub if it is free and no strand is remembered, and then returns `true`. Otherwise the caller must [`ask`](Self::ask).
    #[inline(always)]
    pub(super) fn try_take_fast(&self, strand: impl Into<Token>) -> bool {
        let Token(taken) = strand.into();
        let (Ok(state) | Err(state)) =
            self.state.compare_exchange(0, taken, EXCHANGE_THEN_LOAD, Ordering::Relaxed);
        // Relaxed ordering suffices on failure, because the device is not accessed then. The test compares the state, because LLVM makes a
        // success flag costly on SPARC.
        if state != 0 {
            return false;
        }
        fence_after_exchange();
        let open = self.closed.load(EXCHANGE_THEN_LOAD) == 0;
        if !open {
            self.release_fast();
        }
        open
    }

    /// Returns why a remembered strand is refused. Returns `None` if the strand must [`ask`](Self::ask), because the hub may be reserved
    /// for it.
    #[inline(always)]
    pub(super) fn standing_refusal(&self, strand: StrandId) -> Option<Refused> {
        let state = self.state.load(Ordering::SeqCst);
        match state {
            _ if state & CLOSED == 0 || state == reserved(strand) => None,
            _ if is_free(state) => Some(Refused::Turn),
            _ => Some(Refused::Taken),
        }
    }

    /// Asks for the hub on the slow path. On success the caller has the only access in flight, until it calls [`release`](Self::release) or
    /// [`release_and_keep_turn`](Self::release_and_keep_turn). Calls `ended` if an access on the fast path may have ended without being counted.
    pub(super) fn ask(&self, strand: StrandId, ended: impl FnOnce()) -> Result<(), Refused> {
        let state = self.state.load(Ordering::SeqCst);
        let free = is_free(state);
        // The last access is counted, and the fast path is closed until the strand that has the turn is served.
        if state & RESERVED != 0 && self.turns.refuse(strand) {
            return Err(Refused::Turn);
        }
        let (tries, why) = if free { (1, Refused::Locked) } else { (0, Refused::Taken) };
        let Some(_lock) = self.lock.lock(strand, tries) else {
            self.turns.remember(strand);
            self.close();
            self.close_state(ended);
            return Err(why);
        };
        // A relaxed load suffices: the lock orders the writes. A strand that misses this entry sees it at its next ask.
        let entered = self.entered.load(Ordering::Relaxed);
        (self.entered).store(entered.wrapping_add(1), Ordering::Relaxed);
        self.close();
        if !self.close_state(ended) {
            self.turns.remember(strand);
            return Err(Refused::Taken);
        }
        match self.turns.decide(HubEvent::AsksFree(strand)) {
            Answer::Served => {
                self.take_in_turn(strand);
                Ok(())
            }
            Answer::Refused => {
                self.state.store(self.state_in_turn(), Ordering::SeqCst);
                Err(Refused::Turn)
            }
        }
    }

    #[inline(always)]
    pub(super) fn release_fast(&self) {
        self.store_free_state(0);
    }

    /// Releases the hub after [`ask`](Self::ask), and gives the turn to the next remembered strand. If the fast path is closed, or if
    /// another strand closes it at this moment, it stays closed.
    pub(super) fn release(&self) {
        if self.closed.load(Ordering::Relaxed) == 0 {
            self.store_free_state(0);
        } else {
            self.turns.decide(HubEvent::Ended);
            self.store_free_state(self.state_in_turn());
        }
    }

    /// Releases the hub of a strand that found the chip busy. The same strand has the next turn.
    #[inline(always)]
    pub(super) fn release_and_keep_turn(&self, strand: StrandId) {
        self.turns.decide(HubEvent::ChipBusy(strand));
        self.close();
        self.store_free_state(reserved(strand));
    }

    /// Stores the state of a free hub. Under loom, the store is an exchange, because loom does not order a store after the holder's earlier
    /// exchange.
    #[inline(always)]
    fn store_free_state(&self, state: u32) {
        if cfg!(loom) {
            self.state.swap(state, Ordering::Release);
        } else {
            self.state.store(state, Ordering::Release);
        }
    }

    /// Returns `true` if the strand has an access in flight.
    pub(super) fn is_held_by(&self, strand: StrandId) -> bool {
        let Token(taken) = strand.into();
        // A relaxed load suffices: a strand sees its own stores, and other strands change only the bit `CLOSED`.
        self.state.load(Ordering::Relaxed) & !CLOSED == taken
    }

    /// Returns `true` if the strand has an access in flight or owns the lock. While it does, no other strand is served.
    pub(super) fn is_blocked_by(&self, strand: StrandId) -> bool {
        self.is_held_by(strand) || self.lock.owner() == Some(strand)
    }

    /// Returns the number of entries to the gate. While the number stays the same, no strand enters.
    pub(super) fn entered(&self) -> u32 {
        self.entered.load(Ordering::SeqCst)
    }

    /// Releases everything that a dead strand held, and forgets the strand.
    ///
    /// The fast path may stay closed although no strand is remembered; the next strand that asks opens it.
    pub(super) fn abandon(&self, strand: StrandId) {
        let Token(dead) = strand.into();
        // The loop exchanges the state, because another strand may report the same death at the same time. The first exchange expects the
        // bit `CLOSED` to be clear. In case another strand sets the bit before that, the second exchange expects the bit to be set. No
        // strand clears the bit. Relaxed ordering suffices on failure: the dead strand held nothing, or another strand has released the
        // hub.
        for (held, left) in [(dead, 0), (dead | CLOSED, 0), (reserved(strand), RESERVED)] {
            let _ = (self.state).compare_exchange(held, left, Ordering::SeqCst, Ordering::Relaxed);
        }
        self.turns.died(strand);
        self.lock.abandon(strand);
    }

    /// Forgets all strands, as in a new hub. The caller must ensure that no strand can ask.
    pub(super) fn reset(&self) {
        // The state changes last, because the next strand takes the hub by an exchange of the state.
        self.turns.decide(HubEvent::Reset);
        self.lock.reset();
        self.closed.store(0, Ordering::SeqCst);
        self.state.store(0, Ordering::SeqCst);
    }

    /// Returns the state of a free hub while the fast path is closed.
    fn state_in_turn(&self) -> u32 {
        self.turns.turn().map_or(RESERVED, reserved)
    }

    fn take_in_turn(&self, strand: StrandId) {
        let Token(taken) = strand.into();
        self.state.store(taken | CLOSED, Ordering::SeqCst);
        if self.turns.is_empty() {
            self.closed.swap(0, Ordering::SeqCst);
            // A strand that could not enter the gate may have been remembered before `closed` was cleared.
            if !self.turns.is_empty() {
                self.close();
            }
        }
    }

    /// Sets [`CLOSED`] or [`RESERVED`] in the state, after [`close`](Self::close). Returns `true` if the hub is free; only the lock's owner
    /// then takes the hub.
    #[inline(always)]
    fn close_state(&self, ended: impl FnOnce()) -> bool {
        fence_after_exchange();
        let state = self.state.load(Ordering::SeqCst);
        if state & (CLOSED | RESERVED) != 0 {
            return is_free(state);
        }
        // Count before the exchange, in case the strand dies between the count and the exchange.
        ended();
        let shut = if state == 0 { RESERVED } else { state | CLOSED };
        match (self.state).compare_exchange(state, shut, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => state == 0,
            Err(found) => found & RESERVED != 0,
        }
    }

    /// Closes the fast path. This is an exchange, so that two strands that change the word see each other's changes.
    fn close(&self) {
        self.closed.swap(CLOSED, Ordering::SeqCst);
    }
}
