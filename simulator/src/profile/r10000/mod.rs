//! An R10000 that executes recorded instructions, whose counters sample.
//!
//! # What is modelled
//! Up to four instructions graduate in a cycle, in their order, and at most one of them uses memory: there is one
//! address unit. An instruction whose fetch or data misses a cache waits, and no other overlaps with it. The
//! caches are those of the manual: 32 KB for instructions and 32 KB for data, and a secondary cache, here of 1 MB.
//!
//! An instruction that loads and stores is one instruction, one load and one store. Nothing is executed that does not
//! graduate. There are no TLBs, no branches (a recording does not have them), no other processors, and no Count register
//! but for the timer. The addresses are those of the recording.

mod cache;
mod caches;

use platform::models::R10000;
use platform::models::r10000::{Cycle, Operation, R10000Event, R10000Mode};

use super::error::ProfileError;
use super::guest::{Guest, TICK};
use super::run::Processor;
use crate::recording::{Kind, Reference};
use caches::{Caches, Traffic};

/// How many instructions graduate in a cycle at most.
const WIDTH: u32 = 4;

/// Cycles that a miss of a primary cache takes.
const SECONDARY_CYCLES: u64 = 10;

/// Cycles that a miss of the secondary cache takes in addition.
const MEMORY_CYCLES: u64 = 60;

/// Returns why an event never happens in this processor; `None` if the processor models it.
#[must_use]
pub fn absence(event: R10000Event) -> Option<&'static str> {
    Happened::default().of(event).err()
}

/// Returns what limits the use of an event that the processor models, if anything does.
#[must_use]
pub fn limit(event: R10000Event) -> Option<&'static str> {
    use R10000Event as Event;
    matches!(
        event,
        Event::Issued | Event::LoadsIssued | Event::StoresIssued
    )
    .then_some("as often as graduated: nothing is executed that does not graduate")
}

/// The events of an instruction: the truth that samples are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Happened {
    /// Those in which it waited, and the one that it began.
    cycles: u64,
    instructions: u64,
    loads: u64,
    stores: u64,
    traffic: Traffic,
}

impl Happened {
    /// Returns how often an event happened, or why it is not modelled.
    fn of(&self, event: R10000Event) -> Result<u64, &'static str> {
        use R10000Event as Event;
        Ok(match event {
            Event::Cycles0 | Event::Cycles1 => self.cycles,
            Event::Issued | Event::Graduated0 | Event::Graduated1 => self.instructions,
            Event::LoadsIssued | Event::LoadsGraduated => self.loads,
            Event::StoresIssued | Event::StoresGraduated => self.stores,
            Event::L1InstructionMisses => self.traffic.instruction_misses,
            Event::L2InstructionMisses => self.traffic.secondary_instruction_misses,
            Event::L1DataMisses => self.traffic.data_misses,
            Event::L2DataMisses => self.traffic.secondary_data_misses,
            Event::L1QuadwordsWritten => self.traffic.data_quadwords,
            Event::L2QuadwordsWritten => self.traffic.secondary_quadwords,
            Event::ConditionalsIssued
            | Event::ConditionalsFailed
            | Event::ConditionalsGraduated
            | Event::FloatingPointGraduated => {
                return Err("a recording does not tell such instructions from others");
            }
            Event::BranchesDecoded | Event::BranchesMispredicted => {
                return Err("a recording does not tell branches from other instructions");
            }
            Event::TlbRefills => return Err("addresses are not translated, so there is no TLB"),
            Event::VirtualCoherency => return Err("addresses are not translated"),
            Event::Interventions
            | Event::Invalidations
            | Event::InterventionHits
            | Event::InvalidationHits
            | Event::StoresToShared => return Err("there is no other processor"),
            Event::StoresToClean => {
                return Err(
                    "the model of the caches does not tell the first store to a block from later ones",
                );
            }
            Event::L2InstructionWayMispredicted | Event::L2DataWayMispredicted => {
                return Err("the secondary cache finds both ways at once");
            }
            Event::L2EccErrors => return Err("memory is without fault"),
        })
    }
}

/// The cycle under way.
#[derive(Default)]
struct Group {
    cycle: Cycle,
    instructions: u32,
    uses_memory: bool,
}

/// The processor.
pub struct Core {
    caches: Caches,
    unit: R10000,
    group: Group,
    now: u64,
    next_tick: u64,
    events: Vec<R10000Event>,
}

impl Core {
    /// Returns the processor after reset. `events` are the events whose truth is noted.
    #[must_use]
    pub fn new(events: Vec<R10000Event>) -> Self {
        Self {
            caches: Caches::new(),
            unit: R10000::new(),
            group: Group::default(),
            now: 0,
            next_tick: TICK,
            events,
        }
    }

    /// Ends the cycle under way.
    fn close(&mut self) {
        let group = std::mem::take(&mut self.group);
        self.unit.step(R10000Mode::User.into(), &group.cycle);
        self.now += 1;
    }

    fn wait(&mut self, cycles: u64) {
        let idle = Cycle::new();
        for _ in 0..cycles {
            self.unit.step(R10000Mode::User.into(), &idle);
        }
        self.now += cycles;
    }

    fn traffic(&mut self, references: &[Reference]) -> Traffic {
        let mut traffic = Traffic::default();
        for Reference {
            address,
            size,
            kind,
            ..
        } in references.iter().copied()
        {
            match kind {
                Kind::Load => self.caches.access(address, size, false, &mut traffic),
                Kind::Store => self.caches.access(address, size, true, &mut traffic),
                Kind::Modify => {
                    self.caches.access(address, size, false, &mut traffic);
                    self.caches.access(address, size, true, &mut traffic);
                }
                _ => self.caches.fetch(address, size, &mut traffic),
            }
        }
        traffic
    }
}

/// The events of an instruction's operation, on the unit.
fn operate(cycle: Cycle, kind: Kind) -> Cycle {
    let both = |cycle: Cycle, operation| cycle.issue(operation).graduate(operation);
    match kind {
        Kind::FetchOther => both(cycle, Operation::Other),
        Kind::FetchLoad => both(cycle, Operation::Load),
        Kind::FetchStore => both(cycle, Operation::Store),
        Kind::FetchModify => both(cycle, Operation::Load)
            .and(R10000Event::StoresIssued, 1)
            .and(R10000Event::StoresGraduated, 1),
        Kind::Load | Kind::Store | Kind::Modify => cycle,
    }
}

/// What happens in the caches, on the unit.
fn report(cycle: Cycle, traffic: &Traffic) -> Cycle {
    [
        (R10000Event::L1InstructionMisses, traffic.instruction_misses),
        (
            R10000Event::L2InstructionMisses,
            traffic.secondary_instruction_misses,
        ),
        (R10000Event::L1DataMisses, traffic.data_misses),
        (R10000Event::L2DataMisses, traffic.secondary_data_misses),
        (R10000Event::L1QuadwordsWritten, traffic.data_quadwords),
        (R10000Event::L2QuadwordsWritten, traffic.secondary_quadwords),
    ]
    .into_iter()
    .fold(cycle, |cycle, (event, n)| cycle.and(event, n as u32))
}

impl Processor for Core {
    type Unit = R10000;

    fn execute(&mut self, instruction: &[Reference], happened: &mut [u64]) {
        let kind = instruction.first().map_or(Kind::Load, |first| first.kind);
        let uses_memory = kind != Kind::FetchOther;
        if uses_memory && self.group.uses_memory {
            self.close();
        }
        let traffic = self.traffic(instruction);
        let primary = traffic.instruction_misses + traffic.data_misses;
        let secondary = traffic.secondary_instruction_misses + traffic.secondary_data_misses;
        let waits = primary * SECONDARY_CYCLES + secondary * MEMORY_CYCLES;
        let did = Happened {
            cycles: waits + u64::from(self.group.instructions == 0),
            instructions: kind.is_fetch().into(),
            loads: matches!(kind, Kind::FetchLoad | Kind::FetchModify).into(),
            stores: matches!(kind, Kind::FetchStore | Kind::FetchModify).into(),
            traffic,
        };
        for (event, happened) in self.events.iter().zip(happened) {
            *happened += did.of(*event).unwrap_or(0);
        }

        self.wait(waits);
        let cycle = std::mem::take(&mut self.group.cycle);
        self.group.cycle = report(operate(cycle, kind), &traffic);
        self.group.instructions += 1;
        self.group.uses_memory |= uses_memory;
        if waits > 0 || self.group.instructions == WIDTH {
            self.close();
        }
    }

    fn drain(&mut self) {
        if self.group.instructions > 0 {
            self.close();
        }
    }

    /// One handler serves the counters and the timer.
    fn interrupt(&mut self, guest: &mut Guest<R10000>, next: u64) -> Result<(), ProfileError> {
        if self.now >= self.next_tick {
            self.next_tick = self.now + TICK;
            self.unit.match_compare();
        }
        if !self.unit.ip7() {
            return Ok(());
        }
        let cause = guest.interrupt(&mut self.unit, next, self.now)?;
        if cause.timer {
            self.unit.write_compare();
            guest.tick(&mut self.unit, next, self.now)?;
        }
        Ok(())
    }

    fn unit(&mut self) -> &mut R10000 {
        &mut self.unit
    }

    fn now(&self) -> u64 {
        self.now
    }
}
