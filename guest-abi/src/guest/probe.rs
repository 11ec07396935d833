//! What is present, found as illumos does: by reading the PCR of every PMU.

use super::{Hypercall, PerfCounters};
use crate::register::{PerfReg, Pmu};
use crate::status::HvError;

/// A set of PMUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PmuSet(u32);

impl PmuSet {
    /// None.
    pub const EMPTY: Self = Self(0);

    /// This set and one PMU more.
    #[must_use]
    pub const fn with(self, pmu: Pmu) -> Self {
        Self(self.0 | 1 << pmu.index())
    }

    /// Whether the PMU is in it.
    pub const fn contains(self, pmu: Pmu) -> bool {
        self.0 & 1 << pmu.index() != 0
    }

    /// How many PMUs are in it.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The set as bits: PMU n of [`Pmu::ALL`] is bit n.
    #[cfg(feature = "capi")]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Whether no PMU is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The PMUs, in the order of [`Pmu::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Pmu> + Clone {
        Pmu::ALL.into_iter().filter(move |pmu| self.contains(*pmu))
    }
}

impl FromIterator<Pmu> for PmuSet {
    fn from_iter<I: IntoIterator<Item = Pmu>>(pmus: I) -> Self {
        pmus.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// What the probe of a PMU found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// EINVAL or ENOTSUPPORTED: this version or machine does not have it.
    Absent,
    /// Its PCR was read.
    Readable,
    /// ENOACCESS: it exists, and this guest may not use it.
    Refused,
    /// EWOULDBLOCK: it exists, and was taken at that moment.
    Busy,
    /// Another status, which says nothing about the PMU. illumos counts it as present.
    Unclear,
}

/// Which PMUs there are, and which of them answered the probe with something else than a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    all: PmuSet,
    refused: PmuSet,
    busy: PmuSet,
    unclear: PmuSet,
}

impl Present {
    /// Every PMU that is present: all that did not answer EINVAL or ENOTSUPPORTED.
    pub const fn pmus(&self) -> PmuSet {
        self.all
    }

    /// Those that answered ENOACCESS.
    #[cfg(feature = "capi")]
    pub(crate) const fn refused(&self) -> PmuSet {
        self.refused
    }

    /// Those that answered EWOULDBLOCK.
    #[cfg(feature = "capi")]
    pub(crate) const fn busy(&self) -> PmuSet {
        self.busy
    }

    /// Those whose answer says nothing.
    #[cfg(feature = "capi")]
    pub(crate) const fn unclear(&self) -> PmuSet {
        self.unclear
    }

    /// What the probe of a PMU found.
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

    /// Whether there is such a register: registers 0 and 1 always, the others if their PMU is present.
    pub const fn has(&self, register: PerfReg) -> bool {
        match register.pmu() {
            Some(pmu) => self.all.contains(pmu),
            None => true,
        }
    }

    /// Whether the guest may use a PMU: it is present, and did not answer ENOACCESS.
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
    /// Finds the PMUs that are present: 32 calls, in the order of [`Pmu::ALL`], none of them tried again.
    pub fn probe(&self) -> Present {
        Pmu::ALL
            .into_iter()
            .fold(Present::default(), |present, pmu| {
                present.and(pmu, self.get(pmu.pcr()))
            })
    }
}
