//! A replay: what the guest measured beside what happened.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::AddAssign;

use perfctr_service::statistics::{Class, Operation, Outcome, Statistics};
use serde::{Deserialize, Serialize};

use crate::analysis::details::{Details, InstructionMisses, ProgramDetails};
use crate::analysis::sharing::SharedLine;
use crate::events::Trace;
use crate::machine::board::Tally;
use crate::machine::clock::HZ;
use crate::machine::configuration::Configuration;
use crate::memory::{Served, Usage};
use crate::nearest::status_name;

/// A replay.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replayed {
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
    /// The same in seconds, and the clock.
    pub time: Time,
    /// Which strand executed which thread.
    pub placement: String,
    /// What each thread did.
    pub threads: Vec<ThreadRun>,
    /// How channels, hubs and links were used.
    #[serde(flatten)]
    pub usage: Usage,
    /// What somebody who reads the results should know: whole sentences without a full stop.
    pub notes: Vec<String>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    /// The hypercalls of each guest.
    pub guests: Vec<GuestCalls>,
    /// The counters that have an event.
    pub counters: Vec<CounterResult>,
    /// Whether every counter shows what happened.
    pub truth_matches: bool,
    /// Details, if the [setup](crate::replay::Setup::details) asks for them.
    pub details: Option<Details>,
    /// The hypervisor's events, if the [setup](crate::replay::Setup::tracing) asks for them.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

impl Replayed {
    /// Returns the programs; none without details.
    #[must_use]
    pub fn programs(&self) -> &[ProgramDetails] {
        (self.details.as_ref()).map_or(&[], |details| &details.programs)
    }

    /// Returns the instructions that were waited for longest, the longest first; none without details.
    #[must_use]
    pub fn code(&self) -> &[InstructionMisses] {
        (self.details.as_ref()).map_or(&[], |details| &details.code)
    }

    /// Returns the lines that nodes took from each other most; none without details.
    #[must_use]
    pub fn lines(&self) -> &[SharedLine] {
        (self.details.as_ref()).map_or(&[], |details| &details.lines.hottest)
    }
}

/// How long a program took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// Cycles a second.
    pub hertz: u64,
    /// The cycles, as [`Replayed::cycles`].
    pub cycles: u64,
    /// The seconds.
    pub seconds: f64,
}

impl Time {
    pub(crate) fn new(cycles: u64) -> Self {
        Self { hertz: HZ, cycles, seconds: cycles as f64 / HZ as f64 }
    }

    /// Returns the duration of a number of cycles, in seconds.
    #[must_use]
    pub fn seconds_of(&self, cycles: u64) -> f64 {
        cycles as f64 / self.hertz as f64
    }
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadRun {
    /// The number of the thread, from 0. Those of all programs have numbers of their own. References that are dealt are one
    /// thread on several strands.
    pub thread: usize,
    /// Its strand.
    pub strand: usize,
    /// The number of its instructions.
    pub instructions: u64,
    /// The cycles for which it executed, or waited for its pipeline or for memory: not those for which it waited for other
    /// threads.
    pub cycles: u64,
    /// Where its requests were served.
    pub served: Served,
    /// What it did in these cycles.
    pub stack: Stack,
}

/// What a thread did or waited for, in cycles: the sum is [`ThreadRun::cycles`].
///
/// A request to the L2 cache is waited for from when it leaves the core until its data arrive, with its time in all queues. That
/// time is of the kind that [served](Served) the request. Stores are not waited for, unless eight are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// It issued instructions, loaded from its L1 cache, or jumped: what the instructions take if nothing is waited for.
    pub busy: u64,
    /// It waited for the L2 cache of its node: for its bank, and for the line.
    pub l2: u64,
    /// It waited for the memory of its node.
    pub local: u64,
    /// It waited for the memory of another node.
    pub remote: u64,
    /// It waited for the L2 cache of another node.
    pub c2c: u64,
    /// It waited for a line that was on its way to the L2 cache already, for another strand or a store.
    pub arriving: u64,
    /// It waited for room among its stores.
    pub stores: u64,
    /// It waited for the store of an atomic instruction, and for those before it.
    pub atomics: u64,
    /// It waited for the pipeline, which other strands used.
    pub pipeline: u64,
}

impl Stack {
    /// Returns all cycles.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        let requests = self.l2 + self.local + self.remote + self.c2c + self.arriving;
        self.busy + requests + self.stores + self.atomics + self.pipeline
    }
}

impl AddAssign for Stack {
    fn add_assign(&mut self, other: Self) {
        self.busy += other.busy;
        self.l2 += other.l2;
        self.local += other.local;
        self.remote += other.remote;
        self.c2c += other.c2c;
        self.arriving += other.arriving;
        self.stores += other.stores;
        self.atomics += other.atomics;
        self.pipeline += other.pipeline;
    }
}

/// Hypercalls by status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hypercalls {
    /// The number of all.
    pub total: u64,
    /// The numbers by name of the status.
    pub by_status: BTreeMap<String, u64>,
}

/// A guest's hypercalls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuestCalls {
    /// Its name.
    pub name: String,
    /// Its grant.
    pub grant: String,
    /// Its hypercalls.
    pub hypercalls: Hypercalls,
    /// Those for registers by class of register, as the service's own statistics count them.
    pub by_class: BTreeMap<Cow<'static, str>, Hypercalls>,
}

/// One counter over the whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterResult {
    /// The number of the register that holds the counter; `None` for %pic.
    pub perfreg: Option<u64>,
    /// 0 or 1.
    pub counter: usize,
    /// The strand, for %pic.
    pub strand: Option<usize>,
    /// The name of the register.
    pub name: Cow<'static, str>,
    /// The name of the event.
    pub event: Cow<'static, str>,
    /// The count that the guest read.
    pub measured: u64,
    /// The count of what happened.
    pub truth: u64,
}

impl Hypercalls {
    /// Returns a tally by name of the status.
    #[must_use]
    pub fn new(tally: &Tally) -> Self {
        let by_status =
            tally.iter().map(|(status, count)| (status_name(*status), *count)).collect();
        Self { total: tally.values().sum(), by_status }
    }

    /// Returns the gets and sets of one class of registers.
    pub(crate) fn for_class(statistics: &Statistics, class: Class) -> Self {
        let count = |outcome: &Outcome| {
            statistics.count(Operation::Get, class, *outcome)
                + statistics.count(Operation::Set, class, *outcome)
        };
        let counts = Outcome::ALL.iter().map(|outcome| (outcome.name().to_owned(), count(outcome)));
        let by_status: BTreeMap<String, u64> = counts.filter(|(_, count)| *count != 0).collect();
        Self { total: by_status.values().sum(), by_status }
    }

    /// Returns the sum of all guests.
    #[must_use]
    pub fn sum(tallies: &[Tally]) -> Self {
        let mut sum = Tally::new();
        for (status, count) in tallies.iter().flatten() {
            *sum.entry(*status).or_default() += count;
        }
        Self::new(&sum)
    }
}
