//! The pipeline: instructions are decoded in order, issue as soon as they can, and graduate in order.

use std::collections::VecDeque;

use platform::models::R10000;
use platform::models::r10000::{Branch, Cycle, Operation, R10000Event, R10000Mode};

use super::branches::Branches;
use super::caches::{Caches, Traffic};
use super::events::{graduate, issue, report};
use super::happened::Happened;
use super::instruction::{ActiveInstruction, Stage};
use super::tlb::Tlb;
use crate::analysis::profile::error::ProfileError;
use crate::analysis::profile::guest::{SamplingGuest, TICK};
use crate::analysis::profile::run::{Processor, Truth};
use crate::analysis::profile::stacks::{Point, StackId};
use crate::memory::{Executed, Quantum};
use crate::recording::{Flow, Kind, Reference};

/// The maximum number of instructions that are decoded in a cycle, and the maximum that graduate in a cycle.
const WIDTH: usize = 4;

/// The capacity of the active list. It holds instructions from when they are decoded until they graduate.
const ACTIVE: usize = 32;

/// The number of cycles that a miss of a primary cache takes.
const SECONDARY_CYCLES: u64 = 10;

/// The number of additional cycles that a miss of the secondary cache takes.
const MEMORY_CYCLES: u64 = 60;

/// The number of cycles from the issue of a mispredicted branch until the right instructions are decoded. In this time the branch
/// executes, and the right instructions are fetched.
const MISPREDICTED_CYCLES: u64 = 3;

/// The handler of a TLB miss. Its instructions graduate one by one. It loads the two halves of a page table entry.
const REFILL_HANDLER: [Operation; 7] = {
    let mut handler = [Operation::Other; 7];
    handler[1] = Operation::Load;
    handler[2] = Operation::Load;
    handler
};

pub(crate) struct Core {
    caches: Caches,
    tlb: Tlb,
    branches: Branches,
    unit: R10000,
    guest: SamplingGuest<R10000>,
    /// The instructions that have not graduated, the oldest first. The first `active` instructions are in the active list.
    instructions: VecDeque<ActiveInstruction>,
    active: usize,
    references: VecDeque<Reference>,
    /// The number of references already removed from `references`.
    passed: u64,
    /// The time at which the memory system has served all misses.
    idle_at: u64,
    /// The time at which instructions are decoded again; `None` while a mispredicted branch has not issued.
    decodes_at: Option<u64>,
    now: u64,
    next_tick: u64,
    /// The point just after the latest graduated instruction.
    next: Point,
    events: Vec<R10000Event>,
    exceptions: bool,
}

impl Core {
    /// Returns the processor after reset, with its counters running. The true counts of `events` cover user mode and, if
    /// `exceptions` is set, exception mode.
    pub(crate) fn new(
        events: Vec<R10000Event>,
        exceptions: bool,
        mut guest: SamplingGuest<R10000>,
    ) -> Result<Self, ProfileError> {
        let mut unit = R10000::new();
        guest.start(&mut unit, 0)?;
        Ok(Self {
            caches: Caches::new(),
            tlb: Tlb::new(),
            branches: Branches::new(),
            unit,
            guest,
            instructions: VecDeque::new(),
            active: 0,
            references: VecDeque::new(),
            passed: 0,
            idle_at: 0,
            decodes_at: Some(0),
            now: 0,
            next_tick: TICK,
            next: Point::default(),
            events,
            exceptions,
        })
    }

    pub(crate) fn into_guest(self) -> SamplingGuest<R10000> {
        self.guest
    }

    fn next(&self) -> Point {
        let oldest = self.instructions.front();
        oldest.map_or(self.next, ActiveInstruction::at)
    }

    /// Executes one cycle, and all following cycles in which the processor only waits.
    fn cycle(&mut self, truth: &mut Truth) -> Result<(), ProfileError> {
        let mut cycle = Cycle::new();
        if let Some(oldest) = self.instructions.front_mut() {
            oldest.happened.cycles += 1;
        }
        let mut worked = self.graduate(&mut cycle, truth);
        let oldest = self.instructions.front_mut();
        let untranslated = oldest.and_then(|oldest| oldest.untranslated);
        if untranslated.is_some() {
            cycle = cycle.refill_tlb();
            self.instructions[0].happened.tlb_refills += 1;
        } else {
            worked |= self.issue(&mut cycle) | self.decode(&mut cycle);
        }
        self.step(R10000Mode::User, &cycle);
        if let Some(address) = untranslated {
            self.flush();
            self.refill(address);
        } else if !worked {
            self.wait();
        }
        self.interrupt()
    }

    fn step(&mut self, mode: R10000Mode, cycle: &Cycle) {
        self.unit.step(mode.into(), cycle);
        self.now += 1;
    }

    /// Graduates the oldest completed instructions. Returns whether any instruction graduated.
    fn graduate(&mut self, cycle: &mut Cycle, truth: &mut Truth) -> bool {
        let mut graduated = 0;
        while graduated < WIDTH
            && let Some(oldest) = self.instructions.front_mut()
            && matches!(oldest.stage, Stage::Issued(done) if done <= self.now)
            && oldest.untranslated.is_none()
        {
            let (Reference { size, kind, .. }, at) = (oldest.fetch, oldest.at());
            *cycle = graduate(std::mem::take(cycle), kind);
            oldest.happened.graduate(kind);
            for (place, event) in self.events.iter().enumerate() {
                truth.add(place, at, oldest.happened.count(*event).unwrap_or(0));
            }
            self.next = Point { address: at.address.wrapping_add(size.into()), ..at };
            let references = oldest.references.1;
            self.references.drain(..references);
            self.passed += references as u64;
            self.instructions.pop_front();
            self.active -= 1;
            graduated += 1;
        }
        if graduated > 0 {
            self.tlb.graduate();
        }
        graduated > 0
    }

    /// Issues instructions that were decoded in earlier cycles, at most one of them to memory. Returns whether any instruction issued.
    fn issue(&mut self, cycle: &mut Cycle) -> bool {
        let (mut issued, mut address_unit) = (false, true);
        for one in self.instructions.iter_mut().take(self.active) {
            if !matches!(one.stage, Stage::Decoded(at) if at < self.now) {
                continue;
            }
            if one.uses_memory() && !std::mem::take(&mut address_unit) {
                continue;
            }
            issued = true;
            let mut done = self.now + 1;
            if one.issues() {
                *cycle = issue(std::mem::take(cycle), one.fetch.kind);
                one.happened.issue(one.fetch.kind);
            }
            if one.uses_memory() {
                let first = (one.references.0 - self.passed) as usize;
                let references = first..first + one.references.1;
                let data =
                    || self.references.range(references.clone()).filter(|one| !one.kind.is_fetch());
                if one.accessed.is_none() {
                    one.untranslated =
                        data().find_map(|data| self.tlb.missing(data.address, data.size));
                }
                if one.accessed.is_none() && one.untranslated.is_none() {
                    let mut traffic = Traffic::default();
                    for data in data() {
                        access(&mut self.caches, *data, &mut traffic);
                    }
                    one.accessed = Some(serve(self.now, &mut self.idle_at, &traffic));
                    *cycle = report(std::mem::take(cycle), &traffic);
                    one.happened.traffic += traffic;
                }
                done += one.accessed.map_or(0, |there| there.saturating_sub(self.now));
            }
            if one.is_conditional() {
                let taken = one.fetch.flow == Flow::Taken;
                self.branches.resolve(one.fetch.address, taken);
                let mut branch = Branch::Predicted;
                if one.mispredicted {
                    branch = Branch::Mispredicted;
                    one.happened.mispredicted += 1;
                    self.decodes_at = Some(self.now + MISPREDICTED_CYCLES);
                }
                *cycle = std::mem::take(cycle).resolve_branch(branch);
            }
            one.stage = Stage::Issued(done);
        }
        issued
    }

    /// Decodes the next instructions, up to the first branch. Returns whether any instruction was decoded.
    fn decode(&mut self, cycle: &mut Cycle) -> bool {
        let mut decoded = false;
        for _ in 0..WIDTH {
            if self.active == ACTIVE || self.decodes_at.is_none_or(|at| at > self.now) {
                break;
            }
            let Some(one) = self.instructions.get_mut(self.active) else {
                break;
            };
            let Reference { address, size, kind, .. } = one.fetch;
            if one.fetched.is_none() && kind.is_fetch() {
                one.untranslated = self.tlb.missing(address, size);
                if one.untranslated.is_some() {
                    break;
                }
                let mut traffic = Traffic::default();
                self.caches.fetch(address, size, &mut traffic);
                one.fetched = Some(serve(self.now, &mut self.idle_at, &traffic));
                *cycle = report(std::mem::take(cycle), &traffic);
                one.happened.traffic += traffic;
            }
            if one.fetched.is_some_and(|there| there > self.now) {
                break;
            }
            one.stage = Stage::Decoded(self.now);
            self.active += 1;
            decoded = true;
            if one.is_branch() {
                *cycle = std::mem::take(cycle).decode_branch();
                one.happened.branches += 1;
                if one.is_conditional() {
                    let taken = one.fetch.flow == Flow::Taken;
                    one.mispredicted = self.branches.predict(address) != taken;
                }
                if one.mispredicted {
                    self.decodes_at = None;
                }
                break;
            }
        }
        decoded
    }

    /// Advances the time until the oldest instruction is done, the next instruction can be decoded, or an interrupt is pending.
    fn wait(&mut self) {
        let oldest = self.instructions.front().and_then(|one| match one.stage {
            Stage::Issued(done) => Some(done),
            _ => None,
        });
        let next = self.instructions.get(self.active).and_then(|one| one.fetched);
        let next = if self.active < ACTIVE { next } else { None };
        let until = [oldest, next, self.decodes_at].into_iter().flatten();
        let Some(until) = until.filter(|until| *until > self.now).min() else {
            return;
        };
        let began = self.now;
        let idle = Cycle::new();
        while self.now < until.min(self.next_tick) && !self.unit.ip7() {
            self.step(R10000Mode::User, &idle);
        }
        if let Some(oldest) = self.instructions.front_mut() {
            oldest.happened.cycles += self.now - began;
        }
    }

    /// Empties the active list. Its instructions will be decoded again.
    fn flush(&mut self) {
        for one in self.instructions.iter_mut().take(self.active + 1) {
            one.stage = Stage::Fetched;
            one.mispredicted = false;
            one.untranslated = None;
        }
        self.active = 0;
        self.decodes_at = Some(self.now);
    }

    /// Executes the handler of a TLB miss at an address. The page table is translated, too: if the TLB lacks the page table's page,
    /// the handler itself causes a TLB miss.
    fn refill(&mut self, address: u64) {
        let mut happened = Happened::default();
        let table = Tlb::table_entry(address);
        if self.tlb.missing(table, 1).is_some() {
            self.step(R10000Mode::Exception, &Cycle::new().refill_tlb());
            happened.cycles += 1;
            happened.tlb_refills += 1;
            self.handle_refill(table, &mut happened);
        }
        self.handle_refill(address, &mut happened);
        if let Some(oldest) = self.instructions.front_mut().filter(|_| self.exceptions) {
            oldest.happened += happened;
        }
    }

    fn handle_refill(&mut self, address: u64, happened: &mut Happened) {
        for operation in REFILL_HANDLER {
            let cycle = Cycle::new().issue(operation).graduate(operation);
            self.step(R10000Mode::Exception, &cycle);
            self.tlb.graduate();
            let kind = match operation {
                Operation::Load => Kind::FetchLoad,
                _ => Kind::FetchOther,
            };
            happened.cycles += 1;
            happened.issue(kind);
            happened.graduate(kind);
        }
        self.tlb.write_random(address);
    }

    /// Lets the guest handle pending interrupts before the oldest instruction. One handler serves the counters and the timer.
    fn interrupt(&mut self) -> Result<(), ProfileError> {
        if self.now >= self.next_tick {
            self.next_tick = self.now + TICK;
            self.unit.match_compare();
        }
        if !self.unit.ip7() {
            return Ok(());
        }
        self.flush();
        let next = self.next();
        let cause = self.guest.interrupt(&mut self.unit, next, self.now)?;
        if cause.timer {
            self.unit.write_compare();
            self.guest.tick(&mut self.unit, next, self.now)?;
        }
        Ok(())
    }
}

/// Serves misses one after the other. Returns the time at which the last miss has been served.
fn serve(now: u64, idle_at: &mut u64, traffic: &Traffic) -> u64 {
    let primary = traffic.instruction_misses + traffic.data_misses;
    if primary == 0 {
        return now;
    }
    let secondary = traffic.secondary_instruction_misses + traffic.secondary_data_misses;
    let cycles = primary * SECONDARY_CYCLES + secondary * MEMORY_CYCLES;
    *idle_at = now.max(*idle_at) + cycles;
    *idle_at
}

fn access(caches: &mut Caches, data: Reference, traffic: &mut Traffic) {
    let Reference { address, size, kind, .. } = data;
    if matches!(kind, Kind::Load | Kind::Modify) {
        caches.access(address, size, false, traffic);
    }
    if matches!(kind, Kind::Store | Kind::Modify) {
        caches.access(address, size, true, traffic);
    }
}

impl Processor for Core {
    fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError> {
        let references = instruction.references;
        let fetch = (references.first()).expect("an instruction has references");
        self.instructions.push_back(ActiveInstruction {
            fetch,
            stack,
            references: (self.passed + self.references.len() as u64, references.len()),
            stage: Stage::Fetched,
            fetched: None,
            accessed: None,
            mispredicted: false,
            untranslated: None,
            happened: Happened::default(),
        });
        self.references.extend(references.iter());
        // A cycle needs at most a full active list, and `WIDTH` further instructions to decode.
        while self.instructions.len() >= ACTIVE + WIDTH {
            self.cycle(truth)?;
        }
        // Up to four instructions issue in one cycle, so the time need not advance. The scheduler is told that this instruction was
        // issued one cycle before `ends`, and lets the next one begin at `ends`.
        let ends = self.now.max(instruction.begins);
        Ok(Executed {
            references: references.len(),
            issued: ends.saturating_sub(1),
            ends,
            instructions: fetch.kind.is_fetch().into(),
        })
    }

    fn finish(&mut self, _: u64, truth: &mut Truth) -> Result<u64, ProfileError> {
        while !self.instructions.is_empty() {
            self.cycle(truth)?;
        }
        self.guest.stop(&mut self.unit, self.next, self.now);
        Ok(self.now)
    }
}
