//! Computes the difference between two samples from the same replay.

use std::collections::{BTreeMap, HashMap};

use super::{CounterResult, GuestCalls, Hypercalls, ProcessRun, Replayed, Stack, ThreadRun, Time};
use crate::analysis::details::{InstructionMisses, MAX_CODE, Missed};
use crate::counts::{Counts, counts};
use crate::memory::{ChannelUse, HubUse, LinkUse, Traffic, Usage};

impl Replayed {
    /// Returns what happened since an earlier sample from the same replay. Two parts of the result still cover the time since the replay
    /// began: the waits between threads, and the details other than the misses by instruction.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut period = self.clone();
        let Self {
            machine: _,
            nodes: _,
            configuration: _,
            conditions: _,
            region: _,
            references,
            cycles,
            time,
            placement: _,
            threads,
            processes,
            missing: _,
            waits: _,
            orders: _,
            repeats: _,
            usage,
            notes: _,
            stopped: _,
            hypercalls,
            guests,
            counters,
            truth_matches: _,
            details,
            trace: _,
        } = &mut period;
        hypercalls.subtract(&earlier.hypercalls);
        references.subtract(&earlier.references);
        cycles.subtract(&earlier.cycles);
        *time = Time::new(*cycles);
        usage.subtract(&earlier.usage);
        threads.subtract(&earlier.threads);
        processes.subtract(&earlier.processes);
        counters.subtract(&earlier.counters);
        for (now, then) in guests.iter_mut().zip(&earlier.guests) {
            let GuestCalls { name: _, grant: _, hypercalls, by_class } = now;
            hypercalls.subtract(&then.hypercalls);
            for (class, calls) in by_class {
                if let Some(then) = then.by_class.get(class) {
                    calls.subtract(then);
                }
            }
        }
        if let (Some(now), Some(then)) = (details, &earlier.details) {
            subtract_code(&mut now.code, &then.code);
        }
        period
    }

    /// Returns one element for each node: the total work of all threads on the node.
    #[must_use]
    pub fn by_node(&self) -> Vec<ThreadRun> {
        let on = |node| self.threads.iter().filter(move |thread| thread.node() == node);
        (0..self.nodes).map(|node| ThreadRun::sum(&on(node).collect::<Vec<_>>())).collect()
    }

    /// Returns the number of all guests' hypercalls, by the status's name.
    #[must_use]
    pub fn by_status(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for (status, count) in (self.guests.iter()).flat_map(|guest| &guest.hypercalls.by_status) {
            *sums.entry(status.as_str()).or_default() += count;
        }
        sums
    }
}

counts! {
    ThreadRun { instructions, cycles, served, stack, states } { thread, strand }
    Stack { busy, l2, local, remote, c2c, arriving, stores, atomics, pipeline }
    ProcessRun { instructions, cycles } { name, command, first_thread, threads }
    CounterResult { measured, truth } { perfreg, counter, strand, name, event }
    ChannelUse { reads, writes, busy, waited } { node, mcu, limit }
    HubUse { requests, busy, met, waited } { hub }
    LinkUse { into, out, busy } { hub, node, limit }
    Traffic { lines } { from, to, kind }
}

impl Hypercalls {
    fn subtract(&mut self, then: &Self) {
        let Self { total, by_status } = self;
        total.subtract(&then.total);
        for (status, count) in by_status {
            *count -= then.by_status.get(status).copied().unwrap_or(0);
        }
    }
}

impl Usage {
    pub(crate) fn subtract(&mut self, then: &Self) {
        let Self { traffic, channels, hubs, links } = self;
        channels.subtract(&then.channels);
        hubs.subtract(&then.hubs);
        links.subtract(&then.links);
        for now in traffic {
            let way = |one: &Traffic| (one.from, one.to, one.kind);
            let then = then.traffic.iter().find(|then| way(then) == way(now));
            if let Some(then) = then {
                now.subtract(then);
            }
        }
    }
}

/// Subtracts an earlier sample's misses, instruction by instruction. If the earlier list was full, drops each instruction that it lacks,
/// because that instruction's earlier misses are unknown.
fn subtract_code(code: &mut Vec<InstructionMisses>, earlier: &[InstructionMisses]) {
    let place = |one: &InstructionMisses| (one.program, one.address);
    let whole = earlier.len() < MAX_CODE;
    let then: HashMap<_, _> = (earlier.iter()).map(|one| (place(one), one.missed)).collect();
    code.retain_mut(|one| {
        let then = then.get(&place(one)).copied();
        let known = whole || then.is_some();
        let then = then.unwrap_or_default();
        one.missed.subtract(&then);
        known && one.missed != Missed::default()
    });
}
