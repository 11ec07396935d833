//! Changes the machine between calls: units break and return to service, and guests are reset.

use conform::modelled::{Hardware, faulty};
use conform::oracle::{self, HubCondition};
use conform::translated::{node_of, unit, unit_of};
use conform::{Change, System};
use guest_abi::{StrandId, Trap};
use hv_core::GuestId;
use perfctr_service::Unit;
use perfctr_service::mailbox::Step;
use platform::models::FaultyUnit;

use super::super::caller::Request;
use super::super::differences::Subject;
use super::{Comparison, PERF};

impl Comparison {
    /// Makes a guest release the versions that it has negotiated. The check does this instead of a reset, because not
    /// every image can reset guests.
    fn give_up(&mut self, guest: usize) {
        let guest = self.tested.unwrap_or(guest);
        if let Some(strand) = self.configuration.guests[guest].strands.iter().next() {
            for group in [1, PERF] {
                self.core(strand, [group, 0, 0], 0);
            }
        }
    }

    fn set_faulty(&self, unit: FaultyUnit, faulty: bool) {
        self.machine.execution.devices().set_faulty(unit, faulty);
    }

    fn repair(&mut self) {
        for unit in Unit::ALL.iter().copied() {
            self.set_faulty(faulty(unit), false);
        }
        self.world.faults.clear();
        self.world.hubs = [HubCondition::Free; 4];
    }

    /// Makes the operator return a unit to service, on a strand that can access the unit.
    fn return_to_service(&mut self, one: Unit) {
        let model = unit_of(one);
        let node = node_of(model);
        let of_node = |strand: &StrandId| strand.node().index() == node;
        // Only a node's own strands can access its L2 control. If none of them has begun, no guest can notice a change.
        let Some(on) = self.machine.begun.iter().find(of_node) else { return };
        let expected = self.world.return_to_service(node, model);
        let answer = self.machine.operate(on, &Step::ReturnToService(one));
        if answer.as_ref().map(Result::is_ok) != Some(expected) {
            let (right, wrong) = if expected { ("done", "not") } else { ("refused", "not") };
            self.note_difference_at(
                "the operator",
                Subject::Unit(one.number()),
                right,
                wrong,
                || format!("{one:?} returns to service: {answer:?}"),
            );
        }
        if !self.machine.run_on() {
            self.restart();
        }
    }

    /// Makes the operator reset a guest. Returns whether the reset succeeded.
    pub(in super::super) fn reset(&mut self, guest: usize) -> bool {
        let on = self.machine.begun.iter().next();
        let (Some(id), Some(on)) = (GuestId::new(guest), on) else { return false };
        self.world.reset_guest(guest);
        self.world.all_acknowledge();
        let is_done = self.machine.operate(on, &Step::Reset(id)) == Some(Ok(None));
        let is_done = is_done && self.machine.run_on();
        self.adopt_versions();
        is_done
    }
}

impl System for Comparison {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        self.ask(strand, Request { trap: trap.number(), registers })
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Reset(guest) => self.give_up(guest),
            // On this machine, a hub is busy only while a strand accesses it, so there is nothing to change.
            Change::Busy(..) => {}
            Change::Break(unit) => {
                self.set_faulty(faulty(unit), true);
                self.world.break_unit(unit_of(unit));
            }
            Change::BreakBanks(node, from) => {
                self.set_faulty(FaultyUnit::L2FromBank(node, from), true);
                for bank in from..8 {
                    let cell = oracle::Cell::L2 { node: node.index(), bank };
                    self.world.faults.insert(cell, oracle::Fault::Always);
                }
            }
            Change::Repair => self.repair(),
            Change::Return(unit) if self.has_mailbox => self.return_to_service(unit),
            Change::Return(_) => {}
            Change::Mend => {
                self.repair();
                if self.has_mailbox {
                    for out in self.world.out_of_service.clone() {
                        self.return_to_service(unit(out));
                    }
                } else {
                    self.restart();
                }
            }
            Change::Put(cell, value) => {
                self.machine.execution.devices().put(cell, value);
                self.adopt(cell);
            }
        }
    }

    fn state(&mut self) -> u64 {
        self.compare_all();
        0
    }

    fn counts(&mut self) -> u64 {
        0
    }
}
