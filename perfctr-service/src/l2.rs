//! PERF_CONFIG: two bits in each of the eight L2 control registers of a node, changed together.

use guest_abi::StrandId;
use guest_abi::layout::{L2Control, PerfConfig};
use hv_core::sync::{OwnedGuard, OwnedLock};
use platform::address::{L2_BANKS, l2_control};
use platform::{AccessError, Bus, PhysicalAddress};

use crate::progress::{Found, Progress, Stopwatch};

/// How often a strand tries to get the lock of its node's L2 control before the call ends with EWOULDBLOCK. The lock is
/// held for at most 8 reads and 16 writes; the 63 other strands of a node hold it that long one after the other. Model
/// checkers look at both ends of one try.
pub const LOCK_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 10_000 };

fn banks() -> impl Iterator<Item = PhysicalAddress> {
    (0..L2_BANKS).filter_map(l2_control)
}

/// Decides which strand has the L2 control registers of one node. The contract lets them be held across accesses: a set is
/// one step for the other strands of the node.
#[derive(Debug)]
pub(crate) struct L2Arbiter {
    lock: OwnedLock,
    progress: Progress,
}

/// The L2 control registers of a node, for one strand alone until this is dropped.
pub(crate) struct HeldL2<'a> {
    progress: &'a Progress,
    _lock: OwnedGuard<'a>,
}

impl L2Arbiter {
    pub(crate) fn new() -> Self {
        Self {
            lock: OwnedLock::default(),
            progress: Progress::default(),
        }
    }

    /// Takes the registers; `None` if the lock cannot be had in [`LOCK_TRIES`] tries.
    #[inline(always)]
    pub(crate) fn take(&self, strand: StrandId) -> Option<HeldL2<'_>> {
        let lock = self.lock.lock(strand, LOCK_TRIES)?;
        Some(HeldL2 {
            progress: &self.progress,
            _lock: lock,
        })
    }

    /// A strand could not take the registers. Returns `true` if they have been taken for too long. `watch` is the strand's
    /// own, and `now` returns its time.
    pub(crate) fn found_busy(&self, watch: &Stopwatch, now: impl FnOnce() -> u64) -> bool {
        watch.look(&self.progress, Found::Busy, 0, now)
    }

    /// Returns the strand that has the registers.
    pub(crate) fn holder(&self) -> Option<StrandId> {
        self.lock.owner()
    }

    /// A strand has died that had the registers: gives them back.
    pub(crate) fn abandon(&self, dead: StrandId) {
        if self.holder() == Some(dead) {
            self.progress.ended();
        }
        self.lock.abandon(dead);
    }
}

impl HeldL2<'_> {
    /// An access came to an end.
    pub(crate) fn access_ended(&self) {
        self.progress.ended();
    }

    /// PERF_CONFIG of bank 0.
    pub(crate) fn get(&self, bus: &impl Bus, strand: StrandId) -> Result<u64, AccessError> {
        let bank = l2_control(0).ok_or(AccessError::Fault)?;
        Ok(L2Control::from(bus.read(strand, bank)?)
            .perf_config()
            .value())
    }

    /// Sets PERF_CONFIG of all banks and nothing else in them. All are read before the first is written. If a bank
    /// cannot be written, the ones before it get their old values back; `differ` is called if one of them does not.
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
    use crate::progress::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE};

    fn strand(number: usize) -> StrandId {
        StrandId::new(number).unwrap()
    }

    /// The death of the strand that has the registers ends its access: who waits begins anew. That of another ends nothing.
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
