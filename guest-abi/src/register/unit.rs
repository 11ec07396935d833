//! What has a PCR and two counters outside the strands: DRAM channels and the parts of a hub.

use core::fmt;

use super::{Counter, Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg, Port};
use crate::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};

/// A unit whose PCR has a layout of its own.
pub trait UnitKind: Copy + Into<Unit> {
    /// The layout of the PCR.
    type Pcr: EventSelect;
}

/// A DRAM channel (FWARC/2007/529 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DramUnit {
    /// The node that it is on.
    pub node: Node,
    /// The channel.
    pub mcu: Mcu,
}

/// A link port unit (FWARC/2007/529 section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LpuUnit {
    /// The hub that it is on.
    pub hub: Hub,
    /// The port.
    pub port: Port,
}

/// The general purpose design block of a hub (FWARC/2007/529 section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpdUnit {
    /// The hub.
    pub hub: Hub,
}

/// The address serialization unit of a hub (FWARC/2007/529 section 2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AsuUnit {
    /// The hub.
    pub hub: Hub,
}

/// Any of the 32 units. In order: DRAM channels, link port units, GPDs, ASUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// A DRAM channel.
    Dram(DramUnit),
    /// A link port unit.
    Lpu(LpuUnit),
    /// A general purpose design block.
    Gpd(GpdUnit),
    /// An address serialization unit.
    Asu(AsuUnit),
}

macro_rules! unit_kinds {
    ($($unit:ident is $variant:ident with $pcr:ident;)*) => { $(
        impl From<$unit> for Unit {
            fn from(unit: $unit) -> Self {
                Self::$variant(unit)
            }
        }

        impl UnitKind for $unit {
            type Pcr = $pcr;
        }
    )* };
}

impl DramUnit {
    /// This channel of this node.
    pub const fn new(node: Node, mcu: Mcu) -> Self {
        Self { node, mcu }
    }
}

impl LpuUnit {
    /// The link port unit of this port of this hub.
    pub const fn new(hub: Hub, port: Port) -> Self {
        Self { hub, port }
    }
}

unit_kinds! {
    DramUnit is Dram with DramPcr;
    LpuUnit is Lpu with LpuPcr;
    GpdUnit is Gpd with GpdPcr;
    AsuUnit is Asu with AsuPcr;
}

/// Where the two counters of a unit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pics {
    /// Both in one register: they are read at the same moment.
    Together(PerfReg),
    /// A register each: counter 0, counter 1.
    Apart(PerfReg, PerfReg),
}

const FIRST_LPU: u8 = 8;
const FIRST_GPD: u8 = 24;
const FIRST_ASU: u8 = 28;

impl Unit {
    /// How many there are, on the largest machine.
    pub const COUNT: usize = 32;

    /// All 32, in order: the order in which illumos probes them.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::Dram(DramUnit::new(Node::Node0, Mcu::Mcu0)); Self::COUNT];
        let mut id = 0;
        while id < PerfReg::COUNT {
            if let Some(register) = PerfReg::new(id as u64)
                && let Some(unit) = register.unit()
            {
                all[unit.index()] = unit;
            }
            id += 1;
        }
        all
    };

    /// Its place among the 32, from 0.
    pub const fn index(self) -> usize {
        (match self {
            Self::Dram(DramUnit { node, mcu }) => 2 * node as u8 + mcu as u8,
            Self::Lpu(LpuUnit { hub, port }) => FIRST_LPU + 4 * hub as u8 + port as u8,
            Self::Gpd(GpdUnit { hub }) => FIRST_GPD + hub as u8,
            Self::Asu(AsuUnit { hub }) => FIRST_ASU + hub as u8,
        }) as usize
    }

    /// The register that selects what it counts.
    pub const fn pcr(self) -> PerfReg {
        match self.place() {
            Place::Channel(node, mcu) => PerfReg::dram(node, mcu, McuRole::Pcr),
            Place::Hub(hub, unit) => PerfReg::hub(hub, unit, HubRole::Pcr),
        }
    }

    /// Its counters.
    pub const fn pics(self) -> Pics {
        match self.place() {
            Place::Channel(node, mcu) => Pics::Together(PerfReg::dram(node, mcu, McuRole::Pic)),
            Place::Hub(hub, unit) => Pics::Apart(
                PerfReg::hub(hub, unit, HubRole::Pic0),
                PerfReg::hub(hub, unit, HubRole::Pic1),
            ),
        }
    }

    /// The register that one of its counters is in.
    pub const fn pic(self, counter: Counter) -> PerfReg {
        match (self.pics(), counter) {
            (Pics::Together(pic), _)
            | (Pics::Apart(pic, _), Counter::Pic0)
            | (Pics::Apart(_, pic), Counter::Pic1) => pic,
        }
    }

    const fn place(self) -> Place {
        match self {
            Self::Dram(DramUnit { node, mcu }) => Place::Channel(node, mcu),
            Self::Lpu(LpuUnit { hub, port }) => Place::Hub(hub, port.unit()),
            Self::Gpd(GpdUnit { hub }) => Place::Hub(hub, HubUnit::Gpd),
            Self::Asu(AsuUnit { hub }) => Place::Hub(hub, HubUnit::Asu),
        }
    }

    pub(super) const fn in_hub(hub: Hub, unit: HubUnit) -> Self {
        match unit {
            HubUnit::LpuA => Self::Lpu(LpuUnit::new(hub, Port::A)),
            HubUnit::LpuB => Self::Lpu(LpuUnit::new(hub, Port::B)),
            HubUnit::LpuC => Self::Lpu(LpuUnit::new(hub, Port::C)),
            HubUnit::LpuD => Self::Lpu(LpuUnit::new(hub, Port::D)),
            HubUnit::Gpd => Self::Gpd(GpdUnit { hub }),
            HubUnit::Asu => Self::Asu(AsuUnit { hub }),
        }
    }
}

enum Place {
    Channel(Node, Mcu),
    Hub(Hub, HubUnit),
}

impl fmt::Display for Unit {
    /// The registers' names without the part that says which register: `NODE0_MCU0`, `ZAM2_LPU_C`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.pcr().name();
        f.pad(name.strip_suffix("_PCR").unwrap_or(name))
    }
}
