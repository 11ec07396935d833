//! A register's place (node, channel, hub, part of a hub), and its role at that place.

crate::numbered::numbered! {
    /// A Victoria Falls processor. A machine has up to four.
    Node "node" { Node0 "NODE0", Node1 "NODE1", Node2 "NODE2", Node3 "NODE3", }

    /// One of a node's two DRAM channels, with its memory controller.
    Mcu "memory controller" { Mcu0 "MCU0", Mcu1 "MCU1", }

    /// One of a DRAM channel's two performance registers.
    McuRole "register of a DRAM channel" {
        /// Selects the events that are counted.
        Pcr "PCR",
        /// Holds two 31-bit counters.
        Pic "PIC",
    }

    /// One of a Batoka's four Zambezi chips.
    Hub "hub" { Zam0 "ZAM0", Zam1 "ZAM1", Zam2 "ZAM2", Zam3 "ZAM3", }

    /// A part of a hub, with its own counters.
    HubUnit "part of a hub" {
        /// Link port unit A, the link to node 0.
        LpuA "LPU_A",
        /// Link port unit B, the link to node 1.
        LpuB "LPU_B",
        /// Link port unit C, the link to node 2.
        LpuC "LPU_C",
        /// Link port unit D, the link to node 3.
        LpuD "LPU_D",
        /// The general purpose design block of the hub (FWARC/2007/529 section 2.5).
        Gpd "GPD",
        /// The address serialization unit of the hub (FWARC/2007/529 section 2.6).
        Asu "ASU",
    }

    /// One of a hub's four link ports. Port A leads to node 0, port D to node 3.
    Port "port" { A "LPU_A", B "LPU_B", C "LPU_C", D "LPU_D", }

    /// A register of one part of a hub.
    HubRole "register of a hub" {
        /// Selects the events that are counted.
        Pcr "PCR",
        /// Counter 0, 64 bits.
        Pic0 "PIC0",
        /// Counter 1, 64 bits.
        Pic1 "PIC1",
    }
}

impl Port {
    /// Returns the link port unit of this port.
    pub const fn unit(self) -> HubUnit {
        match self {
            Self::A => HubUnit::LpuA,
            Self::B => HubUnit::LpuB,
            Self::C => HubUnit::LpuC,
            Self::D => HubUnit::LpuD,
        }
    }
}
