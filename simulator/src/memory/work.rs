//! Executes references on the memory system and updates the counters.

use guest_abi::layout::PerfConfig;
use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::address::L2_BANKS;
use platform::models::Devices;

use super::access::Access;
use super::broken::{Map, mapped};
use super::figures::{T2Plus, Variant};
use super::quantum::{Executed, Quantum};
use super::system::MemorySystem;
use super::truth::{Stray, Truth};
use super::watch::{Unreported, Watch};
use crate::recording::{Kind, Reference};

/// The memory system while it executes references. Until the work ends, the devices must not be read, because their counters are
/// out of date. Methods panic if the machine lacks the strand.
///
/// Events are added to the counters only at the [end](Self::finish) or [on demand](Self::update_counters). PERF_CONFIG is read at the start
/// and when [settings change](Self::reload_perf_config).
#[derive(Debug)]
pub struct Work<'a, V: Variant = T2Plus> {
    pub(super) system: &'a mut MemorySystem<V>,
    devices: &'a Devices,
    perf_config: [[PerfConfig; L2_BANKS]; Node::ALL.len()],
    /// See [`latest`](Self::latest).
    latest: u64,
}

impl Work<'_, T2Plus> {
    /// Does the same as [`replay`](Self::replay). This function is compiled with this crate, so it is optimised even if the
    /// caller's crate is not.
    pub fn replay_compiled(&mut self, quantum: &Quantum<'_>) -> Executed {
        self.replay(quantum)
    }
}

impl<V: Variant> MemorySystem<V> {
    /// Starts to execute references. Their events are added to the counters of `devices` when the work ends.
    ///
    /// # Panics
    /// Panics if the devices belong to another machine.
    pub fn work<'a>(&'a mut self, devices: &'a Devices) -> Work<'a, V> {
        assert_eq!(devices.machine(), self.plan.machine, "the devices belong to another machine");
        Work { perf_config: perf_config(devices), system: self, devices, latest: 0 }
    }
}

impl<V: Variant> Work<'_, V> {
    #[inline(always)]
    pub(super) fn access(&mut self, strand: StrandId, offset: u64, begins: u64) -> Access<'_, V> {
        let perf_config = &self.perf_config[strand.node().index()];
        Access::new(self.system, perf_config, strand, offset, begins)
    }

    /// Executes a quantum, which begins with an instruction or the rest of one. All further instructions begin before the quantum's
    /// end. If an instruction loads and then stores in two steps, the quantum can end between the load and the store, so that other
    /// strands can use the line while this strand waits for the load.
    ///
    /// Quanta must be passed in chronological order: a quantum must not begin before the last instruction of the previous quantum.
    pub fn replay(&mut self, quantum: &Quantum<'_>) -> Executed {
        let mut access = self.access(quantum.strand, quantum.offset, quantum.begins);
        let executed = Self::execute(&mut access, quantum, &mut ());
        self.latest = access.turn;
        executed
    }

    /// Returns the time of the latest reference's turn, if the latest quantum ended within an instruction. This is the time at
    /// which the instruction was issued or, if it loads and then stores in two steps, the time of its latest store.
    pub(crate) fn latest(&self) -> u64 {
        self.latest
    }

    /// Does the same as [`replay`](Self::replay), and tells `watch` what the references do.
    pub(crate) fn replay_watched(
        &mut self,
        quantum: &Quantum<'_>,
        watch: &mut impl Watch,
    ) -> Executed {
        let mut unreported = Unreported::default();
        let mut access = self.access(quantum.strand, quantum.offset, quantum.begins);
        access.unreported = Some(&mut unreported);
        let executed = Self::execute(&mut access, quantum, watch);
        self.latest = access.turn;
        executed
    }

    #[inline(always)]
    fn execute<W: Watch>(
        access: &mut Access<'_, V>,
        quantum: &Quantum<'_>,
        watch: &mut W,
    ) -> Executed {
        let longest = access.timing().longest();
        access.ends = quantum.until;
        let mut rest = quantum.references;
        let mut executed = 0;
        loop {
            // A shape must be executed from its start. If at most `longest` cycles are left, even the shortest shape may end too
            // late.
            let is_at_start = rest.index() == 0 && !quantum.data_alone;
            if is_at_start && access.ends.saturating_sub(access.now) > longest {
                access.shapes(&mut rest, access.ends, watch);
                executed = quantum.references.len() - rest.len();
            }
            if executed == quantum.references.len() {
                return access.finish(executed);
            }
            let mut loaded = executed > 0 && rest.follows_load();
            for reference in rest.first_part() {
                if quantum.begins_at(&reference) {
                    // The first instruction is executed even if the quantum has already ended.
                    if executed > 0 && access.now >= access.ends {
                        return access.finish(executed);
                    }
                    access.issue();
                } else if loaded && reference.kind == Kind::Store && !access.begin_store() {
                    return access.finish(executed);
                }
                access.watched_reference(&reference, watch);
                executed += 1;
                loaded = reference.kind == Kind::Load;
            }
            rest.skip_part();
        }
    }

    /// Executes an instruction (its fetch and its data) that begins at the time `begins`.
    ///
    /// Instructions must be passed in chronological order: an instruction must not begin before the previous instruction.
    #[inline(always)]
    pub fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        data: &[Reference],
    ) -> Executed {
        let mut access = self.access(strand, 0, begins);
        access.issue();
        access.reference(fetch);
        for data in data {
            access.reference(data);
        }
        access.finish(1 + data.len())
    }

    /// Reads PERF_CONFIG again. Must be called after a write to L2 control registers.
    pub fn reload_perf_config(&mut self) {
        self.perf_config = perf_config(self.devices);
    }

    /// Ends the work at the time `now`, and updates all counters and the devices' clocks. All instructions must have been issued
    /// before this time.
    ///
    /// # Errors
    /// Returns an error if an event happened at the wrong unit or strand. All counts are then unreliable.
    pub fn finish(mut self, now: u64) -> Result<(), Stray> {
        self.advance_to(now);
        for strand in (0..self.system.plan.machine.strands()).filter_map(StrandId::new) {
            self.system.flush_to_counters(strand, self.devices);
        }
        self.check()
    }

    /// Returns an error if an event has happened at the wrong unit or strand.
    pub fn check(&mut self) -> Result<(), Stray> {
        self.system.stray().map_or(Ok(()), Err)
    }

    /// Updates the devices' clocks, and the counters of one strand, all hubs and all channels. All instructions so far must have
    /// been issued before the time `now`.
    pub fn update_counters(&mut self, strand: StrandId, now: u64) {
        self.advance_to(now);
        self.system.flush_to_counters(strand, self.devices);
    }

    /// Returns the record of all events since the start.
    pub fn truth(&self) -> &Truth {
        &self.system.truth
    }

    fn advance_to(&mut self, now: u64) {
        let system = &mut *self.system;
        for (hub, events) in Hub::ALL.iter().zip(&mut system.hub_events) {
            if events.has_events() {
                let hub = Hub::ALL[mapped(Map::HubRegisters, hub.index())];
                events.flush_to_counters(&mut self.devices.hub(hub));
            }
        }
        for (node, channels) in Node::ALL.iter().zip(&mut system.dram.channels) {
            for (mcu, channel) in Mcu::ALL.iter().zip(channels) {
                if channel.has_events() {
                    let mcu = Mcu::ALL[mapped(Map::ChannelRegisters, mcu.index())];
                    channel.flush_to_counters(&mut self.devices.memory_controller(*node, mcu));
                }
            }
        }
        let passed = now - system.truth.cycles;
        if passed == 0 {
            return;
        }
        system.truth.cycles = now;
        self.devices.advance(passed);
        for hub in system.plan.machine.hubs() {
            self.devices.hub(*hub).pass(passed);
        }
    }
}

fn perf_config(devices: &Devices) -> [[PerfConfig; L2_BANKS]; Node::ALL.len()] {
    std::array::from_fn(|node| devices.l2(Node::ALL[node]).perf_config())
}
