//! Performance monitoring units (PMUs). A PMU is a control register (PCR) and its two counters (PICs). Each DRAM channel and each
//! part of a hub has a PMU. A strand's %pcr and %pic are not a PMU, because their counters have no PerfReg number.

use core::fmt;

use super::{Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg, Port, RegisterKind};
use crate::counter::Counter;
use crate::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};

/// A kind of PMU. Each kind has its own PCR layout.
pub trait PmuKind: Copy + Into<Pmu> {
    /// The type that describes the bits of the PCR, such as the events of the two counters.
    type Pcr: EventSelect;
}

macro_rules! pmu_kinds {
    ($($(#[$doc:meta])* $variant:ident($pmu:ident { $($(#[$field_doc:meta])* $field:ident: $place:ty),* }) with $pcr:ident;)*) => {
        /// One of the 32 PMUs of the largest machine. PMUs are ordered by kind: DRAM channels, link port units, GPDs, ASUs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Pmu { $($(#[$doc])* $variant($pmu),)* }

        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $pmu { $($(#[$field_doc])* pub $field: $place,)* }

            impl $pmu {
                /// Returns the PMU that the arguments identify.
                pub const fn new($($field: $place),*) -> Self {
                    Self { $($field),* }
                }
            }

            impl From<$pmu> for Pmu {
                fn from(pmu: $pmu) -> Self {
                    Self::$variant(pmu)
                }
            }

            impl PmuKind for $pmu {
                type Pcr = $pcr;
            }
        )*
    };
}

pmu_kinds! {
    /// The PMU of a DRAM channel (FWARC/2007/529 section 2.2).
    Dram(DramPmu {
        /// The node that the channel is on.
        node: Node,
        /// The memory controller of the channel.
        mcu: Mcu
    }) with DramPcr;
    /// The PMU of a link port unit (FWARC/2007/529 section 2.4).
    Lpu(LpuPmu {
        /// The hub that the port is on.
        hub: Hub,
        /// The port. It leads to the node with the same number.
        port: Port
    }) with LpuPcr;
    /// The PMU of a hub's general purpose design block (FWARC/2007/529 section 2.5).
    Gpd(GpdPmu {
        /// The hub that the block is on.
        hub: Hub
    }) with GpdPcr;
    /// The PMU of a hub's address serialization unit (FWARC/2007/529 section 2.6).
    Asu(AsuPmu {
        /// The hub that the unit is on.
        hub: Hub
    }) with AsuPcr;
}

/// The registers of a PMU's two counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pics {
    /// One register holds both counters, so one read returns both.
    Shared(PerfReg),
    /// Each counter has its own register: counter 0 first, then counter 1.
    Separate(PerfReg, PerfReg),
}

impl Pmu {
    /// The number of PMUs in the largest machine.
    pub const COUNT: usize = 32;

    /// Every PMU, in the order in which illumos probes them.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self::Dram(DramPmu::new(Node::Node0, Mcu::Mcu0)); Self::COUNT];
        let mut id = 0;
        while let Some(register) = PerfReg::new(id) {
            if let Some(pmu) = Self::from_register(register) {
                all[pmu.index()] = pmu;
            }
            id += 1;
        }
        all
    };

    /// Returns the PMU that `register` belongs to; `None` for registers 0 and 1.
    pub const fn from_register(register: PerfReg) -> Option<Self> {
        Some(match register.kind() {
            RegisterKind::Strand | RegisterKind::L2 => return None,
            RegisterKind::Dram { node, mcu, .. } => Self::Dram(DramPmu { node, mcu }),
            RegisterKind::Hub { hub, unit, .. } => match unit {
                HubUnit::LpuA => Self::Lpu(LpuPmu::new(hub, Port::A)),
                HubUnit::LpuB => Self::Lpu(LpuPmu::new(hub, Port::B)),
                HubUnit::LpuC => Self::Lpu(LpuPmu::new(hub, Port::C)),
                HubUnit::LpuD => Self::Lpu(LpuPmu::new(hub, Port::D)),
                HubUnit::Gpd => Self::Gpd(GpdPmu { hub }),
                HubUnit::Asu => Self::Asu(AsuPmu { hub }),
            },
        })
    }

    /// Returns the PMU's index in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        (match self {
            Self::Dram(DramPmu { node, mcu }) => 2 * node as u8 + mcu as u8,
            Self::Lpu(LpuPmu { hub, port }) => 8 + 4 * hub as u8 + port as u8,
            Self::Gpd(GpdPmu { hub }) => 24 + hub as u8,
            Self::Asu(AsuPmu { hub }) => 28 + hub as u8,
        }) as usize
    }

    /// Returns the PMU's control register, which selects the events.
    pub const fn pcr(self) -> PerfReg {
        self.register(McuRole::Pcr, HubRole::Pcr)
    }

    /// Returns the registers of the counters: one for a DRAM channel, two for a part of a hub.
    pub const fn pics(self) -> Pics {
        let (pic0, pic1) = (self.pic(Counter::Pic0), self.pic(Counter::Pic1));
        match self {
            Self::Dram(_) => Pics::Shared(pic0),
            Self::Lpu(_) | Self::Gpd(_) | Self::Asu(_) => Pics::Separate(pic0, pic1),
        }
    }

    /// Returns the register that holds this counter.
    pub const fn pic(self, counter: Counter) -> PerfReg {
        match counter {
            Counter::Pic0 => self.register(McuRole::Pic, HubRole::Pic0),
            Counter::Pic1 => self.register(McuRole::Pic, HubRole::Pic1),
        }
    }

    const fn register(self, in_channel: McuRole, in_hub: HubRole) -> PerfReg {
        match self {
            Self::Dram(DramPmu { node, mcu }) => PerfReg::dram(node, mcu, in_channel),
            Self::Lpu(LpuPmu { hub, port }) => PerfReg::hub(hub, port.unit(), in_hub),
            Self::Gpd(GpdPmu { hub }) => PerfReg::hub(hub, HubUnit::Gpd, in_hub),
            Self::Asu(AsuPmu { hub }) => PerfReg::hub(hub, HubUnit::Asu, in_hub),
        }
    }
}

impl fmt::Display for Pmu {
    /// Writes the common prefix of the PMU's register names, such as `NODE0_MCU0` or `ZAM2_LPU_C`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.pcr().name();
        f.pad(name.strip_suffix("_PCR").unwrap_or(name))
    }
}
