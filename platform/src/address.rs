//! The physical addresses of the registers (FWARC/2007/529 sections 2.2 to 2.6 and 3.1).

use core::fmt;

use guest_abi::{Hub, HubRole, HubUnit, Mcu, McuRole, Node, PerfReg, RegisterKind};

/// A 40-bit physical address. Performance registers have addresses with bit 39 set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PhysicalAddress(pub u64);

impl fmt::Display for PhysicalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for PhysicalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The L2 control registers of a node, one register per bank. The registers have local addresses only.
const L2_CONTROL: u64 = 0xa9_0000_0000;
const L2_BANK_STRIDE: u64 = 0x40;

/// The number of banks in an L2 cache. Each bank has a control register.
pub const L2_BANKS: usize = 8;

const DRAM_LOCAL: u64 = 0x84_0000_0000;
const DRAM_GLOBAL: u64 = 0xd0_0000_0000;
const DRAM_CHANNEL_STRIDE: u64 = 0x1000;
const DRAM_PERFORMANCE: u64 = 0x400;

const HUB_LOCAL: u64 = 0x81_3000_0000;
const HUB_GLOBAL: u64 = 0xe1_3000_0000;

/// The lower of the two bits that hold the node or hub number in a global address.
const GLOBAL_SHIFT: u32 = 34;

const fn dram_offset(mcu: Mcu, role: McuRole) -> u64 {
    mcu as u64 * DRAM_CHANNEL_STRIDE + DRAM_PERFORMANCE + role as u64 * 8
}

/// The 16-bit address of a register within its hub: the column "Zambezi address" of sections 2.4 to 2.6.
const fn within_hub(unit: HubUnit, role: HubRole) -> u64 {
    ((2 * unit as u64 + 1) << 12) | (role as u64 * 8)
}

/// Returns the global address of a DRAM register on any node (section 2.2).
pub const fn dram_global(node: Node, mcu: Mcu, role: McuRole) -> PhysicalAddress {
    PhysicalAddress(DRAM_GLOBAL + ((node as u64) << GLOBAL_SHIFT) + dram_offset(mcu, role))
}

/// Returns the Victoria Falls access address of a hub register (sections 2.4 to 2.6). Bits 39:28 are 0x813. Bits 17:14 and 11:0 hold the
/// two parts of the address within the hub. Bits 13:12 hold the hub number.
///
/// Section 3.1 uses some of these addresses as local addresses, with another meaning. The service avoids this conflict: it accesses hubs
/// only at their [global addresses](hub_global).
pub const fn hub_access(hub: Hub, unit: HubUnit, role: HubRole) -> PhysicalAddress {
    let address = within_hub(unit, role);
    PhysicalAddress(HUB_LOCAL + ((address >> 12) << 14) + ((hub as u64) << 12) + (address & 0xfff))
}

/// Returns the global address of a hub register (section 3.1): the [access address](hub_access) with the hub's number also in bits 35:34.
pub const fn hub_global(hub: Hub, unit: HubUnit, role: HubRole) -> PhysicalAddress {
    let PhysicalAddress(access) = hub_access(hub, unit, role);
    PhysicalAddress(access - HUB_LOCAL + HUB_GLOBAL + ((hub as u64) << GLOBAL_SHIFT))
}

/// Returns the local address of an L2 bank's control register (section 2.3) on the accessing strand's node; `None` if `bank` is above 7.
pub const fn l2_control(bank: usize) -> Option<PhysicalAddress> {
    if bank < L2_BANKS {
        Some(PhysicalAddress(L2_CONTROL + bank as u64 * L2_BANK_STRIDE))
    } else {
        None
    }
}

/// Returns the local address of a performance register; `None` for register 0 (%pcr) and register 1 (the L2 control registers of all
/// banks). A DRAM register's address refers to the accessing strand's node (section 2.2). A hub register's local address does not contain
/// the hub number (section 3.1). The service accesses hubs only at their global addresses.
pub const fn local(register: PerfReg) -> Option<PhysicalAddress> {
    Some(PhysicalAddress(match register.kind() {
        RegisterKind::Strand | RegisterKind::L2 => return None,
        RegisterKind::Dram { mcu, role, .. } => DRAM_LOCAL + dram_offset(mcu, role),
        RegisterKind::Hub { unit, role, .. } => HUB_LOCAL + within_hub(unit, role),
    }))
}

/// Returns the global address of a performance register; `None` for register 0 (%pcr) and register 1 (L2 control), which have no global
/// address.
pub const fn global(register: PerfReg) -> Option<PhysicalAddress> {
    match register.kind() {
        RegisterKind::Strand | RegisterKind::L2 => None,
        RegisterKind::Dram { node, mcu, role } => Some(dram_global(node, mcu, role)),
        RegisterKind::Hub { hub, unit, role } => Some(hub_global(hub, unit, role)),
    }
}
