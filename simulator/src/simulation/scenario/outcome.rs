//! The outcome of a scenario.

use perfctr_service::{Unit, UnitState};
use serde::Serialize;

use crate::configuration::Configuration;
use crate::events::Trace;
use crate::machine::board::Board;
use crate::simulation::outcome::{CounterResult, GuestResults, Hypercalls, ThreadResults};

/// The outcome of a scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioOutcome {
    /// The file.
    pub scenario: String,
    /// The name of the machine's family.
    pub machine: &'static str,
    /// The number of its nodes.
    pub nodes: usize,
    /// The configuration of the machine.
    pub configuration: Configuration,
    /// The number of references.
    pub references: u64,
    /// The cycles that the references took: until the last thread ended.
    pub cycles: u64,
    /// Which strand executed which thread.
    pub placement: String,
    /// What each thread did.
    pub threads: Vec<ThreadResults>,
    /// What somebody who reads the results should know: whole sentences without a full stop.
    pub notes: Vec<String>,
    /// The steps, in the order of time.
    pub steps: Vec<StepResults>,
    /// The time between the steps.
    pub phases: Vec<PhaseResults>,
    /// The units of the machine, at the end.
    pub units: Vec<UnitResults>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// The hypercalls of each guest, and its grant at the end.
    pub guests: Vec<GuestResults>,
    /// Whether every counter shows what happened.
    pub truth_matches: bool,
    /// The hypervisor's events, if the [setup](crate::simulation::Setup::tracing) asks for them.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepResults {
    /// The number of references before it.
    pub at: u64,
    /// Its line in the file, from 1.
    pub line: usize,
    /// What it does.
    pub action: String,
    /// Why the operator's change was rejected, if it was.
    pub rejected: Option<String>,
    /// The number of strands that had a cross-call to take; `None` if no change was pending.
    pub awaited: Option<usize>,
    /// The calls of guests while the change was pending.
    pub meanwhile: Vec<Asked>,
    /// The dead strands that were excused.
    pub excused: Vec<usize>,
    /// The cross-calls until the change was complete.
    pub cross_calls: u64,
    /// The registers of guests that were granted rights or reset.
    pub found: Vec<Found>,
}

/// A call while a change was pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The name of the guest.
    pub guest: String,
    /// The name of the register.
    pub register: &'static str,
    /// The name of the status.
    pub status: String,
}

/// The registers that a guest can read after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The guest.
    pub guest: String,
    /// The number of registers.
    pub registers: usize,
    /// The names of those that are not 0.
    pub not_zero: Vec<&'static str>,
}

/// The time between two steps.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseResults {
    /// The number of references before it.
    pub from: u64,
    /// The number of references at its end.
    pub to: u64,
    /// The units out of service.
    pub out_of_service: Vec<String>,
    /// What each guest measured.
    pub guests: Vec<Measured>,
}

/// What a guest measured in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The guest.
    pub guest: String,
    /// Its grant.
    pub grant: String,
    /// The number of units that the machine has and the guest may not use.
    pub refused: usize,
    /// Its counters.
    pub counters: Vec<CounterResult>,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnitResults {
    /// Its name.
    pub unit: String,
    /// Whether guests can use it.
    pub in_service: bool,
    /// Whether it has been scrubbed since a guest lost it.
    pub clean: bool,
    /// The number of accesses that faulted.
    pub faults: u32,
    /// How often it went out of service because it stayed busy.
    pub stuck: u32,
}

impl UnitResults {
    pub(crate) fn new(unit: Unit, state: UnitState) -> Self {
        Self {
            unit: unit.to_string(),
            in_service: state.in_service,
            clean: state.clean,
            faults: state.faults,
            stuck: state.stuck,
        }
    }
}

/// Returns all units of the machine.
pub(super) fn units(board: &Board<'_>) -> Vec<UnitResults> {
    let service = board.service();
    Unit::all()
        .filter(|unit| unit.is_in(service.machine()))
        .map(|unit| UnitResults::new(unit, service.unit(unit)))
        .collect()
}
