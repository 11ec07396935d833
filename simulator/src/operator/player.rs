//! Plays a scenario's steps.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use conform::modelled::faulty;
use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::mailbox::{Refusal, ServiceState, Step as Request};
use perfctr_service::{ChangeError, Grant, Grants, StrandSet, Unit};
use platform::AccessError;
use platform::models::Devices;

use super::file::{Action, Scenario, Step};
use crate::machine::clocks::{Change, Clock};
use crate::machine::guests::NamedGuest;
use crate::run::{StepRun, UnitRun};

/// The hypervisor's answer to a request. Only [`Request::ReadState`] is answered with a [`ServiceState`].
pub type Answer = Result<Option<ServiceState>, Refusal>;

/// A machine that an operator can change.
pub trait OperatedMachine {
    #[allow(missing_docs, reason = "its name says it")]
    fn devices(&self) -> &Devices;

    /// Gives a request to the hypervisor, which serves it on the strand `on`.
    ///
    /// # Errors
    /// The hypervisor cannot take a request now. The message says why.
    fn ask(&mut self, on: StrandId, request: &Request) -> Result<(), String>;

    /// Takes the hypervisor's answer to the latest request; `None` if the hypervisor has not answered yet.
    fn answer(&mut self) -> Option<Answer>;

    /// Stops a strand forever: it executes no further instructions.
    fn stop(&mut self, strand: StrandId);

    /// Changes a clock.
    ///
    /// # Errors
    /// The machine has no clocks that can go wrong. The message says so.
    fn change_clock(&mut self, _: Clock, _: Change) -> Result<(), String> {
        Err("the machine has no clocks that can go wrong".to_owned())
    }
}

#[derive(Debug)]
#[allow(missing_docs, reason = "the module says it")]
pub struct Operator {
    scenario: String,
    steps: VecDeque<Step>,
    guests: Vec<NamedGuest>,
    /// The guests' rights after the latest change.
    grants: Grants,
    dead: StrandSet,
    current: Option<CurrentStep>,
    completed: Vec<StepRun>,
}

/// The step that is waiting for the hypervisor.
#[derive(Debug)]
struct CurrentStep {
    step: Step,
    run: StepRun,
    request: Request,
    retries: usize,
    pending: Option<StrandSet>,
}

/// What a call to [`Operator::work`] has done.
#[derive(Debug)]
pub enum OperatorProgress<'a> {
    /// There is nothing to do now: no step is due, or the hypervisor has not answered.
    Nothing,
    /// The operator has given a request to the hypervisor.
    Requested,
    /// A step with this action has ended with this result.
    Completed(Action, &'a mut StepRun),
}

/// The number of references or instructions between two checks for the hypervisor's answer.
const ANSWER_CHECK_INTERVAL: u64 = 10_000;

/// The maximum number of retries of a request to a busy unit. In a replay, these retries take longer than the slowest access.
const MAX_RETRIES: usize = 10_000;

impl Operator {
    /// Returns an operator that has not played any step. The guests have the rights of their configuration.
    #[must_use]
    pub fn new(scenario: Scenario, guests: &[NamedGuest]) -> Self {
        let mut grants = Grants::none(guests.len()).expect("guests of a configuration");
        for (guest, number) in guests.iter().zip((0..).filter_map(GuestId::new)) {
            // Setting a grant fails only if the guest does not exist.
            let _ = grants.set(number, guest.config.grant);
        }
        Self {
            scenario: scenario.name,
            steps: scenario.steps.into(),
            guests: guests.to_vec(),
            grants,
            dead: StrandSet::EMPTY,
            current: None,
            completed: Vec::new(),
        }
    }

    /// Returns the name of the scenario's file, for messages.
    #[must_use]
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Returns the results of the completed steps.
    #[must_use]
    pub fn completed(&self) -> &[StepRun] {
        &self.completed
    }

    /// Returns the steps that have not completed.
    pub fn remaining(&self) -> impl Iterator<Item = &Step> {
        let current = self.current.iter().map(|current| &current.step);
        current.chain(&self.steps)
    }

    /// Returns the strands for which the current step's change still waits; `None` if the latest answer showed no pending change.
    #[must_use]
    pub fn pending(&self) -> Option<StrandSet> {
        self.current.as_ref()?.pending
    }

    /// Returns how many references or instructions may be executed before the next call to [`work`](Self::work). `now` is the number
    /// executed so far.
    #[must_use]
    pub fn until_next_work(&self, now: u64) -> u64 {
        match (&self.current, self.steps.front()) {
            (Some(_), _) => ANSWER_CHECK_INTERVAL,
            (None, Some(step)) => step.at.saturating_sub(now).max(1),
            (None, None) => u64::MAX,
        }
    }

    /// Takes an answer from the hypervisor, or begins the next step that is due. `now` is the number of references or instructions so far.
    /// The caller calls this function again until there is nothing to do.
    pub fn work(&mut self, machine: &mut impl OperatedMachine, now: u64) -> OperatorProgress<'_> {
        let (action, next) = if let Some(current) = self.current.take() {
            let Some(answer) = machine.answer() else {
                self.current = Some(current);
                return OperatorProgress::Nothing;
            };
            (current.step.action, self.answered(current, answer))
        } else {
            let Some(step) = self.steps.front().copied().filter(|step| step.at <= now) else {
                return OperatorProgress::Nothing;
            };
            self.steps.pop_front();
            (step.action, self.begin(machine, step))
        };
        let made = match next {
            ControlFlow::Continue(current) => self.ask(machine, current),
            ControlFlow::Break(made) => Some(made),
        };
        let Some(made) = made else {
            return OperatorProgress::Requested;
        };
        self.completed.push(made);
        let last = self.completed.len() - 1;
        OperatorProgress::Completed(action, &mut self.completed[last])
    }

    /// Begins a step. Returns the step's first request. If the step makes no request, returns the step's result.
    fn begin(
        &mut self,
        machine: &mut impl OperatedMachine,
        step: Step,
    ) -> ControlFlow<StepRun, CurrentStep> {
        let Step { at, line, action } = step;
        let action = action.describe(|guest| self.guests[guest.index()].name.clone());
        let mut run = StepRun { at, line, action, ..StepRun::default() };
        let mut grants = self.grants;
        let changed = match step.action {
            Action::Grant(guest, right) => grants.grant(guest, right),
            Action::Revoke(guest, right) => grants.revoke(guest, right),
            Action::Transfer(right, from, to) => grants.transfer(from, to, right),
            _ => Ok(()),
        };
        if let Err(error) = changed {
            run.rejected = Some(error.to_string());
            return ControlFlow::Break(run);
        }
        let request = match step.action {
            Action::Grant(..) | Action::Revoke(..) | Action::Transfer(..) => {
                Request::Reconfigure(grants)
            }
            Action::Reset(guest) => Request::Reset(guest),
            Action::Fault(unit) => {
                machine.devices().set_faulty(faulty(unit), true);
                return ControlFlow::Break(run);
            }
            Action::Clock(clock, change) => {
                run.rejected = machine.change_clock(clock, change).err();
                return ControlFlow::Break(run);
            }
            Action::Mend(unit) => {
                machine.devices().set_faulty(faulty(unit), false);
                Request::ReadState(self.guests.len())
            }
            Action::Kill(strand) => {
                machine.stop(strand);
                self.dead.insert(strand);
                Request::Died(strand)
            }
        };
        ControlFlow::Continue(CurrentStep { step, run, request, retries: 0, pending: None })
    }

    /// Continues a step after an answer. Returns the step's next request, or the step's result.
    fn answered(
        &mut self,
        mut current: CurrentStep,
        answer: Answer,
    ) -> ControlFlow<StepRun, CurrentStep> {
        use AccessError::Busy;
        use Refusal::Change;

        let look = Request::ReadState(self.guests.len());
        current.request = match (answer, current.request) {
            // Scrubbing a hub takes several accesses, and guests may use the hub in the meantime.
            (Err(Change(ChangeError::Busy | ChangeError::NotClean(_, Busy))), request)
                if current.retries < MAX_RETRIES =>
            {
                current.retries += 1;
                request
            }
            (Err(refusal), _) => {
                current.run.rejected = Some(refusal.to_string());
                return ControlFlow::Break(current.run);
            }
            (Ok(Some(seen)), _) => match (current.step.action, seen.pending) {
                (Action::Mend(unit), _) => {
                    current.run.unit = Some(UnitRun::new(unit, seen.units[unit.number()]));
                    Request::ReturnToService(unit)
                }
                (_, None) => return ControlFlow::Break(current.run),
                (_, pending) => {
                    current.pending = pending;
                    look
                }
            },
            (Ok(None), Request::ReturnToService(_)) => return ControlFlow::Break(current.run),
            (Ok(None), request) => {
                current.run.excused = self.excused(&request);
                if let Request::Reconfigure(grants) = request {
                    self.grants = grants;
                }
                look
            }
        };
        ControlFlow::Continue(current)
    }

    /// Returns the dead strands of the guests from which the request takes a right, or which the request resets.
    fn excused(&self, request: &Request) -> Vec<StrandId> {
        let loses = |id: GuestId| match request {
            Request::Reconfigure(grants) => adds_right(grants.get(id), self.grants.get(id)),
            Request::Reset(guest) => *guest == id,
            _ => false,
        };
        let ids = (0..).map_while(GuestId::new);
        ids.zip(&self.guests)
            .filter(|(id, _)| loses(*id))
            .flat_map(|(_, guest)| guest.config.strands.iter())
            .filter(|strand| self.dead.contains(*strand))
            .collect()
    }

    /// Makes the current request. If no strand is alive, or if the hypervisor cannot take the request, returns the step's result.
    fn ask(
        &mut self,
        machine: &mut impl OperatedMachine,
        mut current: CurrentStep,
    ) -> Option<StepRun> {
        // Strand 0 is always included, because it executes the hypervisor even if it belongs to no guest.
        let strands = self.guests.iter().flat_map(|guest| guest.config.strands.iter());
        let mut alive = StrandId::new(0)
            .into_iter()
            .chain(strands)
            .filter(|strand| !self.dead.contains(*strand));
        let first = alive.next();
        // Only a node's own strands can scrub the node's L2 control registers.
        let on_node = match current.step.action {
            Action::Mend(Unit::L2(node)) => {
                first.into_iter().chain(alive).find(|strand| strand.node() == node)
            }
            _ => None,
        };
        let asked = match on_node.or(first) {
            Some(on) => machine.ask(on, &current.request),
            None => Err("no strand is left that could serve it".to_owned()),
        };
        if let Err(reason) = asked {
            current.run.rejected = Some(reason);
            return Some(current.run);
        }
        self.current = Some(current);
        None
    }
}

/// Returns whether a change to a guest's grant adds a right.
pub(crate) fn adds_right(before: Grant, after: Grant) -> bool {
    after.global && !before.global || after.strand > before.strand
}
