//! Sweep parts in which devices fault. The parts use every register of every unit. Afterwards, they check the state and the calls of all
//! guests.

use guest_abi::{Hub, Node, PerfReg, RegisterKind};
use perfctr_service::{Grant, Unit};
use platform::{Machine, Model};

use super::strand;
use crate::configuration::guest;
use crate::{Cell, Change, Configuration, Part, System};

/// Reads and writes every register of a broken unit. These accesses take this unit, and no other, out of service.
pub const BROKEN_UNITS: Part = Part {
    name: "every register on a broken unit",
    limit: WORLDS.len() * RIGHTS.len() * 2,
    configuration: |number| {
        let (number, minor) = (number / 2, number % 2);
        let (number, right) = (number / RIGHTS.len(), number % RIGHTS.len());
        let (model, nodes) = WORLDS[number];
        world(model, nodes, RIGHTS[right], minor == 0)
    },
    run: broken_units,
};

/// Resets a guest while a hub is out of service. The guest still has the other hubs.
pub const WITHOUT_A_HUB: Part = Part {
    name: "resets while a hub is out of service",
    limit: 2 * Hub::ALL.len(),
    configuration: |number| world(Model::Batoka, 2, Grant::GLOBAL, number % 2 == 0),
    run: without_a_hub,
};

/// Returns one of several units to service, while the others stay out of service.
pub const ONE_BY_ONE: Part = Part {
    name: "units return to service one by one",
    limit: 1,
    configuration: |_| world(Model::Batoka, 4, Grant::ALL, false),
    run: one_by_one,
};

/// A write of PERF_CONFIG fails at one of the banks. Afterwards, every bank has its old value.
pub const HALF_AN_L2: Part = Part {
    name: "sets of an L2 that fail at any bank",
    limit: BANKS.len(),
    configuration: |_| world(Model::Batoka, 2, Grant::GLOBAL, false),
    run: half_an_l2,
};

const WORLDS: [(Model, usize); 4] =
    [(Model::Maramba, 1), (Model::Maramba, 2), (Model::Batoka, 1), (Model::Batoka, 4)];

const RIGHTS: [Grant; 3] = [Grant::NONE, Grant::HTSTRAND, Grant::GLOBAL];

/// The strand of the neighbour, a guest without rights.
const NEIGHBOUR: usize = 5;

/// Returns a guest on the first strand of every node, and a neighbour without rights.
fn world(model: Model, nodes: usize, grant: Grant, compatible: bool) -> Option<Configuration> {
    let tested = guest((0..nodes).map(|node| 64 * node), grant).with_compatible(compatible);
    let guests = [tested, guest([NEIGHBOUR], Grant::NONE)];
    Some(Configuration::new(Machine::new(model, nodes).ok()?, guests))
}

/// Stores a nonzero value in every register of the machine.
fn fill(machine: Machine, system: &mut dyn System) {
    for (number, cell) in Cell::all().enumerate() {
        let value = 0x1f_e123_0000 + number as u64;
        match cell {
            Cell::L2(node, _) if machine.has_node(node) => system.change(Change::Put(cell, value)),
            Cell::Register(register) if machine.has_register(register) => {
                system.change(Change::Put(cell, value & register.info().write_mask));
            }
            _ => {}
        }
    }
}

fn start(configuration: &Configuration, system: &mut dyn System, minor: u64) {
    (0..2).for_each(|guest| system.start(configuration, guest, Some(minor)));
}

/// Reads every register from every strand of both guests.
fn look(configuration: &Configuration, system: &mut dyn System) {
    let guests = configuration.guests.iter();
    for strand in guests.flat_map(|guest| guest.strands.iter()) {
        (0..91).for_each(|id| system.get(strand, id));
    }
    system.state();
}

fn broken_units(number: usize, configuration: &Configuration, system: &mut dyn System) {
    let last = 64 * (configuration.machine.nodes() - 1);
    start(configuration, system, number as u64 % 2);
    for register in PerfReg::ALL.into_iter().skip(1) {
        let id = register.id();
        for (write, caller) in [(false, 0), (true, last)] {
            fill(configuration.machine, system);
            let caller = strand(caller);
            let unit = match register.kind() {
                RegisterKind::Dram { node, mcu, .. } => Unit::Mcu(node, mcu),
                RegisterKind::Hub { hub, .. } => Unit::Hub(hub),
                RegisterKind::Strand | RegisterKind::L2 => Unit::L2(caller.node()),
            };
            system.change(Change::Break(unit));
            if write {
                system.set(caller, id, 1);
            } else {
                system.get(caller, id);
            }
            // The hardware works again. The unit stays out of service, and the other units continue to work.
            system.change(Change::Repair);
            for other in [1, 2, 3, 6, 8, id, 18, 35, 36, 89] {
                system.get(strand(0), other);
                system.set(caller, other, 2);
                system.get(strand(NEIGHBOUR), other);
            }
            system.state();
            system.change(Change::Mend);
        }
    }
}

fn without_a_hub(number: usize, configuration: &Configuration, system: &mut dyn System) {
    let (minor, hub) = (number as u64 % 2, Hub::ALL[number / 2]);
    start(configuration, system, minor);
    system.change(Change::Break(Unit::Hub(hub)));
    system.set(strand(0), 20 + 18 * hub.index() as u64, 7);
    look(configuration, system);
    start(configuration, system, minor);
    look(configuration, system);
    system.negotiate(strand(64), [super::PERF_COUNTERS, 1, 1]);
    look(configuration, system);
    system.change(Change::Mend);
    look(configuration, system);
    start(configuration, system, minor);
    look(configuration, system);
}

fn one_by_one(_: usize, configuration: &Configuration, system: &mut dyn System) {
    start(configuration, system, 1);
    for unit in Unit::ALL.iter().copied() {
        system.change(Change::Break(unit));
    }
    look(configuration, system);
    system.change(Change::Repair);
    for unit in Unit::ALL.iter().copied() {
        system.change(Change::Return(unit));
        look(configuration, system);
    }
}

/// The contents of a node's eight L2 control registers. PERF_CONFIG is 2 in each bank, and the other bits differ between banks.
pub const BANKS: [u64; 8] = [
    0x20_0000_0000,
    0x20_0000_0001,
    0x21_fe00_0002,
    0x20_001f_8003,
    0xffff_ffef_ffbf_ffff,
    0x20_0000_7ff8,
    0x8000_0020_0000_0006,
    0x20_0000_0007,
];

fn half_an_l2(from: usize, configuration: &Configuration, system: &mut dyn System) {
    start(configuration, system, 1);
    for value in 0..4 {
        for (bank, value) in BANKS.into_iter().enumerate() {
            system.change(Change::Put(Cell::L2(Node::Node1, bank), value));
        }
        system.change(Change::BreakBanks(Node::Node1, from));
        system.set(strand(64), 1, value);
        system.state();
        system.change(Change::Repair);
        system.get(strand(64), 1);
        system.get(strand(0), 1);
        system.state();
        system.change(Change::Mend);
        system.get(strand(64), 1);
    }
}
