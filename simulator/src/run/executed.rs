//! A machine that executed guests.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Hypercalls, StepRun, Time};
use crate::execute::mailbox::GuestState;
use crate::memory::{Served, Usage};

/// What happened on a machine until now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Executed {
    /// The name of the machine's family.
    pub machine: Cow<'static, str>,
    /// The number of its nodes.
    pub nodes: usize,
    /// How long it has run.
    pub time: Time,
    /// The strands that have executed something.
    pub strands: Vec<StrandRun>,
    /// The events that were asked for, by class. None without a memory system.
    pub events: Vec<EventCounts>,
    /// How channels, hubs and links were used, if there is a memory system.
    #[serde(flatten)]
    pub usage: Option<Usage>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// The guests.
    pub guests: Vec<GuestRun>,
    /// How many things software did that are not simulated in full.
    pub noted: usize,
    /// The steps of the [operator](crate::operator::Operator). Empty until the caller that plays them puts them here.
    pub steps: Vec<StepRun>,
}

/// What a strand did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrandRun {
    /// Its number.
    pub strand: usize,
    /// Instructions of guests, and of the hypervisor.
    pub instructions: ByWhom,
    /// Cycles of guests, and of the hypervisor: not those in which the strand was parked or halted.
    pub cycles: ByWhom,
    /// The traps that it took, interrupts among them.
    pub traps: u64,
    /// Where its requests to the L2 cache were served.
    pub served: Served,
}

/// A number by who executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByWhom {
    /// A guest, privileged or not.
    pub guest: u64,
    /// The hypervisor.
    pub hypervisor: u64,
}

impl ByWhom {
    pub(crate) fn new([user, privileged, hypervisor]: [u64; 3]) -> Self {
        Self { guest: user + privileged, hypervisor }
    }

    /// Returns the sum.
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.guest + self.hypervisor
    }
}

/// How often an event happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// The class of units that count it.
    pub class: Cow<'static, str>,
    /// Its name.
    pub event: Cow<'static, str>,
    /// Whether the numbers are those of hubs; else they are those of nodes.
    pub by_hub: bool,
    /// How often it happened, by number of the node or hub.
    pub by_place: Vec<u64>,
}

impl EventCounts {
    /// Returns how often it happened.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_place.iter().sum()
    }
}

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestRun {
    /// Its number.
    pub guest: usize,
    /// Its name.
    pub name: String,
    /// Its strands.
    pub strands: Vec<usize>,
    /// Its program, and what its console shows: empty until who runs the machine puts them here.
    pub program: String,
    #[allow(missing_docs, reason = "as above")]
    pub console: String,
    /// What has become of it.
    pub state: GuestState,
    /// Its hypercalls.
    pub hypercalls: Hypercalls,
}
