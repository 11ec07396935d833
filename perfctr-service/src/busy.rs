//! A unit that stays busy for ever is as good as broken.
//!
//! A strand that finds a hub busy, or the lock of its node's L2 control taken, is refused with EWOULDBLOCK. If it finds so
//! again [`BUSY_LIMIT_TICKS`] later, and in between nobody had an access to the unit that came to an end, the unit is out of
//! service: a guest that spins for ever is worse. That holds for a chip that answers "busy" and for one that another strand
//! has had all the time, such as one that has died in its access.
//!
//! **Whose clock.** Each strand compares times of its own clock only; clocks may differ by any offset.
//!
//! **What ends an access.** The fast paths of calls do not come here, and need not: a strand that is refused by a hub is
//! remembered, and while a strand is remembered nobody has the hub by a fast path. The one access that may have been in
//! flight by a fast path is [noted](Progress::taken), and counted when the hub is next found free.

use guest_abi::{Hub, Node, StrandId};
use hv_core::sync::{AtomicU32, AtomicU64, Ordering};

use crate::units::Unit;

/// How long a unit may stay busy, in ticks of %stick: about one second.
pub const BUSY_LIMIT_TICKS: u64 = 1 << 30;

/// What a strand watches: the hubs, and the L2 control of its node.
pub(crate) const WATCHED: usize = Hub::ALL.len() + 1;

const UNITS: usize = Hub::ALL.len() + Node::ALL.len();

/// The accesses to a unit that came to an end, as far as they matter to those who find it busy.
#[derive(Debug)]
pub(crate) struct Progress {
    ended: AtomicU64,
    /// The strand, plus one, that had the hub when another was refused.
    taken_by: AtomicU32,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            ended: AtomicU64::new(1),
            taken_by: AtomicU32::new(0),
        }
    }

    /// An access came to an end.
    pub(crate) fn made(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// This strand has it.
    pub(crate) fn taken(&self, holder: StrandId) {
        self.taken_by
            .store(holder.index() as u32 + 1, Ordering::SeqCst);
    }

    /// Nobody has it: the access that was in flight when somebody was refused came to an end.
    pub(crate) fn found_free(&self) {
        if self.taken_by.load(Ordering::SeqCst) != 0 && self.taken_by.swap(0, Ordering::SeqCst) != 0
        {
            self.made();
        }
    }

    /// The strand that had it was told that the chip is busy.
    pub(crate) fn given_back(&self, holder: StrandId) {
        let _ = self.taken_by.compare_exchange(
            holder.index() as u32 + 1,
            0,
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
    }
}

/// The progress of all units that can be busy.
#[derive(Debug)]
pub(crate) struct AllProgress([Progress; UNITS]);

impl AllProgress {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| Progress::new()))
    }

    /// That of a unit; a memory channel has none.
    pub(crate) fn of(&self, unit: Unit) -> Option<&Progress> {
        match unit {
            Unit::Mcu(..) => None,
            Unit::Hub(hub) => self.0.get(hub.index()),
            Unit::L2(node) => self.0.get(Hub::ALL.len() + node.index()),
        }
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
    /// The unit is busy at the time `now`. Whether it has been for too long.
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
pub(crate) struct Stopwatches([Stopwatch; WATCHED]);

impl Stopwatches {
    /// That for a unit; for L2 control, of the strand's own node. A memory channel has none.
    pub(crate) fn of(&self, unit: Unit) -> Option<&Stopwatch> {
        match unit {
            Unit::Mcu(..) => None,
            Unit::Hub(hub) => self.0.get(hub.index()),
            Unit::L2(_) => self.0.get(Hub::ALL.len()),
        }
    }
}
