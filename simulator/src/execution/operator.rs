//! The operator: hands the steps of a scenario to the hypervisor, and breaks devices.

use std::collections::VecDeque;

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::mailbox::{Refusal, Seen, Step as Asked};
use perfctr_service::{ChangeError, Grants, Unit};
use platform::AccessError;
use serde::Serialize;

use super::Execution;
use crate::guests::Guest;
use crate::simulation::scenario::{Action, Scenario, Step, UnitResults, faulty};

/// A step that has been made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepMade {
    /// The instructions of all strands after which it was due.
    pub at: u64,
    /// Its line in the scenario's file, from 1.
    pub line: usize,
    /// What it does.
    pub action: String,
    /// Why it did not happen, if it did not.
    pub rejected: Option<String>,
    /// How the unit was that the step returns to service, before it.
    pub unit: Option<UnitResults>,
}

/// The operator of a machine that executes: makes the steps of a scenario one after the other. The next one waits until no change of
/// the one before is pending.
pub struct Operator {
    scenario: String,
    steps: VecDeque<Step>,
    names: Vec<String>,
    grants: Grants,
    /// The step that the hypervisor is at.
    current: Option<Current>,
    made: Vec<StepMade>,
    /// Strands that can serve a step, and those that have died.
    strands: Vec<StrandId>,
    dead: Vec<StrandId>,
}

struct Current {
    action: Action,
    made: StepMade,
    /// What is granted after it.
    grants: Grants,
    /// What the hypervisor has been asked last.
    asked: Asked,
}

/// While the hypervisor has a step, the operator looks for its answer after so many instructions.
const SOON: u64 = 10_000;

impl Operator {
    /// Returns an operator for guests whose rights are those of their configuration.
    #[must_use]
    pub fn new(scenario: Scenario, guests: &[Guest]) -> Self {
        let mut grants = Grants::none(guests.len());
        for (guest, number) in guests.iter().zip((0..).filter_map(GuestId::new)) {
            // There is such a guest.
            let _ = grants.set(number, guest.config.grant);
        }
        // Strand 0 serves the operator whether it is a guest's or not.
        let strands = StrandId::new(0).into_iter();
        let of_guests = guests.iter().flat_map(|guest| guest.config.strands.iter());
        Self {
            scenario: scenario.name,
            steps: scenario.steps.into(),
            names: guests.iter().map(|guest| guest.name.clone()).collect(),
            grants,
            current: None,
            made: Vec::new(),
            strands: strands.chain(of_guests).collect(),
            dead: Vec::new(),
        }
    }

    /// Returns the name of the scenario's file.
    #[must_use]
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// Returns the steps that have been made.
    #[must_use]
    pub fn made(&self) -> &[StepMade] {
        &self.made
    }

    /// Returns the lines, in the scenario's file, of the steps that have not been made.
    pub fn left(&self) -> impl Iterator<Item = usize> {
        let current = self.current.iter().map(|current| current.made.line);
        current.chain(self.steps.iter().map(|step| step.line))
    }

    /// Returns how many instructions may be executed until [`work`](Self::work) is called again, if `executed` are.
    #[must_use]
    pub fn patience(&self, executed: u64) -> u64 {
        match (&self.current, self.steps.front()) {
            (Some(_), _) => SOON,
            (None, Some(step)) => step.at.saturating_sub(executed).max(1),
            (None, None) => u64::MAX,
        }
    }

    /// Takes what the hypervisor has answered, and makes the steps that are due after so many instructions of all strands. Returns
    /// whether there was anything to do.
    pub fn work(&mut self, execution: &mut Execution, executed: u64) -> bool {
        let mut worked = false;
        if let Some(current) = self.current.take() {
            match execution.operated() {
                None => self.current = Some(current),
                Some(answer) => {
                    worked = true;
                    self.answered(execution, current, answer);
                }
            }
        }
        while self.current.is_none()
            && let Some(step) = self.steps.front().copied()
            && step.at <= executed
        {
            self.steps.pop_front();
            worked = true;
            self.begin(execution, &step);
        }
        worked
    }

    /// Begins a step.
    fn begin(&mut self, execution: &mut Execution, step: &Step) {
        let mut made = StepMade {
            at: step.at,
            line: step.line,
            action: step
                .action
                .describe(|guest| self.names[guest.index()].clone()),
            rejected: None,
            unit: None,
        };
        let mut grants = self.grants;
        let changed = match step.action {
            Action::Grant(guest, right) => grants.grant(guest, right),
            Action::Revoke(guest, right) => grants.revoke(guest, right),
            Action::Transfer(right, from, to) => grants.transfer(from, to, right),
            _ => Ok(()),
        };
        if let Err(error) = changed {
            made.rejected = Some(error.to_string());
            return self.made.push(made);
        }
        let asked = match step.action {
            Action::Grant(..) | Action::Revoke(..) | Action::Transfer(..) => {
                Asked::Reconfigure(grants)
            }
            Action::Reset(guest) => Asked::Reset(guest),
            Action::Fault(unit) => {
                execution.devices().set_faulty(faulty(unit), true);
                return self.made.push(made);
            }
            Action::Mend(unit) => {
                execution.devices().set_faulty(faulty(unit), false);
                self.look()
            }
            Action::Kill(strand) => {
                execution.park(strand);
                self.dead.push(strand);
                Asked::Died(strand)
            }
        };
        let current = Current {
            action: step.action,
            made,
            grants,
            asked,
        };
        self.ask(execution, current);
    }

    /// Goes on with the step that the hypervisor has answered.
    fn answered(
        &mut self,
        execution: &mut Execution,
        mut current: Current,
        answer: Result<Option<Seen>, Refusal>,
    ) {
        let next = match (answer, current.asked) {
            // Clearing a hub takes several accesses, and guests may have it.
            (Err(Refusal::Change(ChangeError::NotClean(_, AccessError::Busy))), asked) => asked,
            (Err(refusal), _) => {
                current.made.rejected = Some(refusal.to_string());
                return self.made.push(current.made);
            }
            (Ok(Some(seen)), _) => match (current.action, seen.pending) {
                (Action::Mend(unit), _) => {
                    current.made.unit = Some(results(unit, &seen));
                    Asked::ReturnToService(unit)
                }
                (_, Some(_)) => self.look(),
                (_, None) => return self.made.push(current.made),
            },
            (Ok(None), Asked::Reconfigure(_)) => {
                self.grants = current.grants;
                self.look()
            }
            (Ok(None), Asked::ReturnToService(_)) => return self.made.push(current.made),
            (Ok(None), _) => self.look(),
        };
        current.asked = next;
        self.ask(execution, current);
    }

    fn look(&self) -> Asked {
        Asked::Look(self.names.len())
    }

    /// Hands to the hypervisor what is asked: for L2 control on a strand of its node, if there is one.
    fn ask(&mut self, execution: &mut Execution, mut current: Current) {
        let alive = || {
            let strands = self.strands.iter();
            strands.filter(|strand| !self.dead.contains(strand))
        };
        let on_node = match current.action {
            Action::Mend(Unit::L2(node)) => alive().find(|strand| strand.node() == node),
            _ => None,
        };
        let on = on_node.or_else(|| alive().next());
        match on.map(|on| execution.operate(*on, &current.asked)) {
            Some(Ok(())) => self.current = Some(current),
            Some(Err(before)) => {
                current.made.rejected = Some(before.to_string());
                self.made.push(current.made);
            }
            None => {
                current.made.rejected = Some("no strand is left that could serve it".to_owned());
                self.made.push(current.made);
            }
        }
    }
}

/// Returns how a unit is seen.
fn results(unit: Unit, seen: &Seen) -> UnitResults {
    UnitResults::new(unit, seen.units[unit.number()])
}
