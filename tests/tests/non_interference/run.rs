//! Runs a script, with B's calls between its steps.

use std::collections::BTreeMap;

use conform::translated::{all_units, node_of, unit};
use perfctr_service::statistics::Statistics;
use tests::board::Board;
use tests::comparison::board;
use tests::machine::{MachineUnderTest, guest_id, strand};
use tests::oracle::{Cell, Console, Fault, HubCondition, Unit, World};
use tests::random::Random;

use super::script::{Script, Step, random_call};
use super::{A, B};

/// What a call of A returns: %o0 to %o5, whether A has exited, and A's console output.
pub(crate) type Observation = ([u64; 6], bool, Vec<(usize, Console)>);

/// A's state at the end: its statistics, PCRs, PICs and rights, and the devices that it may use.
#[derive(Debug, PartialEq)]
pub(crate) struct End {
    statistics: Statistics,
    own: Vec<(u64, u64)>,
    granted: perfctr_service::Grant,
    devices: Vec<(Cell, u64)>,
}

pub(crate) struct Outcome {
    pub(crate) observations: Vec<Observation>,
    pub(crate) end: End,
    /// The units that B has taken out of service, each with the index of the script step that follows.
    pub(crate) taken_out: Vec<(usize, Unit)>,
}

/// What guest B does in a run.
pub(crate) enum Other<'a> {
    Random(Random),
    /// B takes these units out of service, each before the step with this index.
    TakesOut(&'a [(usize, Unit)]),
}

struct Run<'a> {
    script: &'a Script,
    board: &'a Board,
    machine: MachineUnderTest<'a>,
    ticks: u64,
    /// The broken cells, which other steps of the script repair.
    broken: Vec<(Cell, Fault)>,
    hubs: [HubCondition; 4],
}

pub(crate) fn run(script: &Script, mut other: Other<'_>) -> Outcome {
    let board = board(&script.world);
    let mut run = Run {
        script,
        board: &board,
        machine: MachineUnderTest::new(&board, &script.world.guests),
        ticks: 0,
        broken: Vec::new(),
        hubs: Default::default(),
    };
    let mut observations = Vec::new();
    let mut taken_out = Vec::new();
    for (number, step) in script.steps.iter().enumerate() {
        match &mut other {
            Other::Random(random) => {
                let before = run.out_of_service();
                for _ in 0..random.below(6) {
                    run.other_acts(random);
                }
                let now = run.out_of_service().into_iter();
                taken_out
                    .extend(now.filter(|unit| !before.contains(unit)).map(|unit| (number, unit)));
            }
            Other::TakesOut(units) => {
                for (_, unit) in units.iter().filter(|(at, _)| *at == number) {
                    run.other_takes_out(*unit);
                }
            }
        }
        run.machine.take_console();
        observations.extend(run.step(step));
    }
    Outcome { observations, end: run.end(), taken_out }
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Option<Observation> {
        let machine = &self.machine;
        match *step {
            Step::Call(strand, trap, registers) => {
                let (registers, exited) = machine.trap(strand, trap, registers);
                return Some((registers, exited, machine.take_console()));
            }
            Step::Pcr(strand, value) => self.board.put_pcr(strand, value),
            Step::Pic(strand, value) => self.board.put_pic(strand, value),
            Step::Reset => machine.begin_reset(A),
            Step::Grants(grants) => machine.reconfigure(&grants).unwrap(),
            Step::Acknowledge(strand) => drop(machine.acknowledge(strand)),
            Step::AllAcknowledge => {
                // A transfer that has to scrub a busy hub does not complete before the hub is free.
                if self.hubs.iter().all(|hub| *hub != HubCondition::Busy) {
                    machine.all_acknowledge();
                }
            }
            Step::Time(ticks) => {
                self.ticks += ticks;
                for guest in &self.script.world.guests {
                    for strand in &guest.strands {
                        self.board.set_ticks(*strand, self.ticks);
                    }
                }
            }
            Step::Break(cell, fault) => {
                self.broken.push((cell, fault));
                self.arrange_devices();
            }
            Step::Hub(hub, condition) => {
                self.hubs[hub] = condition;
                self.arrange_devices();
            }
            Step::Mend => {
                self.broken.clear();
                self.hubs = Default::default();
                self.arrange_devices();
                for out in self.out_of_service() {
                    let on = strand(64 * node_of(out) as u16);
                    machine.service().return_to_service(on, unit(out)).unwrap();
                }
            }
        }
        None
    }

    fn arrange_devices(&self) {
        self.board.repair();
        for (cell, fault) in &self.broken {
            self.board.break_cell(*cell, *fault);
        }
        for (hub, condition) in self.hubs.iter().enumerate() {
            self.board.set_hub(hub, *condition);
        }
    }

    fn out_of_service(&self) -> Vec<Unit> {
        let service = self.machine.service();
        all_units().filter(|one| !service.unit(unit(*one)).in_service).collect()
    }

    fn other_acts(&self, random: &mut Random) {
        let strand = random.one_of(&self.script.world.guests[B].strands);
        match random.below(20) {
            0 => self.board.put_pcr(strand, random.next_u64()),
            1 => self.board.put_pic(strand, random.next_u64()),
            2 if self.machine.service().pending().is_none()
                && self.hubs.iter().all(|hub| *hub != HubCondition::Busy) =>
            {
                self.machine.reset_guest(B);
            }
            2 | 3 => drop(self.machine.negotiate(strand, 1, random.one_of(&[0, 1, 1, 1]))),
            _ => {
                let (trap, registers) = random_call(random);
                self.machine.trap(strand, trap, registers);
            }
        }
    }

    /// Takes a unit out of service with an access of B that faults. B has the right to make this access, because B made such an access in
    /// the run with random calls.
    fn other_takes_out(&self, unit: Unit) {
        let strand = match unit {
            Unit::L2 { node } => *(self.script.world.guests[B].strands.iter())
                .find(|strand| World::node_of(**strand) == node)
                .unwrap(),
            Unit::Mcu { .. } | Unit::Hub(_) => self.script.world.guests[B].strands[0],
        };
        let id = match (unit, unit.cells()[0]) {
            (Unit::L2 { .. }, _) | (_, Cell::L2 { .. }) => 1,
            (_, Cell::Register(id)) => id,
        };
        assert_eq!(self.machine.negotiate(strand, 1, 1), 0);
        self.board.repair();
        for cell in unit.cells() {
            self.board.break_cell(cell, Fault::Always);
        }
        assert_eq!(self.machine.get(strand, id).0, 10);
        self.arrange_devices();
        assert!(self.out_of_service().contains(&unit));
    }

    fn end(&self) -> End {
        let service = self.machine.service();
        let strands = &self.script.world.guests[A].strands;
        let (pcrs, pics) = (self.board.pcrs(), self.board.pics());
        let held = |map: &BTreeMap<u16, u64>, strand| map.get(strand).copied().unwrap_or(0);
        let granted = service.held(guest_id(A));
        let nodes: Vec<usize> = strands.iter().map(|one| World::node_of(*one)).collect();
        let out = self.out_of_service();
        let mut devices: Vec<(Cell, u64)> = self.board.cells().into_iter().collect();
        devices.retain(|(cell, value)| {
            let is_of = match cell.unit() {
                Unit::L2 { node } | Unit::Mcu { node, .. } => nodes.contains(&node),
                Unit::Hub(_) => true,
            };
            granted.global && is_of && *value != 0 && !out.contains(&cell.unit())
        });
        End {
            statistics: service.statistics(guest_id(A)),
            own: (strands.iter())
                .map(|strand| (held(&pcrs, strand), held(&pics, strand)))
                .collect(),
            granted,
            devices,
        }
    }
}
