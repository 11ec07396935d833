//! What came of a scenario.

use perfctr_service::Unit;
use serde::Serialize;

use crate::events::Recording;
use crate::machine::board::Board;
use crate::simulation::outcome::{CounterResult, GuestResults, Hypercalls};

/// Everything, as `--json` writes it.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioOutcome {
    /// The file.
    pub scenario: String,
    /// The family of the machine.
    pub machine: &'static str,
    /// How many nodes it has.
    pub nodes: usize,
    /// References replayed.
    pub references: u64,
    /// How many cycles the references took.
    pub cycles: u64,
    /// The steps, in the order of time.
    pub steps: Vec<StepResults>,
    /// The time between the steps.
    pub phases: Vec<PhaseResults>,
    /// The units of the machine, at the end.
    pub units: Vec<UnitResults>,
    /// Hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// Hypercalls guest by guest, and what each is granted at the end.
    pub guests: Vec<GuestResults>,
    /// Whether every counter showed what really happened.
    pub truth_matches: bool,
    /// What the hypervisor noted of its calls, if [asked for](crate::simulation::Setup::tracing).
    #[serde(skip)]
    pub trace: Option<Recording>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepResults {
    /// After how many references.
    pub at: u64,
    /// The line of the file.
    pub line: usize,
    /// What was to happen.
    pub action: String,
    /// Why it did not.
    pub rejected: Option<String>,
    /// How many strands had a cross-call to take; none if there was nothing to wait for.
    pub awaited: Option<usize>,
    /// What guests were answered meanwhile.
    pub meanwhile: Vec<Asked>,
    /// Strands that did not answer.
    pub excused: Vec<usize>,
    /// Cross-calls until all was done.
    pub cross_calls: u64,
    /// What guests found that had got rights, or had them back.
    pub found: Vec<Found>,
}

/// A call while a change was pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// Who called.
    pub guest: String,
    /// For which register.
    pub register: &'static str,
    /// What came of it.
    pub status: String,
}

/// What a guest found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The guest.
    pub guest: String,
    /// How many registers it could read.
    pub registers: usize,
    /// Those that were not 0, by name.
    pub not_zero: Vec<&'static str>,
}

/// The time between two steps.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseResults {
    /// References before it.
    pub from: u64,
    /// References at its end.
    pub to: u64,
    /// Units that were out of service.
    pub out_of_service: Vec<String>,
    /// What each guest measured.
    pub guests: Vec<Measured>,
}

/// What a guest measured in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The guest.
    pub guest: String,
    /// What it was granted.
    pub grant: String,
    /// Units that are there and that it may not use.
    pub refused: usize,
    /// What it counted.
    pub counters: Vec<CounterResult>,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnitResults {
    /// Its name.
    pub unit: String,
    /// Whether guests can use it.
    pub in_service: bool,
    /// Whether nothing is left in it of a guest that has lost it.
    pub clean: bool,
    /// Accesses that faulted.
    pub faults: u32,
    /// How often it stayed busy for too long.
    pub stuck: u32,
}

/// All units of the machine.
pub(super) fn units(board: &Board<'_>) -> Vec<UnitResults> {
    let service = board.service();
    Unit::all()
        .filter(|unit| unit.is_in(service.machine()))
        .map(|unit| {
            let state = service.unit(unit);
            UnitResults {
                unit: unit.to_string(),
                in_service: state.in_service,
                clean: state.clean,
                faults: state.faults,
                stuck: state.stuck,
            }
        })
        .collect()
}
