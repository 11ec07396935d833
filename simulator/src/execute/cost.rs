//! What an instruction costs, and what counts it.

use guest_abi::{Hub, StrandId};
use platform::models::Devices;

use crate::memory::{StrandEvents, Variant, Work};
use crate::recording::Reference;

/// What takes the time of instructions.
pub(super) trait Cost {
    /// For at least how many cycles a strand goes on before another has its turn. With 0, all instructions come in the order of
    /// their times; otherwise those of one strand do, and those of another may be this much earlier.
    const QUANTUM: u64;

    /// Executes an instruction. Returns when the strand can go on.
    fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        data: Option<Reference>,
    ) -> u64;

    /// The counters of a strand and the clocks of the devices catch up with what happened. No instruction is issued before `now`.
    fn tell(&mut self, strand: StrandId, now: u64);

    /// An L2 control register has been written.
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
        // Another strand may have told of a later time.
        let now = now.max(self.truth().cycles());
        Work::tell(self, strand, now);
    }

    fn settings_changed(&mut self) {
        Work::settings_changed(self);
    }
}

/// One cycle an instruction, without a memory system: only instructions are counted.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    events: Vec<StrandEvents>,
}

impl Plain {
    pub(super) fn new(strands: usize) -> Self {
        Self { events: vec![StrandEvents::default(); strands] }
    }

    /// Begins to work with these devices.
    pub(super) const fn work<'a>(&'a mut self, devices: &'a Devices) -> PlainWork<'a> {
        PlainWork { plain: self, devices }
    }
}

/// [`Plain`] at work.
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
        self.plain.events[strand.index()].instruction(fetch.kind, fetch.flow.branch());
        begins + 1
    }

    fn tell(&mut self, strand: StrandId, now: u64) {
        // Another strand may have told of a later time.
        let passed = now.saturating_sub(self.devices.now());
        self.devices.advance(passed);
        if passed > 0 && self.devices.machine().model().has_hubs() {
            for hub in Hub::ALL {
                self.devices.hub(*hub).pass(passed);
            }
        }
        let events = &mut self.plain.events[strand.index()];
        events.tell(0, &mut self.devices.strand_unit(strand));
    }

    fn settings_changed(&mut self) {}
}
