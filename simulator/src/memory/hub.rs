//! Counts the events of a hub, for the model of the hub's registers.

use guest_abi::Node;
use guest_abi::event::{AsuEvent, LpuEvent};
use platform::models::HubChip;

use super::broken::{Map, mapped};
use super::traffic::{Answers, NodeRequest, SnoopAnswer, Supplier, Transaction};

const LPU_EVENTS: usize = LpuEvent::ALL.len();
const ASU_EVENTS: usize = AsuEvent::ALL.len();
const _: () = assert!(LpuEvent::ALL[LPU_EVENTS - 1] as usize == LPU_EVENTS - 1);
const _: () = assert!(AsuEvent::ALL[ASU_EVENTS - 1] as usize == ASU_EVENTS - 1);

/// Events of a hub that its counters do not contain yet.
#[derive(Clone, Debug)]
pub(super) struct HubEvents {
    /// The numbers of link port events, by port and event code.
    lpu: [[u64; LPU_EVENTS]; Node::ALL.len()],
    asu: [u64; ASU_EVENTS],
}

impl HubEvents {
    pub(super) const fn new() -> Self {
        Self { lpu: [[0; LPU_EVENTS]; Node::ALL.len()], asu: [0; ASU_EVENTS] }
    }

    pub(super) fn any(&self) -> bool {
        // Every transaction has at least one packet. So without packets there are no other events.
        self.asu[AsuEvent::PacketsIn as usize] > 0
    }

    /// Moves the events to the counters of the hub.
    pub(super) fn tell(&mut self, hub: &mut HubChip) {
        for (port, counts) in Node::ALL.iter().zip(&self.lpu) {
            for (event, count) in LpuEvent::ALL.iter().zip(counts) {
                hub.count_lpu(*port, *event, *count);
            }
        }
        for (event, count) in AsuEvent::ALL.iter().zip(&self.asu) {
            hub.count_asu(*event, *count);
        }
        *self = Self::new();
    }

    /// Counts the events of a transaction that passes through the hub.
    pub(super) fn passed(&mut self, transaction: &Transaction) {
        let port = transaction.requester;
        self.asu(AsuEvent::PacketsIn);
        if transaction.met {
            self.asu(AsuEvent::CamHit);
            self.asu(AsuEvent::Wakeup);
        }
        match transaction.request {
            NodeRequest::Read { to_own, source, answers } => {
                let egress = match to_own {
                    false => LpuEvent::ReadToShareEgress,
                    true => LpuEvent::ReadToOwnEgress,
                };
                self.data(port, source);
                self.snoop(port, &answers, egress);
            }
            NodeRequest::Invalidate { answers } => {
                self.lpu(port, LpuEvent::NoDataReply);
                self.snoop(port, &answers, LpuEvent::InvalidateEgress);
            }
            NodeRequest::WriteBack { home } => {
                self.lpu(port, LpuEvent::WriteBack);
                self.lpu(port, by_way_of(WRITE_BACK, port, home));
                self.lpu(home, LpuEvent::WriteBackEgress);
                self.asu(AsuEvent::PacketsOut);
            }
        }
    }

    /// Counts a line that is delivered to the requester.
    fn data(&mut self, port: Node, source: Supplier) {
        match source {
            Supplier::Cache(owner) => {
                self.lpu(port, LpuEvent::CacheHit);
                self.lpu(port, by_way_of(CACHE_TO_CACHE, port, owner));
            }
            Supplier::Memory(home) => {
                self.lpu(port, LpuEvent::CacheMiss);
                if home == port {
                    self.lpu(port, LpuEvent::NoDataReply);
                } else {
                    self.lpu(port, by_way_of(MEMORY, port, home));
                }
            }
        }
    }

    /// Counts a request to the other nodes, and their answers.
    fn snoop(&mut self, port: Node, answers: &Answers, egress: LpuEvent) {
        self.lpu(port, LpuEvent::ReadOrInvalidate);
        for (other, answer) in Node::ALL.iter().zip(answers) {
            let Some(answer) = answer else { continue };
            self.asu(AsuEvent::PacketsOut);
            self.lpu(*other, egress);
            self.lpu(*other, LpuEvent::RepliesReceived);
            let found = match answer {
                SnoopAnswer::Modified => LpuEvent::HitModified,
                SnoopAnswer::Owned => LpuEvent::HitOwned,
                SnoopAnswer::Shared => LpuEvent::HitShared,
                SnoopAnswer::Miss => LpuEvent::Miss,
            };
            self.lpu(*other, found);
        }
        self.lpu(port, LpuEvent::RepliesSent);
    }

    fn lpu(&mut self, port: Node, event: LpuEvent) {
        self.lpu[mapped(Map::Port, port.index())][event as usize] += 1;
    }

    fn asu(&mut self, event: AsuEvent) {
        self.asu[event as usize] += 1;
    }
}

use LpuEvent as E;

const CACHE_TO_CACHE: [E; 3] = [E::CacheToCacheX, E::CacheToCacheY, E::CacheToCacheZ];
const MEMORY: [E; 3] = [E::MemoryX, E::MemoryY, E::MemoryZ];
const WRITE_BACK: [E; 3] = [E::WriteBackX, E::WriteBackY, E::WriteBackZ];

/// Returns the event for the port `other`. `events` has one event for each port except `port`, in ascending order.
fn by_way_of(events: [LpuEvent; 3], port: Node, other: Node) -> LpuEvent {
    let (port, other) = (port.index(), other.index());
    events[if other < port { other } else { other - 1 }]
}
