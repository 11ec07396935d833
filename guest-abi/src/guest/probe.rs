//! Reads each PCR to find the PMUs that are present, as illumos does.

use super::{Hypercall, PerfCounters};
use crate::register::{PerfReg, Pmu};
use crate::status::HvError;

crate::bit_set::bit_set! {
    /// A set of PMUs.
    PmuSet(u32) of Pmu
}

/// The result of the read of a PMU's PCR.
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
    /// Another status, which says nothing about the PMU. illumos treats it as present.
    Unclear(HvError),
}

/// The PMUs that exist, and the result for each PMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Present {
    found: [Presence; Pmu::COUNT],
}

impl Present {
    /// Returns the PMUs that are present: their status was neither EINVAL nor ENOTSUPPORTED.
    pub fn pmus(&self) -> PmuSet {
        let present = |pmu: &Pmu| self.presence(*pmu) != Presence::Absent;
        Pmu::ALL.into_iter().filter(present).collect()
    }

    /// Returns the PMUs that the guest may use: their PCR was read, or their hub was in use at that moment.
    pub fn usable(&self) -> PmuSet {
        let usable = |pmu: &Pmu| matches!(self.presence(*pmu), Presence::Readable | Presence::Busy);
        Pmu::ALL.into_iter().filter(usable).collect()
    }

    /// Returns the result of the probe of this PMU.
    pub fn presence(&self, pmu: Pmu) -> Presence {
        self.found.get(pmu.index()).copied().unwrap_or(Presence::Absent)
    }

    /// Returns `true` if the register exists. Registers 0 and 1 always exist, other registers if their PMU is present.
    pub fn contains(&self, register: PerfReg) -> bool {
        Pmu::from_register(register).is_none_or(|pmu| self.presence(pmu) != Presence::Absent)
    }
}

impl<H: Hypercall> PerfCounters<H> {
    /// Finds the PMUs that are present, with 32 calls in the order of [`Pmu::ALL`]. Repeats no call.
    ///
    /// # Errors
    /// EBADTRAP if the group is not negotiated any more, because another strand has released it.
    pub fn probe(&self) -> Result<Present, HvError> {
        let mut present = Present { found: [Presence::Absent; Pmu::COUNT] };
        for (pmu, found) in Pmu::ALL.into_iter().zip(&mut present.found) {
            *found = match self.get(pmu.pcr()) {
                Ok(_) => Presence::Readable,
                Err(HvError::Invalid | HvError::NotSupported) => Presence::Absent,
                Err(HvError::NoAccess) => Presence::Refused,
                Err(HvError::WouldBlock) => Presence::Busy,
                Err(HvError::BadTrap) => return Err(HvError::BadTrap),
                Err(other) => Presence::Unclear(other),
            };
        }
        Ok(present)
    }
}
