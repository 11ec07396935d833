//! The result of a replay during which an operator played a scenario.

use std::borrow::Cow;

use guest_abi::StrandId;
use perfctr_service::{Unit, UnitState};
use serde::{Deserialize, Serialize};

use super::{Conditions, CounterResult, GuestCalls, Hypercalls, ThreadRun};
use crate::events::Trace;
use crate::json;
use crate::machine::configuration::Configuration;

/// A replay during which the operator played a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Played {
    /// The scenario file's name.
    pub scenario: String,
    /// The machine's family, such as `batoka`.
    pub machine: Cow<'static, str>,
    pub nodes: usize,
    pub configuration: Configuration,
    #[serde(flatten)]
    pub conditions: Conditions,
    pub references: u64,
    /// The time at which the last thread ended, in cycles.
    pub cycles: u64,
    /// Which strand executed which thread.
    pub placement: String,
    pub threads: Vec<ThreadRun>,
    /// Notes on the limits of the results; see [`Run::notes`](super::Run::notes).
    pub notes: Vec<String>,
    /// Whether the observer stopped the replay. If so, all numbers are for the part of the replay before the stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The steps in chronological order.
    pub steps: Vec<StepRun>,
    pub phases: Vec<PhaseRun>,
    /// The state of the machine's units at the end.
    pub units: Vec<UnitRun>,
    /// The number of hypercalls by all guests.
    pub hypercalls: Hypercalls,
    /// Each guest's hypercalls, and its grant at the end.
    pub guests: Vec<GuestCalls>,
    /// Whether every counter agrees with the true count.
    pub truth_matches: bool,
    /// The hypervisor's events, if the [setup](crate::replay::Setup::tracing) asks for them.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

/// A completed step of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepRun {
    /// When the step was due: the number of references that had been replayed, or the number of instructions that
    /// all strands had executed.
    pub at: u64,
    /// The line number of the step in the scenario's file, from 1.
    pub line: usize,
    /// What the step does, as a sentence without a full stop.
    pub action: String,
    /// Why the step was rejected and changed nothing; `None` if it was not rejected.
    pub rejected: Option<String>,
    /// Dead strands of guests that lost a right or were reset. The change did not wait for them.
    #[serde(with = "json")]
    pub excused: Vec<StrandId>,
    /// In an execution, the unit's state before the step returned it to service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitRun>,
    /// In a replay, how the step's change was completed.
    #[serde(flatten)]
    pub settled: Option<Settled>,
}

/// How a step's change was completed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Settled {
    /// How many strands had a cross-call to take; `None` if no change was pending.
    pub awaited: Option<usize>,
    /// The calls that guests made while the change was pending.
    pub meanwhile: Vec<Asked>,
    /// How many cross-calls strands took before the change was complete.
    pub cross_calls: u64,
    /// What the registers contained when they were read by guests that had gained a right or were reset.
    pub found: Vec<Found>,
}

/// A call that a guest made while a change was pending. All fields are names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Asked {
    pub guest: String,
    pub register: Cow<'static, str>,
    pub status: String,
}

/// What a guest finds, after a step, in the registers that it can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Found {
    pub guest: String,
    pub registers: usize,
    /// The names of the registers that are not 0.
    pub not_zero: Vec<Cow<'static, str>>,
}

/// What guests measured between two steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct PhaseRun {
    /// How many references had been replayed at the start of the phase.
    pub from: u64,
    /// How many references had been replayed at the end of the phase.
    pub to: u64,
    pub out_of_service: Vec<String>,
    pub guests: Vec<Measured>,
}

/// What a guest measured in a phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Measured {
    pub guest: String,
    pub grant: String,
    /// How many of the machine's units the guest may not use.
    pub refused: usize,
    pub counters: Vec<CounterResult>,
}

/// A unit's state at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct UnitRun {
    pub unit: String,
    pub in_service: bool,
    /// Whether the unit has been scrubbed since a guest lost it.
    pub clean: bool,
    /// How many accesses to the unit have faulted.
    pub faults: u32,
    /// How often the unit went out of service because it stayed busy.
    pub stuck: u32,
}

impl UnitRun {
    /// Converts the hypervisor's unit state to the form that a run keeps.
    #[must_use]
    pub fn new(unit: Unit, state: UnitState) -> Self {
        let UnitState { in_service, clean, faults, stuck } = state;
        Self { unit: unit.to_string(), in_service, clean, faults, stuck }
    }
}
