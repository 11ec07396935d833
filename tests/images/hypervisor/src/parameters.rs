//! Parameters of the image: words in the last bytes of the hypervisor's memory, which the program that starts the machine writes.

use platform::{Machine, Model};

/// The machine: 0 for a Batoka with four nodes; else the number of nodes in bits 7:0, and bit 8 for a Maramba.
const MACHINE: *const u64 = 0x3ff_fff8 as *const u64;

/// The address at which the guest begins: 0 for the first byte of the partition's memory.
const ENTRY: *const u64 = 0x3ff_fff0 as *const u64;

const PARTITION: u64 = 0x8000_0000;

pub struct Parameters {
    pub machine: Machine,
    pub entry: u64,
}

pub fn read() -> Parameters {
    // SAFETY: memory of the machine that the image does not use.
    let (machine, entry) = unsafe { (MACHINE.read_volatile(), ENTRY.read_volatile()) };
    let model = if machine & 0x100 == 0 {
        Model::Batoka
    } else {
        Model::Maramba
    };
    let nodes = match machine & 0xff {
        0 => model.max_nodes(),
        nodes => nodes as usize,
    };
    Parameters {
        machine: Machine::new(model, nodes)
            .or(Machine::new(model, model.max_nodes()))
            .unwrap_or_else(|_| crate::ended(crate::console::NOT_STARTED)),
        entry: if entry == 0 { PARTITION } else { entry },
    }
}
