//! From what happens to the register models.

use guest_abi::event::{AsuEvent, LpuEvent, SparcEvent};
use guest_abi::layout::{PerfConfig, SparcSelect};
use guest_abi::{Mcu, Node, StrandId};
use platform::address::L2_BANKS;
use platform::models::{Devices, HubChip, MemoryController, MutexGuard, StrandUnit};

use super::traffic::{Answer, Answers, Request, Source, Transaction};
use super::truth::Service;

/// The wires to the counters during a replay. The strand's unit is locked meanwhile, and no other device for
/// longer than it takes to count.
pub(super) struct Wires<'a> {
    devices: &'a Devices,
    unit: MutexGuard<'a, StrandUnit>,
    perf_config: [PerfConfig; L2_BANKS],
}

impl<'a> Wires<'a> {
    pub(super) fn new(devices: &'a Devices, strand: StrandId) -> Self {
        let perf_config = devices.l2(strand.node()).perf_config();
        Self {
            devices,
            unit: devices.strand_unit(strand),
            perf_config,
        }
    }

    /// Events that happen together on the strand.
    #[inline(always)]
    pub(super) fn strand(&mut self, events: impl Into<SparcSelect>) {
        self.unit.count(events, 1);
    }

    /// An L2 miss in this bank, which is counted if PERF_CONFIG selects such misses.
    pub(super) fn l2_miss(&mut self, event: SparcEvent, bank: usize, service: Service) {
        let counts = match self.perf_config[bank] {
            PerfConfig::All => true,
            PerfConfig::Local => service == Service::Local,
            PerfConfig::Remote => service == Service::Remote,
            PerfConfig::CacheToCache => service == Service::CacheToCache,
        };
        if counts {
            self.unit.count(event, 1);
        }
    }

    /// Returns the controller of a DRAM channel.
    pub(super) fn channel(&self, node: Node, mcu: Mcu) -> MutexGuard<'a, MemoryController> {
        self.devices.memory_controller(node, mcu)
    }

    /// A transaction passed a hub.
    pub(super) fn hub(&self, transaction: &Transaction) {
        let mut hub = self.devices.hub(transaction.hub);
        let port = transaction.requester;
        hub.count_asu(AsuEvent::PacketsIn, 1);
        match transaction.request {
            Request::Read {
                to_own,
                source,
                answers,
            } => {
                let egress = match to_own {
                    false => LpuEvent::ReadToShareEgress,
                    true => LpuEvent::ReadToOwnEgress,
                };
                data(&mut hub, port, source);
                snoop(&mut hub, port, &answers, egress);
            }
            Request::Invalidate { answers } => {
                hub.count_lpu(port, LpuEvent::NoDataReply, 1);
                snoop(&mut hub, port, &answers, LpuEvent::InvalidateEgress);
            }
            Request::WriteBack { home } => {
                hub.count_lpu(port, LpuEvent::WriteBack, 1);
                hub.count_lpu(port, by_way_of(WRITE_BACK, port, home), 1);
                hub.count_lpu(home, LpuEvent::WriteBackEgress, 1);
                hub.count_asu(AsuEvent::PacketsOut, 1);
            }
        }
    }
}

use LpuEvent as E;

const CACHE_TO_CACHE: [E; 3] = [E::CacheToCacheX, E::CacheToCacheY, E::CacheToCacheZ];
const MEMORY: [E; 3] = [E::MemoryX, E::MemoryY, E::MemoryZ];
const WRITE_BACK: [E; 3] = [E::WriteBackX, E::WriteBackY, E::WriteBackZ];

/// The event of the three for another port: X, Y and Z are the other ports in ascending order.
fn by_way_of(events: [LpuEvent; 3], port: Node, other: Node) -> LpuEvent {
    let (port, other) = (port.index(), other.index());
    events[if other < port { other } else { other - 1 }]
}

/// The line's way to the requester.
fn data(hub: &mut HubChip, port: Node, source: Source) {
    match source {
        Source::Cache(owner) => {
            hub.count_lpu(port, LpuEvent::CacheHit, 1);
            hub.count_lpu(port, by_way_of(CACHE_TO_CACHE, port, owner), 1);
        }
        Source::Memory(home) => {
            hub.count_lpu(port, LpuEvent::CacheMiss, 1);
            if home == port {
                hub.count_lpu(port, LpuEvent::NoDataReply, 1);
            } else {
                hub.count_lpu(port, by_way_of(MEMORY, port, home), 1);
            }
        }
    }
}

/// The request's way to the other nodes, and their answers' way back.
fn snoop(hub: &mut HubChip, port: Node, answers: &Answers, egress: LpuEvent) {
    hub.count_lpu(port, LpuEvent::ReadOrInvalidate, 1);
    for (other, answer) in Node::ALL.iter().zip(answers) {
        let Some(answer) = answer else { continue };
        hub.count_asu(AsuEvent::PacketsOut, 1);
        hub.count_lpu(*other, egress, 1);
        hub.count_lpu(*other, LpuEvent::RepliesReceived, 1);
        let found = match answer {
            Answer::Modified => LpuEvent::HitModified,
            Answer::Owned => LpuEvent::HitOwned,
            Answer::Shared => LpuEvent::HitShared,
            Answer::Miss => LpuEvent::Miss,
        };
        hub.count_lpu(*other, found, 1);
    }
    hub.count_lpu(port, LpuEvent::RepliesSent, 1);
}
