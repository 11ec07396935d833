//! The pipeline: instructions are decoded in order, issue as soon as they can, and graduate in order.

mod exceptions;
mod feed;

use std::collections::VecDeque;

use guest_abi::sampling::ModeSet;
use platform::models::R10000;
use platform::models::r10000::{Branch, Cycle, R10000Event, R10000Mode};

use super::branches::Branches;
use super::bus::Bus;
use super::caches::Traffic;
use super::events::{graduate, issue, report};
use super::instruction::{ActiveInstruction, Stage};
use super::tlb::Tlb;
use super::wrong_path::KnownCode;
use crate::analysis::profile::error::ProfileError;
use crate::analysis::profile::guest::{SamplingGuest, TICK};
use crate::analysis::profile::processor::Truth;
use crate::analysis::profile::stacks::Point;
use crate::recording::{Flow, Kind, Reference};

/// The maximum number of instructions that are decoded in a cycle, and that graduate in a cycle.
const WIDTH: usize = 4;

/// The capacity of the active list, which holds each instruction from the cycle in which it is decoded until it graduates.
const ACTIVE: usize = 32;

/// The number of cycles that a primary cache miss takes.
const SECONDARY_CYCLES: u64 = 10;

/// The number of cycles that a secondary cache miss adds to `SECONDARY_CYCLES`.
const MEMORY_CYCLES: u64 = 60;

/// The number of cycles from the issue of a mispredicted branch until the right instructions are decoded. Meanwhile, the branch executes
/// and the right instructions are fetched.
const MISPREDICTED_CYCLES: u64 = 3;

/// The number of cycles after the issue of a mispredicted branch in which wrong-path instructions are still decoded. The branch executes
/// in this one cycle.
const WRONG_CYCLES: u64 = 1;

/// The number of bytes in an annulled delay slot: one SPARC instruction, immediately after its branch.
const SLOT_BYTES: u16 = 4;

pub(crate) struct Core {
    /// The processor's number on its bus, from 0.
    number: usize,
    tlb: Tlb,
    branches: Branches,
    unit: R10000,
    guest: SamplingGuest<R10000>,
    /// The instructions that have not graduated, oldest first. The first `active` instructions are in the active list.
    instructions: VecDeque<ActiveInstruction>,
    active: usize,
    references: VecDeque<Reference>,
    /// The number of references already removed from `references`.
    passed: u64,
    /// The time at which the memory system will have served all misses.
    idle_at: u64,
    /// The time at which instructions are decoded again; `None` until a mispredicted branch issues.
    decodes_at: Option<u64>,
    code: KnownCode,
    wrong_path: Option<WrongPath>,
    /// The number of decode slots, 0 or 1, that a nullified delay slot takes in the next cycle in which instructions are decoded.
    nullified: usize,
    now: u64,
    next_tick: u64,
    /// The point immediately after the latest graduated instruction.
    next: Point,
    events: Vec<R10000Event>,
    modes: ModeSet<R10000Mode>,
}

/// The path that is decoded after a mispredicted branch, until the branch has executed.
#[derive(Clone, Copy, Debug)]
struct WrongPath {
    /// The address of the next instruction on the path.
    next: u64,
    /// The number of instructions decoded on the path.
    decoded: usize,
    /// The last cycle in which the path is decoded; `None` until the branch issues.
    until: Option<u64>,
}

impl Core {
    /// Returns a processor after reset, with its counters running. The true counts of `events` include only events in the given
    /// `modes`.
    pub(super) fn new(
        number: usize,
        events: Vec<R10000Event>,
        modes: ModeSet<R10000Mode>,
        mut guest: SamplingGuest<R10000>,
    ) -> Result<Self, ProfileError> {
        let mut unit = R10000::new();
        guest.start(&mut unit, 0)?;
        Ok(Self {
            number,
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
            code: KnownCode::default(),
            wrong_path: None,
            nullified: 0,
            now: 0,
            next_tick: TICK,
            next: Point::default(),
            events,
            modes,
        })
    }

    pub(super) fn into_guest(self) -> SamplingGuest<R10000> {
        self.guest
    }

    fn next(&self) -> Point {
        let oldest = self.instructions.front();
        oldest.map_or(self.next, ActiveInstruction::at)
    }

    /// Executes one cycle, and all following cycles in which the processor does nothing but wait.
    fn cycle(&mut self, bus: &mut Bus, truth: &mut Truth) -> Result<(), ProfileError> {
        let caused = bus.take_caused(self.number);
        let mut cycle = report(Cycle::new(), &caused);
        if let Some(oldest) = self.instructions.front_mut() {
            oldest.happened.cycles += 1;
            oldest.happened.traffic += caused;
        }
        let mut worked = self.graduate(&mut cycle, bus, truth);
        let oldest = self.instructions.front_mut();
        let untranslated = oldest.and_then(|oldest| oldest.untranslated);
        if untranslated.is_some() {
            cycle = cycle.refill_tlb();
            self.instructions[0].happened.tlb_refills += 1;
        } else {
            worked |= self.issue(&mut cycle, bus) | self.decode(&mut cycle, bus);
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

    /// Graduates the oldest completed instructions. Returns whether there were any.
    fn graduate(&mut self, cycle: &mut Cycle, bus: &Bus, truth: &mut Truth) -> bool {
        let mut graduated = 0;

        while graduated < WIDTH
            && let Some(oldest) = self.instructions.front_mut()
            && matches!(oldest.stage, Stage::Issued(done) if done <= self.now)
            && oldest.untranslated.is_none()
        {
            let (Reference { size, .. }, at) = (oldest.fetch, oldest.at());
            let stored =
                oldest.failed || oldest.linked.is_none_or(|at| bus.has_block(self.number, at));
            if oldest.fetch.kind.is_fetch() {
                *cycle = graduate(std::mem::take(cycle), &oldest.fetch, stored);
                oldest.happened.graduate(oldest.fetch.data(), oldest.fetch.class, stored);
            }
            if !stored {
                // The processor executes the load linked and the store conditional again.
                (oldest.failed, oldest.linked, oldest.accessed) = (true, None, None);
                oldest.stage = Stage::Decoded(self.now);
                graduated += 1;
                break;
            }
            let in_modes =
                [(R10000Mode::User, &oldest.happened), (R10000Mode::Exception, &oldest.handled)];
            for (mode, happened) in in_modes {
                if self.modes.contains(mode) {
                    for (place, event) in self.events.iter().enumerate() {
                        truth.add(place, at, happened.count(*event).unwrap_or(0));
                    }
                }
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
    fn issue(&mut self, cycle: &mut Cycle, bus: &mut Bus) -> bool {
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
            if one.issues() && one.fetch.kind.is_fetch() {
                *cycle = issue(std::mem::take(cycle), &one.fetch);
                one.happened.issue(one.fetch.data(), one.fetch.class);
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
                        access(bus, self.number, *data, &mut traffic);
                        if data.kind == Kind::Modify {
                            one.linked = Some(data.address);
                        }
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
                    if let Some(path) = &mut self.wrong_path {
                        path.until = Some(self.now + WRONG_CYCLES);
                    }
                }
                *cycle = std::mem::take(cycle).resolve_branch(branch);
            }
            one.stage = Stage::Issued(done);
        }
        issued
    }

    /// Decodes the next instructions, up to the first branch. Returns whether any instruction was decoded.
    fn decode(&mut self, cycle: &mut Cycle, bus: &mut Bus) -> bool {
        let mut decoded = self.decode_wrong_path(cycle);
        for _ in 0..WIDTH - self.nullified {
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
                // If the branch annuls its delay slot, the slot is fetched together with the branch.
                let slot = if one.annuls() { SLOT_BYTES } else { 0 };
                let traffic = bus.fetch(self.number, address, size + slot);
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
            self.nullified = 0;
            if one.is_branch() {
                self.nullified = usize::from(one.annuls());
                *cycle = std::mem::take(cycle).decode_branch();
                one.happened.branches += 1;
                if one.is_conditional() {
                    let taken = one.fetch.flow == Flow::Taken;
                    one.mispredicted = self.branches.predict(address) != taken;
                    if one.mispredicted {
                        self.decodes_at = None;
                        let after = address.wrapping_add(size.into());
                        let target = self.code.at(address).and_then(|known| known.target);
                        let next = if taken { Some(after) } else { target };
                        self.wrong_path =
                            next.map(|next| WrongPath { next, decoded: 0, until: None });
                    }
                }
                break;
            }
        }
        decoded
    }

    /// Decodes the next instructions of the predicted path after a mispredicted branch, up to the next branch. Stops at the first
    /// instruction that the processor has not executed yet: the recording has not shown that instruction so far. The decoded instructions
    /// are nullified when the mispredicted branch has executed. Returns whether any instruction was decoded.
    fn decode_wrong_path(&mut self, cycle: &mut Cycle) -> bool {
        let Some(mut path) = self.wrong_path.take() else {
            return false;
        };
        // This path's events are counted for the mispredicted branch or, if the branch has graduated, for the instruction after it.
        let owner = self.instructions.get_mut(self.active.saturating_sub(1));
        let (Some(owner), false) = (owner, path.until.is_some_and(|until| until < self.now)) else {
            return false;
        };
        let mut decoded = false;
        for _ in 0..WIDTH {
            if self.active + path.decoded >= ACTIVE {
                break;
            }
            let Some(known) = self.code.at(path.next) else {
                return decoded;
            };
            path.decoded += 1;
            decoded = true;
            let after = path.next.wrapping_add(known.size.into());
            if !known.is_branch {
                path.next = after;
                continue;
            }
            *cycle = std::mem::take(cycle).decode_branch().resolve_branch(Branch::Nullified);
            owner.happened.branches += 1;
            let is_taken = !known.is_conditional || self.branches.predict(path.next);
            match (is_taken, known.target) {
                (false, _) => path.next = after,
                (true, Some(target)) => path.next = target,
                (true, None) => return decoded,
            }
            break;
        }
        self.wrong_path = Some(path);
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
}

/// Serves misses one after another. Returns the time at which the last miss has been served.
fn serve(now: u64, idle_at: &mut u64, traffic: &Traffic) -> u64 {
    let primary = traffic.instruction_misses + traffic.data_misses;
    if primary + traffic.stores_to_shared == 0 {
        return now;
    }
    let secondary = traffic.secondary_instruction_misses + traffic.secondary_data_misses;
    let secondary = secondary + traffic.stores_to_shared;
    let cycles = primary * SECONDARY_CYCLES + secondary * MEMORY_CYCLES;
    *idle_at = now.max(*idle_at) + cycles;
    *idle_at
}

fn access(bus: &mut Bus, own: usize, data: Reference, traffic: &mut Traffic) {
    let Reference { address, size, kind, .. } = data;
    if matches!(kind, Kind::Load | Kind::Modify) {
        bus.access(own, address, size, false, traffic);
    }
    if matches!(kind, Kind::Store | Kind::Modify) {
        bus.access(own, address, size, true, traffic);
    }
}
