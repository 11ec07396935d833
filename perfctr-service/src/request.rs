//! What a strand is asked for by cross-call.

use hv_core::sync::{AtomicU64, Ordering};

const ASKED: u64 = 1;
const EXCUSED: u64 = 1 << 1;
/// %pcr and %pic.
pub(crate) const PCR: u64 = 1 << 2;
/// HT in %pcr.
pub(crate) const HT: u64 = 1 << 3;
const FIRST_NUMBER: u64 = 1 << 4;

/// What a strand is asked for by cross-call, and has not answered yet.
///
/// Requests are numbered. An answer is an exchange of the very word that the strand had read before it did anything, so the
/// answer to an older request does not count for a newer one. What an older request asked for and the strand has not done is
/// asked for still.
#[derive(Debug)]
pub(crate) struct Request(AtomicU64);

impl Request {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Asks the strand to clear what these bits say, maybe nothing, and to answer. A strand that is excused stays so.
    pub(crate) fn ask(&self, clear: u64) {
        // The number first: if the bits are set already, an exchange that has begun before fails all the same.
        self.0.fetch_add(FIRST_NUMBER, Ordering::SeqCst);
        self.0.fetch_or(ASKED | clear, Ordering::SeqCst);
    }

    /// The strand is dead: nobody waits for it, but it answers before anything else if it comes back.
    pub(crate) fn excuse(&self) {
        self.0.fetch_or(ASKED | EXCUSED, Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// What was read is done. Whether nothing was added meanwhile.
    pub(crate) fn answer(&self, read: u64) -> bool {
        self.0
            .compare_exchange(
                read,
                read & !(FIRST_NUMBER - 1),
                Ordering::SeqCst,
                Ordering::Relaxed,
            )
            .is_ok()
    }

    /// Whether its answer is waited for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.read() & (ASKED | EXCUSED) == ASKED
    }

    pub(crate) fn is_excused(&self) -> bool {
        self.read() & EXCUSED != 0
    }
}
