//! Checks that strands are served correctly when they use one unit at the same time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use conform::oracle::HubCondition;
use conform::{Configuration, System};
use guest_abi::{Hub, StrandId};
use perfctr_service::{Grant, GuestConfig};
use platform::{Machine, Model};

use super::caller::{Request, fast_request};
use super::comparison::Comparison;
use super::differences::Subject;
use super::machine::{CallFailure, STORES};
use crate::execute::calls::Call;
use crate::execute::{Limits, Observed, Stop, StoreBehaviour, StoreLatency};
use crate::recording::Kind;

const EOK: u64 = 0;
const EWOULDBLOCK: u64 = 9;
const GET: u64 = 0x106;
const SET: u64 = 0x107;

/// The number of cycles that a store takes while a test makes calls on other strands. This is longer than any call, so the store is still
/// in progress when the calls return.
const LONG_STORE_LATENCY: u64 = 100_000;

/// How many instructions the machine executes for each strand while all strands compete for one hub.
const CONTENTION_INSTRUCTIONS: u64 = 60_000;

/// Returns a machine with two guests: one with nine strands on a node and every right, and a neighbour without rights.
pub(super) fn configuration() -> Option<Configuration> {
    let guest = |strands: Range<usize>, grant| {
        GuestConfig::new(strands.filter_map(StrandId::new).collect(), grant)
    };
    let machine = Machine::new(Model::Batoka, 2).ok()?;
    let guests = [guest(0..9, Grant::ALL), guest(9..10, Grant::NONE), GuestConfig::default()];
    Some(Configuration { machine, guests })
}

impl Comparison {
    /// Checks a strand's calls while another strand's store to a hub or to L2 control is in progress. Calls for this unit must be refused
    /// immediately, and calls for other units must be served. After the store, calls for this unit must be served again.
    pub(super) fn in_flight(&mut self) {
        let Some([first, second]) = self.first_two_strands() else {
            self.found.unchecked.insert("units that two strands ask for: one strand calls".into());
            return;
        };
        self.core(first, [0x205, 1, 1], 0);
        for hub in Hub::ALL.iter().take(self.world.machine.hubs().len()) {
            let id = 18 + 18 * hub.index() as u64;
            for set in [fast_request(SET, id, 0x0403), fast_request(SET, id + 2, 0x77)] {
                if self.call_until_store(first, set, |access| access.physical >> 32 & 0xf3 == 0xe1)
                {
                    self.world.hubs[hub.index()] = HubCondition::Busy;
                    for register in [0, 2, 15] {
                        self.ask(second, fast_request(GET, id + register, 0x0bad));
                        self.ask(second, fast_request(SET, id + register, 1));
                    }
                    self.world.hubs[hub.index()] = HubCondition::Free;
                    let other = 18 + id % 72;
                    self.ask(second, fast_request(GET, other, 0x0bad));
                    self.ask(second, fast_request(GET, 2, 0x0bad));
                }
                self.finish_call(first, set);
                self.ask(second, fast_request(GET, set.registers[0], 0x0bad));
                self.ask(first, fast_request(GET, id, 0x0bad));
            }
        }
        let set = fast_request(SET, 1, 2);
        if first.node() == second.node()
            && self.call_until_store(first, set, |at| at.physical >> 32 == 0xa9)
        {
            let other = fast_request(SET, 1, 1);
            match self.machine.call(second, other) {
                Ok(answered) if answered.after[..2] == [EWOULDBLOCK, 1] => {}
                answered => {
                    let found = match answered {
                        Ok(answered) => super::differences::status(answered.after[0]),
                        Err(_) => "no answer".to_owned(),
                    };
                    self.note_difference_at(
                        "set",
                        Subject::Register(1),
                        "EWOULDBLOCK",
                        &found,
                        || "while another strand of the node sets it".to_owned(),
                    );
                }
            }
        }
        self.finish_call(first, set);
        self.ask(second, fast_request(SET, 1, 3));
        self.ask(first, fast_request(GET, 1, 0x0bad));
        self.state();
    }

    /// Returns the first two strands of the guest that has the grant `global`; `None` if fewer than two of its strands have begun.
    fn first_two_strands(&self) -> Option<[StrandId; 2]> {
        let mut found = None;
        for guest in self.world.guests.iter().filter(|guest| guest.grant.global) {
            let strands = guest.strands.iter().filter_map(|strand| StrandId::new((*strand).into()));
            let all: Vec<_> = strands.filter(|it| self.machine.begun.contains(*it)).collect();
            found = all.first_chunk().copied();
        }
        found
    }

    /// Executes a strand's call up to its first store to the unit. Makes this store take [`LONG_STORE_LATENCY`] cycles. Returns `false` if the call makes
    /// no such store.
    fn call_until_store(
        &mut self,
        strand: StrandId,
        set: Request,
        store: fn(&Observed) -> bool,
    ) -> bool {
        let execution = &mut self.machine.execution;
        let latency = StoreLatency::Fixed(LONG_STORE_LATENCY);
        execution.set_stores(StoreBehaviour { latency, ..StoreBehaviour::default() });
        execution.watch(Some(Box::new(move |at| at.kind == Kind::Store && store(at))));
        self.machine.begin(strand, set);
        let execution = &mut self.machine.execution;
        let mut stops = (0..LONG_STORE_LATENCY).map(|_| execution.step(strand));
        let stop = stops.find(|stop| *stop != Some(Stop::Limit));
        drop(stops);
        execution.watch(None);
        execution.set_stores(STORES);
        matches!(stop, Some(Some(Stop::Watched(_))))
    }

    /// Lets a strand finish a call that has not been made in the model yet, and then makes it in the model.
    fn finish_call(&mut self, strand: StrandId, set: Request) {
        let ended = self.machine.finish(strand);
        // `ask` makes the call in the model, and repeats it in the image, where it has the same effect again.
        if ended != Err(CallFailure::Stopped) {
            self.ask(strand, set);
        }
    }

    /// Makes all strands use one hub without a pause. While a strand waits, the other strands together must not perform more accesses
    /// than there are strands.
    pub(super) fn fair(&mut self) {
        let Some(guest) = self.world.guests.iter().find(|guest| guest.grant.global) else { return };
        let strands = guest.strands.iter().filter_map(|strand| StrandId::new((*strand).into()));
        let strands: Vec<_> = strands.filter(|it| self.machine.begun.contains(*it)).collect();
        if strands.len() < 2 {
            self.found.unchecked.insert("arbitration of a hub: one strand calls".into());
            return;
        }
        self.core(strands[0], [0x205, 1, 1], 0);
        let calls = Rc::new(RefCell::new(Vec::<Call>::new()));
        let noted = Rc::clone(&calls);
        let register = 18;
        for (strand, function) in strands.iter().zip([GET, SET].into_iter().cycle()) {
            self.machine.repeat(*strand, register, function);
        }
        let execution = &mut self.machine.execution;
        execution.set_stores(StoreBehaviour::default());
        execution.observe_calls(Some(Box::new(move |call| noted.borrow_mut().push(*call))));
        execution.run(Limits::instructions(CONTENTION_INSTRUCTIONS * strands.len() as u64));
        let calls = calls.take();
        self.found.calls += calls.len() as u64;
        let most = longest_wait(&calls, &strands);
        let limit = strands.len();
        if most > limit {
            self.note_difference_at(
                "get",
                Subject::Register(register),
                &format!("served after at most {limit} accesses of others"),
                "served later",
                || format!("{most} accesses of others while {limit} strands ask for hub 0"),
            );
        }
        self.restart();
    }
}

/// Returns the largest number of accesses that other strands performed while one strand waited. A strand waits from its first refusal
/// until its own access, or until the last call.
fn longest_wait(calls: &[Call], strands: &[StrandId]) -> usize {
    let mut waiting: BTreeMap<StrandId, usize> = BTreeMap::new();
    let mut most = 0;
    for call in calls.iter().filter(|call| strands.contains(&call.strand)) {
        match call.status {
            EOK => {
                waiting.remove(&call.strand);
                for others in waiting.values_mut() {
                    *others += 1;
                    most = most.max(*others);
                }
            }
            EWOULDBLOCK => {
                waiting.entry(call.strand).or_insert(0);
            }
            _ => {}
        }
    }
    most
}
