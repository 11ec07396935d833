//! Records what passes through a hub: reads, write-backs, invalidations and snoop answers.

use guest_abi::event::LpuEvent;

use super::super::traffic::{Answers, NodeRequest, Supplier, Transaction};
use crate::counts::counts;

const NODES: usize = 4;

/// A count for each pair of nodes, indexed by the requesting node, then by the other node.
type Pairs = [[u64; NODES]; NODES];

/// A hub's transactions, counted by kind and by node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct HubRecord {
    /// The number of lines read from a cache, by requester and owner: first for reads to share, then for reads to own.
    cache: [Pairs; 2],
    /// The number of lines read from memory, by requester and home node: first for reads to share, then for reads to own.
    memory: [Pairs; 2],
    /// The number of lines written back, by requester and home node.
    written: Pairs,
    /// The number of requests to invalidate a line, by requester.
    invalidations: [u64; NODES],
    /// The number of answers, indexed by the answering node, then by [`SnoopAnswer`](crate::memory::traffic::SnoopAnswer).
    answers: [[u64; 4]; NODES],
    /// The number of copies that a node lost because another node wrote to the line, indexed by the writing node, then by the node
    /// that lost its copy.
    lost: Pairs,
    /// The number of requests that waited for another request for the same line.
    met: u64,
    /// The total number of cycles that requests waited for other requests and for the hub.
    waited: u64,
}

counts! {
    HubRecord { cache, memory, written, invalidations, answers, lost, met, waited }
}

const TO_SHARE: usize = 0;
const TO_OWN: usize = 1;

impl HubRecord {
    #[inline(always)]
    pub(in crate::memory) fn record(&mut self, transaction: &Transaction) {
        let from = transaction.requester.index();
        self.met += u64::from(transaction.met);
        self.waited += transaction.waited;
        match transaction.request {
            NodeRequest::Read { to_own, source, answers } => {
                let (reads, node) = match source {
                    Supplier::Cache(owner) => (&mut self.cache, owner),
                    Supplier::Memory(home) => (&mut self.memory, home),
                };
                reads[if to_own { TO_OWN } else { TO_SHARE }][from][node.index()] += 1;
                self.answered(&answers, to_own.then_some(from));
            }
            NodeRequest::Invalidate { answers } => {
                self.invalidations[from] += 1;
                self.answered(&answers, Some(from));
            }
            NodeRequest::WriteBack { home } => self.written[from][home.index()] += 1,
        }
    }

    /// Counts the answers. If a writer takes the line, also counts the lost copies.
    #[inline(always)]
    fn answered(&mut self, answers: &Answers, writer: Option<usize>) {
        for (node, answer) in answers.iter().enumerate() {
            let Some(answer) = answer else { continue };
            self.answers[node][*answer as usize] += 1;
            if let Some(writer) = writer.filter(|_| answer.has()) {
                self.lost[writer][node] += 1;
            }
        }
    }

    /// Returns four numbers:
    /// - the lines that `to` received from the memory of `from`,
    /// - the lines that `to` received from the cache of `from`,
    /// - the lines that `from` wrote back to the memory of `to`,
    /// - the copies that `to` lost because `from` wrote to the lines.
    pub(super) fn between(&self, from: usize, to: usize) -> [u64; 4] {
        let read = |reads: &[Pairs; 2]| reads.iter().map(|reads| reads[to][from]).sum();
        [read(&self.memory), read(&self.cache), self.written[from][to], self.lost[from][to]]
    }

    /// Returns the number of lines that moved to a node, and the number of lines that moved away from it. Invalidations are not
    /// included.
    pub(super) fn moved(&self, node: usize) -> [u64; 2] {
        let lines = |[memory, cache, back, _]: [u64; 4]| memory + cache + back;
        let others = || (0..NODES).filter(|other| *other != node);
        let into = others().map(|other| lines(self.between(other, node))).sum();
        [into, others().map(|other| lines(self.between(node, other))).sum()]
    }

    pub(super) fn waited(&self) -> u64 {
        self.waited
    }

    pub(super) fn met(&self) -> u64 {
        self.met
    }

    pub(super) fn packets_in(&self) -> u64 {
        (0..NODES).map(|node| self.requests(node) + sum(&self.written[node])).sum()
    }

    pub(super) fn packets_out(&self) -> u64 {
        self.answers.iter().map(sum).sum::<u64>() + self.written.iter().map(sum).sum::<u64>()
    }

    pub(super) fn lpu(&self, port: usize, event: LpuEvent) -> u64 {
        use LpuEvent as E;
        // X, Y and Z are the other ports in ascending order.
        let mut others = [0, 1, 2, 3].into_iter().filter(|other| *other != port);
        let [x, y, z] = [(); 3].map(|()| others.next().unwrap_or(port));
        let cache = |other: usize| self.cache.iter().map(|reads| reads[port][other]).sum();
        let memory =
            |other: usize| -> u64 { self.memory.iter().map(|reads| reads[port][other]).sum() };
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
            E::ReadToOwnEgress => self.asked_of(port, TO_OWN),
            E::ReadToShareEgress => self.asked_of(port, TO_SHARE),
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

    /// Returns the number of a node's reads and invalidations.
    fn requests(&self, node: usize) -> u64 {
        let reads = self.cache.iter().chain(&self.memory);
        self.invalidations[node] + reads.map(|reads| sum(&reads[node])).sum::<u64>()
    }

    /// Returns the number of other nodes' reads that reach this port: reads to share if `to` is 0, reads to own if it is 1.
    fn asked_of(&self, port: usize, to: usize) -> u64 {
        (0..NODES)
            .filter(|requester| *requester != port)
            .map(|requester| sum(&self.cache[to][requester]) + sum(&self.memory[to][requester]))
            .sum()
    }
}

fn sum(counts: &[u64; NODES]) -> u64 {
    counts.iter().sum()
}
