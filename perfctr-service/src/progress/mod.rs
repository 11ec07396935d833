//! Detects units that stay busy, so that they go out of service.
//!
//! A call returns EWOULDBLOCK if a hub is busy, or if the lock of the node's L2 control is taken. The unit goes out of service if no access
//! to it ends for [`BUSY_LIMIT_TICKS`] while a strand keeps asking, with pauses that are a little shorter than [`BUSY_PAUSE_TICKS`]. No
//! guest therefore spins forever, even if a chip always answers "busy", or if a strand never releases a unit, for example because it died
//! in its access. [`judgement`] decides. Each strand compares only times of its own clock, because clocks may differ by any offset.
//!
//! **What ends an access.** A call on a hub's fast path does not count the end of its access, but the state of the gate shows the end. The
//! next strand that asks counts this end, before it reads the counts and before any strand is served. A call on the slow path, and the
//! report of a death, count the end before the unit is free. If the count is the same at two looks, no access has therefore ended in
//! between.
//!
//! **How often a strand looks.** A *look* is one reading of the counts and the clock, see [`judgement`]. A strand that asks for a hub again
//! within [`REPEAT_TICKS`] is already remembered. It is refused without a look, and nothing changes. Two looks may therefore be up to
//! [`REPEAT_TICKS`] further apart than the asks. If the strand's clock stands still, each refused ask includes a look.

#[cfg_attr(not(feature = "decisions"), allow(unreachable_pub))]
pub mod judgement;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use guest_abi::Hub;
use hv_core::sync::{AtomicU32, AtomicU64, Ordering, array_of, const_unless_loom};

use judgement::{UnitCounts, Watch};

/// The base 2 logarithm of [`REPEAT_TICKS`].
pub(crate) const REPEAT_SHIFT: u32 = 19;
/// The time after a counted refusal in which no further refusal of the same strand is counted: 0.37 ms at 1.414 GHz, in ticks of %stick.
pub(crate) const REPEAT_TICKS: u64 = 1 << REPEAT_SHIFT;
/// The period in which a refused strand must ask for the hub at least once: 0.74 ms at 1.414 GHz, in ticks of %stick. No other strand then
/// gets more than one access before the refused strand is served, no matter how often the other strands ask.
///
/// In this time, at most two refusals of every other strand are counted in the refused strand's turn. Together, these are fewer than
/// [r](crate::hubs::turns).
pub const ABSENCE_TICKS: u64 = 2 * REPEAT_TICKS;

pub(crate) use judgement::WaitReason;
pub use judgement::{BUSY_LIMIT_TICKS, BUSY_PAUSE_TICKS};

/// The counts of a unit. A strand that finds the unit busy compares them with the counts of its last look.
#[derive(Debug)]
pub(crate) struct Progress {
    ended: AtomicU32,
    chip_busy: AtomicU32,
}

impl Progress {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { ended: AtomicU32::new(0), chip_busy: AtomicU32::new(0) }
        }
    }

    /// The offset in bytes of the count of ended accesses.
    #[cfg(target_arch = "sparc64")]
    pub(crate) const ENDED: usize = core::mem::offset_of!(Self, ended);

    /// Counts the end of an access. The caller releases the unit afterwards.
    #[inline(always)]
    pub(crate) fn count_end(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn count_chip_busy(&self) {
        self.chip_busy.fetch_add(1, Ordering::SeqCst);
    }

    fn counts(&self, entered: u32) -> UnitCounts {
        UnitCounts {
            ended: self.ended.load(Ordering::SeqCst),
            chip_busy: self.chip_busy.load(Ordering::SeqCst),
            entered,
        }
    }
}

/// A [`Watch`] with atomic fields. Only one strand uses it, so Relaxed accesses suffice.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Stopwatch {
    /// The time of the strand's last counted refusal plus 1, or [`NEVER`](Self::NEVER) if there is none.
    counted: AtomicU64,
    ended: AtomicU32,
    chip_busy: AtomicU32,
    entered: AtomicU32,
    /// The waited ticks plus 1; 0 stands for `None`.
    waited: AtomicU32,
    last: AtomicU64,
}

impl Stopwatch {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self {
                counted: AtomicU64::new(Self::NEVER),
                ended: AtomicU32::new(0),
                chip_busy: AtomicU32::new(0),
                entered: AtomicU32::new(0),
                waited: AtomicU32::new(0),
                last: AtomicU64::new(0),
            }
        }
    }

    const NEVER: u64 = 1 << 63;

    /// The offset in bytes of `counted`, which the SPARC V9 assembly reads.
    #[cfg(target_arch = "sparc64")]
    pub(crate) const COUNTED: usize = core::mem::offset_of!(Self, counted);

    /// Returns `true` if a refusal was counted in the last [`REPEAT_TICKS`]. Ignores a refusal at the tick `now`, because the clock may
    /// stand still.
    #[inline(always)]
    pub(crate) fn refused_recently(&self, now: u64) -> bool {
        now.wrapping_sub(self.counted.load(Ordering::Relaxed)) < REPEAT_TICKS
    }

    /// Notes the time of a counted refusal.
    pub(crate) fn record_refusal(&self, now: u64) {
        self.counted.store(now.wrapping_add(1), Ordering::Relaxed);
    }

    /// Forgets the last refusal, because the gate no longer remembers the strand.
    pub(crate) fn forget_refusal(&self) {
        self.counted.store(Self::NEVER, Ordering::Relaxed);
    }

    /// Evaluates a look at a unit that the strand did not get. Returns `true` if the unit is stuck. `entered` is the number of entries
    /// to the unit's gate.
    pub(crate) fn look(
        &self,
        progress: &Progress,
        found: WaitReason,
        entered: u32,
        now: impl FnOnce() -> u64,
    ) -> bool {
        let counts = progress.counts(entered);
        let (watch, stuck) = self.load().step(found, counts, now());
        self.store(watch);
        // An access may have ended while the strand read its clock.
        stuck && progress.counts(entered).ended == counts.ended
    }

    fn load(&self) -> Watch {
        let counts = UnitCounts {
            ended: self.ended.load(Ordering::Relaxed),
            chip_busy: self.chip_busy.load(Ordering::Relaxed),
            entered: self.entered.load(Ordering::Relaxed),
        };
        Watch {
            counts,
            last: self.last.load(Ordering::Relaxed),
            waited: self.waited.load(Ordering::Relaxed).checked_sub(1),
        }
    }

    fn store(&self, watch: Watch) {
        let waited = watch.waited.map_or(0, |waited| waited + 1);
        self.ended.store(watch.counts.ended, Ordering::Relaxed);
        (self.chip_busy).store(watch.counts.chip_busy, Ordering::Relaxed);
        self.entered.store(watch.counts.entered, Ordering::Relaxed);
        self.last.store(watch.last, Ordering::Relaxed);
        self.waited.store(waited, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(crate) struct Stopwatches {
    hubs: [Stopwatch; Hub::ALL.len()],
    /// The watch of the L2 control on the strand's own node.
    pub(crate) l2: Stopwatch,
}

impl Stopwatches {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { hubs: array_of!(Stopwatch::new(); Hub::ALL.len()), l2: Stopwatch::new() }
        }
    }

    pub(crate) fn hub(&self, hub: Hub) -> &Stopwatch {
        &self.hubs[hub.index() % Hub::ALL.len()]
    }
}
