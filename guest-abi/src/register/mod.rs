//! The 90 performance registers (FWARC/2007/529 section 3.1).

mod counters;
mod name;
mod place;
mod pmu;
mod table;

use core::fmt;
use core::str::FromStr;

use table::TABLE;

pub use counters::CounterSet;
pub use name::UnknownName;
pub use place::{Counter, Hub, HubRole, HubUnit, Mcu, McuRole, Node, Port};
pub use pmu::{AsuPmu, DramPmu, GpdPmu, LpuPmu, Pics, Pmu, PmuKind};
pub use table::{Kind, RegisterInfo};

/// One of the 90 performance registers, by its PerfReg number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerfReg(u8);

impl PerfReg {
    /// The number of registers. Their ids are 0 to 89.
    pub const COUNT: usize = 90;

    /// Register 0, the PCR of the calling strand.
    pub const SPARC_PCR: Self = Kind::Strand.register();

    /// Register 1, PERF_CONFIG of the caller's node.
    pub const L2_PERF_CONFIG: Self = Kind::L2.register();

    /// The first register of a hub. The registers from this one on are those of hubs, [`PER_HUB`](Self::PER_HUB) each.
    pub const FIRST_OF_HUBS: Self = Self::hub(Hub::Zam0, HubUnit::LpuA, HubRole::Pcr);

    /// How many registers a hub has.
    pub const PER_HUB: usize = HubUnit::ALL.len() * HubRole::ALL.len();

    /// Returns the register with this 64-bit id; `None` beyond 89.
    pub const fn new(id: u64) -> Option<Self> {
        if id < Self::COUNT as u64 {
            Some(Self(id as u8))
        } else {
            None
        }
    }

    /// Returns a register of a DRAM channel: 2 to 17.
    pub const fn dram(node: Node, mcu: Mcu, role: McuRole) -> Self {
        Kind::Dram { node, mcu, role }.register()
    }

    /// Returns a register of a Zambezi hub: 18 to 89.
    pub const fn hub(hub: Hub, unit: HubUnit, role: HubRole) -> Self {
        Kind::Hub { hub, unit, role }.register()
    }

    /// Returns the PerfReg number, 0 to 89.
    pub const fn id(self) -> u64 {
        self.0 as u64
    }

    /// Returns the PerfReg number as an index into a table of [`PerfReg::COUNT`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns what the specification says of the register.
    pub const fn info(self) -> &'static RegisterInfo {
        // Always below COUNT: `new` lets no other id in. The compiler does not know, and must not add a panic.
        let index = self.index();
        if index < Self::COUNT {
            &TABLE[index]
        } else {
            &TABLE[0]
        }
    }

    /// Returns what the register is.
    pub const fn kind(self) -> Kind {
        self.info().kind
    }

    /// Returns the PMU that the register belongs to; `None` for registers 0 and 1.
    pub const fn pmu(self) -> Option<Pmu> {
        match self.kind() {
            Kind::Strand | Kind::L2 => None,
            Kind::Dram { node, mcu, .. } => Some(Pmu::Dram(DramPmu { node, mcu })),
            Kind::Hub { hub, unit, .. } => Some(Pmu::in_hub(hub, unit)),
        }
    }

    /// Returns all 90, in the order of their ids.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        (0..Self::COUNT as u8).map(Self)
    }

    /// Returns the specification's name, such as `NODE0_MCU0_PCR` or `ZAM2_LPU_C_PIC1`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the register with this name, in upper or lower case; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|register| register.name().eq_ignore_ascii_case(name))
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

/// An id beyond 89. For such an id, the service returns EINVAL.
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
        for (id, node, mcu, role) in [
            (2, Node::Node0, Mcu::Mcu0, McuRole::Pcr),
            (5, Node::Node0, Mcu::Mcu1, McuRole::Pic),
            (16, Node::Node3, Mcu::Mcu1, McuRole::Pcr),
        ] {
            assert_eq!(kind(id), Kind::Dram { node, mcu, role });
        }
        for (id, hub, unit, role) in [
            (18, Hub::Zam0, HubUnit::LpuA, HubRole::Pcr),
            (62, Hub::Zam2, HubUnit::LpuC, HubRole::Pic1),
            (84, Hub::Zam3, HubUnit::Gpd, HubRole::Pcr),
            (88, Hub::Zam3, HubUnit::Asu, HubRole::Pic0),
        ] {
            assert_eq!(kind(id), Kind::Hub { hub, unit, role });
        }
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
