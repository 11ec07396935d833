//! Finds the register at a physical address.

use guest_abi::{Hub, HubRole, HubUnit, Mcu, McuRole, Node};

use crate::PhysicalAddress;
use crate::address::L2_BANKS;

/// A register of a device. For L2, this is a bank's control register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceRegister {
    L2(Node, usize),
    Dram(Node, Mcu, McuRole),
    Hub(Hub, HubUnit, HubRole),
}

/// Returns the register at an address, for a strand of `node`. A local hub address refers to the hub with the same number as the node.
pub(super) fn decode(node: Node, address: PhysicalAddress) -> Option<DeviceRegister> {
    let PhysicalAddress(address) = address;
    let offset = address & 0xffff_ffff;
    let hub_offset = || offset.checked_sub(0x3000_0000);
    // The node or hub number in a global address.
    let number = (address >> 34 & 3) as usize;
    match address >> 32 {
        0x81 => hub_register(Hub::new(node.index())?, hub_offset()?),
        0x84 => dram_register(node, offset),
        0xa9 => l2_register(node, offset),
        0xd0 | 0xd4 | 0xd8 | 0xdc => dram_register(Node::new(number)?, offset),
        0xe1 | 0xe5 | 0xe9 | 0xed => {
            // Bits 13:12 repeat the hub number. If the two numbers differ, there is no register at the address.
            let offset = hub_offset().filter(|offset| (offset >> 12 & 3) as usize == number)?;
            hub_register(Hub::new(number)?, offset >> 14 << 12 | offset & 0xfff)
        }
        _ => None,
    }
}

fn l2_register(node: Node, offset: u64) -> Option<DeviceRegister> {
    let bank = (offset / 0x40) as usize;
    (offset.is_multiple_of(0x40) && bank < L2_BANKS).then_some(DeviceRegister::L2(node, bank))
}

fn dram_register(node: Node, offset: u64) -> Option<DeviceRegister> {
    let role = match offset & 0xfff {
        0x400 => McuRole::Pcr,
        0x408 => McuRole::Pic,
        _ => return None,
    };
    let mcu = Mcu::new((offset >> 12) as usize)?;
    Some(DeviceRegister::Dram(node, mcu, role))
}

fn hub_register(hub: Hub, offset: u64) -> Option<DeviceRegister> {
    let role = match offset & 0xfff {
        0x0 => HubRole::Pcr,
        0x8 => HubRole::Pic0,
        0x10 => HubRole::Pic1,
        _ => return None,
    };
    // The units are at odd multiples of 0x1000.
    let page = offset >> 12;
    let unit = HubUnit::new((page / 2) as usize)?;
    (page % 2 == 1).then_some(DeviceRegister::Hub(hub, unit, role))
}

#[cfg(test)]
mod tests {
    use guest_abi::{PerfReg, RegisterKind};

    use super::*;
    use crate::address;

    const NODE: Node = Node::Node2;

    fn at(address: u64) -> Option<DeviceRegister> {
        decode(NODE, PhysicalAddress(address))
    }

    #[test]
    fn addresses_of_the_specification() {
        use HubRole::{Pcr, Pic0, Pic1};
        use HubUnit::{Asu, Gpd, LpuA};
        for (address, node, mcu, role) in [
            (0x84_0000_0400, NODE, Mcu::Mcu0, McuRole::Pcr),
            (0x84_0000_1408, NODE, Mcu::Mcu1, McuRole::Pic),
            (0xdc_0000_1400, Node::Node3, Mcu::Mcu1, McuRole::Pcr),
        ] {
            assert_eq!(at(address), Some(DeviceRegister::Dram(node, mcu, role)));
        }
        assert_eq!(at(0xa9_0000_0000), Some(DeviceRegister::L2(NODE, 0)));
        assert_eq!(at(0xa9_0000_01c0), Some(DeviceRegister::L2(NODE, 7)));
        for (address, hub, unit, role) in [
            (0xe1_3000_4000, Hub::Zam0, LpuA, Pcr),
            (0xed_3000_7010, Hub::Zam3, LpuA, Pic1),
            (0xe5_3002_d008, Hub::Zam1, Asu, Pic0),
            (0x81_3000_9000, Hub::Zam2, Gpd, Pcr),
        ] {
            assert_eq!(at(address), Some(DeviceRegister::Hub(hub, unit, role)));
        }
    }

    #[test]
    fn addresses_of_all_registers_and_their_neighbours() {
        for register in PerfReg::ALL {
            let Some(PhysicalAddress(global)) = address::global(register) else {
                continue;
            };
            let expected = match register.kind() {
                RegisterKind::Dram { node, mcu, role } => DeviceRegister::Dram(node, mcu, role),
                RegisterKind::Hub { hub, unit, role } => DeviceRegister::Hub(hub, unit, role),
                RegisterKind::Strand | RegisterKind::L2 => unreachable!("no address"),
            };
            assert_eq!(at(global), Some(expected), "{register}");
            let beside = [1, 4, 0x800].map(|distance| global + distance);
            for beside in beside.into_iter().chain([global | 1 << 39 | 1 << 31]) {
                assert_eq!(at(beside), None, "{beside:#x}");
            }
        }
    }

    #[test]
    fn addresses_without_a_register() {
        for address in [
            0,
            0x84_0000_2400,
            0x84_0000_0000,
            0xd1_0000_0400,
            0xd0_0000_2400,
            0xa9_0000_0200,
            0xa9_0000_0008,
            0xe1_3000_5000,
            0xe1_3000_0000,
            0xe1_3000_8000,
            0xe1_3003_4000,
            0xe1_2fff_f000,
            0x81_3000_0000,
            0x81_3000_d000,
            0x81_0000_0008,
            1 << 40 | 0x84_0000_0400,
            u64::MAX,
        ] {
            assert_eq!(at(address), None, "{address:#x}");
        }
    }
}
