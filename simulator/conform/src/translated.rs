//! Translates between the types of the crates under test and the separate types of the [reference model](crate::oracle).

use guest_abi::{Hub, Mcu, Node, Trap};
use perfctr_service::{GuestConfig, StrandRight, Unit};
use platform::Model;

use crate::oracle::{self, Grant, Guest, Machine, StrandGrant, World};
use crate::{Cell, Configuration};

/// Returns the reference model's machine for a platform model.
pub fn machine(model: Model) -> Machine {
    match model {
        Model::Maramba => Machine::Maramba,
        Model::Batoka => Machine::Batoka,
    }
}

/// Returns the reference model's machine for a configuration.
pub fn world(configuration: &Configuration) -> World {
    let model = machine(configuration.machine.model());
    let nodes = configuration.machine.nodes();
    let disabled = (0..2 * nodes)
        .map(|channel| (channel / 2, channel % 2))
        .filter(|(node, mcu)| !configuration.machine.has_channel(Node::ALL[*node], Mcu::ALL[*mcu]))
        .collect::<Vec<_>>();
    let guests = configuration.guests.iter().map(|config| {
        let GuestConfig { strands, grant, compatible } = *config;
        let strands = strands.iter().map(|strand| strand.number().into());
        let guest = Guest::new(strands, grant_of(grant));
        if compatible { guest.with_compat() } else { guest }
    });
    World::new(model, nodes, &disabled, guests.collect()).expect("guests that fit")
}

pub fn trap(trap: Trap) -> oracle::Trap {
    match trap {
        Trap::Fast => oracle::Trap::Fast,
        Trap::Core => oracle::Trap::Core,
    }
}

/// Returns the service's grant for a grant in the reference model.
pub fn grant(grant: Grant) -> perfctr_service::Grant {
    perfctr_service::Grant {
        strand: match grant.strand {
            StrandGrant::None => StrandRight::None,
            StrandGrant::Strand => StrandRight::Strand,
            StrandGrant::HtStrand => StrandRight::HtStrand,
        },
        global: grant.global,
    }
}

/// Returns the reference model's grant for a grant in the service.
pub fn grant_of(given: perfctr_service::Grant) -> Grant {
    let mut grants = Grant::ALL.into_iter();
    grants.find(|one| grant(*one) == given).expect("a combination of rights")
}

/// Returns the service's unit for a unit in the reference model.
pub fn unit(unit: oracle::Unit) -> Unit {
    match unit {
        oracle::Unit::L2 { node } => Unit::L2(Node::ALL[node]),
        oracle::Unit::Mcu { node, mcu } => Unit::Mcu(Node::ALL[node], Mcu::ALL[mcu]),
        oracle::Unit::Hub(hub) => Unit::Hub(Hub::ALL[hub]),
    }
}

/// Returns every unit that the largest machine has.
pub fn all_units() -> impl Iterator<Item = oracle::Unit> {
    let nodes = (0..4).map(|node| oracle::Unit::L2 { node });
    let channels = (0..8).map(|number| oracle::Unit::Mcu { node: number / 2, mcu: number % 2 });
    nodes.chain(channels).chain((0..4).map(oracle::Unit::Hub))
}

/// Returns the reference model's unit for a unit in the service.
pub fn unit_of(of: Unit) -> oracle::Unit {
    let found = all_units().find(|one| unit(*one) == of);
    found.expect("a unit of the largest machine")
}

/// Returns a node whose strands can return the unit to service.
pub fn node_of(unit: oracle::Unit) -> usize {
    match unit {
        oracle::Unit::L2 { node } => node,
        oracle::Unit::Mcu { .. } | oracle::Unit::Hub(_) => 0,
    }
}

/// Returns the reference model's cell for a device register.
pub fn cell_of(cell: Cell) -> oracle::Cell {
    match cell {
        Cell::L2(node, bank) => oracle::Cell::L2 { node: node.index(), bank },
        Cell::Register(register) => oracle::Cell::Register(register.id()),
    }
}
