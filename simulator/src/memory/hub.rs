//! Counts a hub's events, for the model of its registers.

use guest_abi::Node;
use guest_abi::event::{AsuEvent, LpuEvent};
use platform::models::HubChip;

use super::broken::{Map, mapped};
use super::traffic::{Answers, NodeRequest, SnoopAnswer, Supplier, Transaction};

const LPU_EVENTS: usize = LpuEvent::ALL.len();
const ASU_EVENTS: usize = AsuEvent::ALL.len();
const _: () = assert!(LpuEvent::ALL[LPU_EVENTS - 1] as usize == LPU_EVENTS - 1);
const _: () = assert!(AsuEvent::ALL[ASU_EVENTS - 1] as usize == ASU_EVENTS - 1);

const NODES: usize = Node::ALL.len();

/// The requests that have passed through a hub and are not in the hub's counters yet.
#[derive(Clone, Debug)]
pub(super) struct HubEvents {
    requests: u64,
    /// The number of requests that waited for another request for the same line.
    met: u64,
    /// The number of lines that requesters received from memories, by requester and home.
    from_memory: [[u64; NODES]; NODES],
    /// The number of lines that requesters received from caches, by requester and owner.
    from_cache: [[u64; NODES]; NODES],
    /// The number of invalidations, by requester.
    invalidations: [u64; NODES],
    /// The number of write-backs, by requester and home.
    written: [[u64; NODES]; NODES],
    /// The number of answers, by [`RequestKind`], answering node, and [`SnoopAnswer`].
    answers: [[[u64; SnoopAnswer::ALL.len()]; NODES]; RequestKind::ALL.len()],
}

/// What a request asks the other nodes to do with a line.
#[derive(Clone, Copy, Debug)]
enum RequestKind {
    Share,
    Own,
    Invalidate,
}

impl RequestKind {
    const ALL: [Self; 3] = [Self::Share, Self::Own, Self::Invalidate];
}

impl HubEvents {
    pub(super) const fn new() -> Self {
        Self {
            requests: 0,
            met: 0,
            from_memory: [[0; NODES]; NODES],
            from_cache: [[0; NODES]; NODES],
            invalidations: [0; NODES],
            written: [[0; NODES]; NODES],
            answers: [[[0; SnoopAnswer::ALL.len()]; NODES]; RequestKind::ALL.len()],
        }
    }

    pub(super) fn has_events(&self) -> bool {
        self.requests > 0
    }

    /// Counts a request that passes through the hub.
    #[inline(always)]
    pub(super) fn passed(&mut self, transaction: &Transaction) {
        let port = transaction.requester.index();
        self.requests += 1;
        self.met += u64::from(transaction.met);
        match transaction.request {
            NodeRequest::Read { to_own, source, answers } => {
                match source {
                    Supplier::Memory(home) => self.from_memory[port][home.index()] += 1,
                    Supplier::Cache(owner) => self.from_cache[port][owner.index()] += 1,
                }
                self.answered(if to_own { RequestKind::Own } else { RequestKind::Share }, &answers);
            }
            NodeRequest::Invalidate { answers } => {
                self.invalidations[port] += 1;
                self.answered(RequestKind::Invalidate, &answers);
            }
            NodeRequest::WriteBack { home } => self.written[port][home.index()] += 1,
        }
    }

    #[inline(always)]
    fn answered(&mut self, kind: RequestKind, answers: &Answers) {
        for (counts, answer) in self.answers[kind as usize].iter_mut().zip(answers) {
            if let Some(answer) = answer {
                counts[*answer as usize] += 1;
            }
        }
    }

    /// Moves the events to the hub's counters.
    pub(super) fn flush_to_counters(&mut self, hub: &mut HubChip) {
        let counts = std::mem::replace(self, Self::new()).counts();
        for (port, counts) in Node::ALL.iter().zip(&counts.lpu) {
            for (event, count) in LpuEvent::ALL.iter().zip(counts) {
                hub.count_lpu(*port, *event, *count);
            }
        }
        for (event, count) in AsuEvent::ALL.iter().zip(&counts.asu) {
            hub.count_asu(*event, *count);
        }
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts { lpu: [[0; LPU_EVENTS]; NODES], asu: [0; ASU_EVENTS] };
        counts.asu(AsuEvent::PacketsIn, self.requests);
        counts.asu(AsuEvent::CamHit, self.met);
        counts.asu(AsuEvent::Wakeup, self.met);
        for port in Node::ALL.iter().copied() {
            for other in Node::ALL.iter().copied() {
                counts.add_from_memory(port, other, self.from_memory[port.index()][other.index()]);
                counts.add_from_cache(port, other, self.from_cache[port.index()][other.index()]);
                counts.written(port, other, self.written[port.index()][other.index()]);
            }
            counts.lpu(port, LpuEvent::NoDataReply, self.invalidations[port.index()]);
            counts.add_requests(port, self.invalidations[port.index()]);
        }
        for kind in RequestKind::ALL {
            for (node, by_answer) in Node::ALL.iter().zip(&self.answers[kind as usize]) {
                for (answer, times) in SnoopAnswer::ALL.into_iter().zip(by_answer) {
                    counts.answered(*node, kind, answer, *times);
                }
            }
        }
        counts
    }
}

/// How often each of a hub's events has happened.
struct Counts {
    /// The counts of link port events, by port and event code.
    lpu: [[u64; LPU_EVENTS]; NODES],
    asu: [u64; ASU_EVENTS],
}

impl Counts {
    /// Counts lines that a node read from memory.
    fn add_from_memory(&mut self, port: Node, home: Node, times: u64) {
        self.lpu(port, LpuEvent::CacheMiss, times);
        match home == port {
            true => self.lpu(port, LpuEvent::NoDataReply, times),
            false => self.lpu(port, by_way_of(MEMORY, port, home), times),
        }
        self.add_requests(port, times);
    }

    /// Counts lines that a node read from another node's cache.
    fn add_from_cache(&mut self, port: Node, owner: Node, times: u64) {
        if owner != port {
            self.lpu(port, LpuEvent::CacheHit, times);
            self.lpu(port, by_way_of(CACHE_TO_CACHE, port, owner), times);
            self.add_requests(port, times);
        }
    }

    fn written(&mut self, port: Node, home: Node, times: u64) {
        if home != port {
            self.lpu(port, LpuEvent::WriteBack, times);
            self.lpu(port, by_way_of(WRITE_BACK, port, home), times);
            self.lpu(home, LpuEvent::WriteBackEgress, times);
            self.asu(AsuEvent::PacketsOut, times);
        }
    }

    /// Counts a node's requests to the other nodes.
    fn add_requests(&mut self, port: Node, times: u64) {
        self.lpu(port, LpuEvent::ReadOrInvalidate, times);
        self.lpu(port, LpuEvent::RepliesSent, times);
    }

    /// Counts other nodes' requests that the hub passed on to a node, and that node's answers.
    fn answered(&mut self, node: Node, kind: RequestKind, answer: SnoopAnswer, times: u64) {
        let egress = match kind {
            RequestKind::Share => LpuEvent::ReadToShareEgress,
            RequestKind::Own => LpuEvent::ReadToOwnEgress,
            RequestKind::Invalidate => LpuEvent::InvalidateEgress,
        };
        let found = match answer {
            SnoopAnswer::Modified => LpuEvent::HitModified,
            SnoopAnswer::Owned => LpuEvent::HitOwned,
            SnoopAnswer::Shared => LpuEvent::HitShared,
            SnoopAnswer::Miss => LpuEvent::Miss,
        };
        self.asu(AsuEvent::PacketsOut, times);
        self.lpu(node, egress, times);
        self.lpu(node, LpuEvent::RepliesReceived, times);
        self.lpu(node, found, times);
    }

    fn lpu(&mut self, port: Node, event: LpuEvent, times: u64) {
        self.lpu[mapped(Map::Port, port.index())][event as usize] += times;
    }

    fn asu(&mut self, event: AsuEvent, times: u64) {
        self.asu[event as usize] += times;
    }
}

use LpuEvent as E;

const CACHE_TO_CACHE: [E; 3] = [E::CacheToCacheX, E::CacheToCacheY, E::CacheToCacheZ];
const MEMORY: [E; 3] = [E::MemoryX, E::MemoryY, E::MemoryZ];
const WRITE_BACK: [E; 3] = [E::WriteBackX, E::WriteBackY, E::WriteBackZ];

/// Returns the event for the port `other`. `events` has one event for each port except `port`, in ascending order of the ports.
fn by_way_of(events: [LpuEvent; 3], port: Node, other: Node) -> LpuEvent {
    let (port, other) = (port.index(), other.index());
    events[if other < port { other } else { other - 1 }]
}
