//! The run of a scenario.

use std::ops::ControlFlow;

use guest_abi::layout::PerfConfig;
use guest_abi::{PerfCounters, PerfReg, StrandId};
use hv_core::GuestId;
use perfctr_service::{ChangeError, Grant, Unit};
use platform::AccessError;
use platform::models::FaultyUnit;

use super::file::{Action, Scenario, Step};
use super::outcome::{Asked, Found, Measured, PhaseResults, ScenarioOutcome, StepResults, units};
use crate::machine::board::Board;
use crate::memory::Truth;
use crate::simulation::error::RunError;
use crate::simulation::measure::{Measurement, TRIES};
use crate::simulation::outcome::{Hypercalls, counters, of_guests};
use crate::simulation::replay::Replay;
use crate::simulation::run::tell;
use crate::simulation::selection::Selection;
use crate::simulation::setup::Simulation;

/// Far more cross-calls than a change takes, with hubs that are as slow as they can be set.
const MOST_CROSS_CALLS: u64 = 10_000_000;

/// A stage that a scenario has reached.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// The bytes of the recordings that have been read.
    Read(u64),
    /// A step, and its results.
    Step(&'a StepResults),
    /// The phase with this number, from 1, has ended.
    Phase(usize, &'a PhaseResults),
    /// The program ended, after so many references, before this step.
    NotReached(&'a Step, u64),
}

impl Simulation {
    /// Plays a scenario to the end of the programs. It tells `observe` of its progress, and stops if that returns
    /// [`ControlFlow::Break`].
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn play(
        mut self,
        scenario: &Scenario,
        observe: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<ScenarioOutcome, RunError> {
        let mut replay = Replay::new(&mut self);
        let (mut outcome, trace) = self.boot(|board| {
            let stage = Stage {
                board,
                simulation: &self,
            };
            let mut dead = Vec::new();
            let mut done = Vec::new();
            let mut phases: Vec<PhaseResults> = Vec::new();
            let mut steps = scenario.steps.iter().peekable();
            let mut ended = false;
            while !ended {
                while let Some(step) = steps.next_if(|step| step.at == replay.references) {
                    let result = stage.step(step, &mut dead)?;
                    tell(observe, Progress::Step(&result))?;
                    done.push(result);
                }
                let end = steps.peek().map(|step| step.at);
                let mut phase = stage.begin(&replay)?;
                replay.note_read();
                while Some(replay.references) != end {
                    let until = end.unwrap_or(u64::MAX);
                    let goes_on = replay.next(until - replay.references, board)?;
                    replay.catch_up(board);
                    if !goes_on {
                        ended = true;
                        break;
                    }
                    if replay.is_long_unread() {
                        phase.sample()?;
                        replay.note_read();
                    }
                    tell(observe, Progress::Read(replay.bytes_read()))?;
                }
                if replay.references > phase.from {
                    let result = phase.end(&replay, &stage)?;
                    tell(observe, Progress::Phase(phases.len() + 1, &result))?;
                    phases.push(result);
                }
            }
            for step in steps {
                tell(observe, Progress::NotReached(step, replay.references))?;
            }
            let truth_matches = (phases.iter().flat_map(|phase| &phase.guests))
                .flat_map(|measured| &measured.counters)
                .all(|counter| counter.measured == counter.truth);
            let machine = self.setup().machine;
            Ok(ScenarioOutcome {
                scenario: scenario.name.clone(),
                machine: machine.model().name(),
                nodes: machine.nodes(),
                configuration: self.configuration(),
                references: replay.references,
                cycles: replay.truth().cycles(),
                placement: self.placement.to_string(),
                threads: replay.threads(),
                notes: replay.notes(),
                steps: done,
                phases,
                units: units(board),
                hypercalls: Hypercalls::sum(&board.tallies()),
                guests: of_guests(&self.setup().guests, board),
                truth_matches,
                trace: None,
            })
        })?;
        outcome.trace = trace;
        Ok(outcome)
    }
}

/// A simulation on its machine.
struct Stage<'a, 's> {
    board: &'a Board<'a>,
    simulation: &'s Simulation,
}

/// A phase, in which every guest measures what it may.
struct Phase<'a> {
    from: u64,
    before: Truth,
    observers: Vec<(GuestId, Measurement<'a>)>,
}

impl Phase<'_> {
    fn sample(&mut self) -> Result<(), RunError> {
        self.observers
            .iter_mut()
            .try_for_each(|(_, measurement)| measurement.sample())
    }

    fn end(mut self, replay: &Replay, stage: &Stage<'_, '_>) -> Result<PhaseResults, RunError> {
        self.sample()?;
        let happened = replay.truth().since(&self.before);
        let measured = |(guest, measurement): &(GuestId, Measurement<'_>)| Measured {
            guest: stage.name(*guest),
            grant: stage.board.service().held(*guest).to_string(),
            refused: measurement.refused.len(),
            counters: (measurement.pairs.iter())
                .flat_map(|pair| counters(pair, &happened, PerfConfig::All))
                .collect(),
        };
        Ok(PhaseResults {
            from: self.from,
            to: replay.references,
            out_of_service: (units(stage.board).into_iter())
                .filter(|unit| !unit.in_service)
                .map(|unit| unit.unit)
                .collect(),
            guests: self.observers.iter().map(measured).collect(),
        })
    }
}

impl<'a> Stage<'a, '_> {
    fn name(&self, guest: GuestId) -> String {
        self.simulation.setup().guests[guest.index()].name.clone()
    }

    fn begin(&self, replay: &Replay) -> Result<Phase<'a>, RunError> {
        let machine = self.simulation.setup().machine;
        let all = &self.simulation.setup().selection;
        let of_others = Selection { pic: None, ..*all };
        let mut observers = Vec::new();
        for (guest, strand) in self.simulation.callers() {
            let (strands, selection) = if guest == self.simulation.measuring {
                (self.simulation.strands(), all)
            } else {
                (&[strand][..], &of_others)
            };
            let misses = PerfConfig::All;
            let measurement =
                Measurement::start(self.board, machine, guest, strands, selection, misses)?;
            observers.push((guest, measurement));
        }
        Ok(Phase {
            from: replay.references,
            before: replay.truth().clone(),
            observers,
        })
    }

    /// Makes a step, and waits until no change is pending.
    fn step(&self, step: &Step, dead: &mut Vec<StrandId>) -> Result<StepResults, RunError> {
        let service = self.board.service();
        let held: Vec<Grant> = (self.simulation.callers())
            .map(|(guest, _)| service.held(guest))
            .collect();
        let mut result = StepResults {
            at: step.at,
            line: step.line,
            action: step.action.describe(|guest| self.name(guest)),
            ..StepResults::default()
        };
        result.rejected = self.act(step.action, dead).err();
        self.settle(dead, &mut result)?;
        for ((guest, strand), held) in self.simulation.callers().zip(held) {
            let now = service.held(guest);
            let gained = now.global && !held.global || now.strand > held.strand;
            if gained || step.action == Action::Reset(guest) {
                result.found.push(self.look(guest, strand)?);
            }
        }
        Ok(result)
    }

    /// Does an action. The error says why the operator's change is rejected.
    fn act(&self, action: Action, dead: &mut Vec<StrandId>) -> Result<(), String> {
        let service = self.board.service();
        let on = self.operator(None, dead);
        let mut grants = service.grants();
        let changed = match action {
            Action::Grant(guest, right) => grants.grant(guest, right),
            Action::Revoke(guest, right) => grants.revoke(guest, right),
            Action::Transfer(right, from, to) => grants.transfer(from, to, right),
            Action::Reset(guest) => {
                self.board.reset_guest(guest, on);
                return Ok(());
            }
            Action::Fault(unit) => {
                self.board.devices().set_faulty(faulty(unit), true);
                return Ok(());
            }
            Action::Mend(unit) => {
                self.board.devices().set_faulty(faulty(unit), false);
                return self.return_to_service(self.operator(Some(unit), dead), unit);
            }
            Action::Kill(strand) => {
                dead.push(strand);
                return Ok(());
            }
        };
        changed.map_err(|error| error.to_string())?;
        let pending = self
            .board
            .work(on, |service| service.reconfigure(on, &grants));
        pending.map(drop).map_err(|error| error.to_string())
    }

    /// Tries again while the unit is busy: clearing a hub takes several accesses.
    fn return_to_service(&self, on: StrandId, unit: Unit) -> Result<(), String> {
        let mut tries = 0..TRIES.number();
        loop {
            let returned = self
                .board
                .work(on, |service| service.return_to_service(on, unit));
            match returned {
                Err(ChangeError::NotClean(_, AccessError::Busy)) if tries.next().is_some() => {}
                other => return other.map_err(|error| error.to_string()),
            }
        }
    }

    /// Returns a strand for the operator's work: for L2 control one of its node.
    fn operator(&self, unit: Option<Unit>, dead: &[StrandId]) -> StrandId {
        let node = match unit {
            Some(Unit::L2(node)) => node.index(),
            _ => 0,
        };
        let first = node * StrandId::PER_NODE;
        (first..first + StrandId::PER_NODE)
            .filter_map(StrandId::new)
            .find(|strand| !dead.contains(strand))
            .unwrap_or(self.simulation.strands()[0])
    }

    /// Completes a pending change: guests make calls meanwhile, strands take their cross-calls, dead strands are excused.
    fn settle(&self, dead: &[StrandId], result: &mut StepResults) -> Result<(), RunError> {
        let service = self.board.service();
        let Some(awaited) = service.pending() else {
            return Ok(());
        };
        result.awaited = Some(awaited.iter().count());
        for (guest, strand) in self.simulation.callers() {
            let calls = PerfCounters::negotiate_best(self.board.strand(guest, strand))?;
            for register in [PerfReg::SPARC_PCR, PerfReg::L2_PERF_CONFIG] {
                let status = match calls.get(register) {
                    Ok(_) => "EOK".to_owned(),
                    Err(error) => error.to_string(),
                };
                result.meanwhile.push(Asked {
                    guest: self.name(guest),
                    register: register.name(),
                    status,
                });
            }
        }
        while let Some(awaited) = service.pending() {
            if result.cross_calls == MOST_CROSS_CALLS {
                return Err(RunError::Endless);
            }
            let mut answered = false;
            for strand in awaited.iter().filter(|strand| !dead.contains(strand)) {
                if self.board.answer(strand) {
                    answered = true;
                    result.cross_calls += 1;
                }
            }
            let missing = awaited.iter().find(|strand| dead.contains(strand));
            if let Some(strand) = missing.filter(|_| !answered) {
                let on = self.operator(None, dead);
                self.board
                    .work(on, |service| service.strand_died(on, strand));
                result.excused.push(strand.index());
            }
        }
        Ok(())
    }

    /// Reads all registers as a guest.
    fn look(&self, guest: GuestId, strand: StrandId) -> Result<Found, RunError> {
        let calls = PerfCounters::negotiate_best(self.board.strand(guest, strand))?;
        let mut found = Found {
            guest: self.name(guest),
            registers: 0,
            not_zero: Vec::new(),
        };
        for register in PerfReg::all() {
            if let Ok(value) = calls.get_retrying(register, TRIES) {
                found.registers += 1;
                if value != 0 {
                    found.not_zero.push(register.name());
                }
            }
        }
        Ok(found)
    }
}

/// Returns a unit as the models of the devices have it.
pub(crate) const fn faulty(unit: Unit) -> FaultyUnit {
    match unit {
        Unit::Mcu(node, mcu) => FaultyUnit::Mcu(node, mcu),
        Unit::Hub(hub) => FaultyUnit::Hub(hub),
        Unit::L2(node) => FaultyUnit::L2(node),
    }
}
