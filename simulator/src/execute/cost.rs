//! Computes the cost of an instruction in cycles. With a memory system, also counts the events of the instruction.

use guest_abi::StrandId;
use platform::models::Devices;

use crate::memory::{StrandEvents, Variant, Work};
use crate::recording::Reference;

/// Counts instructions and determines how long they take, with a memory system or without one.
pub(super) trait Cost {
    /// The minimum number of cycles in a strand's turn. If the minimum is 0, the instructions of all strands execute in the order of
    /// their times. Otherwise a strand may run ahead of other strands by less than this number of cycles.
    const QUANTUM: u64;

    /// Counts an instruction. Returns when the strand can execute its next instruction.
    fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        data: Option<Reference>,
    ) -> u64;

    /// Updates the counters of a strand and the clocks of the devices to the time `now`. Afterwards, instructions must not be issued before
    /// `now`.
    fn tell(&mut self, strand: StrandId, now: u64);

    /// Reads the L2 control registers again, after a store that may have changed them.
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

    fn tell(&mut self, strand: StrandId, now: u64) {
        // Another strand may already have advanced the time beyond `now`.
        let now = now.max(self.truth().cycles());
        Work::tell(self, strand, now);
    }

    fn settings_changed(&mut self) {
        Work::settings_changed(self);
    }
}

/// The cost without a memory system: one cycle for each instruction. Only instructions are counted.
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

/// Applies the cost of [`Plain`] during a turn, and updates the counters of the devices.
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

    fn tell(&mut self, strand: StrandId, now: u64) {
        // Another strand may already have advanced the time beyond `now`.
        let passed = now.saturating_sub(self.devices.now());
        self.devices.advance(passed);
        if passed > 0 {
            for hub in self.devices.machine().hubs() {
                self.devices.hub(*hub).pass(passed);
            }
        }
        let events = &mut self.plain.events[strand.index()];
        events.tell(0, &mut self.devices.strand_unit(strand));
    }

    fn settings_changed(&mut self) {}
}
