//! PERF_CONFIG: two bits in each of the eight L2 control registers of a node, changed together.

use guest_abi::StrandId;
use guest_abi::layout::{L2Control, PerfConfig};
use hv_core::sync::{AtomicU32, Ordering, spin_loop};
use platform::address::{L2_BANKS, l2_control};
use platform::{AccessError, Bus, PhysicalAddress};

/// How often a strand tries to get the lock of its node's L2 control before the call ends with EWOULDBLOCK. The lock is
/// held for at most 8 reads and 16 writes; the 63 other strands of a node hold it that long one after the other. The model
/// checker looks at both ends of one try.
pub const LOCK_TRIES: usize = if cfg!(loom) { 1 } else { 10_000 };

/// The lock of one node's L2 control registers. The contract lets it be held across accesses: a set is one step for
/// the other strands of the node. It holds the number of the strand that has it, plus one; 0 for nobody.
#[derive(Debug, Default)]
pub(crate) struct L2Lock(AtomicU32);

fn banks() -> impl Iterator<Item = PhysicalAddress> {
    (0..L2_BANKS).filter_map(l2_control)
}

impl L2Lock {
    /// Takes the lock; `None` if it cannot be had in [`LOCK_TRIES`] tries.
    #[inline(always)]
    pub(crate) fn take(&self, strand: StrandId) -> Option<HeldL2<'_>> {
        for _ in 0..LOCK_TRIES {
            if self
                .0
                .compare_exchange(0, token(strand), Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return Some(HeldL2(&self.0));
            }
            spin_loop();
        }
        None
    }

    /// Whether a strand has the lock.
    pub(crate) fn is_held_by(&self, strand: StrandId) -> bool {
        self.0.load(Ordering::SeqCst) == token(strand)
    }

    /// A strand has died: the lock is free if it had it.
    pub(crate) fn strand_died(&self, strand: StrandId) {
        let _ = self
            .0
            .compare_exchange(token(strand), 0, Ordering::SeqCst, Ordering::Relaxed);
    }
}

const fn token(strand: StrandId) -> u32 {
    strand.index() as u32 + 1
}

/// The L2 control registers of a node, for one strand alone until this is dropped.
pub(crate) struct HeldL2<'a>(&'a AtomicU32);

impl Drop for HeldL2<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

impl HeldL2<'_> {
    /// PERF_CONFIG of bank 0.
    pub(crate) fn get(&self, bus: &impl Bus, strand: StrandId) -> Result<u64, AccessError> {
        let bank = l2_control(0).ok_or(AccessError::Fault)?;
        Ok(L2Control::from(bus.read(strand, bank)?)
            .perf_config()
            .value())
    }

    /// Sets PERF_CONFIG of all banks and nothing else in them. All are read before the first is written. If a bank
    /// cannot be written, the ones before it get their old values back.
    #[inline(always)]
    pub(crate) fn set(
        &self,
        bus: &impl Bus,
        strand: StrandId,
        value: u64,
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
                    // A bank that now refuses its old value keeps the new one: the unit goes out of service anyway.
                    let _ = bus.write(strand, bank, value);
                }
                return Err(error);
            }
        }
        Ok(())
    }
}
