//! PERF_CONFIG: two bits that a node's eight L2 control registers share.
//!
//! A write changes all banks under a lock, bank 0 last. A read therefore needs no lock: it reads bank 0, and finds either the old value or
//! the new one. If a write fails at an earlier bank, no read finds the new value. If a write in assembly fails, bank 0 still has the old
//! value, and the other banks must be set back to this value.

#[cfg(target_arch = "sparc64")]
use core::mem::offset_of;

use guest_abi::StrandId;
use guest_abi::layout::{L2Control, PerfConfig};
use hv_core::sync::{OwnedGuard, OwnedLock, const_unless_loom};
use platform::address::{L2_BANKS, l2_control};
use platform::{AccessError, Bus, PhysicalAddress};

use crate::progress::{Progress, Stopwatch, WaitReason};

/// The maximum number of times that a call tries to lock a node's L2 control. If every try fails, the call ends with EWOULDBLOCK. A strand
/// holds the lock for at most 8 reads and 16 writes, and the 63 other strands of the node may come first. Model checkers try once, so that
/// they see both outcomes.
pub const LOCK_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 10_000 };

/// Returns the L2 control registers of the banks in writing order: bank 0 last.
fn banks() -> impl Iterator<Item = PhysicalAddress> {
    (1..L2_BANKS).chain([0]).filter_map(l2_control)
}

/// Reads PERF_CONFIG of bank 0.
pub(crate) fn get(bus: &impl Bus, strand: StrandId) -> Result<u64, AccessError> {
    let bank = l2_control(0).ok_or(AccessError::Fault)?;
    Ok(L2Control::from(bus.read(strand, bank)?).perf_config().value())
}

/// The lock on a node's L2 control registers. A strand holds the lock while it writes all banks, so other strands see a single step.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct L2Arbiter {
    lock: OwnedLock,
    progress: Progress,
}

pub(crate) struct L2Guard<'a> {
    progress: &'a Progress,
    _lock: OwnedGuard<'a>,
}

#[cfg(target_arch = "sparc64")]
impl L2Arbiter {
    /// The byte offsets of the lock and of the count of ended accesses, for the assembly. The lock's word is the owner's number plus 1, or
    /// 0 if the lock is free.
    pub(crate) const LOCK: usize = offset_of!(Self, lock);
    pub(crate) const ENDED: usize = offset_of!(Self, progress) + Progress::ENDED;
}

impl L2Arbiter {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { lock: OwnedLock::new(), progress: Progress::new() }
        }
    }

    /// Locks the registers for a strand; `None` after [`LOCK_TRIES`] tries.
    #[inline(always)]
    pub(crate) fn lock(&self, strand: StrandId) -> Option<L2Guard<'_>> {
        let lock = self.lock.lock(strand, LOCK_TRIES)?;
        Some(L2Guard { progress: &self.progress, _lock: lock })
    }

    /// Returns the registers that a strand has locked in assembly; `None` if it has not locked them.
    pub(crate) fn held(&self, strand: StrandId) -> Option<L2Guard<'_>> {
        let lock = self.lock.held(strand)?;
        Some(L2Guard { progress: &self.progress, _lock: lock })
    }

    /// Records that a strand could not lock the registers. `watch` is the strand's own stopwatch, and `now` returns the strand's
    /// time. Returns `true` if the registers are stuck.
    pub(crate) fn found_busy(&self, watch: &Stopwatch, now: impl FnOnce() -> u64) -> bool {
        watch.look(&self.progress, WaitReason::Busy, 0, now)
    }

    pub(crate) fn holder(&self) -> Option<StrandId> {
        self.lock.owner()
    }

    pub(crate) fn abandon(&self, dead: StrandId) {
        if self.holder() == Some(dead) {
            self.progress.count_end();
        }
        self.lock.abandon(dead);
    }
}

impl L2Guard<'_> {
    pub(crate) fn count_access_end(&self) {
        self.progress.count_end();
    }

    /// Undoes a write in assembly, which writes bank 0 last: sets PERF_CONFIG of the other banks to the value in bank 0. If a bank fails,
    /// continues with the other banks, and returns the error.
    pub(crate) fn undo(&self, bus: &impl Bus, strand: StrandId) -> Result<(), AccessError> {
        let config = PerfConfig::from_value(get(bus, strand)?);
        let mut result = Ok(());
        for bank in banks().take(L2_BANKS - 1) {
            let restored = bus.read(strand, bank).and_then(|value| {
                match L2Control::from(value).with_perf_config(config).into() {
                    old if old == value => Ok(()),
                    old => bus.write(strand, bank, old),
                }
            });
            result = result.and(restored);
        }
        result
    }

    /// Sets PERF_CONFIG of all banks, and no other bits. If a bank fails, restores the banks that are already set, and calls `differ` if
    /// that fails too.
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
    use core::cell::Cell;

    use super::*;
    use crate::hubs::tests::strand;
    use crate::progress::{BUSY_LIMIT_TICKS as LIMIT, BUSY_PAUSE_TICKS as PAUSE};

    /// A bus with the eight banks of L2 control, one of which can fail.
    struct Banks {
        values: [Cell<u64>; 8],
        broken: Option<usize>,
        /// The bank whose writes fail.
        read_only: Option<usize>,
    }

    impl Banks {
        fn number(&self, address: PhysicalAddress) -> Result<usize, AccessError> {
            let bank = (address.0 as usize - 0xa9_0000_0000) / 0x40;
            if self.broken == Some(bank) { Err(AccessError::Fault) } else { Ok(bank) }
        }
    }

    impl Bus for Banks {
        fn read(&self, _: StrandId, address: PhysicalAddress) -> Result<u64, AccessError> {
            Ok(self.values[self.number(address)?].get())
        }

        fn write(&self, _: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
            let bank = self.number(at)?;
            if self.read_only == Some(bank) {
                return Err(AccessError::Fault);
            }
            self.values[bank].set(value);
            Ok(())
        }
    }

    /// PERF_CONFIG was 2. A call that sets it to 1 has written banks 1 to `written`, and then one bank fails. The other bits of each
    /// bank hold the bank's number.
    #[test]
    fn a_set_in_assembly_is_undone() {
        let old = |bank: usize| 0x20_0000_0000 | bank as u64;
        for written in 0..8 {
            let new = |bank: usize| match bank {
                bank if (1..=written).contains(&bank) => 0x10_0000_0000 | bank as u64,
                _ => old(bank),
            };
            let undone = |broken, read_only| {
                let values = core::array::from_fn(|bank| Cell::new(new(bank)));
                let banks = Banks { values, broken, read_only };
                let l2 = L2Arbiter::new();
                core::mem::forget(l2.lock(strand(1)));
                assert!(l2.held(strand(2)).is_none());
                let result = l2.held(strand(1)).unwrap().undo(&banks, strand(1));
                assert_eq!(l2.holder(), None);
                (result, banks.values.map(Cell::into_inner))
            };
            let restored = core::array::from_fn(old);
            assert_eq!(undone(None, None), (Ok(()), restored), "{written}");
            assert_eq!(undone(None, Some(0)), (Ok(()), restored), "{written}");
            for failing in 1..8 {
                let mut others = restored;
                others[failing] = new(failing);
                let fault = Err(AccessError::Fault);
                let result = if failing <= written { fault } else { Ok(()) };
                assert_eq!(undone(None, Some(failing)), (result, others), "{written}, {failing}");
                assert_eq!(undone(Some(failing), None), (fault, others), "{written}, {failing}");
            }
            let nothing = (Err(AccessError::Fault), core::array::from_fn(new));
            assert_eq!(undone(Some(0), None), nothing, "{written}");
        }
    }

    /// When the strand that holds the registers dies, its access ends, so the watch of a waiting strand restarts. The death of
    /// another strand does not restart the watch.
    #[test]
    fn a_death_ends_the_access_of_the_strand_that_died() {
        for (dead, ends) in [(1, true), (2, false)] {
            let l2 = L2Arbiter::new();
            core::mem::forget(l2.lock(strand(1)));
            let watch = Stopwatch::new();
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
