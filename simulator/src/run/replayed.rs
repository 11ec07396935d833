//! The result of a replay: what the guest measured, and what happened.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{AddAssign, SubAssign};

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
#[allow(missing_docs, reason = "the names say it")]
pub struct Replayed {
    /// The name of the machine's family.
    pub machine: Cow<'static, str>,
    /// The number of nodes.
    pub nodes: usize,
    pub configuration: Configuration,
    pub references: u64,
    /// The cycles until the last thread ended.
    pub cycles: u64,
    /// The same cycles in seconds, and the clock.
    pub time: Time,
    /// Which strand executed which thread.
    pub placement: String,
    pub threads: Vec<ThreadRun>,
    /// How channels, hubs and links were used.
    #[serde(flatten)]
    pub usage: Usage,
    /// See [`Run::notes`](super::Run::notes).
    pub notes: Vec<String>,
    /// The hypercalls of all guests.
    pub hypercalls: Hypercalls,
    pub guests: Vec<GuestCalls>,
    /// The counters that have an event.
    pub counters: Vec<CounterResult>,
    /// Whether every counter shows what happened.
    pub truth_matches: bool,
    /// `None` unless the [setup](crate::replay::Setup::details) asks for details.
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

/// The duration of a replay or an execution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Time {
    /// Cycles per second.
    pub hertz: u64,
    pub cycles: u64,
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
#[allow(missing_docs, reason = "the names say it")]
pub struct ThreadRun {
    /// The number of the thread, from 0, among the threads of all programs. References that are dealt are one thread on several
    /// strands.
    pub thread: usize,
    pub strand: usize,
    pub instructions: u64,
    /// The cycles in which the thread executed, or waited for its pipeline or for memory, but not for other threads.
    pub cycles: u64,
    /// Where the thread's requests were served.
    pub served: Served,
    /// How the cycles were spent.
    pub stack: Stack,
}

/// The cycles that a thread spent at work, or waiting for each of these things. Their sum is [`ThreadRun::cycles`].
///
/// A thread waits for a request to the L2 cache from when it leaves the core until the data arrive, in all queues together. What
/// [served](Served) the request decides which number these cycles add to. A thread waits for stores only while eight are on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// Instructions, loads from the L1 cache and jumps, when nothing else delays them.
    pub busy: u64,
    /// The L2 cache of the thread's node: its bank, and the line.
    pub l2: u64,
    /// The memory of the thread's node.
    pub local: u64,
    /// The memory of another node.
    pub remote: u64,
    /// The L2 cache of another node.
    pub c2c: u64,
    /// A line that was already on its way to the L2 cache, for another strand or a store.
    pub arriving: u64,
    /// Room in the store buffer.
    pub stores: u64,
    /// The store of an atomic instruction, and the stores before it.
    pub atomics: u64,
    /// The pipeline, while other strands use it.
    pub pipeline: u64,
}

impl Stack {
    fn parts(&mut self) -> [&mut u64; 9] {
        let Self { busy, l2, local, remote, c2c, arriving, stores, atomics, pipeline } = self;
        [busy, l2, local, remote, c2c, arriving, stores, atomics, pipeline]
    }

    /// Returns all cycles.
    #[must_use]
    pub fn sum(mut self) -> u64 {
        self.parts().into_iter().map(|part| *part).sum()
    }
}

impl AddAssign for Stack {
    fn add_assign(&mut self, mut other: Self) {
        let parts = self.parts().into_iter().zip(other.parts());
        parts.for_each(|(part, other)| *part += *other);
    }
}

impl SubAssign for Stack {
    fn sub_assign(&mut self, mut other: Self) {
        let parts = self.parts().into_iter().zip(other.parts());
        parts.for_each(|(part, other)| *part -= *other);
    }
}

/// The number of hypercalls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hypercalls {
    #[allow(missing_docs, reason = "its name says it")]
    pub total: u64,
    /// The number for each status, by its name.
    pub by_status: BTreeMap<String, u64>,
}

/// A guest's hypercalls.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestCalls {
    pub name: String,
    pub grant: String,
    pub hypercalls: Hypercalls,
    /// The gets and sets by class of register, from the service's own statistics.
    pub by_class: BTreeMap<Cow<'static, str>, Hypercalls>,
}

/// What a counter shows at the end, and what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CounterResult {
    /// The number of the register that holds the counter; `None` for %pic.
    pub perfreg: Option<u64>,
    /// 0 or 1.
    pub counter: usize,
    /// The strand, for %pic.
    pub strand: Option<usize>,
    /// The name of the register.
    pub name: Cow<'static, str>,
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
        let named = tally.iter().map(|(status, count)| (status_name(*status), *count));
        Self { total: tally.values().sum(), by_status: named.collect() }
    }

    /// Returns the gets and sets of one class of registers.
    pub(crate) fn for_class(statistics: &Statistics, class: Class) -> Self {
        let count = |outcome: &Outcome| {
            statistics.count(Operation::Get, class, *outcome)
                + statistics.count(Operation::Set, class, *outcome)
        };
        let counts = Outcome::ALL.iter().map(|outcome| (outcome.name().to_owned(), count(outcome)));
        let by_status: BTreeMap<_, _> = counts.filter(|(_, count)| *count != 0).collect();
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
