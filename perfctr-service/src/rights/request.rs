//! The request that a cross-call brings to a strand.

use hv_core::sync::{AtomicU32, Ordering, const_unless_loom};

use crate::rights::protocol::{Asked, Scrub, StrandEvent};

/// What a strand is asked to do and has not acknowledged: an [`Asked`] that several strands change at the same time.
///
/// A strand acknowledges with an exchange. The exchange fails if, since this strand took the word, another strand has asked for more or has
/// reported this strand's death. An acknowledgement may also cover a newer request for the same scrub. This is correct, because the strand
/// executes neither a call nor guest code between its scrub and its acknowledgement.
#[derive(Debug)]
pub(crate) struct PendingRequest(AtomicU32);

impl PendingRequest {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(AtomicU32::new(Asked::new().into_bits()))
        }
    }

    /// Asks the strand to scrub and to acknowledge. An excused strand stays excused.
    pub(crate) fn ask(&self, scrub: Scrub) {
        self.add(StrandEvent::Asks(scrub));
    }

    /// Excuses a dead strand: no change waits for it. If it comes back, it still acknowledges before anything else.
    pub(crate) fn mark_dead(&self) {
        self.add(StrandEvent::Dies);
    }

    /// Applies an event that only sets bits.
    fn add(&self, event: StrandEvent) {
        let added = Asked::default().step(event);
        self.0.fetch_or(added.into_bits(), Ordering::SeqCst);
    }

    pub(crate) fn read(&self) -> Asked {
        Asked::from_bits(self.0.load(Ordering::SeqCst))
    }

    /// Begins a cross-call. Returns what the strand is asked to do.
    pub(crate) fn take(&self) -> Asked {
        let taken = |asked: Asked| asked.step(StrandEvent::Takes);
        // The bits that this event never clears.
        let kept = taken(Asked::from_bits(u32::MAX));
        let old = self.0.fetch_and(kept.into_bits(), Ordering::SeqCst);
        taken(Asked::from_bits(old))
    }

    /// Acknowledges the requests that the strand took. Returns `false` if a request has been added meanwhile.
    pub(crate) fn acknowledge(&self, taken: Asked) -> bool {
        let done = taken.step(StrandEvent::Acknowledges(taken));
        let (taken, done) = (taken.into_bits(), done.into_bits());
        // Relaxed ordering suffices on failure, because the strand then takes the word again.
        (self.0).compare_exchange(taken, done, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}
