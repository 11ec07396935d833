//! The result of a replay without a scenario: what the guest measured, and what really happened.

use std::borrow::Cow;
use std::collections::BTreeMap;

use guest_abi::{Counter, PerfReg, StrandId};
use perfctr_service::statistics::{Class, Operation, Outcome, Statistics};
use serde::{Deserialize, Serialize};

use crate::analysis::details::{Details, InstructionMisses, ProgramDetails};
use crate::analysis::sharing::SharedLine;
use crate::events::Trace;
use crate::json;
use crate::machine::board::StatusCounts;
use crate::machine::clock::HZ;
use crate::machine::configuration::Configuration;
use crate::memory::{Served, Usage};
use crate::nearest::status_name;

use super::{Conditions, RegionRun, Spread, States, Waits};

/// The result of a replay without a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Replayed {
    /// The machine's family, such as `batoka`.
    pub machine: Cow<'static, str>,
    pub nodes: usize,
    pub configuration: Configuration,
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The part of the programs that this result covers; `None` if it covers them completely. All other fields are for this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<RegionRun>,
    pub references: u64,
    /// The time at which the last thread ended, in cycles.
    pub cycles: u64,
    /// The time at which the last thread ended, in seconds, and the clock rate.
    pub time: Time,
    /// Which strand executed which thread.
    pub placement: String,
    pub threads: Vec<ThreadRun>,
    /// The processes, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessRun>,
    /// Sentences about program actions that are missing from the recordings. The notes contain these sentences, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// How long threads waited, and for what.
    #[serde(default)]
    pub waits: Waits,
    /// The lengths of this replay and of others whose threads start at slightly different times. `None` until the caller that runs these
    /// replays stores the lengths here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<Spread>,
    /// The lengths of replays of several recordings of the program. This replay is the last of them. `None` until the caller that makes
    /// these recordings stores the lengths here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Spread>,
    /// How busy channels, hubs and links were.
    #[serde(flatten)]
    pub usage: Usage,
    /// Notes on the limits of the results; see [`Run::notes`](super::Run::notes).
    pub notes: Vec<String>,
    /// Whether the observer stopped the replay. If so, all numbers are for the part of the replay before the stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped: bool,
    /// The number of hypercalls by all guests.
    pub hypercalls: Hypercalls,
    pub guests: Vec<GuestCalls>,
    /// Each counter's measured count and true count. Counters that count no event are omitted.
    pub counters: Vec<CounterResult>,
    /// Whether every counter agrees with the true count.
    pub truth_matches: bool,
    /// The details; `None` unless the [setup](crate::replay::Setup::details) asks for them.
    pub details: Option<Details>,
    /// The hypervisor's events; `None` unless the [setup](crate::replay::Setup::tracing) asks for them.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

impl Replayed {
    /// Returns the programs; empty without details.
    #[must_use]
    pub fn programs(&self) -> &[ProgramDetails] {
        (self.details.as_ref()).map_or(&[], |details| &details.programs)
    }

    /// Returns the instructions at which strands waited longest, longest first; empty without details.
    #[must_use]
    pub fn code(&self) -> &[InstructionMisses] {
        (self.details.as_ref()).map_or(&[], |details| &details.code)
    }

    /// Returns the lines that moved between nodes most often; empty without details.
    #[must_use]
    pub fn lines(&self) -> &[SharedLine] {
        (self.details.as_ref()).map_or(&[], |details| &details.lines.hottest)
    }
}

/// The duration of a replay or an execution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Time {
    /// The number of cycles per second.
    pub hertz: u64,
    pub cycles: u64,
    pub seconds: f64,
}

impl Time {
    pub(crate) fn new(cycles: u64) -> Self {
        Self { hertz: HZ, cycles, seconds: cycles as f64 / HZ as f64 }
    }

    /// Converts cycles to seconds.
    #[must_use]
    pub fn seconds_of(&self, cycles: u64) -> f64 {
        cycles as f64 / self.hertz as f64
    }
}

/// A process's work: a program and its threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub struct ProcessRun {
    /// The name of the recording.
    pub name: String,
    /// The command line; `None` if the recording does not contain it.
    pub command: Option<String>,
    /// The index of the process's first thread among all processes' threads. The process's other threads follow it.
    pub first_thread: usize,
    pub threads: usize,
    pub instructions: u64,
    /// The threads' total cycles.
    pub cycles: u64,
}

/// A thread's cycles, requests and waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub struct ThreadRun {
    /// The thread's number, from 0, among the threads of all programs. If the replay divides one thread's references among several
    /// strands, each of these strands has a record with the number 0.
    pub thread: usize,
    #[serde(with = "json")]
    pub strand: StrandId,
    pub instructions: u64,
    /// The cycles in which the thread executed, or waited for its pipeline or for memory, but not for other threads.
    pub cycles: u64,
    /// The thread's requests, counted by the unit that served them.
    pub served: Served,
    /// The thread's cycles, by cause.
    pub stack: Stack,
    /// How many of the whole run's cycles the thread spent in each state.
    #[serde(default)]
    pub states: States,
}

/// The cycles that a thread spent at work or waiting, by cause. Their sum is [`ThreadRun::cycles`].
///
/// The wait for a request to the L2 cache lasts from the time at which the request leaves the core until the data arrive, including all
/// queues. The wait counts in the field for the unit that [served](Served) the request. A thread waits for stores only while the [maximum
/// number](crate::memory::timing::Timing::stores) of its strand's stores is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// The cycles that instructions, L1 cache hits and jumps take if nothing else delays them.
    pub busy: u64,
    /// The cycles of waits for the L2 cache of the thread's node: for the bank, and for the line.
    pub l2: u64,
    /// The cycles of waits for the memory of the thread's node.
    pub local: u64,
    /// The cycles of waits for the memory of other nodes.
    pub remote: u64,
    /// The cycles of waits for the L2 caches of other nodes.
    pub c2c: u64,
    /// The cycles of waits for lines that were already on their way to the L2 cache, because another strand or a store had
    /// requested them.
    pub arriving: u64,
    /// The cycles of waits for room in the store buffer.
    pub stores: u64,
    /// The cycles of waits for the store of an atomic instruction, and for the stores before this store.
    pub atomics: u64,
    /// The cycles of waits for the pipeline while other strands used it.
    pub pipeline: u64,
}

impl Stack {
    /// Returns the sum of all parts, which is the whole stack's cycles.
    #[must_use]
    pub fn sum(self) -> u64 {
        let Self { busy, l2, local, remote, c2c, arriving, stores, atomics, pipeline } = self;
        busy + l2 + local + remote + c2c + arriving + stores + atomics + pipeline
    }
}

/// The number of hypercalls, in total and by status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hypercalls {
    #[allow(missing_docs, reason = "its name says it")]
    pub total: u64,
    /// The number of hypercalls with each status, by the status's name.
    pub by_status: BTreeMap<String, u64>,
}

/// A guest's hypercalls, by status and by register class.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GuestCalls {
    pub name: String,
    pub grant: String,
    pub hypercalls: Hypercalls,
    /// The number of `get` and `set` calls for each register class, as the service counts them.
    pub by_class: BTreeMap<Cow<'static, str>, Hypercalls>,
}

/// A counter's final count, and the true count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct CounterResult {
    /// The register that holds the counter; `None` for %pic. In JSON, this is the register's number.
    #[serde(default, with = "json")]
    pub perfreg: Option<PerfReg>,
    /// Which of the unit's two counters this is. In JSON, this is the counter's number.
    #[serde(with = "json")]
    pub counter: Counter,
    /// The strand, if the counter is in %pic. In JSON, this is the strand's number.
    #[serde(default, with = "json")]
    pub strand: Option<StrandId>,
    /// The name of the register that holds the counter.
    pub name: Cow<'static, str>,
    pub event: Cow<'static, str>,
    /// The count that the guest measured.
    pub measured: u64,
    /// The number of events that really happened.
    pub truth: u64,
}

impl Hypercalls {
    /// Converts a tally, which identifies statuses by number, to counts that identify them by name.
    #[must_use]
    pub fn new(tally: &StatusCounts) -> Self {
        let named = tally.iter().map(|(status, count)| (status_name(*status), *count));
        Self { total: tally.values().sum(), by_status: named.collect() }
    }

    /// Counts the `get` and `set` calls for one class of registers.
    pub(crate) fn for_class(statistics: &Statistics, class: Class) -> Self {
        let count = |outcome: &Outcome| {
            statistics.count(Operation::Get, class, *outcome)
                + statistics.count(Operation::Set, class, *outcome)
        };
        let counts = Outcome::ALL.iter().map(|outcome| (outcome.name().to_owned(), count(outcome)));
        let by_status: BTreeMap<_, _> = counts.filter(|(_, count)| *count != 0).collect();
        Self { total: by_status.values().sum(), by_status }
    }

    /// Adds up the tallies of all guests.
    #[must_use]
    pub fn sum(tallies: &[StatusCounts]) -> Self {
        let mut sum = StatusCounts::new();
        for (status, count) in tallies.iter().flatten() {
            *sum.entry(*status).or_default() += count;
        }
        Self::new(&sum)
    }
}
