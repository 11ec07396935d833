//! Simulates a machine's strands. On each strand, a guest samples with the strand's own counters.

use guest_abi::layout::{PerfConfig, SparcSelect};
use guest_abi::sampling::{OwnCounters, SparcMode};
use guest_abi::{PerfCounters, StrandId};
use hv_core::GuestId;
use perfctr_service::{Grant, GuestConfig};
use platform::Machine;
use platform::models::Devices;

use super::error::ProfileError;
use super::events::{Selected, StrandEvent};
use super::guest::{SamplingGuest, TICK};
use super::processor::{Processor, Truth};
use super::stacks::{Point, StackId};
use crate::machine::board::{Board, SimulatedStrand};
use crate::memory::{self, Executed, Quantum, Variant, Work};

const GUEST: GuestId = match GuestId::new(0) {
    Some(guest) => guest,
    None => unreachable!(),
};

/// Returns the configuration of a guest that has all strands and all rights.
pub(crate) fn guest(machine: Machine) -> GuestConfig {
    GuestConfig::new((0..machine.strands()).filter_map(StrandId::new).collect(), Grant::ALL)
}

/// The sampling driver, which uses the counters of the simulated strand on which it executes.
pub(crate) type Counters<'a> = OwnCounters<SimulatedStrand<'a>, SimulatedStrand<'a>>;

/// A strand, and the guest that samples on it. The strand's time advances only while it executes instructions.
struct SampledStrand<'a> {
    id: StrandId,
    unit: Counters<'a>,
    guest: SamplingGuest<Counters<'a>>,
    /// Each sampled event's true count at the latest call to [`note`](Self::note).
    before: Vec<u64>,
    /// How many cycles the instructions have taken so far.
    time: u64,
    next_tick: u64,
    at: Point,
    /// The address of the instruction after the current one.
    next: u64,
}

impl SampledStrand<'_> {
    /// Adds to `truth` the events that happened since the previous call to this function. The current instruction
    /// caused these events.
    fn note(
        &mut self,
        counted: &[(usize, SparcSelect)],
        happened: &memory::Truth,
        truth: &mut Truth,
    ) {
        for ((event, select), before) in counted.iter().zip(&mut self.before) {
            let now = happened.strand(self.id, *select, PerfConfig::All);
            truth.add(*event, self.at, now - std::mem::replace(before, now));
        }
    }

    /// Lets the guest handle pending interrupts before the instruction `next`. The counters' trap comes first, and
    /// then the timer's. Both handlers execute in privileged mode at the highest PIL.
    fn interrupt(&mut self, devices: &Devices, next: Point) -> Result<(), ProfileError> {
        let mut strand = devices.strand_unit(self.id);
        let overflow = strand.softint();
        if !overflow && self.time < self.next_tick {
            return Ok(());
        }
        strand.set_interruptible(false);
        strand.set_mode(SparcMode::Privileged);
        strand.set_softint(false);
        drop(strand);
        if overflow {
            self.guest.interrupt(&mut self.unit, next, self.time)?;
        }
        if self.time >= self.next_tick {
            self.next_tick = self.time + TICK;
            self.guest.tick(&mut self.unit, next, self.time)?;
        }
        let mut strand = devices.strand_unit(self.id);
        strand.set_mode(SparcMode::User);
        strand.set_interruptible(true);
        Ok(())
    }
}

/// All strands of the machine, and the memory system.
pub(crate) struct Sparc<'a, V: Variant> {
    devices: &'a Devices,
    memory: Work<'a, V>,
    /// The events whose true counts are recorded, each with its index among all sampled events.
    counted: Vec<(usize, SparcSelect)>,
    /// Whether `execute` records the time after the instruction, which is needed only if cycles are sampled.
    timed: bool,
    /// The strands, indexed by number; `None` for a strand without a thread.
    strands: Vec<Option<SampledStrand<'a>>>,
}

impl<'a, V: Variant> Sparc<'a, V> {
    /// Returns the guests' strands after a reset, with running counters. `memory` must be the memory system of
    /// `devices`. The true counts of the events in `selected` are recorded.
    pub(crate) fn new(
        memory: Work<'a, V>,
        devices: &'a Devices,
        board: &'a Board<'a>,
        selected: &[Selected<StrandEvent>],
        guests: Vec<SamplingGuest<Counters<'a>>>,
    ) -> Result<Self, ProfileError> {
        let counted = selected.iter().enumerate();
        let counted = counted.filter_map(|(number, one)| Some((number, one.event.select()?)));
        let counted: Vec<_> = counted.collect();
        let timed = counted.len() < selected.len();
        let mut strands: Vec<_> = (0..devices.machine().strands()).map(|_| None).collect();
        for mut guest in guests {
            let id = guest.strand();
            let strand = || board.strand(GUEST, id);
            let mut unit =
                OwnCounters::with_service(strand(), PerfCounters::negotiate_best(strand())?);
            guest.start(&mut unit, 0)?;
            let happened = |(_, select): &(usize, SparcSelect)| {
                memory.truth().strand(id, *select, PerfConfig::All)
            };
            strands[id.index()] = Some(SampledStrand {
                id,
                unit,
                guest,
                before: counted.iter().map(happened).collect(),
                time: 0,
                next_tick: TICK,
                at: Point::default(),
                next: 0,
            });
        }
        Ok(Self { devices, memory, counted, timed, strands })
    }

    /// Returns the sampling guests of all strands that have executed instructions.
    pub(crate) fn into_guests(self) -> impl Iterator<Item = SamplingGuest<Counters<'a>>> {
        let strands = self.strands.into_iter().flatten();
        strands.filter(|strand| strand.time > 0).map(|strand| strand.guest)
    }
}

impl<V: Variant> Processor for Sparc<'_, V> {
    fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError> {
        let id = instruction.strand;
        let strand = self.strands[id.index()].as_mut().expect("a strand with threads has a guest");
        let first = instruction.references.first().map(|first| first.in_image(instruction.image));
        if let Some(first) = first.filter(|first| first.kind.is_fetch()) {
            let at = Point { stack, address: first.address };
            strand.interrupt(self.devices, at)?;
            (strand.at, strand.next) = (at, first.address.wrapping_add(first.size.into()));
        }
        let executed = self.memory.replay(instruction);
        if self.timed {
            truth.now = executed.ends;
        }
        self.memory.update_counters(id, instruction.begins);
        strand.time += executed.ends - instruction.begins;
        strand.note(&self.counted, self.memory.truth(), truth);
        Ok(executed)
    }

    fn finish(&mut self, now: u64, truth: &mut Truth) -> Result<u64, ProfileError> {
        for strand in self.strands.iter_mut().flatten() {
            self.memory.update_counters(strand.id, now);
            strand.note(&self.counted, self.memory.truth(), truth);
            let next = Point { address: strand.next, ..strand.at };
            strand.interrupt(self.devices, next)?;
            strand.guest.stop(&mut strand.unit, next, strand.time);
        }
        self.memory.check()?;
        Ok(now)
    }
}
