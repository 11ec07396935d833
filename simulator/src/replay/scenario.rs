//! Plays a scenario: replays programs, lets the [operator](crate::operator) perform steps, and lets guests measure between steps.
//!
//! The time between two steps is a *phase*. In each phase, every guest starts the counters that it may use, and reads them. At the
//! end of the phase, the counts are compared with the true counts. A step changes rights or hardware while the programs stand
//! still. A change can stay pending until strands have taken cross-calls. In the meantime, guests make calls.

use std::ops::ControlFlow;

use guest_abi::layout::PerfConfig;
use guest_abi::{PerfCounters, PerfReg, StrandId};
use hv_core::GuestId;
use perfctr_service::mailbox::{self, Step as Request};
use perfctr_service::{Grant, StrandSet, Unit};
use platform::models::Devices;

use super::compared::{counters, guest_calls};
use super::error::RunError;
use super::measure::{Measurement, TRIES};
use super::program::Replay;
use super::progress::Progress;
use super::run::stopped_after;
use super::selection::Selection;
use super::setup::Prepared;
use crate::machine::board::Board;
use crate::machine::guests::FileError;
use crate::memory::Truth;
use crate::operator::{
    Action, Answer, OperatedMachine, Operator, OperatorProgress, Scenario, Step, UncheckedScenario,
    adds_right,
};
use crate::run::{Asked, Found, Hypercalls, Measured, PhaseRun, Played, Settled, StepRun, UnitRun};

/// The maximum number of cross-calls for a change. Even the slowest hubs need far fewer.
const MAX_CROSS_CALLS: u64 = 10_000_000;

/// A point in a scenario at which the observer is called.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ScenarioStage<'a> {
    /// The replay has made this progress, and continues.
    Progress(Progress),
    /// A step of the scenario has ended, with this result.
    Step(&'a StepRun),
    /// The phase with this number, counted from 1, has ended.
    Phase(usize, &'a PhaseRun),
    /// The programs ended after this number of references, before the step was due.
    NotReached(&'a Step, u64),
}

type Observe<'a> = dyn FnMut(ScenarioStage<'_>) -> ControlFlow<()> + 'a;

impl Prepared {
    /// Checks a scenario's steps against the machine and the guests. A step must not change a clock, and must not kill a strand
    /// that executes the programs or makes a guest's calls.
    ///
    /// # Errors
    /// Returns an error if a step is impossible.
    pub fn check_scenario(&self, scenario: UncheckedScenario) -> Result<Scenario, FileError> {
        let callers = self.callers().map(|(_, strand)| strand);
        let busy: Vec<StrandId> = callers.chain(self.strands().iter().copied()).collect();
        scenario.without_clocks()?.check(self.setup().machine, &self.setup().guests, &busy)
    }

    /// Plays a scenario until the programs end. Calls `observe` at each stage. If `observe` returns [`ControlFlow::Break`], the
    /// replay ends early; its result then covers the references so far, and says that the replay was [stopped](Played::stopped).
    ///
    /// # Errors
    /// Returns an error if a recording cannot be read to its end, if a guest cannot measure, or if a change of rights never
    /// completes.
    pub fn play(
        mut self,
        scenario: Scenario,
        mut observe: impl FnMut(ScenarioStage<'_>) -> ControlFlow<()>,
    ) -> Result<Played, RunError> {
        let mut replay = Replay::new(&mut self);
        let (mut run, trace) = self.boot(|board| {
            let stage = Play { board, prepared: &self };
            let mut operator = Operator::new(scenario, &self.setup().guests);
            let mut phases: Vec<PhaseRun> = Vec::new();
            let (mut ended, mut stopped) = (false, false);
            while !(ended || stopped) {
                if stage.steps(&mut operator, replay.references, &mut observe)?.is_break() {
                    stopped = true;
                    break;
                }
                let patience = operator.until_next_work(replay.references);
                let until = replay.references.saturating_add(patience);
                let mut phase = stage.begin(&replay)?;
                replay.note_read();
                while replay.references < until && !stopped {
                    let goes_on = replay.next(until - replay.references, board)?;
                    replay.update_counters(board)?;
                    if !goes_on {
                        ended = true;
                        break;
                    }
                    if replay.is_long_unread() {
                        phase.sample()?;
                        replay.note_read();
                    }
                    stopped = observe(ScenarioStage::Progress(replay.progress())).is_break();
                }
                if replay.references > phase.from {
                    let result = phase.end(&replay, &stage)?;
                    let phase = ScenarioStage::Phase(phases.len() + 1, &result);
                    stopped = stopped || observe(phase).is_break();
                    phases.push(result);
                }
            }
            stopped &= !ended;
            if !stopped {
                for step in operator.remaining() {
                    let _ = observe(ScenarioStage::NotReached(step, replay.references));
                }
            }
            let truth_matches = (phases.iter().flat_map(|phase| &phase.guests))
                .flat_map(|measured| &measured.counters)
                .all(|counter| counter.measured == counter.truth);
            let mut notes = replay.notes();
            notes.extend(stopped.then(|| stopped_after(replay.references)));
            let machine = self.setup().machine;
            Ok(Played {
                scenario: operator.scenario().to_owned(),
                machine: machine.model().name().into(),
                nodes: machine.nodes(),
                configuration: self.configuration(),
                conditions: self.conditions.clone(),
                references: replay.references,
                cycles: replay.truth().cycles(),
                placement: self.placement.to_string(),
                threads: replay.threads(),
                notes,
                stopped,
                steps: operator.completed().to_vec(),
                phases,
                units: units(board),
                hypercalls: Hypercalls::sum(&board.tallies()),
                guests: guest_calls(&self.setup().guests, board),
                truth_matches,
                trace: None,
            })
        })?;
        run.trace = trace;
        Ok(run)
    }
}

/// The operator's access to a board. A request is served only when the operator takes the answer.
struct Mailbox<'a> {
    board: &'a Board<'a>,
    request: Option<(StrandId, Request)>,
}

impl OperatedMachine for Mailbox<'_> {
    fn devices(&self) -> &Devices {
        self.board.devices()
    }

    fn ask(&mut self, on: StrandId, request: &Request) -> Result<(), String> {
        self.request = Some((on, *request));
        Ok(())
    }

    fn answer(&mut self) -> Option<Answer> {
        let (on, request) = self.request.take()?;
        let mut words = [mailbox::EMPTY; mailbox::WORDS];
        mailbox::ask(&mut words, &request);
        let board = self.board;
        match request {
            // A request to look at the hypervisor takes no time.
            Request::ReadState(_) => mailbox::serve(&mut words, board.service(), on, drop),
            Request::Reset(guest) => mailbox::serve(&mut words, board.service(), on, |_| {
                board.reset_guest(guest, on);
            }),
            _ => board.work(on, |service| {
                mailbox::serve(&mut words, service, on, drop);
            }),
        }
        mailbox::answer(&words)
    }

    /// Does nothing: the strand executes no program, and once its death has been reported, it takes no cross-calls.
    fn stop(&mut self, _: StrandId) {}
}

/// A replay with its machine.
struct Play<'a, 's> {
    board: &'a Board<'a>,
    prepared: &'s Prepared,
}

/// A phase that is under way.
struct Phase<'a> {
    from: u64,
    before: Truth,
    observers: Vec<(GuestId, Measurement<'a>)>,
}

impl Phase<'_> {
    fn sample(&mut self) -> Result<(), RunError> {
        self.observers.iter_mut().try_for_each(|(_, measurement)| measurement.sample())
    }

    fn end(mut self, replay: &Replay, stage: &Play<'_, '_>) -> Result<PhaseRun, RunError> {
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
        Ok(PhaseRun {
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

impl<'a> Play<'a, '_> {
    fn name(&self, guest: GuestId) -> String {
        self.prepared.setup().guests[guest.index()].name.clone()
    }

    fn begin(&self, replay: &Replay) -> Result<Phase<'a>, RunError> {
        let all = &self.prepared.setup().selection;
        let of_others = Selection { pic: None, ..*all };
        let mut observers = Vec::new();
        for (guest, strand) in self.prepared.callers() {
            let (strands, selection) = if guest == self.prepared.measuring {
                (self.prepared.strands(), all)
            } else {
                (&[strand][..], &of_others)
            };
            let misses = PerfConfig::All;
            let measurement = Measurement::start(self.board, guest, strands, selection, misses)?;
            observers.push((guest, measurement));
        }
        Ok(Phase { from: replay.references, before: replay.truth().into_owned(), observers })
    }

    fn steps(
        &self,
        operator: &mut Operator,
        references: u64,
        observe: &mut Observe<'_>,
    ) -> Result<ControlFlow<()>, RunError> {
        let mut mailbox = Mailbox { board: self.board, request: None };
        let mut held = self.held();
        let mut settled = Settled::default();
        loop {
            match operator.work(&mut mailbox, references) {
                OperatorProgress::Nothing => return Ok(ControlFlow::Continue(())),
                OperatorProgress::Requested => {
                    if let Some(awaited) = operator.pending() {
                        self.complete_change(awaited, &mut settled)?;
                    }
                }
                OperatorProgress::Completed(action, step) => {
                    let now = self.held();
                    let callers = self.prepared.callers();
                    for ((guest, strand), (held, now)) in callers.zip(held.iter().zip(&now)) {
                        if adds_right(*held, *now) || action == Action::Reset(guest) {
                            settled.found.push(self.look(guest, strand)?);
                        }
                    }
                    // The change also waited for the excused strands' cross-calls, so count those strands, too.
                    settled.awaited = settled.awaited.map(|number| number + step.excused.len());
                    step.settled = Some(std::mem::take(&mut settled));
                    // A replay's report shows the units after each phase and at the end, but not after each step.
                    step.unit = None;
                    if observe(ScenarioStage::Step(step)).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    held = now;
                }
            }
        }
    }

    /// Returns the rights of each guest that makes calls.
    fn held(&self) -> Vec<Grant> {
        let callers = self.prepared.callers();
        callers.map(|(guest, _)| self.board.service().held(guest)).collect()
    }

    /// Lets the strands in `awaited`, for which a pending change waits, take their cross-calls. Before the first cross-call, lets
    /// guests make calls.
    fn complete_change(&self, awaited: StrandSet, settled: &mut Settled) -> Result<(), RunError> {
        if settled.awaited.is_none() {
            settled.awaited = Some(awaited.iter().count());
            for (guest, strand) in self.prepared.callers() {
                let calls = PerfCounters::negotiate_best(self.board.strand(guest, strand))?;
                for register in [PerfReg::SPARC_PCR, PerfReg::L2_PERF_CONFIG] {
                    let got = calls.get(register);
                    let status = got.map_or_else(|error| error.to_string(), |_| "EOK".to_owned());
                    let (guest, register) = (self.name(guest), register.name().into());
                    settled.meanwhile.push(Asked { guest, register, status });
                }
            }
        }
        if settled.cross_calls >= MAX_CROSS_CALLS {
            return Err(RunError::Endless);
        }
        let taken = awaited.iter().filter(|strand| self.board.take_cross_call(*strand));
        settled.cross_calls += taken.count() as u64;
        Ok(())
    }

    /// Lets a guest read each register by a call. Returns how many registers the guest could read, and the names of those that are
    /// not 0.
    fn look(&self, guest: GuestId, strand: StrandId) -> Result<Found, RunError> {
        let calls = PerfCounters::negotiate_best(self.board.strand(guest, strand))?;
        let mut found = Found { guest: self.name(guest), registers: 0, not_zero: Vec::new() };
        for register in PerfReg::ALL {
            if let Ok(value) = TRIES.retry(|| calls.get(register)) {
                found.registers += 1;
                if value != 0 {
                    found.not_zero.push(register.name().into());
                }
            }
        }
        Ok(found)
    }
}

fn units(board: &Board<'_>) -> Vec<UnitRun> {
    let service = board.service();
    Unit::ALL
        .iter()
        .copied()
        .filter(|unit| service.has_unit(*unit))
        .map(|unit| UnitRun::new(unit, service.unit(unit)))
        .collect()
}
