//! The replay.

use guest_abi::layout::PerfConfig;
use guest_abi::{Hub, Node, StrandId};
use platform::address::L2_BANKS;
use platform::models::Devices;

use super::access::Access;
use super::figures::{T2Plus, Variant};
use super::moves::{MovedLines, Moves};
use super::system::MemorySystem;
use super::truth::{Truth, Waited};
use crate::recording::{Reference, References};

/// References that a strand executes until it is another strand's turn.
#[derive(Clone, Copy, Debug)]
pub struct Quantum<'a> {
    /// The strand.
    pub strand: StrandId,
    /// What to add to the addresses: a multiple of 64.
    pub offset: u64,
    /// When the strand executes the first of the references, in cycles.
    pub begins: u64,
    /// The strand begins no instruction at this time or later, other than the first.
    pub until: u64,
    /// The data belong to no instructions: each is executed as if it was one.
    pub data_alone: bool,
    /// The references.
    pub references: References<'a>,
}

impl Quantum<'_> {
    /// Returns `true` if an instruction begins with this reference.
    #[inline(always)]
    #[must_use]
    pub fn begins_at(&self, reference: &Reference) -> bool {
        self.data_alone || reference.kind.is_fetch()
    }

    /// Returns the quantum that ends with its first instruction, or what is left of it.
    #[must_use]
    pub fn first_instruction(&self) -> Self {
        let later = self.references.iter().skip(1);
        let data = later.take_while(|later| !self.begins_at(later)).count();
        Self {
            references: self.references.up_to(1 + data),
            ..*self
        }
    }
}

/// How much of a [`Quantum`] a strand has executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// How many of the references.
    pub references: usize,
    /// When the last instruction was issued; 0 if there is only data, of an instruction that was issued before.
    pub issued: u64,
    /// When the strand can go on.
    pub ends: u64,
    /// How many instructions began.
    pub instructions: u64,
}

/// What came of a reference.
#[derive(Clone, Copy, Debug)]
pub struct Watched<'a> {
    /// When the strand goes on.
    pub now: u64,
    /// Where its requests were served, and what it waited for.
    pub waited: Waited,
    moved: Option<&'a MovedLines>,
}

impl Watched<'_> {
    /// Returns how often the line with this number has moved until now; `None` if it has not, or if that is not
    /// [noted](MemorySystem::note_moves).
    pub(crate) fn moves(&self, line: u64) -> Option<Moves> {
        self.moved?.0.get(&line).copied()
    }
}

/// The memory system at work, while nobody looks at the devices.
///
/// What happens on a strand or in a hub is [told](Self::tell) to the counters at the end only, or when the caller wants it;
/// PERF_CONFIG is read at the begin, and when [its settings have changed](Self::settings_changed).
pub struct Work<'a, V: Variant = T2Plus> {
    pub(super) system: &'a mut MemorySystem<V>,
    pub(super) devices: &'a Devices,
    pub(super) perf_config: [[PerfConfig; L2_BANKS]; Node::ALL.len()],
}

impl Work<'_, T2Plus> {
    /// Executes a quantum as [`replay`](Self::replay) does. It is compiled with this crate, so that a caller that is not
    /// optimised replays as fast as others.
    ///
    /// # Panics
    /// The machine does not have the strand.
    pub fn replay_compiled(&mut self, quantum: &Quantum<'_>) -> Executed {
        self.replay(quantum)
    }
}

impl<'a, V: Variant> Work<'a, V> {
    pub(super) fn new(system: &'a mut MemorySystem<V>, devices: &'a Devices) -> Self {
        Self {
            system,
            devices,
            perf_config: perf_config(devices),
        }
    }

    /// Executes a quantum: its first instruction (or what is left of it), and others as long as their time is before its end.
    ///
    /// The caller calls this in the order of time: no quantum begins before the last instruction of the one before it.
    ///
    /// # Panics
    /// The machine does not have the strand.
    pub fn replay(&mut self, quantum: &Quantum<'_>) -> Executed {
        let longest = self.system.plan.variant.figures().timing.longest();
        let mut access = Access::new(self, quantum.strand, quantum.offset, quantum.begins);
        let mut rest = quantum.references;
        let mut executed = 0;
        loop {
            // In a short turn no shape is sure to end.
            if quantum.until.saturating_sub(access.now) > longest && !quantum.data_alone {
                access.shapes(&mut rest, quantum.until);
                executed = quantum.references.len() - rest.len();
            }
            if executed == quantum.references.len() {
                return access.finish(executed);
            }
            for reference in rest.first_part() {
                if quantum.begins_at(&reference) {
                    // The first instruction is executed at any time.
                    if executed > 0 && access.now >= quantum.until {
                        return access.finish(executed);
                    }
                    access.issue();
                }
                access.reference(&reference);
                executed += 1;
            }
            rest.skip_part();
        }
    }

    /// Executes a quantum as [`replay`](Self::replay) does, more slowly, and tells `each` of every reference what came of it.
    ///
    /// # Panics
    /// The machine does not have the strand.
    pub fn watch(
        &mut self,
        quantum: &Quantum<'_>,
        mut each: impl FnMut(&Reference, &Watched<'_>),
    ) -> Executed {
        let mut access = Access::new(self, quantum.strand, quantum.offset, quantum.begins);
        let mut executed = 0;
        let mut before = access.until_now();
        for reference in quantum.references.iter() {
            if quantum.begins_at(&reference) {
                // The first instruction is executed at any time.
                if executed > 0 && access.now >= quantum.until {
                    break;
                }
                access.issue();
            }
            access.reference(&reference);
            executed += 1;
            let waited = access.until_now();
            let watched = Watched {
                now: access.now,
                waited: waited.since(&before),
                moved: access.moves.as_ref(),
            };
            each(&reference, &watched);
            before = waited;
        }
        access.finish(executed)
    }

    /// Executes an instruction that begins at the time `begins`: its fetch, and the data that it touches.
    ///
    /// The caller calls this in the order of time: no instruction begins before the one before it.
    ///
    /// # Panics
    /// The machine does not have the strand.
    #[inline(always)]
    pub fn instruction(
        &mut self,
        strand: StrandId,
        begins: u64,
        fetch: &Reference,
        data: &[Reference],
    ) -> Executed {
        let mut access = Access::new(self, strand, 0, begins);
        access.issue();
        access.reference(fetch);
        for data in data {
            access.reference(data);
        }
        access.finish(1 + data.len())
    }

    /// Somebody has written L2 control registers: PERF_CONFIG is read again.
    pub fn settings_changed(&mut self) {
        self.perf_config = perf_config(self.devices);
    }

    /// Ends the work at the time `now`: no instruction is issued before it. The counters of all strands and hubs, and the clocks
    /// of the devices, catch up with what happened.
    pub fn finish(mut self, now: u64) {
        self.pass(now);
        for strand in (0..self.system.plan.machine.strands()).filter_map(StrandId::new) {
            self.system.tell(strand, self.devices);
        }
    }

    /// The counters of one strand and of all hubs, and the clocks of the devices, catch up with what happened until the time
    /// `now`: no instruction is issued before it.
    pub fn tell(&mut self, strand: StrandId, now: u64) {
        self.pass(now);
        self.system.tell(strand, self.devices);
    }

    /// Returns what happened until now.
    #[must_use]
    pub fn truth(&self) -> &Truth {
        &self.system.truth
    }

    fn pass(&mut self, now: u64) {
        let system = &mut *self.system;
        for (hub, events) in Hub::ALL.iter().zip(&mut system.hub_events) {
            if events.any() {
                events.tell(&mut self.devices.hub(*hub));
            }
        }
        let passed = now - system.truth.cycles;
        if passed == 0 {
            return;
        }
        system.truth.cycles = now;
        self.devices.advance(passed);
        if system.plan.machine.model().has_hubs() {
            for hub in Hub::ALL {
                self.devices.hub(*hub).pass(passed);
            }
        }
    }
}

fn perf_config(devices: &Devices) -> [[PerfConfig; L2_BANKS]; Node::ALL.len()] {
    std::array::from_fn(|node| devices.l2(Node::ALL[node]).perf_config())
}
