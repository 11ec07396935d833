//! Reads each PCR to find the PMUs that are present, as illumos does.

use super::{Hypercall, PerfCounters};
use crate::register::{PerfReg, Pmu};
use crate::status::HvError;

crate::bit_set::bit_set! {
    /// A set of PMUs. Each PMU has one bit; the bits are in the order of [`Pmu::ALL`].
    PmuSet(u32) of Pmu
}

/// The result of reading a PMU's PCR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Presence {
    /// EINVAL or ENOTSUPPORTED: this version or machine does not have the PMU.
    Absent,
    /// Success: the PCR has been read.
    Readable,
    /// ENOACCESS: the PMU exists, but the guest may not use it now, or it is out of service.
    Refused,
    /// EWOULDBLOCK: the PMU exists, but its hub was in use at that moment.
    Busy,
    /// Any other status, which does not show whether the PMU exists. illumos treats the PMU as present.
    Unclear,
}

/// The PMUs that exist, and the result for each PMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct PresentPmus {
    readable: PmuSet,
    refused: PmuSet,
    busy: PmuSet,
    unclear: PmuSet,
}

impl PresentPmus {
    /// Returns the PMUs that are present: their status was neither EINVAL nor ENOTSUPPORTED.
    pub const fn pmus(&self) -> PmuSet {
        self.usable().union(self.refused).union(self.unclear)
    }

    /// Returns the PMUs that the guest may use: their PCR was read, or their hub was in use at that moment.
    pub const fn usable(&self) -> PmuSet {
        self.readable.union(self.busy)
    }

    /// Returns the result of reading this PMU's PCR.
    pub const fn presence(&self, pmu: Pmu) -> Presence {
        if self.readable.contains(pmu) {
            Presence::Readable
        } else if self.refused.contains(pmu) {
            Presence::Refused
        } else if self.busy.contains(pmu) {
            Presence::Busy
        } else if self.unclear.contains(pmu) {
            Presence::Unclear
        } else {
            Presence::Absent
        }
    }

    /// Returns `true` if the register exists. Registers 0 and 1 always exist. The other registers exist if their PMU is present.
    pub const fn contains(&self, register: PerfReg) -> bool {
        match Pmu::from_register(register) {
            Some(pmu) => self.pmus().contains(pmu),
            None => true,
        }
    }
}

impl<H: Hypercall> PerfCounters<H> {
    /// Finds out which PMUs are present. Reads the PCR of each PMU once, in the order of [`Pmu::ALL`]. The probe takes 32 calls.
    ///
    /// # Errors
    /// EBADTRAP if another strand of the guest has released the group.
    pub fn probe(&self) -> Result<PresentPmus, HvError> {
        let mut present = PresentPmus::default();
        for pmu in Pmu::ALL {
            let set = match self.get(pmu.pcr()) {
                Ok(_) => &mut present.readable,
                Err(HvError::Invalid | HvError::NotSupported) => continue,
                Err(HvError::NoAccess) => &mut present.refused,
                Err(HvError::WouldBlock) => &mut present.busy,
                Err(HvError::BadTrap) => return Err(HvError::BadTrap),
                Err(_) => &mut present.unclear,
            };
            *set = set.with(pmu);
        }
        Ok(present)
    }
}
