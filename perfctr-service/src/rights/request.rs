//! What a strand is asked for by cross-call.

use hv_core::sync::{AtomicU32, Ordering};

const ASKED: u32 = 1;
const EXCUSED: u32 = 1 << 1;
/// %pcr and %pic.
pub(crate) const PCR: u32 = 1 << 2;
/// HT in %pcr.
pub(crate) const HT: u32 = 1 << 3;

/// What a strand is asked for by cross-call, and has not acknowledged yet.
///
/// An acknowledgement is an exchange of the very word that the strand had read before it did anything. So the acknowledgement of an older request
/// does not count for a newer one that wants more, or that comes after the strand was believed dead; and what an older request
/// wants and the strand has not done is wanted still. A newer request for the same is acknowledged with it, and that is right:
/// from the moment that it read the word until it acknowledges, the strand has been in no call and in no guest code.
#[derive(Debug, Default)]
pub(crate) struct Request(AtomicU32);

impl Request {
    /// Asks the strand to scrub what these bits say, maybe nothing, and to acknowledge. A strand that is excused stays so.
    pub(crate) fn ask(&self, scrub: u32) {
        self.0.fetch_or(ASKED | scrub, Ordering::SeqCst);
    }

    /// The strand is dead: nobody waits for it, but it acknowledges before anything else if it comes back.
    pub(crate) fn excuse(&self) {
        self.0.fetch_or(ASKED | EXCUSED, Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// What was read is done. Returns `true` if nothing was added meanwhile.
    pub(crate) fn acknowledge(&self, read: u32) -> bool {
        self.0
            .compare_exchange(read, 0, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Returns `true` if it has not acknowledged, dead or not.
    pub(crate) fn is_asked(&self) -> bool {
        self.read() & ASKED != 0
    }

    /// Returns `true` if its acknowledgement is waited for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.read() & (ASKED | EXCUSED) == ASKED
    }

    pub(crate) fn is_excused(&self) -> bool {
        self.read() & EXCUSED != 0
    }
}
