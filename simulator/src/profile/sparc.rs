//! A strand of a simulated sun4v machine, whose guest samples with the strand's own counters.

use guest_abi::PerfCounters;
use guest_abi::layout::{PerfConfig, SparcSelect};
use guest_abi::sampling::{OwnCounters, SparcMode};
use hv_core::GuestId;
use perfctr_service::{Grant, GuestConfig};
use platform::models::Devices;
use platform::{Machine, Model};

use super::error::ProfileError;
use super::guest::{Guest, STRAND, TICK};
use super::run::{Processor, Truth};
use crate::machine::board::{Board, SimulatedStrand};
use crate::memory::{MemorySystem, Quantum};
use crate::recording::Reference;

/// Returns the machine: a Maramba with one node. For a program on one strand, a larger machine differs only in memory that is
/// farther away.
#[must_use]
pub fn machine() -> Machine {
    Machine::new(Model::Maramba, 1).expect("a Maramba may have one node")
}

/// The only guest.
const GUEST: GuestId = match GuestId::new(0) {
    Some(guest) => guest,
    None => unreachable!(),
};

/// Returns the configuration of the guest: all strands, and every right.
#[must_use]
pub fn guest(machine: Machine) -> GuestConfig {
    GuestConfig {
        strands: (0..machine.strands())
            .filter_map(guest_abi::StrandId::new)
            .collect(),
        grant: Grant::ALL,
        compatible: false,
    }
}

type Counters<'a> = OwnCounters<SimulatedStrand<'a>, SimulatedStrand<'a>>;

/// The strand, its memory, and the driver of its counters.
pub struct Sparc<'a> {
    devices: &'a Devices,
    memory: MemorySystem,
    /// The time of the strand, in cycles: the handlers take none.
    time: u64,
    unit: Counters<'a>,
    selects: Vec<SparcSelect>,
    before: Vec<u64>,
    next_tick: u64,
    /// The address of the instruction under way, and the one after it.
    address: u64,
    next: u64,
}

impl<'a> Sparc<'a> {
    /// Returns the strand after reset. `selects` are the events whose truth is noted.
    ///
    /// # Errors
    /// The machine has no memory, or the guest cannot negotiate a version.
    pub fn new(
        devices: &'a Devices,
        board: &'a Board<'a>,
        selects: Vec<SparcSelect>,
    ) -> Result<Self, ProfileError> {
        let strand = || board.strand(GUEST, STRAND);
        Ok(Self {
            devices,
            memory: MemorySystem::new(&devices.machine())?,
            time: 0,
            unit: OwnCounters::new(strand(), Some(PerfCounters::negotiate_best(strand())?)),
            before: vec![0; selects.len()],
            selects,
            next_tick: TICK,
            address: 0,
            next: 0,
        })
    }

    /// Lets the guest handle the interrupts that are pending, before the instruction at address `next`. The trap of the counters
    /// comes first, then the timer's. Both handlers run in privileged mode, at the highest PIL.
    fn interrupt(
        &mut self,
        guest: &mut Guest<Counters<'a>>,
        next: u64,
    ) -> Result<(), ProfileError> {
        let now = self.devices.now();
        let mut strand = self.devices.strand_unit(STRAND);
        let overflow = strand.softint();
        if !overflow && now < self.next_tick {
            return Ok(());
        }
        strand.set_interruptible(false);
        strand.set_mode(SparcMode::Privileged);
        strand.set_softint(false);
        drop(strand);
        if overflow {
            guest.interrupt(&mut self.unit, next, now)?;
        }
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            guest.tick(&mut self.unit, next, now)?;
        }
        let mut strand = self.devices.strand_unit(STRAND);
        strand.set_mode(SparcMode::User);
        strand.set_interruptible(true);
        Ok(())
    }
}

impl<'a> Processor for Sparc<'a> {
    type Unit = Counters<'a>;

    fn execute(
        &mut self,
        instruction: &[Reference],
        guest: &mut Guest<Self::Unit>,
        truth: &mut Truth,
    ) -> Result<(), ProfileError> {
        if let Some(fetch) = instruction.first().filter(|first| first.kind.is_fetch()) {
            self.interrupt(guest, fetch.address)?;
            self.address = fetch.address;
            self.next = fetch.address.wrapping_add(fetch.size.into());
        }
        let mut work = self.memory.work(self.devices);
        let executed = work.replay(&Quantum {
            strand: STRAND,
            offset: 0,
            begins: self.time,
            until: u64::MAX,
            data_alone: !instruction[0].kind.is_fetch(),
            references: instruction,
        });
        self.time = executed.ends;
        work.finish_on(STRAND, self.time);
        let happened = self.memory.truth();
        for (place, (select, before)) in self.selects.iter().zip(&mut self.before).enumerate() {
            let now = happened.strand(STRAND, *select, PerfConfig::All);
            truth.add(place, self.address, now - std::mem::replace(before, now));
        }
        Ok(())
    }

    fn finish(&mut self, guest: &mut Guest<Self::Unit>, _: &mut Truth) -> Result<(), ProfileError> {
        self.interrupt(guest, self.next)
    }

    fn unit(&mut self) -> &mut Self::Unit {
        &mut self.unit
    }

    fn now(&self) -> u64 {
        self.devices.now()
    }

    fn next(&self) -> u64 {
        self.next
    }
}
