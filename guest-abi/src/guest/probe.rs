//! Reads each PCR to find the PMUs that are present, as illumos does.

use super::{Hypercall, PerfCounters};
use crate::register::{PerfReg, Pmu};
use crate::status::HvError;

crate::bit_set::bit_set! {
    /// A set of PMUs.
    PmuSet(u32) of Pmu
}

/// The result of the read of a PMU's PCR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Unclear,
}

/// The PMUs that exist, and the result for each PMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    all: PmuSet,
    refused: PmuSet,
    busy: PmuSet,
    unclear: PmuSet,
}

impl Present {
    /// Returns the PMUs that are present: their status was neither EINVAL nor ENOTSUPPORTED.
    pub const fn pmus(&self) -> PmuSet {
        self.all
    }

    /// Returns the result of the probe of this PMU.
    pub const fn presence(&self, pmu: Pmu) -> Presence {
        if !self.all.contains(pmu) {
            Presence::Absent
        } else if self.refused.contains(pmu) {
            Presence::Refused
        } else if self.busy.contains(pmu) {
            Presence::Busy
        } else if self.unclear.contains(pmu) {
            Presence::Unclear
        } else {
            Presence::Readable
        }
    }

    /// Returns `true` if the register exists. Registers 0 and 1 always exist, other registers if their PMU is present.
    pub const fn contains(&self, register: PerfReg) -> bool {
        match Pmu::from_register(register) {
            Some(pmu) => self.all.contains(pmu),
            None => true,
        }
    }

    /// Returns `true` if the guest could use this PMU: the PMU is present, and the status was not ENOACCESS.
    pub const fn may_use(&self, pmu: Pmu) -> bool {
        self.all.contains(pmu) && !self.refused.contains(pmu)
    }

    fn and(mut self, pmu: Pmu, answer: Result<u64, HvError>) -> Self {
        let status_set = match answer {
            Err(HvError::Invalid | HvError::NotSupported) => return self,
            Ok(_) => None,
            Err(HvError::NoAccess) => Some(&mut self.refused),
            Err(HvError::WouldBlock) => Some(&mut self.busy),
            Err(_) => Some(&mut self.unclear),
        };
        for set in status_set.into_iter().chain([&mut self.all]) {
            *set = set.with(pmu);
        }
        self
    }
}

impl<H: Hypercall> PerfCounters<H> {
    /// Finds the PMUs that are present, with 32 calls in the order of [`Pmu::ALL`]. Repeats no
    /// call.
    pub fn probe(&self) -> Present {
        let found = |present: Present, pmu: Pmu| present.and(pmu, self.get(pmu.pcr()));
        Pmu::ALL.into_iter().fold(Present::default(), found)
    }
}
