//! A word that tells the fast path which calls to refuse, and with which status.

use guest_abi::{Hub, HvError, Mcu, McuRole, Node, PerfReg};
use hv_core::Group;

use crate::Unit;
use crate::rights::versions::{Vfalls, VfallsVersion};
use crate::statistics::{CallCounts, Class, Operation, Outcome, Refusal};

/// A guest's refusals in one version. Where the word says nothing, the slow path decides.
///
/// | bits | contents |
/// |---|---|
/// | 63 | open: calls may be refused from this word |
/// | 62-55 | the memory channels that are refused, in the order of their registers |
/// | 54-47 | the memory channels that are refused with ENOACCESS; other refused channels are refused with ENOTSUPPORTED |
/// | 46 | register 1 is refused, with ENOACCESS |
/// | 45-42 | the hubs that are refused |
/// | 41, 40 | register 0 is refused, with ENOACCESS; calls that set HT are refused |
/// | 39-36 | the status of all refused hubs |
/// | 31-9 | the number of changes, with bit 32 as its carry |
/// | 8-3 | which of the strand's counts holds the number of hub writes that were refused with the status in bits 39-36 |
/// | 2 | held: a right is being added, and no strand opens the word |
/// | 1-0 | 3 minus the version's number; 0 in a closed word, which belongs to no version |
///
/// To test whether a call is refused, the fast path shifts a bit of the word to bit 63: SPARC V9 can branch on the sign of a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RefusalWord(u64);

pub(crate) const VERSION_BITS: u64 = 3;
pub(crate) const HUB_STATUS_SHIFT: u32 = 36;
pub(crate) const HUB_COUNT: u64 = 0x1f8;
/// The distance in bits between the bit that refuses a channel and the bit that makes the refusal an ENOACCESS.
pub(crate) const TO_NO_ACCESS: u32 = 8;

const _: () = assert!((Vfalls::VERSIONS.len() as u64) < VERSION_BITS);

/// The bit of the hubs' status that is set in ENOACCESS and clear in ENOTSUPPORTED.
const HUBS_NO_ACCESS: u64 = 2 << HUB_STATUS_SHIFT;
const _: () = assert!(
    HvError::NoAccess.number() << HUB_STATUS_SHIFT & HUBS_NO_ACCESS != 0
        && HvError::NotSupported.number() << HUB_STATUS_SHIFT & HUBS_NO_ACCESS == 0
);

/// Returns the offset that bits 8:3 hold. Only the assembly uses it. In models, where atomics are larger and the offset would not fit, it
/// is 0.
const fn hub_count(refusal: Refusal) -> u64 {
    match cfg!(any(loom, shuttle)) {
        true => 0,
        false => CallCounts::offset(Operation::Set, Class::Hub, Outcome::Refused(refusal)) as u64,
    }
}

const _: () = assert!(
    hub_count(Refusal::NotSupported) & !HUB_COUNT == 0
        && hub_count(Refusal::NoAccess) & !HUB_COUNT == 0
);

impl RefusalWord {
    /// A closed word, which refuses nothing.
    pub(crate) const CLOSED: Self = Self(0);
    pub(crate) const OPEN: Self = Self(1 << 63);
    pub(crate) const L2: Self = Self(1 << 46);
    pub(crate) const HUBS: Self = Self(0xf << 42);
    /// The bit that refuses register 0.
    pub(crate) const PCR: Self = Self(1 << 41);
    /// The bit that refuses calls that set HT in register 0.
    pub(crate) const HT: Self = Self(1 << 40);
    pub(crate) const HELD: Self = Self(1 << 2);
    pub(crate) const CARRY: Self = Self(1 << 32);
    pub(crate) const CHANGE: Self = Self(1 << 9);
    /// The bits that remain when a word is closed.
    pub(crate) const PRESERVED: Self = Self((Self::CARRY.0 - Self::CHANGE.0) | Self::HELD.0);

    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// Returns an open word for `version`. Without a version, the word refuses every call. With a version, it refuses only calls with a
    /// number that no register has.
    pub(crate) const fn for_version(version: VfallsVersion) -> Self {
        Self(Self::OPEN.0 | !(version.number() as u64) & VERSION_BITS)
    }

    #[must_use]
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 != 0
    }

    pub(crate) const fn is_held(self) -> bool {
        self.has(Self::HELD)
    }

    /// Returns the refusals of `new` with this word's count of changes.
    #[inline(always)]
    #[must_use]
    pub(crate) const fn replaced_by(self, new: Self) -> Self {
        Self(self.0 & Self::PRESERVED.0 | new.0)
    }

    /// Adds the refusal of these hubs, with the reason `why`. The reason is the same for all hubs.
    #[must_use]
    pub(crate) const fn with_hubs(self, hubs: Self, why: Refusal) -> Self {
        Self(self.0 | hubs.0 | why.error().number() << HUB_STATUS_SHIFT | hub_count(why))
    }

    pub(crate) const fn hub(hub: Hub) -> Self {
        Self(1 << (45 - hub.index()))
    }

    const fn channel(node: Node, mcu: Mcu) -> Self {
        Self(1 << (63 - (PerfReg::dram(node, mcu, McuRole::Pcr).id() >> 1)))
    }

    /// Adds the refusal of a memory channel with ENOTSUPPORTED.
    #[must_use]
    pub(crate) const fn without_channel(self, node: Node, mcu: Mcu) -> Self {
        self.or(Self::channel(node, mcu))
    }

    /// Adds the refusal of one of the machine's units with ENOACCESS, unless the word refuses the unit already. If `unit` is a hub that the
    /// word does not refuse yet, [`with_hubs`](Self::with_hubs) must already have set the hubs' status to ENOACCESS. L2 control is not
    /// refused here, because register 1 stands for a different unit on each node.
    #[must_use]
    pub(crate) const fn without_unit(self, unit: Unit) -> Self {
        match unit {
            Unit::Mcu(node, mcu) => match Self::channel(node, mcu) {
                channel if self.has(channel) => self,
                Self(channel) => Self(self.0 | channel | channel >> TO_NO_ACCESS),
            },
            Unit::Hub(hub) => self.or(Self::hub(hub)),
            Unit::L2(_) => self,
        }
    }

    /// Returns why a call for a register of this class is refused in `version`; `None` if the slow path must decide. `index` is the hub's
    /// number, or the register's number if it belongs to no hub. `sets_ht` is `true` if the call sets HT.
    #[inline(always)]
    pub(crate) const fn refusal(
        self,
        version: VfallsVersion,
        class: Class,
        index: u64,
        sets_ht: bool,
    ) -> Option<Refusal> {
        // In a word of this version, the version bits and the version's number add up to 3.
        if self.0.wrapping_add(version.number() as u64 + 1) & VERSION_BITS != 0 {
            return None;
        }
        let refused = match class {
            Class::Strand if sets_ht => self.has(Self::HT),
            Class::Strand => self.has(Self::PCR),
            Class::L2 => self.has(Self::L2),
            Class::Dram => {
                let of_channel = Self(self.0 << (index >> 1));
                if of_channel.has(Self(1 << 63)) && !of_channel.has(Self(1 << 63 >> TO_NO_ACCESS)) {
                    return Some(Refusal::NotSupported);
                }
                of_channel.has(Self(1 << 63))
            }
            Class::Hub => {
                let refused = Self(self.0 << index).has(Self::hub(Hub::Zam0));
                if refused && !self.has(Self(HUBS_NO_ACCESS)) {
                    return Some(Refusal::NotSupported);
                }
                refused
            }
            Class::Invalid if version.number() != 0 => return Some(Refusal::Invalid),
            Class::Invalid => false,
        };
        // Without a version, no bit refuses a register.
        match (refused, version.number()) {
            (true, _) => Some(Refusal::NoAccess),
            (false, 0) => Some(Refusal::BadTrap),
            (false, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::versions::V1_1;

    const NODE1: Node = Node::Node1;

    /// The bits are where the documentation of [`RefusalWord`] says.
    #[test]
    fn layout() {
        let closed = RefusalWord::CLOSED;
        let channel = Unit::Mcu(NODE1, Mcu::Mcu0);
        for (word, expected) in [
            (RefusalWord::OPEN, 1 << 63),
            (closed.without_channel(Node::Node0, Mcu::Mcu0), 1 << 62),
            (closed.without_channel(Node::Node3, Mcu::Mcu1), 1 << 55),
            (closed.without_unit(channel), 1 << 60 | 1 << 52),
            (closed.without_channel(NODE1, Mcu::Mcu0).without_unit(channel), 1 << 60),
            (RefusalWord::L2, 1 << 46),
            (closed.without_unit(Unit::Hub(Hub::Zam3)), 1 << 42),
            (RefusalWord::HUBS, 0x3c00_0000_0000),
            (RefusalWord::PCR, 1 << 41),
            (RefusalWord::HT, 1 << 40),
            // Count 51 of a strand is the number of writes to hubs that ended with ENOTSUPPORTED. Count 52 is the same for ENOACCESS.
            (closed.with_hubs(closed, Refusal::NotSupported), 13 << 36 | 51 << 3),
            (closed.with_hubs(closed, Refusal::NoAccess), 10 << 36 | 52 << 3),
            (RefusalWord::CARRY, 1 << 32),
            (RefusalWord::CHANGE, 1 << 9),
            (RefusalWord::HELD, 1 << 2),
            (RefusalWord::for_version(VfallsVersion::NONE), 1 << 63 | 3),
            (RefusalWord::for_version(V1_1), 1 << 63 | 1),
        ] {
            assert_eq!(word.bits(), expected, "{word:?}");
        }
        let counted = RefusalWord::from_bits(u64::MAX).replaced_by(RefusalWord::L2);
        assert_eq!(counted.bits(), 1 << 46 | 0xffff_fe04);
    }

    /// A word without a version refuses everything. A closed word, or a word of another version, refuses nothing.
    #[test]
    fn a_word_decides_for_its_version() {
        let classes = [
            (Class::Strand, 0),
            (Class::L2, 1),
            (Class::Dram, 17),
            (Class::Hub, 3),
            (Class::Invalid, 90),
        ];
        let all = RefusalWord::for_version(V1_1).or(RefusalWord::from_bits(u64::MAX << 36));
        for (class, index) in classes {
            let none = VfallsVersion::NONE;
            let refusal = |word: RefusalWord, version| word.refusal(version, class, index, false);
            assert_eq!(refusal(RefusalWord::for_version(none), none), Some(Refusal::BadTrap));
            assert_eq!(refusal(RefusalWord::for_version(none), V1_1), None);
            assert_eq!(refusal(all, none), None);
            assert_eq!(refusal(all, VfallsVersion::new(1)), None);
            assert!(refusal(all, V1_1).is_some());
            for version in [0, 1, 2] {
                let kept = RefusalWord::PRESERVED;
                assert_eq!(refusal(kept, VfallsVersion::new(version)), None);
            }
        }
    }
}
