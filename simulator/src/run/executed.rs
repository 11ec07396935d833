//! The result of an execution, which JSON files and reports contain.

use std::borrow::Cow;

use guest_abi::StrandId;
use hv_core::GuestId;
use serde::{Deserialize, Serialize};

use super::{Hypercalls, StepRun, Time};
use crate::execute::mailbox::GuestState;
use crate::execute::records::Failure;
use crate::json;
use crate::memory::{Served, Usage};

/// What an execution has done so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Executed {
    /// The machine's family, such as `batoka`.
    pub machine: Cow<'static, str>,
    pub nodes: usize,
    pub time: Time,
    /// The strands that have executed instructions.
    pub strands: Vec<StrandRun>,
    /// The counts of the selected events, by class; empty without a memory system.
    pub events: Vec<EventCounts>,
    /// How busy channels, hubs and links were; `None` without a memory system.
    #[serde(flatten)]
    pub usage: Option<Usage>,
    /// The number of hypercalls by all guests.
    pub hypercalls: Hypercalls,
    pub guests: Vec<GuestRun>,
    /// The number of entries in the [log](crate::execute::log) of actions that are not fully modelled.
    pub noted: usize,
    /// The steps that the [operator](crate::operator::Operator) has played; empty until the caller that plays the steps stores them here.
    pub steps: Vec<StepRun>,
    /// The clocks that a scenario has changed, in the order in which they were first changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clocks: Vec<ClockRun>,
    /// The failures that the hypervisor has recorded.
    pub failures: Vec<Failure>,
    /// The hypervisor's log, and the number of messages that are missing from it.
    #[serde(default)]
    pub hypervisor: HypervisorRun,
}

/// A clock, compared with the machine's true time. The comparison includes a scenario's changes, but not values that software has written
/// to the clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct ClockRun {
    pub clock: String,
    /// The changes in chronological order.
    pub changes: Vec<ClockChange>,
    /// Pairs of a time in cycles and a number of nanoseconds by which the clock is ahead of the true time. The number is negative if the
    /// clock is behind. The times are evenly spread.
    pub ahead: Vec<(u64, i64)>,
}

/// What a scenario has done to a clock, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClockChange {
    /// The time of the change, in cycles.
    pub at: u64,
    /// What the change does, as the end of a sentence that begins with the clock's name, such as `stops`.
    pub what: String,
}

/// The hypervisor's log, and the number of messages that are missing from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HypervisorRun {
    /// The lines on the hypervisor's own console; empty until the caller that reads the console stores them here.
    pub console: String,
    /// How many messages the hypervisor has omitted because there were too many.
    pub left_out: u64,
}

/// A strand's instructions, cycles, traps and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct StrandRun {
    #[serde(with = "json")]
    pub strand: StrandId,
    pub instructions: BySoftware,
    /// The strand's cycles, except those in which it was parked or halted.
    pub cycles: BySoftware,
    /// The number of traps, including interrupts.
    pub traps: u64,
    /// The strand's requests to the L2 cache, counted by the unit that served them.
    pub served: Served,
}

/// A number, split by the kind of software that was executing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BySoftware {
    /// The number for guests, both privileged and nonprivileged.
    pub guest: u64,
    #[allow(missing_docs, reason = "its name says it")]
    pub hypervisor: u64,
}

impl BySoftware {
    pub(crate) fn new([user, privileged, hypervisor]: [u64; 3]) -> Self {
        Self { guest: user + privileged, hypervisor }
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.guest + self.hypervisor
    }
}

/// An event's counts, one for each node or each hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct EventCounts {
    /// The class of units that count the event.
    pub class: Cow<'static, str>,
    pub event: Cow<'static, str>,
    /// `true` if each hub counts the event, and `false` if each node counts it.
    pub by_hub: bool,
    /// The count of each node or hub, indexed by its number.
    pub by_place: Vec<u64>,
}

impl EventCounts {
    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_place.iter().sum()
    }
}

/// A guest's state, and what it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestRun {
    /// The hypervisor's number for the guest, from 0.
    #[serde(with = "json")]
    pub guest: GuestId,
    pub name: String,
    #[serde(with = "json")]
    pub strands: Vec<StrandId>,
    /// The program's name; empty until the caller that loaded the program stores it here.
    pub program: String,
    /// The guest's console output; empty until the caller that reads the console stores it here.
    pub console: String,
    pub state: GuestState,
    pub hypercalls: Hypercalls,
}
