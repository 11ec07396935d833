//! The record of all events. The models of counter registers do not use this record, so tests can check the models against it.
//!
//! The memory system records each strand's instructions, each core's requests with the unit that served them, each channel's lines,
//! and each hub's transactions. The methods compute the count of each event from these records. A unit's record counts only the
//! lines that [belong](owners) to the unit. To find the unit to which a line belongs, this module does not use the memory system's
//! map, but computes the unit in a different way. An event at a unit to which the line does not belong is a [`Stray`], and ends the
//! run.

mod hub;
mod owners;
mod strand;
mod units;
mod usage;

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent};
use guest_abi::layout::{PerfConfig, SparcSelect};
use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::Machine;

use super::pages::Pages;
use crate::counts::Counts;
pub(super) use hub::HubRecord;
pub(super) use owners::LineUnits;
pub(super) use strand::{CoreRecord, CoreRequest, ServedBy, StrandRecord, Wait};
pub use strand::{Served, Waited};
pub use units::Stray;
pub(super) use units::UnitRecords;
pub use usage::{ChannelUse, HubUse, LinkUse, Traffic, TrafficKind, Usage};

/// The record of a machine's events, from the start or between two points in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    pub(super) cycles: u64,
    pub(super) strands: Vec<StrandRecord>,
    pub(super) cores: Vec<CoreRecord>,
    pub(super) units: UnitRecords,
}

impl Truth {
    /// Returns an empty record of a machine whose L2 lines have `line` bytes.
    pub(super) fn new(machine: &Machine, line: u64, pages: Pages) -> Self {
        let strands = machine.strands();
        Self {
            cycles: 0,
            strands: vec![StrandRecord::default(); strands],
            cores: vec![CoreRecord::default(); strands / StrandId::PER_CORE],
            units: UnitRecords::new(machine, line, pages),
        }
    }

    /// Returns the events since an earlier record of the same machine.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = self.clone();
        let Self { cycles, strands, cores, units } = &mut delta;
        cycles.subtract(&earlier.cycles);
        strands.subtract(&earlier.strands);
        for (now, then) in cores.iter_mut().zip(&earlier.cores) {
            *now = CoreRecord::from_busy(now.busy(self.cycles) - then.busy(earlier.cycles));
        }
        units.subtract(&earlier.units);
        delta
    }

    /// Adds up, for each DRAM channel, the cycles that lines spent in its queue. Returns the largest of these totals.
    pub fn most_queued(&self) -> u64 {
        let channels = self.units.channels.iter().flatten();
        let queued = channels.map(|channel| channel.cycles_to_read + channel.cycles_to_write);
        queued.max().unwrap_or(0)
    }

    /// Returns the number of cycles that the references took. The hubs' cycle counters count these cycles.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Returns how often the selected events occurred on a strand. `perf_config` is the PERF_CONFIG of all L2 banks of the strand's
    /// node. Returns 0 if the machine lacks the strand.
    pub fn strand(&self, strand: StrandId, select: SparcSelect, perf_config: PerfConfig) -> u64 {
        let Some(record) = self.strands.get(strand.index()) else {
            return 0;
        };
        if select.base_class() == 0 {
            return self.cycles - self.cores[strand.core()].busy(self.cycles);
        }
        record.total(select, perf_config)
    }

    /// Returns a strand's requests and waits. All are 0 if the machine lacks the strand.
    pub fn waited(&self, strand: StrandId) -> Waited {
        let record = self.strands.get(strand.index());
        record.map(StrandRecord::waited).unwrap_or_default()
    }

    /// Returns how often an event occurred at a DRAM channel.
    pub fn dram(&self, node: Node, mcu: Mcu, event: DramEvent) -> u64 {
        let channel = &self.units.channels[node.index()][mcu.index()];
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

    /// Returns how often a link port event occurred at a hub. A port has the number of the node that is connected to it.
    pub fn lpu(&self, hub: Hub, port: Node, event: LpuEvent) -> u64 {
        match event {
            LpuEvent::Clock => self.cycles,
            // A port without a node has no events.
            _ if !self.units.has_port(hub, port) => 0,
            event => self.units.hubs[hub.index()].lpu(port.index(), event),
        }
    }

    /// Returns how often an event occurred in a hub's general purpose design block.
    pub fn gpd(&self, _hub: Hub, event: GpdEvent) -> u64 {
        match event {
            GpdEvent::None => 0,
            GpdEvent::Clock => self.cycles,
        }
    }

    /// Returns how often an event occurred in a hub's address serialization unit.
    pub fn asu(&self, hub: Hub, event: AsuEvent) -> u64 {
        match event {
            AsuEvent::Clock => self.cycles,
            _ if !self.units.machine.model().has_hub(hub) => 0,
            AsuEvent::PacketsIn => self.units.hubs[hub.index()].packets_in(),
            AsuEvent::PacketsOut => self.units.hubs[hub.index()].packets_out(),
            AsuEvent::CamHit | AsuEvent::Wakeup => self.units.hubs[hub.index()].met(),
            AsuEvent::None => 0,
        }
    }
}
