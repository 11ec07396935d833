//! The request that a cross-call brings to a strand.

use hv_core::sync::{AtomicU32, Ordering};

use crate::rights::protocol::{Asked, Scrub, StrandEvent};

/// What a strand is asked for, and has not acknowledged yet: an [`Asked`] that several strands change at the same time.
///
/// A strand acknowledges by an exchange that fails if the word has changed since the strand took it, by a request for more or a report of
/// its death. It may acknowledge a newer request for the same, because between the two it is in no call and in no guest code.
#[derive(Debug, Default)]
pub(crate) struct Request(AtomicU32);

impl Request {
    /// Asks the strand to scrub this and to acknowledge. A strand that is excused stays so.
    pub(crate) fn ask(&self, scrub: Scrub) {
        self.add(StrandEvent::Asks(scrub));
    }

    /// Excuses a dead strand: no change waits for it, but it acknowledges before anything else if it comes back.
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

    /// Begins a cross-call. Returns what the strand is asked for.
    pub(crate) fn take(&self) -> Asked {
        let taken = |asked: Asked| asked.step(StrandEvent::Takes);
        // The bits that this event never clears.
        let kept = taken(Asked::from_bits(u32::MAX));
        let old = self.0.fetch_and(kept.into_bits(), Ordering::SeqCst);
        taken(Asked::from_bits(old))
    }

    /// Acknowledges what was taken. Returns `false` if a strand has added something meanwhile.
    pub(crate) fn acknowledge(&self, taken: Asked) -> bool {
        let done = taken.step(StrandEvent::Acknowledges(taken));
        let (taken, done) = (taken.into_bits(), done.into_bits());
        // Relaxed: after a failure the strand takes the word again.
        (self.0).compare_exchange(taken, done, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}
