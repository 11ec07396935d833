//! Which PMUs are present, found as illumos does: by reading the PCR of each.

use super::{Hypercall, PerfCounters};
use crate::register::{PerfReg, Pmu};
use crate::status::HvError;

/// A set of PMUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PmuSet(u32);

impl PmuSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Returns this set with one more PMU.
    #[must_use]
    pub const fn with(self, pmu: Pmu) -> Self {
        Self(self.0 | 1 << pmu.index())
    }

    /// Returns `true` if the PMU is in the set.
    pub const fn contains(self, pmu: Pmu) -> bool {
        self.0 & 1 << pmu.index() != 0
    }

    /// Returns the number of PMUs in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the set as bits: bit n is for PMU n of [`Pmu::ALL`].
    #[cfg(feature = "capi")]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Returns `true` if no PMU is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the PMUs in the set, in the order of [`Pmu::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Pmu> + Clone {
        Pmu::ALL.into_iter().filter(move |pmu| self.contains(*pmu))
    }
}

impl FromIterator<Pmu> for PmuSet {
    fn from_iter<I: IntoIterator<Item = Pmu>>(pmus: I) -> Self {
        pmus.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// What the probe found of a PMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// EINVAL or ENOTSUPPORTED: this version or machine does not have the PMU.
    Absent,
    /// Success: the PCR has been read.
    Readable,
    /// ENOACCESS: the PMU exists, and this guest may not use it now, or the PMU is out of service.
    Refused,
    /// EWOULDBLOCK: the PMU exists, and its hub was taken at that moment.
    Busy,
    /// Another status, which says nothing about the PMU. illumos takes it as present.
    Unclear,
}

/// Which PMUs exist, and for which of them the probe got a status other than success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    all: PmuSet,
    refused: PmuSet,
    busy: PmuSet,
    unclear: PmuSet,
}

impl Present {
    /// Returns the PMUs that are present: all whose status was neither EINVAL nor ENOTSUPPORTED.
    pub const fn pmus(&self) -> PmuSet {
        self.all
    }

    /// Returns those whose status was ENOACCESS.
    #[cfg(feature = "capi")]
    pub(crate) const fn refused(&self) -> PmuSet {
        self.refused
    }

    /// Returns those whose status was EWOULDBLOCK.
    #[cfg(feature = "capi")]
    pub(crate) const fn busy(&self) -> PmuSet {
        self.busy
    }

    /// Returns those whose status says nothing about them.
    #[cfg(feature = "capi")]
    pub(crate) const fn unclear(&self) -> PmuSet {
        self.unclear
    }

    /// Returns what the probe found of a PMU.
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

    /// Returns `true` if the register exists: registers 0 and 1 always, the others if their PMU is present.
    pub const fn has(&self, register: PerfReg) -> bool {
        match register.pmu() {
            Some(pmu) => self.all.contains(pmu),
            None => true,
        }
    }

    /// Returns `true` if the guest could use a PMU: it is present, and its status was not ENOACCESS. Of another PMU this says
    /// nothing.
    pub const fn may_use(&self, pmu: Pmu) -> bool {
        self.all.contains(pmu) && !self.refused.contains(pmu)
    }

    const fn and(mut self, pmu: Pmu, answer: Result<u64, HvError>) -> Self {
        let error = match answer {
            Err(HvError::Invalid | HvError::NotSupported) => return self,
            Err(error) => Some(error),
            Ok(_) => None,
        };
        self.all = self.all.with(pmu);
        match error {
            None => {}
            Some(HvError::NoAccess) => self.refused = self.refused.with(pmu),
            Some(HvError::WouldBlock) => self.busy = self.busy.with(pmu),
            Some(_) => self.unclear = self.unclear.with(pmu),
        }
        self
    }
}

impl<H: Hypercall> PerfCounters<H> {
    /// Finds the PMUs that are present. Makes 32 calls, in the order of [`Pmu::ALL`], and repeats none.
    pub fn probe(&self) -> Present {
        Pmu::ALL
            .into_iter()
            .fold(Present::default(), |present, pmu| {
                present.and(pmu, self.get(pmu.pcr()))
            })
    }
}
