//! One word that says what a guest may do at this moment, and in which version.

use guest_abi::{Hub, Kind, PerfReg};
use hv_core::Place;

use crate::units::Unit;

/// Bits 0 and 2-17: these registers; register 1 is no common case. Bits 18-21: the hubs. Bit 22: HT in register 0. Bits
/// 63:56: the place of the version that
/// is negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access(u64);

/// The registers that have a bit of their own.
pub(crate) const SINGLE_REGISTERS: u64 = 18;

const HT: u64 = 1 << 22;
const PLACE_SHIFT: u32 = 56;

impl Access {
    pub(crate) const NOTHING: Self = Self(0);

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Whether a register below [`SINGLE_REGISTERS`] may be used.
    #[inline(always)]
    pub(crate) const fn register(self, id: u64) -> bool {
        self.0 >> id & 1 != 0
    }

    /// Whether the registers of a hub may be used.
    #[inline(always)]
    pub(crate) const fn hub(self, hub: Hub) -> bool {
        self.0 >> (SINGLE_REGISTERS as usize + hub.index()) & 1 != 0
    }

    /// Whether HT may be set.
    #[inline(always)]
    pub(crate) const fn ht(self) -> bool {
        self.0 & HT != 0
    }

    /// The version.
    pub(crate) const fn place(self) -> Place {
        Place::new((self.0 >> PLACE_SHIFT) as u8)
    }

    /// Nothing but the version.
    pub(crate) const fn of_place(place: Place) -> Self {
        Self((place.number() as u64) << PLACE_SHIFT)
    }

    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(crate) const fn with(self, register: PerfReg) -> Self {
        let bit = match register.kind() {
            Kind::Hub { hub, .. } => SINGLE_REGISTERS as usize + hub.index(),
            Kind::L2 => return self,
            _ => register.index(),
        };
        Self(self.0 | 1 << bit)
    }

    #[must_use]
    pub(crate) const fn with_ht(self) -> Self {
        Self(self.0 | HT)
    }

    /// The bits of a unit. L2 control has none.
    pub(crate) fn of_unit(unit: Unit) -> Self {
        PerfReg::all().fold(Self::NOTHING, |access, register| {
            match (unit, register.kind()) {
                (
                    Unit::Mcu(node, mcu),
                    Kind::Dram {
                        node: n, mcu: m, ..
                    },
                ) if (node, mcu) == (n, m) => access.with(register),
                (Unit::Hub(hub), Kind::Hub { hub: h, .. }) if hub == h => access.with(register),
                _ => access,
            }
        })
    }
}
