//! Computes an instruction's cost in cycles. With a memory system, also counts the instruction's events.

use guest_abi::StrandId;
use platform::models::Devices;

use crate::memory::{StrandEvents, Variant, Work};
use crate::recording::Reference;

/// Counts instructions and determines how long they take. One implementation uses a memory system, the other does not.
pub(super) trait Cost {
    /// The minimum number of cycles in a strand's turn. If it is 0, all strands' instructions execute in the order of their times.
    /// Otherwise a strand may run ahead of other strands by less than this number of cycles.
    const QUANTUM: u64;

    /// Counts an instruction. Returns the time at which the strand can execute its next instruction.
    fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        data: Option<Reference>,
    ) -> u64;

    /// Updates a strand's counters and the devices' clocks to the time `now`. Afterwards, no instruction may be issued before `now`.
    fn update_counters(&mut self, strand: StrandId, now: u64);

    /// Rereads the L2 control registers, after a store that may have changed them.
    fn settings_changed(&mut self);
}

impl<V: Variant> Cost for Work<'_, V> {
    const QUANTUM: u64 = 0;

    #[inline(always)]
    fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        data: Option<Reference>,
    ) -> u64 {
        Work::instruction(self, strand, begins, fetch, data.as_slice()).ends
    }

    fn update_counters(&mut self, strand: StrandId, now: u64) {
        // Another strand may already have advanced the time beyond `now`.
        let now = now.max(self.truth().cycles());
        Work::update_counters(self, strand, now);
    }

    fn settings_changed(&mut self) {
        Work::reload_perf_config(self);
    }
}

/// The cost without a memory system: each instruction takes one cycle. Only instructions are counted.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    events: Vec<StrandEvents>,
}

impl Plain {
    pub(super) fn new(strands: usize) -> Self {
        Self { events: vec![StrandEvents::default(); strands] }
    }

    pub(super) const fn work<'a>(&'a mut self, devices: &'a Devices) -> PlainWork<'a> {
        PlainWork { plain: self, devices }
    }
}

/// Applies [`Plain`]'s cost during a turn, and updates the device counters.
pub(super) struct PlainWork<'a> {
    plain: &'a mut Plain,
    devices: &'a Devices,
}

impl Cost for PlainWork<'_> {
    const QUANTUM: u64 = 16;

    #[inline(always)]
    fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        _: Option<Reference>,
    ) -> u64 {
        self.plain.events[strand.index()].instruction(fetch.data(), fetch.group());
        begins + 1
    }

    fn update_counters(&mut self, strand: StrandId, now: u64) {
        // Another strand may already have advanced the time beyond `now`.
        let passed = now.saturating_sub(self.devices.now());
        self.devices.advance(passed);
        if passed > 0 {
            for hub in self.devices.machine().hubs() {
                self.devices.hub(*hub).pass(passed);
            }
        }
        let events = &mut self.plain.events[strand.index()];
        events.flush_to_counters(0, &mut self.devices.strand_unit(strand));
    }

    fn settings_changed(&mut self) {}
}
