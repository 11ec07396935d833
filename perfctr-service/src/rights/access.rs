//! The word that holds a guest's rights and its negotiated version.

use guest_abi::{Hub, McuRole, PerfReg, RegisterKind};
use hv_core::Group;

use crate::rights::versions::{Vfalls, VfallsVersion};
use crate::{Grant, Unit};

/// The word that the fast path of a call tests. It has a bit for each *place*. Places 0 and 2-17 allow the registers with these numbers
/// (place 1 is never set). Places 18-21 allow the hubs, place 22 allows HT in register 0, and place 23 allows gets of register 1 on
/// SPARC V9. The other bits hold the rights, the negotiated version and a count of changes:
///
/// | | places | rights | version | changes | carry of the changes |
/// |---|---|---|---|---|---|
/// | SPARC V9 | bit 63 is place 0, bit 40 place 23 | 35-33 | 39-36 | 31-0 | 32 |
/// | other processors | bit 0 is place 0, bit 23 place 23 | 26-24 | 30-27 | 63-32 | |
///
/// SPARC V9 branches on the sign of a shifted word. Other processors test a bit by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessWord(u64);

/// The number of registers with their own bit: all registers below the hubs' registers.
pub(crate) const NON_HUB_REGISTERS: u64 = PerfReg::FIRST_HUB.id();
/// The number of registers of one hub, which share a bit.
pub(crate) const HUB_REGISTERS: u64 = PerfReg::PER_HUB as u64;

/// `true` if places are counted down from bit 63.
const BY_SIGN: bool = cfg!(target_arch = "sparc64");

/// The place that allows HT in register 0.
const HT: u64 = 22;
/// The last place: gets of register 1. Its one bit stands for the L2 control of all nodes, so the bit is clear while the L2 control
/// of any node is out of service.
pub(crate) const L2: u64 = 23;
const GRANT_SHIFT: u32 = if BY_SIGN { 33 } else { 24 };
const VERSION_SHIFT: u32 = GRANT_SHIFT + 3;
const VERSION: u64 = 0xf << VERSION_SHIFT;
const CHANGE_SHIFT: u32 = if BY_SIGN { 0 } else { 32 };

const _: () = assert!(Vfalls::VERSIONS.len() < 0xf);

const fn bit(place: u64) -> u64 {
    if BY_SIGN { 1 << 63 >> place } else { 1 << place }
}

const fn bits(first: u64, last: u64) -> u64 {
    let mut bits = 0;
    let mut place = first;
    while place <= last {
        bits |= bit(place);
        place += 1;
    }
    bits
}

impl AccessWord {
    pub(crate) const NOTHING: Self = Self(0);

    /// The bit of register 0, without HT.
    pub(crate) const PCR: Self = Self(bit(0));
    pub(crate) const HT: Self = Self(bit(HT));
    /// All bits that the fast path tests. If the bit for a call is clear, the slow path decides.
    pub(crate) const FAST: Self = Self(bits(0, L2));
    pub(crate) const HUBS: Self = Self(bits(NON_HUB_REGISTERS, HT - 1));
    pub(crate) const VERSION: Self = Self(VERSION);
    /// The bits that are set in the word for recorded calls (which has no version) while recording is being switched off, so that the word
    /// stays closed.
    pub(crate) const HELD: Self = Self::VERSION;
    /// The value to add to a word to count one change. The count can overflow into [`CARRY`](Self::CARRY), but into no other bit.
    pub(crate) const CHANGE: Self = Self(1 << CHANGE_SHIFT);
    /// The bit that catches an overflow of the count. Each strand that counts a change clears this bit.
    pub(crate) const CARRY: Self = Self(if BY_SIGN { 1 << 32 } else { 0 });

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub(crate) const fn register(self, id: u64) -> bool {
        self.has(id)
    }

    #[inline(always)]
    const fn has(self, place: u64) -> bool {
        if BY_SIGN { ((self.0 << place) as i64) < 0 } else { self.0 >> place & 1 != 0 }
    }

    #[inline(always)]
    pub(crate) const fn hub(self, hub: Hub) -> bool {
        self.has(NON_HUB_REGISTERS + hub.index() as u64)
    }

    #[inline(always)]
    pub(crate) const fn ht(self) -> bool {
        self.0 & bit(HT) != 0
    }

    pub(crate) const fn version(self) -> VfallsVersion {
        VfallsVersion::new(((self.0 & VERSION) >> VERSION_SHIFT) as u8)
    }

    #[must_use]
    pub(crate) const fn with_version(self, version: VfallsVersion) -> Self {
        let number = version.number() as u64 & VERSION >> VERSION_SHIFT;
        (self.without(Self::VERSION)).or(Self(number << VERSION_SHIFT))
    }

    /// Returns the rights, encoded as [`Grant::bits`] encodes them.
    #[inline(always)]
    pub(crate) const fn rights(self) -> usize {
        (self.0 >> GRANT_SHIFT & 7) as usize
    }

    /// Returns a word with the rights of this word, one more change, and the version and fast path of `opened`.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn reopened(self, opened: Self) -> Self {
        let changes = ((self.0 >> CHANGE_SHIFT) as u32).wrapping_add(1);
        let rights = (self.0 >> GRANT_SHIFT & 7) << GRANT_SHIFT;
        Self((changes as u64) << CHANGE_SHIFT | rights | opened.0)
    }

    pub(crate) const fn grant(self) -> Grant {
        Grant::from_bits((self.0 >> GRANT_SHIFT) as u8)
    }

    /// Returns a word with these rights and no fast path.
    pub(crate) const fn from_grant(grant: Grant) -> Self {
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

    /// Returns the place that allows a register. [`AccessWord`] describes places. The place of register 1 is never set.
    pub(crate) const fn place(register: PerfReg) -> u64 {
        match register.kind() {
            RegisterKind::Hub { hub, .. } => NON_HUB_REGISTERS + hub.index() as u64,
            _ => register.id(),
        }
    }

    #[must_use]
    pub(crate) const fn with(self, register: PerfReg) -> Self {
        match register.kind() {
            RegisterKind::L2 => self,
            _ => Self(self.0 | bit(Self::place(register))),
        }
    }

    /// Returns the bits of a unit's registers.
    pub(crate) const fn from_unit(unit: Unit) -> Self {
        match unit {
            Unit::Mcu(node, mcu) => Self::NOTHING
                .with(PerfReg::dram(node, mcu, McuRole::Pcr))
                .with(PerfReg::dram(node, mcu, McuRole::Pic)),
            Unit::Hub(hub) => Self(bit(NON_HUB_REGISTERS + hub.index() as u64)),
            Unit::L2(_) => Self(bit(L2)),
        }
    }

    pub(crate) fn from_units(units: impl Iterator<Item = Unit>) -> Self {
        units.fold(Self::NOTHING, |word, unit| word.or(Self::from_unit(unit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits are where the documentation of [`AccessWord`] says, on SPARC V9 and elsewhere.
    #[test]
    fn layout() {
        let on_this = |[sparc, other]: [u64; 2]| match cfg!(target_arch = "sparc64") {
            true => sparc,
            false => other,
        };
        let fast = [0xffff_ff00_0000_0000, 0x00ff_ffff];
        let all = AccessWord::from_grant(Grant::ALL);
        for (word, expected) in [
            (AccessWord::FAST, fast),
            (AccessWord::HUBS, [0x0000_3c00_0000_0000, 0x003c_0000]),
            (AccessWord::HT, [0x0000_0200_0000_0000, 0x0040_0000]),
            (AccessWord::PCR, [0x8000_0000_0000_0000, 1]),
            (AccessWord::VERSION, [0x0000_00f0_0000_0000, 0x7800_0000]),
            (all, [0x0000_000e_0000_0000, 0x0700_0000]),
            (AccessWord::CARRY, [0x0000_0001_0000_0000, 0]),
            (AccessWord::CHANGE, [1, 0x0000_0001_0000_0000]),
        ] {
            assert_eq!(word.bits(), on_this(expected));
        }
        for (id, bits) in [
            (0, [1 << 63, 1]),
            (1, [0, 0]),
            (2, [1 << 61, 1 << 2]),
            (17, [1 << 46, 1 << 17]),
            (18, [1 << 45, 1 << 18]),
            (35, [1 << 45, 1 << 18]),
            (36, [1 << 44, 1 << 19]),
            (71, [1 << 43, 1 << 20]),
            (89, [1 << 42, 1 << 21]),
        ] {
            let register = PerfReg::new(id).unwrap();
            let with = |word: AccessWord| word.with(register).bits();
            assert_eq!(with(AccessWord::NOTHING), on_this(bits), "{id}");
            assert_eq!(with(AccessWord::FAST), on_this(fast), "{id}");
        }
        let word = AccessWord::from_bits(u64::MAX).with_version(VfallsVersion::new(2));
        let expected = [0xffff_ff2f_ffff_ffff, 0xffff_ffff_97ff_ffff];
        assert_eq!(word.bits(), on_this(expected));
        assert_eq!(word.version(), VfallsVersion::new(2));
    }

    #[test]
    fn each_test_looks_at_one_bit() {
        for bit in 0..64 {
            let only = AccessWord::from_bits(1 << bit);
            let but = AccessWord::from_bits(!(1 << bit));
            let place = if BY_SIGN { 63 - bit } else { bit };
            assert_eq!((only.ht(), but.ht()), (place == 22, place != 22), "{bit}");
            for id in 0..NON_HUB_REGISTERS {
                let seen = (only.register(id), but.register(id));
                assert_eq!(seen, (place == id, place != id), "{bit} {id}");
            }
            for (hub, own) in Hub::ALL.iter().zip(18..) {
                let seen = (only.hub(*hub), but.hub(*hub));
                assert_eq!(seen, (place == own, place != own), "{bit} {hub:?}");
            }
        }
    }
}
