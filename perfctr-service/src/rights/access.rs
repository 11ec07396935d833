//! One word that says what a guest may do at this moment, and in which version.

use guest_abi::{Hub, Kind, McuRole, PerfReg};
use hv_core::NegotiatedVersion;

use crate::rights::guest::VERSIONS;
use crate::rights::policy::Grant;
use crate::units::Unit;

/// What the fast path of a call looks at: bits 0 and 2-17, these registers (register 1 is no fast path); bits 18-21,
/// the hubs; bit 22, HT in register 0. Bits 24-26: the rights that the guest holds. Bits 31-27: the version
/// that is negotiated. Bits 63-32: how often something that the others depend on has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessWord(u64);

/// The registers that have a bit of their own.
pub(crate) const SINGLE_REGISTERS: u64 = PerfReg::FIRST_OF_HUBS.id();

/// How many registers a hub has.
pub(crate) const HUB_REGISTERS: u64 = PerfReg::PER_HUB as u64;

const HT: u64 = 1 << 22;
const FAST: u64 = 2 * HT - 1;
const GRANT_SHIFT: u32 = 24;
const VERSION_SHIFT: u32 = 27;
const VERSION: u64 = 0x1f << VERSION_SHIFT;

const _: () = assert!(VERSIONS.len() < 0x1f);

impl AccessWord {
    pub(crate) const NOTHING: Self = Self(0);

    /// Register 0, but for HT.
    pub(crate) const PCR: Self = Self(1);

    /// HT in register 0.
    pub(crate) const HT: Self = Self(HT);

    /// Bits that are for the fast path only. Where one is missing, the call is decided by the rules themselves.
    pub(crate) const FAST: Self = Self(FAST);

    /// The registers of all hubs.
    pub(crate) const HUBS: Self = Self(HT - (1 << SINGLE_REGISTERS));

    /// The version.
    pub(crate) const VERSION: Self = Self(VERSION);

    /// What is added to a word when something has changed. The sum wraps, and touches no other bit.
    pub(crate) const CHANGE: Self = Self(1 << 32);

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns `true` if a register below [`SINGLE_REGISTERS`] may be used.
    #[inline(always)]
    pub(crate) const fn register(self, id: u64) -> bool {
        self.0 >> id & 1 != 0
    }

    /// Returns `true` if the registers of a hub may be used.
    #[inline(always)]
    pub(crate) const fn hub(self, hub: Hub) -> bool {
        self.0 >> (SINGLE_REGISTERS as usize + hub.index()) & 1 != 0
    }

    /// Returns `true` if HT may be set.
    #[inline(always)]
    pub(crate) const fn ht(self) -> bool {
        self.0 & HT != 0
    }

    /// The version.
    pub(crate) const fn version(self) -> NegotiatedVersion {
        NegotiatedVersion::new(((self.0 & VERSION) >> VERSION_SHIFT) as u8)
    }

    /// The word with another version.
    #[must_use]
    pub(crate) const fn with_version(self, version: NegotiatedVersion) -> Self {
        Self(self.0 & !VERSION | (version.number() as u64) << VERSION_SHIFT & VERSION)
    }

    /// The rights that the guest holds.
    pub(crate) const fn grant(self) -> Grant {
        Grant::from_bits((self.0 >> GRANT_SHIFT) as u8)
    }

    /// Nothing but rights.
    pub(crate) const fn of_grant(grant: Grant) -> Self {
        Self((grant.bits() as u64) << GRANT_SHIFT)
    }

    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
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

    /// The bits of a unit. L2 control has none.
    pub(crate) const fn of_unit(unit: Unit) -> Self {
        match unit {
            Unit::Mcu(node, mcu) => Self::NOTHING
                .with(PerfReg::dram(node, mcu, McuRole::Pcr))
                .with(PerfReg::dram(node, mcu, McuRole::Pic)),
            Unit::Hub(hub) => Self(1 << (SINGLE_REGISTERS as usize + hub.index())),
            Unit::L2(_) => Self::NOTHING,
        }
    }

    /// The bits of all these units.
    pub(crate) fn of_units(units: impl Iterator<Item = Unit>) -> Self {
        units.fold(Self::NOTHING, |word, unit| word.or(Self::of_unit(unit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits that [`AccessWord`] documents. No two of these share one.
    #[test]
    fn layout() {
        assert_eq!(AccessWord::FAST.bits(), 0x007f_ffff);
        assert_eq!(AccessWord::of_grant(Grant::ALL).bits(), 0x0700_0000);
        assert_eq!(AccessWord::VERSION.bits(), 0xf800_0000);
        assert_eq!(AccessWord::CHANGE.bits(), 0x0000_0001_0000_0000);
        assert_eq!(AccessWord::HT.bits(), 0x0040_0000);
        for (id, bits) in [
            (0, 1),
            (1, 0),
            (2, 1 << 2),
            (17, 1 << 17),
            (18, 1 << 18),
            (35, 1 << 18),
            (36, 1 << 19),
            (71, 1 << 20),
            (89, 1 << 21),
        ] {
            let register = PerfReg::new(id).unwrap();
            let with = |word: AccessWord| word.with(register).bits();
            assert_eq!(with(AccessWord::NOTHING), bits, "{id}");
            assert_eq!(with(AccessWord::FAST), 0x007f_ffff, "{id}");
        }
        let word = AccessWord::from_bits(u64::MAX).with_version(NegotiatedVersion::new(2));
        assert_eq!(word.bits(), 0xffff_ffff_17ff_ffff);
        assert_eq!(word.version(), NegotiatedVersion::new(2));
    }

    #[test]
    fn one_bit_and_no_other() {
        for bit in 0..64 {
            let only = AccessWord::from_bits(1 << bit);
            let but = AccessWord::from_bits(!(1 << bit));
            assert_eq!((only.ht(), but.ht()), (bit == 22, bit != 22), "{bit}");
            for id in 0..SINGLE_REGISTERS {
                let seen = (only.register(id), but.register(id));
                assert_eq!(seen, (bit == id, bit != id), "{bit} {id}");
            }
            for (hub, own) in Hub::ALL.iter().zip(18..) {
                let seen = (only.hub(*hub), but.hub(*hub));
                assert_eq!(seen, (bit == own, bit != own), "{bit} {hub:?}");
            }
        }
    }
}
