//! Makes the sweep's calls on the reference model and on the machine under test, side by side.

use conform::digest::Digest;
use conform::translated::{self, cell_of, node_of, unit_of, world};
use conform::{Cell, Change, Configuration, Part, System, modelled, state};
use guest_abi::{StrandId, Trap};

use crate::comparison::{self, Comparison};
use crate::oracle::{self, Fault, HubCondition};

/// Makes all of a part's calls on the reference model and on the machine under test, and compares the results. The service on the device
/// models must have the same digest. Returns the number of calls.
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
    crate::print_line(format_args!("{}: {cases} cases", part.name));
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

impl System for Comparison<'_> {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let trap = translated::trap(trap);
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
                self.return_to_service(node_of(unit), unit);
            }
            Change::Mend => self.repair_all(),
            Change::Put(cell, value) => self.put(cell_of(cell), value),
        }
    }

    /// Returns the digest of the reference model's state. Asserts that the machine under test is in the same state.
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
