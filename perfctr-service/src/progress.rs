//! A unit that stays busy for ever is as good as broken.
//!
//! A strand that finds a hub busy, or the lock of its node's L2 control taken, is refused with EWOULDBLOCK. If it finds so
//! again [`BUSY_LIMIT_TICKS`] later, and in between no access to the unit came to an end, the unit goes out of service:
//! a guest that spins for ever is worse. That holds for a chip that answers "busy" and for one that another strand has had
//! all the time, such as one that has died in its access.
//!
//! **Whose clock.** Each strand compares times of its own clock only; clocks may differ by any offset.
//!
//! **What ends an access.** Calls on the fast path do not come here, and need not: a strand that is refused by a hub is
//! remembered, and while a strand is remembered nobody gets the hub on the fast path. The one access that may have been in
//! flight on the fast path is [noted](Progress::taken), and counted when the hub is next found free.

use guest_abi::{Hub, StrandId};
use hv_core::sync::{AtomicId, AtomicU64, Ordering};

/// How long a unit may stay busy, in ticks of %stick: about one second.
pub const BUSY_LIMIT_TICKS: u64 = 1 << 30;

/// Counts the accesses to a unit that came to an end, as far as they matter to those who find it busy.
#[derive(Debug)]
pub(crate) struct Progress {
    ended: AtomicU64,
    /// The strand that had the hub when another was refused.
    taken_by: AtomicId<StrandId>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            ended: AtomicU64::new(1),
            taken_by: AtomicId::default(),
        }
    }

    /// An access came to an end.
    pub(crate) fn made(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// This strand has the unit.
    pub(crate) fn taken(&self, holder: StrandId) {
        self.taken_by.store(Some(holder));
    }

    /// No strand has the unit: the access that was in flight when another strand was refused came to an end.
    pub(crate) fn found_free(&self) {
        if self.taken_by.load().is_some() && self.taken_by.clear() {
            self.made();
        }
    }

    /// The strand that had the unit was told that the chip is busy.
    pub(crate) fn given_back(&self, holder: StrandId) {
        self.taken_by.replace(Some(holder), None);
    }
}

/// Since when a strand finds a unit busy. Only that strand uses it.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    /// The count of accesses at that time; 0 for none, which no count is.
    ended: AtomicU64,
    since: AtomicU64,
}

impl Stopwatch {
    /// The strand finds the unit busy at the time `now`. Returns `true` if it has been for too long.
    pub(crate) fn busy(&self, progress: &Progress, now: u64) -> bool {
        let ended = progress.ended.load(Ordering::SeqCst);
        if self.ended.load(Ordering::Relaxed) != ended {
            self.ended.store(ended, Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
        }
        now.wrapping_sub(self.since.load(Ordering::Relaxed)) >= BUSY_LIMIT_TICKS
    }
}

/// The stopwatches of a strand.
#[derive(Debug, Default)]
pub(crate) struct Stopwatches {
    hubs: [Stopwatch; Hub::ALL.len()],
    /// For the L2 control of the strand's own node.
    pub(crate) l2: Stopwatch,
}

impl Stopwatches {
    /// Returns the stopwatch for a hub.
    pub(crate) fn hub(&self, hub: Hub) -> &Stopwatch {
        &self.hubs[hub.index() % Hub::ALL.len()]
    }
}
