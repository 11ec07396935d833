//! What a strand is asked for by cross-call.

use hv_core::sync::{AtomicU32, Ordering};

use crate::rights::protocol::{Asked, Scrub, StrandEvent};

/// What a strand is asked for by cross-call, and has not acknowledged yet.
///
/// An acknowledgement is an exchange of the very word that the strand took before it did anything. So the acknowledgement of an
/// older request does not count for a newer one that wants more, or that comes after the strand was believed dead; and what an
/// older request wants and the strand has not done is wanted still. A newer request for the same is acknowledged with it, and
/// that is right: from the moment that it took the word until it acknowledges, the strand has been in no call and in no guest
/// code.
#[derive(Debug, Default)]
pub(crate) struct Request(AtomicU32);

impl Request {
    /// Asks the strand to scrub this and to acknowledge. A strand that is excused stays so.
    pub(crate) fn ask(&self, scrub: Scrub) {
        self.add(StrandEvent::Asks(scrub));
    }

    /// The strand is dead: nobody waits for it, but it acknowledges before anything else if it comes back.
    pub(crate) fn excuse(&self) {
        self.add(StrandEvent::Dies);
    }

    /// Makes the step of an event that only adds bits.
    fn add(&self, event: StrandEvent) {
        let added = Asked::default().step(event);
        self.0.fetch_or(added.into_bits(), Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> Asked {
        Asked::from_bits(self.0.load(Ordering::SeqCst))
    }

    /// The strand takes its cross-call. Returns what it is asked for.
    pub(crate) fn take(&self) -> Asked {
        let taken = |asked: Asked| asked.step(StrandEvent::Takes);
        // Of all bits, those stay that this event leaves.
        let kept = taken(Asked::from_bits(u32::MAX));
        let old = self.0.fetch_and(kept.into_bits(), Ordering::SeqCst);
        taken(Asked::from_bits(old))
    }

    /// What was taken is done. Returns `true` if nothing was added meanwhile.
    pub(crate) fn acknowledge(&self, taken: Asked) -> bool {
        let done = taken.step(StrandEvent::Acknowledges(taken));
        // Relaxed: after a failure the strand takes the word again.
        let exchanged = self.0.compare_exchange(
            taken.into_bits(),
            done.into_bits(),
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
        exchanged.is_ok()
    }
}
