//! The result of an execution.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Hypercalls, StepRun, Time};
use crate::execute::mailbox::GuestState;
use crate::execute::records::Failure;
use crate::memory::{Served, Usage};

/// What happened on a machine until now.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Executed {
    /// The name of the machine's family.
    pub machine: Cow<'static, str>,
    /// The number of nodes.
    pub nodes: usize,
    pub time: Time,
    /// The strands that have executed something.
    pub strands: Vec<StrandRun>,
    /// The selected events, by class; empty without a memory system.
    pub events: Vec<EventCounts>,
    /// How channels, hubs and links were used, if there is a memory system.
    #[serde(flatten)]
    pub usage: Option<Usage>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    pub guests: Vec<GuestRun>,
    /// The number of entries in the [log](crate::execute::log) of what is not fully modelled.
    pub noted: usize,
    /// The steps of the [operator](crate::operator::Operator). Empty until the caller that plays them puts them here.
    pub steps: Vec<StepRun>,
    /// The failures that the hypervisor has told of.
    pub failures: Vec<Failure>,
}

/// What a strand did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct StrandRun {
    pub strand: usize,
    pub instructions: ByWhom,
    /// Without the cycles in which the strand was parked or halted.
    pub cycles: ByWhom,
    /// All traps, interrupts among them.
    pub traps: u64,
    /// Where the strand's requests to the L2 cache were served.
    pub served: Served,
}

/// A number, split by what executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByWhom {
    /// Guests, privileged or not.
    pub guest: u64,
    #[allow(missing_docs, reason = "its name says it")]
    pub hypervisor: u64,
}

impl ByWhom {
    pub(crate) fn new([user, privileged, hypervisor]: [u64; 3]) -> Self {
        Self { guest: user + privileged, hypervisor }
    }

    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.guest + self.hypervisor
    }
}

/// How often an event happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct EventCounts {
    /// The class of units that count the event.
    pub class: Cow<'static, str>,
    pub event: Cow<'static, str>,
    /// Whether hubs count the event. Otherwise nodes do.
    pub by_hub: bool,
    /// By the number of the node or hub.
    pub by_place: Vec<u64>,
}

impl EventCounts {
    #[allow(missing_docs, reason = "its name says it")]
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_place.iter().sum()
    }
}

/// What became of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestRun {
    /// The guest's number.
    pub guest: usize,
    pub name: String,
    pub strands: Vec<usize>,
    /// Empty until the caller that loaded the program puts its name here.
    pub program: String,
    /// The output on the console. Empty until the caller that reads the console puts it here.
    pub console: String,
    pub state: GuestState,
    pub hypercalls: Hypercalls,
}
