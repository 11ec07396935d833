//! Makes the calls of the sweep on the reference model and on the machine under test, side by side.

use guest_abi::{StrandId, Trap};
use perfctr_service::{GuestConfig, Unit};
use platform::Model;
use sweep::digest::Digest;
use sweep::{Cell, Change, Configuration, Part, System, modelled, state};

use crate::comparison::{self, Comparison};
use crate::machine;
use crate::oracle::{self, Fault, Grant, Guest, HubCondition, Machine, World};

/// Makes all calls of a part on the reference model and on the machine under test, and compares the results. The service on the
/// device models must have the same digest. Returns the number of calls.
pub fn compare(part: &Part) -> u64 {
    let mut cases = 0;
    for (number, configuration) in part.configurations() {
        let world = world(&configuration);
        let board = comparison::board(&world);
        let mut comparison = Comparison::new(world, &board);
        let compared = digest(part, number, &configuration, &mut comparison);
        comparison.check_state();
        cases += comparison.cases;
        let modelled =
            modelled::with(&configuration, |system| digest(part, number, &configuration, system));
        assert_eq!(modelled, Ok(compared), "{}: {configuration}", part.name);
    }
    crate::tell(format_args!("{}: {cases} cases", part.name));
    cases
}

fn digest(
    part: &Part,
    number: usize,
    configuration: &Configuration,
    system: &mut dyn System,
) -> Digest {
    let mut digest = Digest::EMPTY;
    part.watch(number, configuration, system, &mut |event| digest.add(event));
    digest
}

/// Returns the machine of the reference model for a family.
pub fn machine_of(model: Model) -> Machine {
    match model {
        Model::Maramba => Machine::Maramba,
        Model::Batoka => Machine::Batoka,
    }
}

pub fn world(configuration: &Configuration) -> World {
    let model = machine_of(configuration.machine.model());
    let nodes = configuration.machine.nodes();
    let disabled = (0..2 * nodes)
        .map(|channel| (channel / 2, channel % 2))
        .filter(|(node, mcu)| {
            let (node, mcu) = (guest_abi::Node::ALL[*node], guest_abi::Mcu::ALL[*mcu]);
            !configuration.machine.has_channel(node, mcu)
        })
        .collect::<Vec<_>>();
    let guests = configuration.guests.iter().map(|guest| {
        let GuestConfig { strands, grant, compatible } = *guest;
        let mut grants = Grant::ALL.into_iter();
        let grant = grants.find(|one| machine::grant(*one) == grant);
        let strands = strands.iter().map(|strand| strand.number().into());
        let guest = Guest::new(strands, grant.expect("a combination of rights"));
        if compatible { guest.with_compat() } else { guest }
    });
    World::new(model, nodes, &disabled, guests.collect()).expect("guests that fit")
}

fn unit_of(unit: Unit) -> oracle::Unit {
    let mut all = comparison::all_units();
    let found = all.find(|one| comparison::unit(*one) == unit);
    found.expect("a unit of the largest machine")
}

fn cell_of(cell: Cell) -> oracle::Cell {
    match cell {
        Cell::L2(node, bank) => oracle::Cell::L2 { node: node.index(), bank },
        Cell::Register(register) => oracle::Cell::Register(register.id()),
    }
}

impl System for Comparison<'_> {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let trap = match trap {
            Trap::Fast => oracle::Trap::Fast,
            Trap::Core => oracle::Trap::Core,
        };
        Comparison::call(self, strand.number().into(), trap, registers).regs
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Reset(guest) => self.reset_guest(guest),
            Change::Busy(hub, true) => self.set_hub(hub.index(), HubCondition::Busy),
            Change::Busy(hub, false) => self.set_hub(hub.index(), HubCondition::Free),
            Change::Break(unit) => {
                for cell in unit_of(unit).cells() {
                    self.break_cell(cell, Fault::Always);
                }
            }
            Change::BreakBanks(node, from) => {
                for bank in from..8 {
                    self.break_cell(cell_of(Cell::L2(node, bank)), Fault::Always);
                }
            }
            Change::Repair => self.repair(),
            Change::Return(unit) => {
                let unit = unit_of(unit);
                self.return_to_service(comparison::node_of(unit), unit);
            }
            Change::Mend => self.mend(),
            Change::Put(cell, value) => self.put(cell_of(cell), value),
        }
    }

    /// Returns the digest of the reference model's state. The machine under test must be in the same state.
    fn state(&mut self) -> u64 {
        self.check_state();
        let world = &self.world;
        let answers = |cell: oracle::Cell| match cell.unit() {
            oracle::Unit::Hub(hub) => world.hubs[hub] == HubCondition::Free,
            _ => true,
        };
        state::digest(
            |cell| {
                let cell = cell_of(cell);
                (answers(cell) && !world.faults.contains_key(&cell)).then(|| world.holds(cell))
            },
            |strand| world.pcr_of(strand.number().into()),
            |unit| world.out_of_service.contains(&unit_of(unit)),
        )
    }

    fn counts(&mut self) -> u64 {
        (0..self.world.guests.len()).fold(0, |digest, guest| {
            state::counts(digest, |operation, class, outcome| {
                let key = (guest, operation, class, outcome);
                self.answered.get(&key).copied().unwrap_or(0)
            })
        })
    }
}
