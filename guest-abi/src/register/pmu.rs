//! Performance monitoring units (PMUs): a control register (PCR) and its two counters (PICs). A DRAM channel has one, and
//! so has each part of a hub. A strand's own %pcr and %pic are not among them: they have no PerfReg for the counters.

use core::fmt;

use super::{Counter, Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg, Port};
use crate::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};

/// A kind of PMU, with a PCR layout of its own.
pub trait PmuKind: Copy + Into<Pmu> {
    /// The layout of the PCR.
    type Pcr: EventSelect;
}

/// The PMU of a DRAM channel (FWARC/2007/529 section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DramPmu {
    /// The node that the channel is on.
    pub node: Node,
    /// The channel.
    pub mcu: Mcu,
}

/// The PMU of a link port unit (FWARC/2007/529 section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LpuPmu {
    /// The hub that the port is on.
    pub hub: Hub,
    /// The port.
    pub port: Port,
}

/// The PMU of the general purpose design block of a hub (FWARC/2007/529 section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpdPmu {
    /// The hub.
    pub hub: Hub,
}

/// The PMU of the address serialization unit of a hub (FWARC/2007/529 section 2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AsuPmu {
    /// The hub.
    pub hub: Hub,
}

/// Any of the 32 PMUs. In order: DRAM channels, link port units, GPDs, ASUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pmu {
    /// A DRAM channel.
    Dram(DramPmu),
    /// A link port unit.
    Lpu(LpuPmu),
    /// A general purpose design block.
    Gpd(GpdPmu),
    /// An address serialization unit.
    Asu(AsuPmu),
}

macro_rules! pmu_kinds {
    ($($pmu:ident is $variant:ident with $pcr:ident;)*) => { $(
        impl From<$pmu> for Pmu {
            fn from(pmu: $pmu) -> Self {
                Self::$variant(pmu)
            }
        }

        impl PmuKind for $pmu {
            type Pcr = $pcr;
        }
    )* };
}

impl DramPmu {
    /// Returns the PMU of this channel of this node.
    pub const fn new(node: Node, mcu: Mcu) -> Self {
        Self { node, mcu }
    }
}

impl LpuPmu {
    /// Returns the PMU of this port of this hub.
    pub const fn new(hub: Hub, port: Port) -> Self {
        Self { hub, port }
    }
}

pmu_kinds! {
    DramPmu is Dram with DramPcr;
    LpuPmu is Lpu with LpuPcr;
    GpdPmu is Gpd with GpdPcr;
    AsuPmu is Asu with AsuPcr;
}

/// The registers of a PMU's two counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pics {
    /// Both are in one register, so one read gives both.
    Together(PerfReg),
    /// Each has a register: counter 0, counter 1.
    Apart(PerfReg, PerfReg),
}

const FIRST_LPU: u8 = 8;
const FIRST_GPD: u8 = 24;
const FIRST_ASU: u8 = 28;

impl Pmu {
    /// How many there are, on the largest machine.
    pub const COUNT: usize = 32;

    /// All 32, in the order in which illumos probes them.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::Dram(DramPmu::new(Node::Node0, Mcu::Mcu0)); Self::COUNT];
        let mut id = 0;
        while id < PerfReg::COUNT {
            if let Some(register) = PerfReg::new(id as u64)
                && let Some(pmu) = register.pmu()
            {
                all[pmu.index()] = pmu;
            }
            id += 1;
        }
        all
    };

    /// Returns the PMU's place in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        (match self {
            Self::Dram(DramPmu { node, mcu }) => 2 * node as u8 + mcu as u8,
            Self::Lpu(LpuPmu { hub, port }) => FIRST_LPU + 4 * hub as u8 + port as u8,
            Self::Gpd(GpdPmu { hub }) => FIRST_GPD + hub as u8,
            Self::Asu(AsuPmu { hub }) => FIRST_ASU + hub as u8,
        }) as usize
    }

    /// Returns the register that selects what the PMU counts.
    pub const fn pcr(self) -> PerfReg {
        match self.place() {
            Place::Channel(node, mcu) => PerfReg::dram(node, mcu, McuRole::Pcr),
            Place::Hub(hub, unit) => PerfReg::hub(hub, unit, HubRole::Pcr),
        }
    }

    /// Returns the registers of the counters.
    pub const fn pics(self) -> Pics {
        match self.place() {
            Place::Channel(node, mcu) => Pics::Together(PerfReg::dram(node, mcu, McuRole::Pic)),
            Place::Hub(hub, unit) => Pics::Apart(
                PerfReg::hub(hub, unit, HubRole::Pic0),
                PerfReg::hub(hub, unit, HubRole::Pic1),
            ),
        }
    }

    /// Returns the register that holds this counter.
    pub const fn pic(self, counter: Counter) -> PerfReg {
        match (self.pics(), counter) {
            (Pics::Together(pic), _)
            | (Pics::Apart(pic, _), Counter::Pic0)
            | (Pics::Apart(_, pic), Counter::Pic1) => pic,
        }
    }

    const fn place(self) -> Place {
        match self {
            Self::Dram(DramPmu { node, mcu }) => Place::Channel(node, mcu),
            Self::Lpu(LpuPmu { hub, port }) => Place::Hub(hub, port.unit()),
            Self::Gpd(GpdPmu { hub }) => Place::Hub(hub, HubUnit::Gpd),
            Self::Asu(AsuPmu { hub }) => Place::Hub(hub, HubUnit::Asu),
        }
    }

    pub(super) const fn in_hub(hub: Hub, unit: HubUnit) -> Self {
        match unit {
            HubUnit::LpuA => Self::Lpu(LpuPmu::new(hub, Port::A)),
            HubUnit::LpuB => Self::Lpu(LpuPmu::new(hub, Port::B)),
            HubUnit::LpuC => Self::Lpu(LpuPmu::new(hub, Port::C)),
            HubUnit::LpuD => Self::Lpu(LpuPmu::new(hub, Port::D)),
            HubUnit::Gpd => Self::Gpd(GpdPmu { hub }),
            HubUnit::Asu => Self::Asu(AsuPmu { hub }),
        }
    }
}

enum Place {
    Channel(Node, Mcu),
    Hub(Hub, HubUnit),
}

impl fmt::Display for Pmu {
    /// Writes what the names of the PMU's registers have in common: `NODE0_MCU0`, `ZAM2_LPU_C`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.pcr().name();
        f.pad(name.strip_suffix("_PCR").unwrap_or(name))
    }
}
