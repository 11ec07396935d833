//! QEMU's machine `niagara`, as far as a comparison instruction by instruction needs it: real addresses are physical, nothing is
//! behind the addresses of devices, and %tick counts 102.4 per instruction (`-icount shift=10`).

use super::map::PARTITION;
use super::physical::Physical;

/// Whether the machine is `niagara`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Niagara(pub(super) bool);

impl Niagara {
    /// Returns the count of %tick and %stick at a time, if they started from 0.
    pub(super) const fn ticks(self, now: u64) -> u64 {
        if self.0 { now * 1024 / 10 } else { now }
    }

    /// Returns the time at which the count is reached.
    pub(super) fn time_of(self, ticks: u64) -> u64 {
        match self.0 {
            true => (u128::from(ticks) * 10).div_ceil(1024) as u64,
            false => ticks,
        }
    }

    /// Returns the physical address of a real one on `niagara`, which does not use the TLBs; the inner `None` if no memory of guests
    /// is there.
    pub(super) fn untranslated(self, physical: &Physical, real: u64) -> Option<Option<u64>> {
        let is_partition = || physical.has(real) && real >> 31 == PARTITION >> 31;
        self.0.then(|| is_partition().then_some(real))
    }

    /// Returns whether loads from absent devices return 0, and stores to them have no effect.
    pub(super) const fn has_no_devices(self) -> bool {
        self.0
    }
}
