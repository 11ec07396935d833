//! The register table: for each of the 90, the address and the bits that a guest can write (FWARC/2007/529
//! sections 2 and 3.1), computed at compile time.

use guest_abi::layout::{
    AsuPcr, DramPcr, DramPic, EventSelect, GpdPcr, LpuPcr, PerfConfig, SparcPcr,
};
use guest_abi::{HubRole, HubUnit, Kind, McuRole, Node, PerfReg};
use platform::{PhysicalAddress, address};

/// The addresses of all registers for the strands of one node: its own DRAM registers by local address, everything
/// else by global address. Registers 0 and 1 have none.
pub(crate) type Addresses = [PhysicalAddress; PerfReg::COUNT];

const NODES: usize = Node::ALL.len();

/// One table of addresses for each node that a call can come from.
static ADDRESSES: [Addresses; NODES] = {
    let mut tables = [[PhysicalAddress(0); PerfReg::COUNT]; NODES];
    let mut node = 0;
    while node < NODES {
        let mut id = 0;
        while id < PerfReg::COUNT {
            if let Some(address) = address_from(node, id) {
                tables[node][id] = address;
            }
            id += 1;
        }
        node += 1;
    }
    tables
};

const fn address_from(caller: usize, id: usize) -> Option<PhysicalAddress> {
    let Some(register) = PerfReg::new(id as u64) else {
        return None;
    };
    match register.kind() {
        Kind::Dram { node, .. } if node.index() == caller => address::local(register),
        _ => address::global(register),
    }
}

/// The addresses that strands of this node use.
pub(crate) fn addresses(node: Node) -> &'static Addresses {
    &ADDRESSES[node.index()]
}

/// The bits of a register that a guest can write; what is written to the others is dropped.
pub const fn write_mask(register: PerfReg) -> u64 {
    match register.kind() {
        Kind::Strand => SparcPcr::WRITABLE,
        Kind::L2 => PerfConfig::WRITABLE,
        Kind::Dram {
            role: McuRole::Pcr, ..
        } => DramPcr::WRITABLE,
        Kind::Dram {
            role: McuRole::Pic, ..
        } => DramPic::WRITABLE,
        Kind::Hub {
            role: HubRole::Pic0 | HubRole::Pic1,
            ..
        } => u64::MAX,
        Kind::Hub {
            unit,
            role: HubRole::Pcr,
            ..
        } => match unit {
            HubUnit::LpuA | HubUnit::LpuB | HubUnit::LpuC | HubUnit::LpuD => LpuPcr::WRITABLE,
            HubUnit::Gpd => GpdPcr::WRITABLE,
            HubUnit::Asu => AsuPcr::WRITABLE,
        },
    }
}

/// [`write_mask`] of all registers, for the fast path.
pub(crate) static WRITE_MASKS: [u64; PerfReg::COUNT] = {
    let mut masks = [0; PerfReg::COUNT];
    let mut id = 0;
    while id < PerfReg::COUNT {
        if let Some(register) = PerfReg::new(id as u64) {
            masks[id] = write_mask(register);
        }
        id += 1;
    }
    masks
};
