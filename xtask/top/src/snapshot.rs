//! What a simulation has done, at one of its samples or between two of them.

use std::collections::{BTreeMap, HashMap};

use guest_abi::StrandId;
use simulator::details::{Details, Instruction, Missed};
use simulator::machine::clock::HZ;
use simulator::memory::{Traffic, Usage};
use simulator::sharing::Line;
use simulator::simulation::{CounterResult, GuestResults, Hypercalls, Now, Outcome, ThreadResults};

/// What happened from the start to a sample, or from one sample to a later one.
#[derive(Clone)]
pub(crate) struct Snapshot {
    /// The number of references.
    pub(crate) references: u64,
    /// The bytes of the recordings that were read.
    pub(crate) read: u64,
    /// What each thread did.
    pub(crate) threads: Vec<ThreadResults>,
    /// The cycles of the machine.
    pub(crate) cycles: u64,
    /// How channels, hubs and links were used.
    pub(crate) usage: Usage,
    /// What the guest read in its counters, beside the truth.
    pub(crate) counters: Vec<CounterResult>,
    /// The hypercalls of each guest.
    pub(crate) guests: Vec<GuestResults>,
    /// The instructions that wait for memory.
    pub(crate) code: Vec<Instruction>,
    /// The lines that nodes have taken from each other most, since the start.
    pub(crate) lines: Vec<Line>,
}

impl Snapshot {
    /// Returns what happened until now.
    pub(crate) fn new(references: u64, now: Now<'_>) -> Self {
        let (code, lines) = code_and_lines(now.details());
        Self {
            references,
            read: now.bytes_read(),
            threads: now.threads(),
            cycles: now.truth().cycles(),
            usage: now.usage(),
            counters: now.counters(),
            guests: now.guests(),
            code,
            lines,
        }
    }

    /// Returns what happened until the end, when so many bytes have been read.
    pub(crate) fn of(outcome: &Outcome, read: u64) -> Self {
        let (code, lines) = code_and_lines(outcome.details.clone());
        Self {
            references: outcome.references,
            read,
            threads: outcome.threads.clone(),
            cycles: outcome.cycles,
            usage: outcome.usage.clone(),
            counters: outcome.counters.clone(),
            guests: outcome.guests.clone(),
            code,
            lines,
        }
    }

    /// Returns what happened since an earlier sample of the same simulation.
    #[must_use]
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut period = self.clone();
        period.references -= earlier.references;
        period.read -= earlier.read;
        period.cycles -= earlier.cycles;
        used(&mut period.usage, &earlier.usage);
        for (now, then) in period.threads.iter_mut().zip(&earlier.threads) {
            now.instructions -= then.instructions;
            now.cycles -= then.cycles;
            now.served.l2 -= then.served.l2;
            now.served.local -= then.served.local;
            now.served.remote -= then.served.remote;
            now.served.c2c -= then.served.c2c;
            let stack = &mut now.stack;
            stack.busy -= then.stack.busy;
            stack.l2 -= then.stack.l2;
            stack.local -= then.stack.local;
            stack.remote -= then.stack.remote;
            stack.c2c -= then.stack.c2c;
            stack.arriving -= then.stack.arriving;
            stack.stores -= then.stack.stores;
            stack.atomics -= then.stack.atomics;
            stack.pipeline -= then.stack.pipeline;
        }
        for (now, then) in period.counters.iter_mut().zip(&earlier.counters) {
            now.measured -= then.measured;
            now.truth -= then.truth;
        }
        for (now, then) in period.guests.iter_mut().zip(&earlier.guests) {
            subtract(&mut now.hypercalls, &then.hypercalls);
            for (class, calls) in &mut now.by_class {
                if let Some(then) = then.by_class.get(class) {
                    subtract(calls, then);
                }
            }
        }
        // Of an instruction that is not among those of a full list it is not known what it missed until then.
        let whole = earlier.code.len() < MOST_CODE;
        let then: HashMap<_, _> = earlier
            .code
            .iter()
            .map(|one| (place(one), one.missed))
            .collect();
        period.code.retain_mut(|one| {
            let then = then.get(&place(one)).copied();
            let known = whole || then.is_some();
            let then = then.unwrap_or_default();
            let misses = &mut one.missed.misses;
            misses.l2 -= then.misses.l2;
            misses.local -= then.misses.local;
            misses.remote -= then.misses.remote;
            misses.c2c -= then.misses.c2c;
            one.missed.cycles -= then.cycles;
            known && one.missed != Missed::default()
        });
        period
    }

    /// Returns the seconds of the machine's time.
    #[must_use]
    pub(crate) fn seconds(&self) -> f64 {
        self.cycles as f64 / HZ as f64
    }

    /// Returns the sum of what the threads on each node did, by number of the node.
    #[must_use]
    pub(crate) fn by_node(&self, nodes: usize) -> Vec<ThreadResults> {
        let on = |node: usize| -> Vec<&ThreadResults> {
            let here = |thread: &&ThreadResults| thread.strand / StrandId::PER_NODE == node;
            self.threads.iter().filter(here).collect()
        };
        (0..nodes)
            .map(|node| ThreadResults::sum(&on(node)))
            .collect()
    }

    /// Returns the hypercalls of all guests by name of the status.
    #[must_use]
    pub(crate) fn by_status(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for (status, count) in (self.guests.iter()).flat_map(|guest| &guest.hypercalls.by_status) {
            *sums.entry(status.as_str()).or_default() += count;
        }
        sums
    }
}

/// The most instructions that details have.
const MOST_CODE: usize = 1024;

fn place(one: &Instruction) -> (usize, Option<u64>) {
    (one.program, one.address)
}

fn code_and_lines(details: Option<Details>) -> (Vec<Instruction>, Vec<Line>) {
    let parts = details.map(|details| (details.code, details.lines.hottest));
    parts.unwrap_or_default()
}

fn subtract(now: &mut Hypercalls, then: &Hypercalls) {
    now.total -= then.total;
    for (status, count) in &mut now.by_status {
        *count -= then.by_status.get(status).copied().unwrap_or(0);
    }
}

/// Subtracts how the same machine was used until an earlier time.
fn used(now: &mut Usage, then: &Usage) {
    for (now, then) in now.channels.iter_mut().zip(&then.channels) {
        now.reads -= then.reads;
        now.writes -= then.writes;
        now.busy -= then.busy;
        now.waited -= then.waited;
    }
    for (now, then) in now.hubs.iter_mut().zip(&then.hubs) {
        now.requests -= then.requests;
        now.busy -= then.busy;
        now.met -= then.met;
        now.waited -= then.waited;
    }
    for (now, then) in now.links.iter_mut().zip(&then.links) {
        now.into -= then.into;
        now.out -= then.out;
        now.busy -= then.busy;
    }
    for now in &mut now.traffic {
        let way = |one: &Traffic| (one.from, one.to, one.kind);
        let then = then.traffic.iter().find(|then| way(then) == way(now));
        now.lines -= then.map_or(0, |then| then.lines);
    }
}
