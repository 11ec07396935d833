//! What went through a hub.

use guest_abi::event::LpuEvent;

use super::super::traffic::{Answer, Answers, Request, Source, Transaction};
use super::subtract;

const NODES: usize = 4;

/// Transactions by requester, kind, and the node at the other end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HubRecord {
    /// Lines read from a cache, to share and to own: by requester, then owner.
    cache_rts: [[u64; NODES]; NODES],
    cache_rto: [[u64; NODES]; NODES],
    /// Lines read from memory, to share and to own: by requester, then home.
    memory_rts: [[u64; NODES]; NODES],
    memory_rto: [[u64; NODES]; NODES],
    /// Lines written back: by requester, then home.
    written: [[u64; NODES]; NODES],
    /// Invalidations: by requester.
    invalidations: [u64; NODES],
    /// Answers: by the node that gave them, then what it found (M, O, S, nothing).
    answers: [[u64; 4]; NODES],
}

impl HubRecord {
    pub(super) fn record(&mut self, transaction: &Transaction) {
        let from = transaction.requester.index();
        match transaction.request {
            Request::ReadToShare { source, answers } => {
                match source {
                    Source::Cache(owner) => self.cache_rts[from][owner.index()] += 1,
                    Source::Memory(home) => self.memory_rts[from][home.index()] += 1,
                }
                self.answered(&answers);
            }
            Request::ReadToOwn { source, answers } => {
                match source {
                    Source::Cache(owner) => self.cache_rto[from][owner.index()] += 1,
                    Source::Memory(home) => self.memory_rto[from][home.index()] += 1,
                }
                self.answered(&answers);
            }
            Request::Invalidate { answers } => {
                self.invalidations[from] += 1;
                self.answered(&answers);
            }
            Request::WriteBack { home } => self.written[from][home.index()] += 1,
        }
    }

    fn answered(&mut self, answers: &Answers) {
        for (counts, answer) in self.answers.iter_mut().zip(answers) {
            let found = match answer {
                Some(Answer::Modified) => 0,
                Some(Answer::Owned) => 1,
                Some(Answer::Shared) => 2,
                Some(Answer::Miss) => 3,
                None => continue,
            };
            counts[found] += 1;
        }
    }

    pub(super) fn subtract(&mut self, earlier: &Self) {
        for (now, then) in [
            (&mut self.cache_rts, &earlier.cache_rts),
            (&mut self.cache_rto, &earlier.cache_rto),
            (&mut self.memory_rts, &earlier.memory_rts),
            (&mut self.memory_rto, &earlier.memory_rto),
            (&mut self.written, &earlier.written),
            (&mut self.answers, &earlier.answers),
        ] {
            subtract(now.as_flattened_mut(), then.as_flattened());
        }
        subtract(&mut self.invalidations, &earlier.invalidations);
    }

    pub(super) fn packets_in(&self) -> u64 {
        (0..NODES)
            .map(|node| self.requests(node) + sum(&self.written[node]))
            .sum()
    }

    pub(super) fn packets_out(&self) -> u64 {
        self.answers.iter().map(sum).sum::<u64>() + self.written.iter().map(sum).sum::<u64>()
    }

    pub(super) fn lpu(&self, port: usize, event: LpuEvent) -> u64 {
        use LpuEvent as E;
        // X, Y and Z in this order are the ports that are left when this one is taken out.
        let mut others = [0, 1, 2, 3].into_iter().filter(|other| *other != port);
        let [x, y, z] = [(); 3].map(|()| others.next().unwrap_or(port));
        let cache = |other: usize| self.cache_rts[port][other] + self.cache_rto[port][other];
        let memory = |other: usize| self.memory_rts[port][other] + self.memory_rto[port][other];
        let [modified, owned, shared, nothing] = self.answers[port];
        match event {
            E::CacheToCacheX => cache(x),
            E::CacheToCacheY => cache(y),
            E::CacheToCacheZ => cache(z),
            E::MemoryX => memory(x),
            E::MemoryY => memory(y),
            E::MemoryZ => memory(z),
            E::WriteBackX => self.written[port][x],
            E::WriteBackY => self.written[port][y],
            E::WriteBackZ => self.written[port][z],
            E::WriteBackEgress => self.written.iter().map(|homes| homes[port]).sum(),
            E::InvalidateEgress => [x, y, z].iter().map(|node| self.invalidations[*node]).sum(),
            E::ReadToOwnEgress => self.asked_of(port, &self.cache_rto, &self.memory_rto),
            E::ReadToShareEgress => self.asked_of(port, &self.cache_rts, &self.memory_rts),
            E::HitModified => modified,
            E::HitOwned => owned,
            E::HitShared => shared,
            E::Miss => nothing,
            E::ReadOrInvalidate | E::RepliesSent => self.requests(port),
            E::RepliesReceived => sum(&self.answers[port]),
            E::WriteBack => sum(&self.written[port]),
            E::NoDataReply => self.invalidations[port] + memory(port),
            E::CacheHit => (0..NODES).map(cache).sum(),
            E::CacheMiss => (0..NODES).map(memory).sum(),
            _ => 0,
        }
    }

    /// Reads and invalidations that a node asked for.
    fn requests(&self, node: usize) -> u64 {
        self.invalidations[node]
            + sum(&self.cache_rts[node])
            + sum(&self.cache_rto[node])
            + sum(&self.memory_rts[node])
            + sum(&self.memory_rto[node])
    }

    /// Reads of all requesters but one: they are all passed on to it.
    fn asked_of(
        &self,
        port: usize,
        cache: &[[u64; NODES]; NODES],
        memory: &[[u64; NODES]; NODES],
    ) -> u64 {
        (0..NODES)
            .filter(|requester| *requester != port)
            .map(|requester| sum(&cache[requester]) + sum(&memory[requester]))
            .sum()
    }
}

fn sum(counts: &[u64; NODES]) -> u64 {
    counts.iter().sum()
}
