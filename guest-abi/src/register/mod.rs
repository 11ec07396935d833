//! The 90 performance registers (FWARC/2007/529 section 3.1).

mod location;
mod name;
mod pmu;
mod table;

use core::fmt;

use crate::error::{in_range, named};
use table::TABLE;

pub use location::{Hub, HubRole, HubUnit, Mcu, McuRole, Node, Port};
pub use pmu::{AsuPmu, DramPmu, GpdPmu, LpuPmu, Pics, Pmu, PmuKind};
pub use table::{RegisterInfo, RegisterKind};

/// One of the 90 performance registers, identified by its PerfReg number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PerfReg(u8);

impl PerfReg {
    /// The number of registers. Their ids are 0 to 89.
    pub const COUNT: usize = table::COUNT;

    /// All registers, in the order of their ids.
    pub const ALL: [Self; Self::COUNT] = {
        let mut all = [Self(0); Self::COUNT];
        let mut id = 0;
        while id < Self::COUNT {
            all[id] = Self(id as u8);
            id += 1;
        }
        all
    };

    /// Register 0, the PCR of the calling strand.
    pub const SPARC_PCR: Self = Self::from_kind(RegisterKind::Strand);

    /// Register 1, PERF_CONFIG of the caller's node.
    pub const L2_PERF_CONFIG: Self = Self::from_kind(RegisterKind::L2);

    /// The hub register with the lowest number. This register and all later registers belong to hubs. Each hub has
    /// [`PER_HUB`](Self::PER_HUB) registers.
    pub const FIRST_HUB: Self = Self::hub(Hub::Zam0, HubUnit::LpuA, HubRole::Pcr);

    /// The number of registers in each hub.
    pub const PER_HUB: usize = HubUnit::ALL.len() * HubRole::ALL.len();

    /// Returns the register with this 64-bit id; `None` if the id is above 89.
    pub const fn new(id: u64) -> Option<Self> {
        if id < Self::COUNT as u64 { Some(Self(id as u8)) } else { None }
    }

    /// Returns the register with this role and place.
    pub const fn from_kind(kind: RegisterKind) -> Self {
        Self(kind.id())
    }

    /// Returns a DRAM channel's register, which is one of registers 2 to 17.
    pub const fn dram(node: Node, mcu: Mcu, role: McuRole) -> Self {
        Self::from_kind(RegisterKind::Dram { node, mcu, role })
    }

    /// Returns a Zambezi hub's register, which is one of registers 18 to 89.
    pub const fn hub(hub: Hub, unit: HubUnit, role: HubRole) -> Self {
        Self::from_kind(RegisterKind::Hub { hub, unit, role })
    }

    /// Returns the PerfReg number, 0 to 89.
    pub const fn id(self) -> u64 {
        self.0 as u64
    }

    /// Returns the PerfReg number as an index into a table of [`PerfReg::COUNT`] elements.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the properties that the specification states for the register.
    pub const fn info(self) -> &'static RegisterInfo {
        // `new` accepts only ids below COUNT. The compiler does not know this limit, and would otherwise add a panic.
        let index = self.index();
        if index < Self::COUNT { &TABLE[index] } else { &TABLE[0] }
    }

    /// Returns the role of the register, and its place.
    pub const fn kind(self) -> RegisterKind {
        self.info().kind
    }

    /// Returns the register's name in the specification, such as `NODE0_MCU0_PCR` or `ZAM2_LPU_C_PIC1`.
    pub const fn name(self) -> &'static str {
        self.info().name
    }
}

impl fmt::Debug for PerfReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.name())
    }
}

named!(PerfReg, "register", name);
in_range!(PerfReg, u64, "register", 0, Self::COUNT - 1);
