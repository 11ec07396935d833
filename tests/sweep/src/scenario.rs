//! Machines and the guests that they start with.

use guest_abi::StrandId;
use perfctr_service::{Grant, GuestConfig, StrandRight, StrandSet};
use platform::{Machine, MachineError, Model};

/// How many there are.
pub const COUNT: u64 = 8;

/// The machine of a scenario.
///
/// # Errors
/// None for a scenario below [`COUNT`].
pub fn machine(scenario: u64) -> Result<Machine, MachineError> {
    match scenario % 4 {
        0 => Machine::new(Model::Batoka, 4),
        1 => Machine::new(Model::Maramba, 2),
        2 => Machine::new(Model::Batoka, 2),
        _ => Machine::new(Model::Maramba, 1),
    }
}

/// Its three guests, of which the first has the more rights.
pub fn guests(scenario: u64) -> [GuestConfig; 3] {
    let nodes = match scenario % 4 {
        3 => 1,
        _ => 2,
    };
    let later = scenario >= 4;
    let guest = |number: usize, grant, compatible| GuestConfig {
        strands: (0..nodes)
            .filter_map(|node| strand(number, node))
            .collect::<StrandSet>(),
        grant,
        compatible,
    };
    let grant = |strand, global| Grant { strand, global };
    [
        guest(0, grant(StrandRight::HtStrand, !later), false),
        guest(1, grant(StrandRight::Strand, later), later),
        guest(2, grant(StrandRight::None, false), true),
    ]
}

/// A guest's strand on a node.
pub fn strand(guest: usize, node: usize) -> Option<StrandId> {
    StrandId::new(node * StrandId::PER_NODE + guest)
}
