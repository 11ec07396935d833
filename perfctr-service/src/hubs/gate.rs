//! The gate of a hub: one access in flight, and a turn for every strand that asks.
//!
//! The hypervisor never waits for a hub: a call that cannot have it at once is refused with EWOULDBLOCK. The strand is
//! then remembered, so that a guest that keeps asking makes progress:
//!
//! - When the hub is free, the *turn* goes to the next remembered strand in the order of strand numbers, cyclically,
//!   after the last one that had its turn. It stays there until that strand asks and is served, or is forgotten.
//! - Others who ask while the hub is free and the turn is not theirs are refused and remembered. That happens at most
//!   **r = 2w** times in one turn, w being the number of strands remembered (the asking ones included); then the
//!   strand whose turn it is is forgotten until it asks again, and the turn moves on. w is at most the number of
//!   strands N that use the hub, so r is at most 2N. A strand that has gone after being refused costs the others r
//!   refusals, once: four when one other strand uses the hub.
//! - A refusal because an access is in flight does not count: it is not on anyone's behalf.
//!
//! **Why b = N - 1.** Let strand Y be refused, and ask at least once in every r asks of the others. From then on every
//! grant follows the turn, because Y is remembered. The turn moves forward through the strand numbers and takes a
//! newcomer in only in front of it. So each other strand has at most one turn, and so at most one access, before the
//! turn reaches Y. There it stays while others are refused at most r times, in which Y asks and is served.
//!
//! **Why r = 2w.** Guests spin. When all w remembered strands ask at the same rate, each asks once in w - 1 asks of
//! the others, and r leaves a factor of two for a slow one. A strand that has just started to spin enlarges w, so a
//! crowd that arrives in the middle of a turn does not cut it short.
//!
//! An uncontended hub costs one compare-and-swap each way. Otherwise the order above is kept under a lock that is
//! never held across a device access. It guards some hundred instructions without a loop but over words of strand
//! bits, and is tried at most [`LOCK_TRIES`] times. A strand that never gets it is refused and remembered like any
//! other, but no turn was decided: in r and b, "asks" are those that got the lock.

use guest_abi::StrandId;
use hv_core::sync::{AtomicId, AtomicU32, AtomicU64, BEFORE_DEVICE, Ordering, OwnedLock};

/// How often a strand tries to get the lock before it is refused. The model checker gives it one try, which may succeed or
/// fail.
const LOCK_TRIES: usize = if cfg!(loom) { 1 } else { 10_000 };

/// Set in the state while strands are remembered: the fast path is closed.
const REMEMBERED: u32 = 1;

const WORDS: usize = StrandId::COUNT / 64;

/// The right to access one hub.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Gate {
    /// The strand that has an access in flight ([`Token`]), and [`REMEMBERED`].
    state: AtomicU32,
    /// Strands that have been refused, a bit each.
    remembered: [AtomicU64; WORDS],
    /// Serialises entry to a free hub while [`REMEMBERED`] is set. While the hub is free, the lock's owner owns the fields
    /// below; while the hub is taken, its holder does, without the lock.
    lock: OwnedLock,
    /// The strand whose turn it is.
    turn: AtomicId<StrandId>,
    /// Refusals on behalf of that strand.
    refusals: AtomicU32,
    /// The strand that had the last turn.
    last: AtomicU32,
}

/// Why a strand does not get the hub now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Another access is in flight, or the lock was not to be had.
    Taken,
    /// It is another strand's turn.
    Turn,
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
            turn: AtomicId::default(),
            refusals: AtomicU32::new(0),
            last: AtomicU32::new(StrandId::COUNT as u32 - 1),
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
        // The state is never negative, so this says `state == 0`. Written so, LLVM would test the success flag of the
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
            return Err(Refused::Taken);
        };
        let taken = self.state.fetch_or(REMEMBERED, Ordering::SeqCst) & !REMEMBERED != 0;
        if taken {
            self.remember(strand);
            Err(Refused::Taken)
        } else {
            self.by_turn(strand)
        }
    }

    /// The access is done.
    #[inline(always)]
    pub(super) fn release(&self, strand: impl Into<Token>) {
        let Token(taken) = strand.into();
        let (Ok(state) | Err(state)) =
            self.state
                .compare_exchange(taken, 0, Ordering::Release, Ordering::Relaxed);
        // As in `take_free`. The state is `taken`, alone or with REMEMBERED, and others set no other bit meanwhile.
        if state > taken {
            self.state.swap(REMEMBERED, Ordering::Release);
        }
    }

    /// The chip was busy with an earlier access after all, and did nothing. The strand is refused and keeps its turn.
    pub(super) fn give_back(&self, strand: StrandId) {
        self.remember(strand);
        self.turn.store(Some(strand));
        self.refusals.store(0, Ordering::Relaxed);
        self.state.swap(REMEMBERED, Ordering::Release);
    }

    /// Returns the strand that has an access in flight.
    pub(super) fn holder(&self) -> Option<StrandId> {
        let holder = (self.state.load(Ordering::SeqCst) >> 1).checked_sub(1)?;
        StrandId::new(holder as usize)
    }

    /// Releases all that a strand held, which has died, and forgets it. Returns `true` if it held the hub.
    ///
    /// What it left half-done is put right by those that ask next: at worst they are refused 2w times on behalf of a
    /// strand that is not remembered.
    pub(super) fn abandon(&self, strand: StrandId) -> bool {
        let Token(dead) = strand.into();
        let held = self.state.load(Ordering::SeqCst) & !REMEMBERED == dead;
        if held {
            self.state.fetch_and(REMEMBERED, Ordering::SeqCst);
        }
        self.forget_refusal(strand);
        self.lock.abandon(strand);
        held
    }

    /// Forgets everyone, as in a new hub. Only while nobody can ask.
    pub(super) fn renew(&self) {
        for word in &self.remembered {
            word.store(0, Ordering::SeqCst);
        }
        self.turn.store(None);
        self.refusals.store(0, Ordering::Relaxed);
        self.lock.reset();
        self.state.store(0, Ordering::SeqCst);
    }

    /// The hub is free and the lock is held, so nobody else takes it.
    fn by_turn(&self, strand: StrandId) -> Result<(), Refused> {
        self.remember(strand);
        let mut turn = match self.turn.load() {
            Some(turn) => turn,
            None => self.next(strand),
        };
        let mut refusals = self.refusals.load(Ordering::Relaxed);
        if turn != strand && refusals >= 2 * self.count() {
            self.forget(turn);
            turn = self.next(strand);
            refusals = 0;
        }
        if turn == strand {
            self.forget(turn);
            self.take_in_turn(strand);
            return Ok(());
        }
        self.turn.store(Some(turn));
        self.refusals.store(refusals + 1, Ordering::Relaxed);
        Err(Refused::Turn)
    }

    fn take_in_turn(&self, strand: StrandId) {
        let Token(taken) = strand.into();
        self.state.swap(taken | REMEMBERED, Ordering::SeqCst);
        if self.count() == 0 {
            self.state.fetch_and(!REMEMBERED, Ordering::SeqCst);
            // A strand that could not enter may have been remembered between the two.
            if self.count() != 0 {
                self.state.fetch_or(REMEMBERED, Ordering::SeqCst);
            }
        }
    }

    /// Ends a turn.
    fn forget(&self, strand: StrandId) {
        self.forget_refusal(strand);
        self.last.store(strand.index() as u32, Ordering::Relaxed);
        self.turn.store(None);
        self.refusals.store(0, Ordering::Relaxed);
    }

    fn forget_refusal(&self, strand: StrandId) {
        if let Some(word) = self.remembered.get(strand.index() / 64) {
            word.fetch_and(!(1 << (strand.index() % 64)), Ordering::SeqCst);
        }
    }

    fn remember(&self, strand: StrandId) {
        if let Some(word) = self.remembered.get(strand.index() / 64) {
            word.fetch_or(1 << (strand.index() % 64), Ordering::SeqCst);
        }
    }

    fn count(&self) -> u32 {
        self.remembered
            .iter()
            .map(|word| word.load(Ordering::SeqCst).count_ones())
            .sum()
    }

    /// Returns the first remembered strand behind the last turn, cyclically; `otherwise` if there is none.
    fn next(&self, otherwise: StrandId) -> StrandId {
        let first = (self.last.load(Ordering::Relaxed) + 1) % StrandId::COUNT as u32;
        // The word that the search begins in comes again at the end, for its lower bits.
        for step in 0..=WORDS as u32 {
            let index = (first / 64 + step) % WORDS as u32;
            let Some(word) = self.remembered.get(index as usize) else {
                continue;
            };
            let from_first = u64::MAX << (first % 64);
            let window = match step {
                0 => from_first,
                _ if step == WORDS as u32 => !from_first,
                _ => u64::MAX,
            };
            let candidates = word.load(Ordering::SeqCst) & window;
            if candidates != 0 {
                let number = index * 64 + candidates.trailing_zeros();
                return StrandId::new(number as usize).unwrap_or(otherwise);
            }
        }
        otherwise
    }
}
