//! The arbiter of a hub: the hub's gate, and counts that show strands whether accesses make progress.

mod atomic_turns;
mod gate;
#[cfg(test)]
pub(crate) mod tests;
#[cfg_attr(not(feature = "decisions"), allow(unreachable_pub))]
pub mod turns;

use guest_abi::StrandId;
use hv_core::sync::const_unless_loom;
use static_assertions::assert_impl_all;

use crate::progress::{Progress, Stopwatch, WaitReason};
use gate::{Gate, Refused};

pub(crate) use gate::Token;

/// Decides which strand has a hub. A strand gets the hub with [`ask`](Self::ask), or on the fast path with [`try_take_fast`](Self::try_take_fast).
/// Only this strand releases the hub. If it has died, another strand releases the hub with [`abandon`](Self::abandon).
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct HubArbiter {
    gate: Gate,
    progress: Progress,
}

assert_impl_all!(HubArbiter: Send, Sync);

/// A strand's right to the only access in flight at a hub. Dropping the guard releases the hub, even after a failed access.
#[derive(Debug)]
#[must_use]
pub(crate) struct HubGuard<'a> {
    arbiter: &'a HubArbiter,
    strand: StrandId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Blocked {
    /// Another access is in flight.
    Taken,
    /// Another strand has the turn.
    Turn,
    /// The hub has been busy for [`BUSY_LIMIT_TICKS`](crate::BUSY_LIMIT_TICKS).
    Stuck,
}

impl HubArbiter {
    /// The offset in bytes of the word that the SPARC V9 assembly uses to take and release the hub.
    #[cfg(target_arch = "sparc64")]
    pub(crate) const STATE: usize = {
        assert!(core::mem::offset_of!(Self, gate) == 0);
        Gate::STATE
    };

    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { gate: Gate::new(), progress: Progress::new() }
        }
    }

    /// Takes the hub if it is free and no strand is remembered, and then returns `true`. `release_fast` or a [`guard`](Self::guard)
    /// releases the hub.
    #[inline(always)]
    pub(crate) fn try_take_fast(&self, strand: impl Into<Token>) -> bool {
        self.gate.try_take_fast(strand)
    }

    #[inline(always)]
    pub(crate) fn release_fast(&self) {
        self.gate.release_fast();
    }

    /// Returns the guard of a strand that has taken the hub with [`try_take_fast`](Self::try_take_fast).
    pub(crate) fn guard(&self, strand: StrandId) -> HubGuard<'_> {
        let arbiter = self;
        HubGuard { arbiter, strand }
    }

    /// Returns the guard of a strand; `None` if the strand does not have the hub.
    pub(crate) fn held(&self, strand: StrandId) -> Option<HubGuard<'_>> {
        self.gate.is_held_by(strand).then(|| self.guard(strand))
    }

    /// Asks for the hub. `watch` is the strand's own stopwatch for this hub, and `now` returns the strand's time, in ticks.
    ///
    /// If the strand was refused less than [`REPEAT_TICKS`](crate::progress::REPEAT_TICKS) ago, it is still remembered, and another
    /// refusal changes nothing. The fast path of SPARC V9 makes the same decision.
    pub(crate) fn ask(
        &self,
        strand: StrandId,
        watch: &Stopwatch,
        now: impl Fn() -> u64,
    ) -> Result<HubGuard<'_>, Blocked> {
        let repeats = self.gate.standing_refusal(strand).filter(|_| watch.refused_recently(now()));
        if let Some(why) = repeats {
            return Err(why.into());
        }
        let Err(why) = self.gate.ask(strand, || self.progress.count_end()) else {
            watch.forget_refusal();
            return Ok(self.guard(strand));
        };
        let found = match why {
            Refused::Taken => WaitReason::Busy,
            Refused::Turn => WaitReason::Turn,
            Refused::Locked => WaitReason::Locked,
        };
        let stuck = watch.look(&self.progress, found, self.gate.entered(), &now);
        // Do not record a refusal with `Locked`, so that the next ask reaches the gate. If this strand has the turn, the gate may forget
        // the strand before that ask, and remembers it again only when an ask reaches the gate.
        if found != WaitReason::Locked {
            watch.record_refusal(now());
        }
        Err(if stuck { Blocked::Stuck } else { why.into() })
    }

    /// Records that a strand has found the chip busy. Returns `true` if the hub is stuck. [`ask`](Self::ask) explains `watch` and `now`.
    pub(crate) fn record_chip_busy(&self, watch: &Stopwatch, now: impl FnOnce() -> u64) -> bool {
        self.progress.count_chip_busy();
        watch.look(&self.progress, WaitReason::Busy, self.gate.entered(), now)
    }

    /// Counts the end of an access that did not pass through the gate.
    pub(crate) fn count_access_end(&self) {
        self.progress.count_end();
    }

    pub(crate) fn abandon(&self, dead: StrandId) {
        // Count before the release: a strand that asks afterwards must not count the time before the release as busy.
        if self.gate.is_blocked_by(dead) {
            self.progress.count_end();
        }
        self.gate.abandon(dead);
    }

    /// Forgets every strand, as in a new hub. Call this function only while no strand can ask.
    pub(crate) fn reset(&self) {
        self.gate.reset();
    }
}

impl From<Refused> for Blocked {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Taken | Refused::Locked => Self::Taken,
            Refused::Turn => Self::Turn,
        }
    }
}

impl HubGuard<'_> {
    pub(crate) fn complete(self) {
        self.arbiter.progress.count_end();
    }

    /// Releases the hub after a failed access, and reserves the next turn for this strand.
    pub(crate) fn keep_turn(self) {
        self.arbiter.progress.count_end();
        self.release_and_keep_turn();
    }

    fn release_and_keep_turn(self) {
        let Self { arbiter, strand } = self;
        // Forget the guard, because a drop would release the hub without reserving the turn.
        core::mem::forget(self);
        arbiter.gate.release_and_keep_turn(strand);
    }

    /// Releases the hub, and reserves the next turn for this strand, because the chip was busy with an earlier access and did nothing.
    /// [`ask`](HubArbiter::ask) explains `watch` and `now`.
    pub(crate) fn device_busy(self, watch: &Stopwatch, now: impl FnOnce() -> u64) -> Blocked {
        let arbiter = self.arbiter;
        self.release_and_keep_turn();
        if arbiter.record_chip_busy(watch, now) { Blocked::Stuck } else { Blocked::Taken }
    }
}

impl Drop for HubGuard<'_> {
    fn drop(&mut self) {
        self.arbiter.gate.release();
    }
}
