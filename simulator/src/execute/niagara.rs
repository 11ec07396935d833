//! Imitates QEMU's machine `niagara`, for an instruction-by-instruction comparison: real addresses are physical, there are no devices,
//! and %tick advances by 102.4 per instruction (`-icount shift=10`).

use super::map::PARTITION;
use super::physical::Physical;

/// Whether the machine is `niagara`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Niagara(pub(super) bool);

impl Niagara {
    /// Returns %tick and %stick after `now` cycles, if both start at 0.
    pub(super) const fn ticks(self, now: u64) -> u64 {
        if self.0 { now.wrapping_mul(1024) / 10 } else { now }
    }

    /// Returns the number of cycles after which %tick and %stick reach `ticks`, if both start at 0.
    pub(super) fn time_of(self, ticks: u64) -> u64 {
        match self.0 {
            true => (u128::from(ticks) * 10).div_ceil(1024) as u64,
            false => ticks,
        }
    }

    /// Returns the physical address for a real address on `niagara`, which has no TLBs. `Some(None)` means that guests have no memory at
    /// the address. `None` means that the machine is not `niagara`.
    pub(super) fn untranslated(self, physical: &Physical, real: u64) -> Option<Option<u64>> {
        let is_partition = || physical.has(real) && real >> 31 == PARTITION >> 31;
        self.0.then(|| is_partition().then_some(real))
    }

    /// Returns whether the machine has no devices. If it has none, loads from device addresses return 0, and stores to them have no
    /// effect.
    pub(super) const fn has_no_devices(self) -> bool {
        self.0
    }
}
