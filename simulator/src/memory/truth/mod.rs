//! The record of all events. The models of counter registers do not use it, so it can check them.
//!
//! The memory system records each strand's instructions, each core's requests with the unit that served them, each channel's lines,
//! and each hub's transactions. The methods compute the count of each event from these records.

mod hub;
mod strand;
mod usage;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent};
use guest_abi::layout::{PerfConfig, SparcSelect};
use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::Machine;

pub(super) use hub::HubRecord;
pub(super) use strand::{CoreRecord, CoreRequest, ServedBy, StrandRecord, Wait};
pub use strand::{Served, Waited};
pub use usage::{ChannelUse, HubUse, LinkUse, Traffic, TrafficKind, Usage};

/// The events of a DRAM channel. The fields in cycles are sums of the time that lines spend in the queue and in transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChannelRecord {
    pub(super) lines_read: u64,
    pub(super) lines_written: u64,
    pub(super) held_back: u64,
    pub(super) cycles_to_read: u64,
    pub(super) cycles_to_write: u64,
}

/// The record of a machine's events, from the start or between two points in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    has_hubs: bool,
    pub(super) cycles: u64,
    pub(super) strands: Vec<StrandRecord>,
    pub(super) cores: Vec<CoreRecord>,
    pub(super) channels: [[ChannelRecord; Mcu::ALL.len()]; Node::ALL.len()],
    pub(super) hubs: [HubRecord; Hub::ALL.len()],
}

impl Truth {
    pub(super) fn new(machine: &Machine) -> Self {
        let strands = machine.strands();
        Self {
            has_hubs: machine.model().has_hubs(),
            cycles: 0,
            strands: vec![StrandRecord::default(); strands],
            cores: vec![CoreRecord::default(); strands / StrandId::PER_CORE],
            channels: Default::default(),
            hubs: Default::default(),
        }
    }

    /// Returns the events since an earlier record of the same machine.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = self.clone();
        delta.cycles -= earlier.cycles;
        for (now, then) in delta.strands.iter_mut().zip(&earlier.strands) {
            now.subtract(then);
        }
        for (now, then) in delta.cores.iter_mut().zip(&earlier.cores) {
            *now = CoreRecord::from_busy(now.busy(self.cycles) - then.busy(earlier.cycles));
        }
        let channels = delta.channels.iter_mut().flatten();
        for (now, then) in channels.zip(earlier.channels.iter().flatten()) {
            now.lines_read -= then.lines_read;
            now.lines_written -= then.lines_written;
            now.held_back -= then.held_back;
            now.cycles_to_read -= then.cycles_to_read;
            now.cycles_to_write -= then.cycles_to_write;
        }
        for (now, then) in delta.hubs.iter_mut().zip(&earlier.hubs) {
            now.subtract(then);
        }
        delta
    }

    /// Returns the greatest number of cycles that lines spent in the queue of one DRAM channel.
    pub fn most_queued(&self) -> u64 {
        let channels = self.channels.iter().flatten();
        let queued = channels.map(|channel| channel.cycles_to_read + channel.cycles_to_write);
        queued.max().unwrap_or(0)
    }

    /// Returns the number of cycles that the references took. The hubs' cycle counters count these cycles.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Returns the count of the events that a strand's SPARC counter selects, if all L2 banks of
    /// the node have this PERF_CONFIG. Returns 0 if the machine lacks the strand.
    pub fn strand(&self, strand: StrandId, select: SparcSelect, perf_config: PerfConfig) -> u64 {
        let Some(record) = self.strands.get(strand.index()) else {
            return 0;
        };
        if select.base_class() == 0 {
            return self.cycles - self.cores[strand.core()].busy(self.cycles);
        }
        record.total(select, perf_config)
    }

    /// Returns a strand's requests and waits; all 0 if the machine lacks the strand.
    pub fn waited(&self, strand: StrandId) -> Waited {
        let record = self.strands.get(strand.index());
        record.map(StrandRecord::waited).unwrap_or_default()
    }

    /// Returns the count of an event of a DRAM channel.
    pub fn dram(&self, node: Node, mcu: Mcu, event: DramEvent) -> u64 {
        let channel = &self.channels[node.index()][mcu.index()];
        match event {
            DramEvent::Reads => channel.lines_read,
            DramEvent::Writes => channel.lines_written,
            DramEvent::ReadWrites => channel.lines_read + channel.lines_written,
            DramEvent::BankBusyStalls => 0,
            DramEvent::ReadQueueLatency => channel.cycles_to_read,
            DramEvent::WriteQueueLatency => channel.cycles_to_write,
            DramEvent::ReadWriteQueueLatency => channel.cycles_to_read + channel.cycles_to_write,
            DramEvent::WriteBackBufferHits => channel.held_back,
        }
    }

    /// Returns the count of an event of a hub's link port unit. A port has the same number as its node.
    pub fn lpu(&self, hub: Hub, port: Node, event: LpuEvent) -> u64 {
        match event {
            LpuEvent::Clock => self.cycles,
            // A port without a node has no events.
            _ if port.index() * StrandId::PER_NODE >= self.strands.len() || !self.has_hubs => 0,
            event => self.hubs[hub.index()].lpu(port.index(), event),
        }
    }

    /// Returns the count of an event of a hub's general purpose design block.
    pub fn gpd(&self, _hub: Hub, event: GpdEvent) -> u64 {
        match event {
            GpdEvent::None => 0,
            GpdEvent::Clock => self.cycles,
        }
    }

    /// Returns the count of an event of a hub's address serialization unit.
    pub fn asu(&self, hub: Hub, event: AsuEvent) -> u64 {
        match event {
            AsuEvent::Clock => self.cycles,
            _ if !self.has_hubs => 0,
            AsuEvent::PacketsIn => self.hubs[hub.index()].packets_in(),
            AsuEvent::PacketsOut => self.hubs[hub.index()].packets_out(),
            AsuEvent::CamHit | AsuEvent::Wakeup => self.hubs[hub.index()].met(),
            AsuEvent::None => 0,
        }
    }
}

/// Subtracts the counts of an earlier record.
fn subtract(now: &mut [u64], then: &[u64]) {
    for (now, then) in now.iter_mut().zip(then) {
        *now -= then;
    }
}
