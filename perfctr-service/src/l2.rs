//! PERF_CONFIG: two bits that the eight L2 control registers of a node share.
//!
//! A set changes all banks under a lock, bank 0 last. So a get of bank 0 needs no lock: it finds the value before the set or behind it, and
//! never that of a set that fails before bank 0.

use guest_abi::StrandId;
use guest_abi::layout::{L2Control, PerfConfig};
use hv_core::sync::{OwnedGuard, OwnedLock};
use platform::address::{L2_BANKS, l2_control};
use platform::{AccessError, Bus, PhysicalAddress};

use crate::progress::{Found, Progress, Stopwatch};

/// A strand tries this many times to lock the L2 control of a node. Then its call ends with EWOULDBLOCK. A strand holds the lock
/// for at most 8 reads and 16 writes, and the 63 other strands of the node may come first. Model checkers try once, so that they
/// see both outcomes.
pub const LOCK_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 10_000 };

/// Returns the banks in the order in which a set writes them.
fn banks() -> impl Iterator<Item = PhysicalAddress> {
    (1..L2_BANKS).chain([0]).filter_map(l2_control)
}

/// Reads PERF_CONFIG of bank 0.
pub(crate) fn get(bus: &impl Bus, strand: StrandId) -> Result<u64, AccessError> {
    let bank = l2_control(0).ok_or(AccessError::Fault)?;
    Ok(L2Control::from(bus.read(strand, bank)?).perf_config().value())
}

/// The lock on the L2 control registers of a node. A strand keeps it while it writes all banks, so other strands see a single step.
#[derive(Debug)]
pub(crate) struct L2Arbiter {
    lock: OwnedLock,
    progress: Progress,
}

pub(crate) struct HeldL2<'a> {
    progress: &'a Progress,
    _lock: OwnedGuard<'a>,
}

impl L2Arbiter {
    pub(crate) fn new() -> Self {
        Self { lock: OwnedLock::default(), progress: Progress::default() }
    }

    /// Locks the registers for a strand; `None` after [`LOCK_TRIES`] tries.
    #[inline(always)]
    pub(crate) fn take(&self, strand: StrandId) -> Option<HeldL2<'_>> {
        let lock = self.lock.lock(strand, LOCK_TRIES)?;
        Some(HeldL2 { progress: &self.progress, _lock: lock })
    }

    /// Records that a strand could not lock the registers. `watch` is the strand's own stopwatch, and `now` returns the strand's
    /// time. Returns `true` if the registers are stuck.
    pub(crate) fn found_busy(&self, watch: &Stopwatch, now: impl FnOnce() -> u64) -> bool {
        watch.look(&self.progress, Found::Busy, 0, now)
    }

    pub(crate) fn holder(&self) -> Option<StrandId> {
        self.lock.owner()
    }

    pub(crate) fn abandon(&self, dead: StrandId) {
        if self.holder() == Some(dead) {
            self.progress.ended();
        }
        self.lock.abandon(dead);
    }
}

impl HeldL2<'_> {
    pub(crate) fn access_ended(&self) {
        self.progress.ended();
    }

    /// Sets PERF_CONFIG of all banks, and no other bits. If a bank fails, restores earlier banks. If the restoring fails, calls
    /// `differ`.
    #[inline(always)]
    pub(crate) fn set(
        &self,
        bus: &impl Bus,
        strand: StrandId,
        value: u64,
        differ: impl Fn(),
    ) -> Result<(), AccessError> {
        let config = PerfConfig::from_value(value);
        let mut old = [0; L2_BANKS];
        for (bank, old) in banks().zip(&mut old) {
            *old = bus.read(strand, bank)?;
        }
        for (written, (bank, value)) in banks().zip(old).enumerate() {
            let new = L2Control::from(value).with_perf_config(config);
            if let Err(error) = bus.write(strand, bank, new.into()) {
                for (bank, value) in banks().zip(old).take(written) {
                    if bus.write(strand, bank, value).is_err() {
                        differ();
                    }
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(not(any(loom, shuttle)))]
mod tests {
    use super::*;
    use crate::hubs::tests::strand;
    use crate::progress::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE};

    /// When the strand that holds the registers dies, its access ends, so the watch of a waiting strand restarts. The death of
    /// another strand does not restart the watch.
    #[test]
    fn a_death_ends_the_access_of_the_strand_that_died() {
        for (dead, ends) in [(1, true), (2, false)] {
            let l2 = L2Arbiter::new();
            core::mem::forget(l2.take(strand(1)));
            let watch = Stopwatch::default();
            let mut asks = (0..=LIMIT).step_by(PAUSE as usize);
            let stuck = asks.any(|now| {
                if now == LIMIT / 2 {
                    l2.abandon(strand(dead));
                }
                l2.found_busy(&watch, || now)
            });
            assert_eq!((stuck, l2.holder().is_none()), (!ends, ends), "{dead}");
        }
    }
}
