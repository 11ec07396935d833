//! The 90 performance registers (FWARC/2007/529 section 3.1).

mod name;
mod place;
mod unit;

use core::fmt;
use core::str::FromStr;

pub use name::UnknownName;
pub use place::{Counter, Hub, HubRole, HubUnit, Mcu, McuRole, Node, Port};
pub use unit::{AsuUnit, DramUnit, GpdUnit, LpuUnit, Pics, Unit, UnitKind};

/// A PerfReg number that is known to be one of the 90.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerfReg(u8);

/// What a performance register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The SPARC performance control register of the calling strand.
    Strand,
    /// PERF_CONFIG of the L2 control registers of the caller's node.
    L2,
    /// A register of a DRAM channel.
    Dram {
        /// The node that the channel is on.
        node: Node,
        /// The channel.
        mcu: Mcu,
        /// Control or counters.
        role: McuRole,
    },
    /// A register of a Zambezi hub.
    Hub {
        /// The hub.
        hub: Hub,
        /// The part of the hub.
        unit: HubUnit,
        /// Control, or which counter.
        role: HubRole,
    },
}

const FIRST_DRAM: u8 = 2;
const FIRST_HUB: u8 = 18;
const DRAM_PER_NODE: u8 = 4;
const REGISTERS_PER_HUB: u8 = 18;
const REGISTERS_PER_UNIT: u8 = 3;

impl PerfReg {
    /// How many there are: numbers 0 to 89.
    pub const COUNT: usize = 90;

    /// Register 0, the calling strand's PCR.
    pub const SPARC_PCR: Self = Self(0);

    /// Register 1, PERF_CONFIG of the caller's node.
    pub const L2_PERF_CONFIG: Self = Self(1);

    /// The register with this 64-bit id; `None` beyond 89.
    pub const fn new(id: u64) -> Option<Self> {
        if id < Self::COUNT as u64 {
            Some(Self(id as u8))
        } else {
            None
        }
    }

    /// A register of a DRAM channel: 2 to 17.
    pub const fn dram(node: Node, mcu: Mcu, role: McuRole) -> Self {
        Self(FIRST_DRAM + DRAM_PER_NODE * node as u8 + 2 * mcu as u8 + role as u8)
    }

    /// A register of a Zambezi hub: 18 to 89.
    pub const fn hub(hub: Hub, unit: HubUnit, role: HubRole) -> Self {
        Self(
            FIRST_HUB
                + REGISTERS_PER_HUB * hub as u8
                + REGISTERS_PER_UNIT * unit as u8
                + role as u8,
        )
    }

    /// The PerfReg number, 0 to 89.
    pub const fn id(self) -> u64 {
        self.0 as u64
    }

    /// The PerfReg number as an index into a table of [`PerfReg::COUNT`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// What the register is.
    pub const fn kind(self) -> Kind {
        match self.0 {
            0 => Kind::Strand,
            1 => Kind::L2,
            id if id < FIRST_HUB => {
                let offset = id - FIRST_DRAM;
                Kind::Dram {
                    node: Node::at(offset / DRAM_PER_NODE),
                    mcu: if (offset / 2).is_multiple_of(2) {
                        Mcu::Mcu0
                    } else {
                        Mcu::Mcu1
                    },
                    role: if offset.is_multiple_of(2) {
                        McuRole::Pcr
                    } else {
                        McuRole::Pic
                    },
                }
            }
            id => {
                let offset = id - FIRST_HUB;
                Kind::Hub {
                    hub: Hub::at(offset / REGISTERS_PER_HUB),
                    unit: HubUnit::at(offset % REGISTERS_PER_HUB / REGISTERS_PER_UNIT),
                    role: HubRole::at(offset % REGISTERS_PER_UNIT),
                }
            }
        }
    }

    /// The unit that it belongs to; `None` for registers 0 and 1.
    pub const fn unit(self) -> Option<Unit> {
        match self.kind() {
            Kind::Strand | Kind::L2 => None,
            Kind::Dram { node, mcu, .. } => Some(Unit::Dram(DramUnit { node, mcu })),
            Kind::Hub { hub, unit, .. } => Some(Unit::in_hub(hub, unit)),
        }
    }

    /// All 90, in order.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        (0..Self::COUNT as u8).map(Self)
    }

    /// The specification's name, such as `NODE0_MCU0_PCR` or `ZAM2_LPU_C_PIC1`.
    pub const fn name(self) -> &'static str {
        name::of(self)
    }

    /// The register of that name, if there is one. Capitals and small letters are alike.
    pub const fn from_name(name: &str) -> Option<Self> {
        name::find(name)
    }
}

impl fmt::Display for PerfReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for PerfReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.name())
    }
}

impl FromStr for PerfReg {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Self, UnknownName> {
        Self::from_name(text).ok_or(UnknownName)
    }
}

impl TryFrom<u64> for PerfReg {
    type Error = UnknownId;

    fn try_from(id: u64) -> Result<Self, UnknownId> {
        Self::new(id).ok_or(UnknownId(id))
    }
}

/// An id beyond 89, for which the service answers EINVAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownId(pub u64);

impl fmt::Display for UnknownId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a PerfReg number (0 to 89)", self.0)
    }
}

impl core::error::Error for UnknownId {}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    #[test]
    fn ids_are_checked_in_all_64_bits() {
        assert_eq!(PerfReg::new(0), Some(PerfReg::SPARC_PCR));
        assert_eq!(PerfReg::new(89).map(PerfReg::id), Some(89));
        for id in [90, 255, 256, 1 << 32, (1 << 32) + 2, u64::MAX] {
            assert_eq!(PerfReg::new(id), None, "{id}");
        }
    }

    #[test]
    fn kinds_by_the_specification() {
        let kind = |id| PerfReg::new(id).unwrap().kind();
        assert_eq!(kind(0), Kind::Strand);
        assert_eq!(kind(1), Kind::L2);
        assert_eq!(
            kind(2),
            Kind::Dram {
                node: Node::Node0,
                mcu: Mcu::Mcu0,
                role: McuRole::Pcr
            }
        );
        assert_eq!(
            kind(5),
            Kind::Dram {
                node: Node::Node0,
                mcu: Mcu::Mcu1,
                role: McuRole::Pic
            }
        );
        assert_eq!(
            kind(16),
            Kind::Dram {
                node: Node::Node3,
                mcu: Mcu::Mcu1,
                role: McuRole::Pcr
            }
        );
        assert_eq!(
            kind(18),
            Kind::Hub {
                hub: Hub::Zam0,
                unit: HubUnit::LpuA,
                role: HubRole::Pcr
            }
        );
        assert_eq!(
            kind(62),
            Kind::Hub {
                hub: Hub::Zam2,
                unit: HubUnit::LpuC,
                role: HubRole::Pic1
            }
        );
        assert_eq!(
            kind(84),
            Kind::Hub {
                hub: Hub::Zam3,
                unit: HubUnit::Gpd,
                role: HubRole::Pcr
            }
        );
        assert_eq!(
            kind(88),
            Kind::Hub {
                hub: Hub::Zam3,
                unit: HubUnit::Asu,
                role: HubRole::Pic0
            }
        );
    }

    #[test]
    fn construction_is_the_inverse_of_kind() {
        let mut seen = Vec::new();
        for register in PerfReg::all() {
            let again = match register.kind() {
                Kind::Strand => PerfReg::SPARC_PCR,
                Kind::L2 => PerfReg::L2_PERF_CONFIG,
                Kind::Dram { node, mcu, role } => PerfReg::dram(node, mcu, role),
                Kind::Hub { hub, unit, role } => PerfReg::hub(hub, unit, role),
            };
            assert_eq!(again, register);
            seen.push(register.id());
        }
        assert_eq!(seen, (0..90).collect::<Vec<u64>>());
    }

    #[test]
    fn names_go_both_ways() {
        let name = |id| PerfReg::new(id).unwrap().to_string();
        assert_eq!(name(0), "SPARC_PCR");
        assert_eq!(name(1), "L2_PERF_CONFIG");
        assert_eq!(name(2), "NODE0_MCU0_PCR");
        assert_eq!(name(17), "NODE3_MCU1_PIC");
        assert_eq!(name(18), "ZAM0_LPU_A_PCR");
        assert_eq!(name(62), "ZAM2_LPU_C_PIC1");
        assert_eq!(name(66), "ZAM2_GPD_PCR");
        assert_eq!(name(89), "ZAM3_ASU_PIC1");
        for register in PerfReg::all() {
            assert_eq!(register.name().parse(), Ok(register));
            assert_eq!(register.name().to_lowercase().parse(), Ok(register));
        }
        for wrong in [
            "",
            "NODE0_MCU0_PC",
            "NODE0_MCU0_PCRX",
            "NODE4_MCU0_PCR",
            "ZAM0_LPU_E_PCR",
        ] {
            assert_eq!(wrong.parse::<PerfReg>(), Err(UnknownName), "{wrong}");
        }
    }
}
