//! The address and the writable bits of each of the 90 registers (FWARC/2007/529 sections 2 and 3.1), computed at compile time.

use guest_abi::{Node, PerfReg, RegisterKind};
use platform::address::{L2_BANKS, l2_control};
use platform::{PhysicalAddress, address};

use crate::rights::access::AccessWord;
use crate::units::Unit;

#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Row {
    /// The register's address; bank 0's address for register 1, and 0 for register 0.
    pub(crate) address: PhysicalAddress,
    /// The bits that a guest can write.
    pub(crate) mask: u64,
    /// The register's bit number in an [`AccessWord`]. All registers of a hub share a bit.
    pub(crate) place: u64,
}

/// All registers, for calls from one node. That node's DRAM registers have local addresses, and all other registers have global addresses.
pub(crate) type Rows = [Row; PerfReg::COUNT];

const NODES: usize = Node::ALL.len();

/// The tables, indexed by the calling strand's node.
static ROWS: [Rows; NODES] = {
    let none = Row { address: PhysicalAddress(0), mask: 0, place: 0 };
    let mut tables = [[none; PerfReg::COUNT]; NODES];
    let mut node = 0;
    while node < NODES {
        let mut id = 0;
        while let Some(register) = PerfReg::new(id as u64) {
            if let Some(address) = address_from(node, register) {
                tables[node][id].address = address;
            }
            tables[node][id].mask = register.info().write_mask;
            tables[node][id].place = AccessWord::place(register);
            id += 1;
        }
        node += 1;
    }
    tables
};

const fn address_from(caller: usize, register: PerfReg) -> Option<PhysicalAddress> {
    match register.kind() {
        RegisterKind::L2 => l2_control(0),
        RegisterKind::Dram { node, .. } if node.index() == caller => address::local(register),
        _ => address::global(register),
    }
}

pub(crate) fn rows(node: Node) -> &'static Rows {
    &ROWS[node.index()]
}

/// Returns the unit that a strand of `node` accesses at `address`.
pub(crate) fn unit_at(node: Node, address: PhysicalAddress) -> Option<Unit> {
    let mut banks = (0..L2_BANKS).filter_map(l2_control);
    if banks.any(|bank| bank == address) {
        return Some(Unit::L2(node));
    }
    let index = rows(node).iter().position(|row| row.address == address)?;
    Unit::for_register(PerfReg::new(index as u64)?, node)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The DRAM registers of the caller's node (section 2.2) and register 1 have local addresses. Register 0 has no address. All other
    /// registers have global addresses.
    #[test]
    fn addresses_from_each_node() {
        let globals = [
            (2, 0xd0_0000_0400),
            (6, 0xd4_0000_0400),
            (10, 0xd8_0000_0400),
            (14, 0xdc_0000_0400),
            (18, 0xe1_3000_4000),
        ];
        for caller in Node::ALL {
            let address = |id: usize| rows(*caller)[id].address.0;
            for (id, global) in globals {
                let own = id == 2 + 4 * caller.index();
                let expected = if own { 0x84_0000_0400 } else { global };
                assert_eq!(address(id), expected, "{caller:?} {id}");
            }
            assert_eq!([0, 1].map(address), [0, 0xa9_0000_0000]);
        }
    }
}
