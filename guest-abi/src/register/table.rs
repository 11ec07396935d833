//! The register table (FWARC/2007/529 section 3.1), the only place that states the registers' ids, names, masks and versions.

use super::location::{Hub, HubRole, HubUnit, Mcu, McuRole, Node};
use super::name::Name;
use crate::group::Version;
use crate::layout::{AsuPcr, DramPcr, DramPic, EventSelect, GpdPcr, LpuPcr, PerfConfig, SparcPcr};

pub(super) const COUNT: usize = 90;

/// The role and the place of a performance register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterKind {
    /// The SPARC performance control register of the calling strand.
    Strand,
    /// PERF_CONFIG of the L2 control registers of the caller's node.
    L2,
    /// A register of a DRAM channel.
    Dram {
        /// The node that the channel is on.
        node: Node,
        /// The memory controller of the channel.
        mcu: Mcu,
        /// The role: the PCR or the PIC.
        role: McuRole,
    },
    /// A register of a Zambezi hub.
    Hub {
        /// The Zambezi chip that holds the register.
        hub: Hub,
        /// The part of the chip that holds the register.
        unit: HubUnit,
        /// The role: the PCR, PIC0 or PIC1.
        role: HubRole,
    },
}

/// The properties that the specification states for a register.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RegisterInfo {
    /// The role and the place of the register.
    pub kind: RegisterKind,
    /// The register's name in the specification, such as `NODE0_MCU0_PCR` or `ZAM2_LPU_C_PIC1`.
    pub name: &'static str,
    /// The bits that a guest can write. The service ignores the other bits.
    pub write_mask: u64,
    /// The first version of group 0x205 that has the register.
    pub since: Version,
}

impl RegisterKind {
    pub(super) const fn id(self) -> u8 {
        match self {
            Self::Strand => 0,
            Self::L2 => 1,
            Self::Dram { node, mcu, role } => 2 + 4 * node as u8 + 2 * mcu as u8 + role as u8,
            Self::Hub { hub, unit, role } => 18 + 18 * hub as u8 + 3 * unit as u8 + role as u8,
        }
    }

    const fn with_id(id: usize) -> Self {
        match id {
            0 => Self::Strand,
            1 => Self::L2,
            2..18 => Self::Dram {
                node: Node::ALL[(id - 2) / 4],
                mcu: Mcu::ALL[(id - 2) / 2 % 2],
                role: McuRole::ALL[(id - 2) % 2],
            },
            _ => Self::Hub {
                hub: Hub::ALL[(id - 18) / 18],
                unit: HubUnit::ALL[(id - 18) / 3 % 6],
                role: HubRole::ALL[(id - 18) % 3],
            },
        }
    }

    const fn write_mask(self) -> u64 {
        match self {
            Self::Strand => SparcPcr::WRITABLE,
            Self::L2 => PerfConfig::WRITABLE,
            Self::Dram { role, .. } => match role {
                McuRole::Pcr => DramPcr::WRITABLE,
                McuRole::Pic => DramPic::WRITABLE,
            },
            Self::Hub { unit, role, .. } => match (role, unit) {
                (HubRole::Pic0 | HubRole::Pic1, _) => u64::MAX,
                (HubRole::Pcr, HubUnit::Gpd) => GpdPcr::WRITABLE,
                (HubRole::Pcr, HubUnit::Asu) => AsuPcr::WRITABLE,
                (HubRole::Pcr, _) => LpuPcr::WRITABLE,
            },
        }
    }

    const fn since(self) -> Version {
        match self {
            Self::Strand | Self::L2 | Self::Dram { .. } => Version::V1_0,
            Self::Hub { .. } => Version::V1_1,
        }
    }

    const fn name(self) -> Name {
        Name::join(match self {
            Self::Strand => ["SPARC", "PCR", ""],
            Self::L2 => ["L2", "PERF_CONFIG", ""],
            Self::Dram { node, mcu, role } => [node.text(), mcu.text(), role.text()],
            Self::Hub { hub, unit, role } => [hub.text(), unit.text(), role.text()],
        })
    }
}

static NAMES: [Name; COUNT] = {
    let mut names = [Name::EMPTY; COUNT];
    let mut id = 0;
    while id < COUNT {
        names[id] = RegisterKind::with_id(id).name();
        id += 1;
    }
    names
};

/// The registers in the order of their ids.
pub(super) static TABLE: [RegisterInfo; COUNT] = {
    let mut table = [RegisterInfo::with_id(0); COUNT];
    let mut id = 0;
    while id < COUNT {
        table[id] = RegisterInfo::with_id(id);
        id += 1;
    }
    table
};

impl RegisterInfo {
    const fn with_id(id: usize) -> Self {
        let kind = RegisterKind::with_id(id);
        assert!(kind.id() as usize == id, "`id` and `with_id` differ");
        Self { kind, name: NAMES[id].text(), write_mask: kind.write_mask(), since: kind.since() }
    }
}
