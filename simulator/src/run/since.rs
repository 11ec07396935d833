//! The difference between two samples of the same replay.

use std::collections::{BTreeMap, HashMap};

use super::{Hypercalls, Replayed, ThreadRun, Time};
use crate::analysis::details::{InstructionMisses, MOST_CODE, Missed};
use crate::memory::{Served, Traffic, Usage};

impl Replayed {
    /// Returns what happened since an earlier sample of the same replay. The lines that nodes share are still counted from the start.
    /// So are all details except the code that waits for memory.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut period = self.clone();
        period.references -= earlier.references;
        period.cycles -= earlier.cycles;
        period.time = Time::new(period.cycles);
        period.usage.subtract(&earlier.usage);
        for (now, then) in period.threads.iter_mut().zip(&earlier.threads) {
            now.subtract(then);
        }
        for (now, then) in period.counters.iter_mut().zip(&earlier.counters) {
            now.measured -= then.measured;
            now.truth -= then.truth;
        }
        for (now, then) in period.guests.iter_mut().zip(&earlier.guests) {
            now.hypercalls.subtract(&then.hypercalls);
            for (class, calls) in &mut now.by_class {
                if let Some(then) = then.by_class.get(class) {
                    calls.subtract(then);
                }
            }
        }
        if let (Some(now), Some(then)) = (&mut period.details, &earlier.details) {
            subtract_code(&mut now.code, &then.code);
        }
        period
    }

    /// Returns for each node the sum of what its threads did.
    #[must_use]
    pub fn by_node(&self) -> Vec<ThreadRun> {
        let on = |node| self.threads.iter().filter(move |thread| thread.node() == node);
        (0..self.nodes).map(|node| ThreadRun::sum(&on(node).collect::<Vec<_>>())).collect()
    }

    /// Returns the number of hypercalls of all guests, by the name of the status.
    #[must_use]
    pub fn by_status(&self) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for (status, count) in (self.guests.iter()).flat_map(|guest| &guest.hypercalls.by_status) {
            *sums.entry(status.as_str()).or_default() += count;
        }
        sums
    }
}

/// Subtracts the earlier values of some fields from the present ones.
macro_rules! subtract {
    ($now:expr, $then:expr, $($field:ident),*) => {
        $($now.$field -= $then.$field;)*
    };
}

impl ThreadRun {
    fn subtract(&mut self, then: &Self) {
        subtract!(self, then, instructions, cycles, stack);
        self.served.subtract(&then.served);
    }
}

impl Served {
    fn subtract(&mut self, then: &Self) {
        subtract!(self, then, l2, local, remote, c2c);
    }
}

impl Hypercalls {
    fn subtract(&mut self, then: &Self) {
        self.total -= then.total;
        for (status, count) in &mut self.by_status {
            *count -= then.by_status.get(status).copied().unwrap_or(0);
        }
    }
}

impl Usage {
    fn subtract(&mut self, then: &Self) {
        for (now, then) in self.channels.iter_mut().zip(&then.channels) {
            subtract!(now, then, reads, writes, busy, waited);
        }
        for (now, then) in self.hubs.iter_mut().zip(&then.hubs) {
            subtract!(now, then, requests, busy, met, waited);
        }
        for (now, then) in self.links.iter_mut().zip(&then.links) {
            subtract!(now, then, into, out, busy);
        }
        for now in &mut self.traffic {
            let way = |one: &Traffic| (one.from, one.to, one.kind);
            let then = then.traffic.iter().find(|then| way(then) == way(now));
            now.lines -= then.map_or(0, |then| then.lines);
        }
    }
}

/// Subtracts the misses of instructions up to an earlier sample. If the earlier list was full,
/// drops each instruction that is not in it, because the instruction's earlier misses are unknown.
fn subtract_code(code: &mut Vec<InstructionMisses>, earlier: &[InstructionMisses]) {
    let place = |one: &InstructionMisses| (one.program, one.address);
    let whole = earlier.len() < MOST_CODE;
    let then: HashMap<_, _> = (earlier.iter()).map(|one| (place(one), one.missed)).collect();
    code.retain_mut(|one| {
        let then = then.get(&place(one)).copied();
        let known = whole || then.is_some();
        let then = then.unwrap_or_default();
        one.missed.misses.subtract(&then.misses);
        one.missed.cycles -= then.cycles;
        known && one.missed != Missed::default()
    });
}
