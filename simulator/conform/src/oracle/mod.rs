//! A reference model of the whole contract, with which tests compare the real service. The model is written from the documents alone, and
//! shares no code, table or type with the crates under test.
//!
//! The model makes one call at a time, and each access ends within its call. The model therefore returns EWOULDBLOCK only if a hub's
//! hardware answers "busy". The service also returns EWOULDBLOCK to a strand if a strand that was refused earlier must be served first. The
//! model never does this. After a hub has been busy, a test therefore lets the refused strand ask first, or begins with a new world.

pub mod call;
pub mod device;
pub mod negotiation;
pub mod policy;
pub mod registers;
pub mod status;
pub mod transfer;

#[cfg(test)]
mod tests;

pub use call::{Console, Outcome, Trap};
pub use device::{Access, Action, Answer, Cell, Fault, HubCondition, Target, Unit};
pub use policy::{Grant, StrandGrant};
pub use transfer::{Owed, Transfer};

use negotiation::Versions;
use std::collections::{BTreeMap, BTreeSet};

/// The number of strands per node: 8 cores of 8 strands.
pub const STRANDS_PER_NODE: u16 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// T5140, T5240, T6340, Netra-T5440: 1 or 2 nodes, without hubs.
    Maramba,
    /// T5440: 1 to 4 nodes, with 4 hubs.
    Batoka,
}

impl Machine {
    pub fn most_nodes(self) -> usize {
        match self {
            Machine::Maramba => 2,
            Machine::Batoka => 4,
        }
    }

    /// Returns the hubs' numbers in ascending order. A Maramba has none.
    pub fn hubs(self) -> &'static [usize] {
        match self {
            Machine::Maramba => &[],
            Machine::Batoka => &[0, 1, 2, 3],
        }
    }
}

/// A guest's configuration, rights and versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    pub strands: Vec<u16>,
    /// The rights that the guest holds.
    pub grant: Grant,
    /// The rights that the operator has granted. While a transfer is pending, the guest may hold only some of these rights.
    pub granted: Grant,
    /// Whether version 1.0 has the registers of 1.1.
    pub compat: bool,
    /// What the guest has negotiated since its last reset.
    pub versions: Versions,
}

impl Guest {
    /// Returns a guest that has just been reset. The compatibility switch is off.
    pub fn new(strands: impl IntoIterator<Item = u16>, grant: Grant) -> Guest {
        Guest {
            strands: strands.into_iter().collect(),
            grant,
            granted: grant,
            compat: false,
            versions: Versions::default(),
        }
    }

    pub fn with_compat(self) -> Guest {
        Guest { compat: true, ..self }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The machine cannot have this number of nodes.
    Nodes,
    /// One of the disabled channels does not exist in the machine.
    Channel,
    /// A strand is on a node that the machine does not have.
    Strand,
    /// A strand belongs to two guests, or is listed twice in one guest.
    SharedStrand,
    /// More than one guest has `global`.
    TwoGlobal,
    /// The number of grants differs from the number of guests.
    GrantCount,
}

/// A machine, its guests, and the contents of its registers. A test sets the public fields before a call, and checks them afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    pub machine: Machine,
    pub nodes: usize,
    /// Memory channels (node, MCU) that the machine description disables.
    pub disabled_channels: BTreeSet<(usize, usize)>,
    pub guests: Vec<Guest>,
    /// The contents of the device registers. A missing entry means 0.
    pub devices: BTreeMap<Cell, u64>,
    /// Each strand's PCR. A missing entry means 0.
    pub pcr: BTreeMap<u16, u64>,
    /// Each strand's PIC. A missing entry means 0.
    pub pic: BTreeMap<u16, u64>,
    pub hubs: [HubCondition; 4],
    pub faults: BTreeMap<Cell, Fault>,
    /// The units that a fault has taken out of service.
    pub out_of_service: BTreeSet<Unit>,
    /// For each unit, the number of calls and scrubs that have met a fault.
    pub fault_counts: BTreeMap<Unit, u32>,
    pub transfer: Transfer,
}

impl World {
    /// Returns a machine that has just been switched on: every register is 0, every hub is free, and nothing is broken.
    pub fn new(
        machine: Machine,
        nodes: usize,
        disabled_channels: &[(usize, usize)],
        guests: Vec<Guest>,
    ) -> Result<World, Invalid> {
        if nodes == 0 || nodes > machine.most_nodes() {
            return Err(Invalid::Nodes);
        }
        if disabled_channels.iter().any(|&(node, mcu)| node >= machine.most_nodes() || mcu > 1) {
            return Err(Invalid::Channel);
        }
        let mut seen = BTreeSet::new();
        for &strand in guests.iter().flat_map(|guest| &guest.strands) {
            if World::node_of(strand) >= nodes {
                return Err(Invalid::Strand);
            }
            if !seen.insert(strand) {
                return Err(Invalid::SharedStrand);
            }
        }
        if guests.iter().filter(|guest| guest.grant.global).count() > 1 {
            return Err(Invalid::TwoGlobal);
        }
        Ok(World {
            machine,
            nodes,
            disabled_channels: disabled_channels.iter().copied().collect(),
            guests,
            devices: BTreeMap::new(),
            pcr: BTreeMap::new(),
            pic: BTreeMap::new(),
            hubs: [HubCondition::Free; 4],
            faults: BTreeMap::new(),
            out_of_service: BTreeSet::new(),
            fault_counts: BTreeMap::new(),
            transfer: Transfer::default(),
        })
    }

    pub fn break_unit(&mut self, unit: Unit) {
        for cell in unit.cells() {
            self.faults.insert(cell, Fault::Always);
        }
    }

    pub fn holds(&self, cell: Cell) -> u64 {
        self.devices.get(&cell).copied().unwrap_or(0)
    }

    pub fn pcr_of(&self, strand: u16) -> u64 {
        self.pcr.get(&strand).copied().unwrap_or(0)
    }

    pub fn node_of(strand: u16) -> usize {
        usize::from(strand / STRANDS_PER_NODE)
    }

    /// Returns `true` if the configured machine has the unit.
    pub fn has_unit(&self, unit: Unit) -> bool {
        match unit {
            Unit::L2 { node } => node < self.nodes,
            Unit::Mcu { node, mcu } => {
                node < self.nodes && !self.disabled_channels.contains(&(node, mcu))
            }
            Unit::Hub(hub) => self.machine.hubs().contains(&hub),
        }
    }

    pub fn strands(&self) -> Vec<u16> {
        let strands = self.guests.iter().flat_map(|guest| &guest.strands);
        strands.copied().collect()
    }

    pub fn guest_of(&self, strand: u16) -> usize {
        let mut guests = self.guests.iter();
        let index = guests.position(|guest| guest.strands.contains(&strand));
        index.unwrap_or_else(|| panic!("strand {strand} is in no guest"))
    }
}
