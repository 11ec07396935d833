//! What is present, found as illumos does: by reading the PCR of every unit.

use super::{Hypercall, PerfCounters};
use crate::register::{PerfReg, Unit};
use crate::status::HvError;

/// A set of units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnitSet(u32);

impl UnitSet {
    /// None.
    pub const EMPTY: Self = Self(0);

    /// This set and one unit more.
    #[must_use]
    pub const fn with(self, unit: Unit) -> Self {
        Self(self.0 | 1 << unit.index())
    }

    /// Whether the unit is in it.
    pub const fn contains(self, unit: Unit) -> bool {
        self.0 & 1 << unit.index() != 0
    }

    /// How many units are in it.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The set as bits: unit n of [`Unit::ALL`] is bit n.
    #[cfg(feature = "capi")]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// Whether no unit is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The units, in the order of [`Unit::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Unit> + Clone {
        Unit::ALL
            .into_iter()
            .filter(move |unit| self.contains(*unit))
    }
}

impl FromIterator<Unit> for UnitSet {
    fn from_iter<I: IntoIterator<Item = Unit>>(units: I) -> Self {
        units.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// What the probe of a unit found.
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
    /// Another status, which says nothing about the unit. illumos counts it as present.
    Unclear,
}

/// Which units there are, and which of them answered the probe with something else than a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Present {
    all: UnitSet,
    refused: UnitSet,
    busy: UnitSet,
    unclear: UnitSet,
}

impl Present {
    /// Every unit that is present: all that did not answer EINVAL or ENOTSUPPORTED.
    pub const fn units(&self) -> UnitSet {
        self.all
    }

    /// Those that answered ENOACCESS.
    #[cfg(feature = "capi")]
    pub(crate) const fn refused(&self) -> UnitSet {
        self.refused
    }

    /// Those that answered EWOULDBLOCK.
    #[cfg(feature = "capi")]
    pub(crate) const fn busy(&self) -> UnitSet {
        self.busy
    }

    /// Those whose answer says nothing.
    #[cfg(feature = "capi")]
    pub(crate) const fn unclear(&self) -> UnitSet {
        self.unclear
    }

    /// What the probe of a unit found.
    pub const fn presence(&self, unit: Unit) -> Presence {
        if !self.all.contains(unit) {
            Presence::Absent
        } else if self.refused.contains(unit) {
            Presence::Refused
        } else if self.busy.contains(unit) {
            Presence::Busy
        } else if self.unclear.contains(unit) {
            Presence::Unclear
        } else {
            Presence::Readable
        }
    }

    /// Whether there is such a register: registers 0 and 1 always, the others if their unit is present.
    pub const fn has(&self, register: PerfReg) -> bool {
        match register.unit() {
            Some(unit) => self.all.contains(unit),
            None => true,
        }
    }

    /// Whether the guest may use a unit: it is present, and did not answer ENOACCESS.
    pub const fn may_use(&self, unit: Unit) -> bool {
        self.all.contains(unit) && !self.refused.contains(unit)
    }

    const fn and(mut self, unit: Unit, answer: Result<u64, HvError>) -> Self {
        let error = match answer {
            Err(HvError::Invalid | HvError::NotSupported) => return self,
            Err(error) => Some(error),
            Ok(_) => None,
        };
        self.all = self.all.with(unit);
        match error {
            None => {}
            Some(HvError::NoAccess) => self.refused = self.refused.with(unit),
            Some(HvError::WouldBlock) => self.busy = self.busy.with(unit),
            Some(_) => self.unclear = self.unclear.with(unit),
        }
        self
    }
}

impl<H: Hypercall> PerfCounters<H> {
    /// Finds the units that are present: 32 calls, in the order of [`Unit::ALL`], none of them tried again.
    pub fn probe(&self) -> Present {
        Unit::ALL
            .into_iter()
            .fold(Present::default(), |present, unit| {
                present.and(unit, self.get(unit.pcr()))
            })
    }
}
