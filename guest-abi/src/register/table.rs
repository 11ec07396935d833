//! The table of the registers (FWARC/2007/529 section 3.1). Ids, names, masks and versions stand here alone: to add a
//! register, add it to [`Kind`] and give it a row.

use super::name::Name;
use super::{Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg};
use crate::group::Version;
use crate::layout::{AsuPcr, DramPcr, DramPic, EventSelect, GpdPcr, LpuPcr, PerfConfig, SparcPcr};

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

/// What the specification says of a register.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RegisterInfo {
    /// What the register is.
    pub kind: Kind,
    /// The specification's name, such as `NODE0_MCU0_PCR` or `ZAM2_LPU_C_PIC1`.
    pub name: &'static str,
    /// The bits that a guest can write. The service drops the others.
    pub write_mask: u64,
    /// The first version of group 0x205 that has the register.
    pub since: Version,
}

/// A row of the table.
struct Row {
    id: u8,
    write_mask: u64,
    since: Version,
}

const fn row(id: u8, write_mask: u64, since: Version) -> Row {
    Row {
        id,
        write_mask,
        since,
    }
}

impl Kind {
    /// The row of a register: its id, the bits that a guest can write, and the first version that has it.
    const fn row(self) -> Row {
        match self {
            Self::Strand => row(0, SparcPcr::WRITABLE, Version::V1_0),
            Self::L2 => row(1, PerfConfig::WRITABLE, Version::V1_0),
            Self::Dram { node, mcu, role } => row(
                2 + 4 * node as u8 + 2 * mcu as u8 + role as u8,
                match role {
                    McuRole::Pcr => DramPcr::WRITABLE,
                    McuRole::Pic => DramPic::WRITABLE,
                },
                Version::V1_0,
            ),
            Self::Hub { hub, unit, role } => row(
                18 + 18 * hub as u8 + 3 * unit as u8 + role as u8,
                match (role, unit) {
                    (HubRole::Pic0 | HubRole::Pic1, _) => u64::MAX,
                    (HubRole::Pcr, HubUnit::Gpd) => GpdPcr::WRITABLE,
                    (HubRole::Pcr, HubUnit::Asu) => AsuPcr::WRITABLE,
                    (HubRole::Pcr, _) => LpuPcr::WRITABLE,
                },
                Version::V1_1,
            ),
        }
    }

    /// Returns the register of this kind.
    pub const fn register(self) -> PerfReg {
        PerfReg(self.row().id)
    }

    /// Returns the parts of the name. The specification joins them with `_`.
    const fn name(self) -> [&'static str; 3] {
        match self {
            Self::Strand => ["SPARC", "PCR", ""],
            Self::L2 => ["L2", "PERF_CONFIG", ""],
            Self::Dram { node, mcu, role } => [node.text(), mcu.text(), role.text()],
            Self::Hub { hub, unit, role } => [hub.text(), unit.text(), role.text()],
        }
    }
}

/// The kind of each register, in the order of the ids.
const KINDS: [Kind; PerfReg::COUNT] = {
    let mut kinds = [Kind::Strand; PerfReg::COUNT];
    kinds[Kind::L2.row().id as usize] = Kind::L2;
    let mut at = 0;
    while at < Node::ALL.len() * Mcu::ALL.len() * McuRole::ALL.len() {
        let role = McuRole::ALL[at % McuRole::ALL.len()];
        let mcu = Mcu::ALL[at / McuRole::ALL.len() % Mcu::ALL.len()];
        let node = Node::ALL[at / McuRole::ALL.len() / Mcu::ALL.len()];
        let kind = Kind::Dram { node, mcu, role };
        kinds[kind.row().id as usize] = kind;
        at += 1;
    }
    let mut at = 0;
    while at < Hub::ALL.len() * HubUnit::ALL.len() * HubRole::ALL.len() {
        let role = HubRole::ALL[at % HubRole::ALL.len()];
        let unit = HubUnit::ALL[at / HubRole::ALL.len() % HubUnit::ALL.len()];
        let hub = Hub::ALL[at / HubRole::ALL.len() / HubUnit::ALL.len()];
        let kind = Kind::Hub { hub, unit, role };
        kinds[kind.row().id as usize] = kind;
        at += 1;
    }
    let mut id = 0;
    while id < PerfReg::COUNT {
        assert!(kinds[id].row().id as usize == id, "an id has no register");
        id += 1;
    }
    kinds
};

static NAMES: [Name; PerfReg::COUNT] = {
    let mut names = [Name::EMPTY; PerfReg::COUNT];
    let mut id = 0;
    while id < PerfReg::COUNT {
        names[id] = Name::of(KINDS[id].name());
        id += 1;
    }
    names
};

/// What the specification says of each register, in the order of the ids.
pub(super) static TABLE: [RegisterInfo; PerfReg::COUNT] = {
    let mut table = [RegisterInfo::of(Kind::Strand); PerfReg::COUNT];
    let mut id = 0;
    while id < PerfReg::COUNT {
        table[id] = RegisterInfo::of(KINDS[id]);
        id += 1;
    }
    table
};

impl RegisterInfo {
    const fn of(kind: Kind) -> Self {
        let Row {
            id,
            write_mask,
            since,
        } = kind.row();
        Self {
            kind,
            name: NAMES[id as usize].text(),
            write_mask,
            since,
        }
    }
}
