//! A scenario that was played.

use std::borrow::Cow;

use perfctr_service::{Unit, UnitState};
use serde::{Deserialize, Serialize};

use super::{CounterResult, GuestCalls, Hypercalls, ThreadRun};
use crate::events::Trace;
use crate::machine::configuration::Configuration;

/// A scenario that was played.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Played {
    /// The file.
    pub scenario: String,
    /// The name of the machine's family.
    pub machine: Cow<'static, str>,
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
    pub threads: Vec<ThreadRun>,
    /// What somebody who reads the results should know: whole sentences without a full stop.
    pub notes: Vec<String>,
    /// The steps, in the order of time.
    pub steps: Vec<StepRun>,
    /// The time between the steps.
    pub phases: Vec<PhaseRun>,
    /// The units of the machine, at the end.
    pub units: Vec<UnitRun>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// The hypercalls of each guest, and its grant at the end.
    pub guests: Vec<GuestCalls>,
    /// Whether every counter shows what happened.
    pub truth_matches: bool,
    /// The hypervisor's events, if the [setup](crate::replay::Setup::tracing) asks for them.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

/// A step of a scenario that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRun {
    /// The references of a replay, or the instructions of all strands of an execution, after which the step was due.
    pub at: u64,
    /// The line of the step in the scenario's file, from 1.
    pub line: usize,
    /// What the step does: a sentence without a full stop.
    pub action: String,
    /// Why the step changed nothing, if it was rejected.
    pub rejected: Option<String>,
    /// The dead strands of guests that lost a right or were reset: the change did not wait for these strands.
    pub excused: Vec<usize>,
    /// On an execution: the state of the unit before the step returned it to service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitRun>,
    /// On a replay: how the change came to its end.
    #[serde(flatten)]
    pub settled: Option<Settled>,
}

/// How the change of a step came to its end, as far as a replay shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// The number of strands that had a cross-call to take; `None` if no change was pending.
    pub awaited: Option<usize>,
    /// The calls of guests while the change was pending.
    pub meanwhile: Vec<Asked>,
    /// The number of cross-calls until the change was complete.
    pub cross_calls: u64,
    /// What guests that were granted rights or reset can read.
    pub found: Vec<Found>,
}

/// A call while a change was pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The name of the guest.
    pub guest: String,
    /// The name of the register.
    pub register: Cow<'static, str>,
    /// The name of the status.
    pub status: String,
}

/// The registers that a guest can read after a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The guest.
    pub guest: String,
    /// The number of registers.
    pub registers: usize,
    /// The names of those that are not 0.
    pub not_zero: Vec<Cow<'static, str>>,
}

/// The time between two steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseRun {
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
#[derive(Clone, Debug, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRun {
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

impl UnitRun {
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
