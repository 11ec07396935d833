//! Where a register is (node, channel, hub, part of a hub), and which of the registers there.

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $item:ident $text:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$item_doc])* $item,)* }

        impl $name {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// Returns the one with this number; `None` if there is none.
            pub const fn new(number: usize) -> Option<Self> {
                $(if number == Self::$item as usize {
                    return Some(Self::$item);
                })*
                None
            }

            /// Returns its number, from 0.
            pub const fn index(self) -> usize {
                self as usize
            }

            /// Returns the part of a register's name that stands for it.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$item => $text,)* }
            }
        }
    )* };
}

places! {
    /// One of up to four Victoria Falls processors of a machine.
    Node {
        /// Node 0.
        Node0 "NODE0",
        /// Node 1.
        Node1 "NODE1",
        /// Node 2.
        Node2 "NODE2",
        /// Node 3.
        Node3 "NODE3",
    }
    /// One of the two DRAM channels of a node, with its memory controller.
    Mcu {
        /// Channel 0.
        Mcu0 "MCU0",
        /// Channel 1.
        Mcu1 "MCU1",
    }
    /// A register of a DRAM channel.
    McuRole {
        /// Selects what is counted.
        Pcr "PCR",
        /// Two 31-bit counters.
        Pic "PIC",
    }
    /// One of the four Zambezi chips of a Batoka.
    Hub {
        /// Zambezi 0.
        Zam0 "ZAM0",
        /// Zambezi 1.
        Zam1 "ZAM1",
        /// Zambezi 2.
        Zam2 "ZAM2",
        /// Zambezi 3.
        Zam3 "ZAM3",
    }
    /// A part of a hub that has counters.
    HubUnit {
        /// Link port unit A, the link to node 0.
        LpuA "LPU_A",
        /// Link port unit B, the link to node 1.
        LpuB "LPU_B",
        /// Link port unit C, the link to node 2.
        LpuC "LPU_C",
        /// Link port unit D, the link to node 3.
        LpuD "LPU_D",
        /// General purpose design block.
        Gpd "GPD",
        /// Address serialization unit.
        Asu "ASU",
    }
    /// One of the four link ports of a hub.
    Port {
        /// Port A, the link to node 0.
        A "LPU_A",
        /// Port B, the link to node 1.
        B "LPU_B",
        /// Port C, the link to node 2.
        C "LPU_C",
        /// Port D, the link to node 3.
        D "LPU_D",
    }
    /// A register of a part of a hub.
    HubRole {
        /// Selects what is counted.
        Pcr "PCR",
        /// Counter 0, 64 bits.
        Pic0 "PIC0",
        /// Counter 1, 64 bits.
        Pic1 "PIC1",
    }
    /// One of the two counters of a PMU or a strand.
    Counter {
        /// Counter 0.
        Pic0 "PIC0",
        /// Counter 1.
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
