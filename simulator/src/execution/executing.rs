//! A strand that executes: an instruction or a trap, and what becomes of it.

use guest_abi::StrandId;
use guest_abi::sampling::SparcMode;
use platform::models::Devices;

use super::calls::Calling;
use super::cost::Cost;
use super::log::What;
use super::map::RESET;
use super::reach::{Done, Reach};
use super::shared::Shared;
use super::strand::{Local, NEVER, State};
use crate::interpreter::instruction::Register;
use crate::interpreter::{ErrorState, Exception, Instruction, Level, Strand, Timer, Trap};
use crate::recording::{Flow, Kind, Reference};

/// A strand: its registers, and what it has beside them.
pub(super) struct Executing {
    pub(super) strand: Strand,
    pub(super) local: Local,
    /// When it can go on.
    pub(super) ready: u64,
    /// The hypercall that it is in.
    calling: Option<Calling>,
    /// A run has stopped at a breakpoint, which the strand has not gone on from.
    pub(super) stopped: bool,
}

/// What a trap takes that is not a software trap, in cycles. *Assumed*.
const TRAP: u64 = 1;

impl Executing {
    /// Returns a strand after power on.
    pub(super) fn reset() -> Self {
        Self {
            strand: Strand::reset(RESET),
            local: Local::new(),
            ready: 0,
            calling: None,
            stopped: false,
        }
    }

    /// Executes an instruction, or takes a trap. Returns when the strand can go on.
    #[inline(always)]
    pub(super) fn execute<C: Cost>(
        &mut self,
        id: StrandId,
        now: u64,
        shared: &mut Shared,
        devices: &Devices,
        cost: &mut C,
    ) -> Result<u64, ErrorState> {
        if now >= self.local.due {
            self.happen(id, now, devices, cost);
        }
        if self.local.state == State::Halted {
            if !self.strand.is_woken() && !self.local.failing {
                return Ok(now);
            }
            self.local.state = State::Running;
        }
        let Self { strand, local, .. } = self;
        let (pc, npc, level) = (strand.pc, strand.npc, strand.level());
        let pending = match std::mem::take(&mut local.failing) {
            true => Some(Trap::STORE_ERROR),
            false => strand.interrupt(),
        };
        let mut reach = Reach {
            id,
            now,
            pc,
            local,
            shared,
            devices,
            cost,
            done: Done::NOTHING,
        };
        let executed = match pending {
            None => strand.execute_next(&mut reach),
            Some(trap) => Err(trap.into()),
        };
        let Done {
            fetched,
            data,
            takes,
            waits,
            touched,
        } = reach.done;
        if let Some(until) = waits {
            return Ok(until.max(now + 1));
        }
        let trap = executed.err();
        let completed = trap.is_none_or(|Exception { trap, .. }| trap.is_software());
        let mut ends = now + TRAP;
        let mut settles = touched || trap.is_some();
        if let Some((instruction, physical)) = fetched
            && completed
        {
            let fetch = Reference {
                address: physical,
                size: 4,
                kind: kind(instruction),
                flow: flow(instruction, npc, strand, trap.is_some()),
            };
            ends = cost.instruction(id, now, &fetch, data) + takes;
            local.counts.instructions[level as usize] += 1;
            settles |= matches!(
                instruction,
                Instruction::Write { .. } | Instruction::Done | Instruction::Retry
            );
        }
        local.counts.cycles[level as usize] += ends - now;
        if let Some(exception) = trap {
            let refused = match exception.trap {
                Trap::ILLEGAL_INSTRUCTION => Some(What::Illegal as fn(u32) -> What),
                Trap::FP_DISABLED => Some(What::FloatingPoint as fn(u32) -> What),
                _ => None,
            };
            if let Some(what) = refused
                && let Some((_, physical)) = fetched
                && let Some(page) = shared.physical.page(physical)
            {
                let word = shared.physical.read(page, physical, 2) as u32;
                shared.log.note(id, pc, what(word));
            }
            local.counts.traps += 1;
            if exception.trap.is_software() && level < Level::Hyperprivileged {
                self.calling = Calling::new(id, strand, exception.trap.number(), npc, now);
            }
            if let Err(state) = strand.take(exception) {
                local.state = State::Error;
                return Err(state);
            }
        } else if level > strand.level()
            && let Some(calling) = self.calling.take()
            && let Some(call) = calling.returned(strand, ends)
        {
            shared.called(&call);
        }
        if settles && !shared.niagara {
            self.settle(id, now, ends, shared, devices, cost);
        } else if self.local.quiet == 0 {
            self.tell(id, ends, devices, cost);
        } else {
            self.local.quiet -= 1;
        }
        Ok(ends)
    }

    /// What happens to the strand beside its instructions until now: interrupts arrive, timers match, stores complete.
    #[cold]
    fn happen<C: Cost>(&mut self, id: StrandId, now: u64, devices: &Devices, cost: &mut C) {
        let Self { strand, local, .. } = self;
        local.receive(now);
        strand.set_vector(local.vectors != 0);
        for timer in Timer::ALL {
            if local.matches(timer, now) {
                strand.matched(timer);
            }
        }
        while let Some(store) = local.stores.front()
            && store.completes <= now
            && !local.failing
        {
            cost.tell(id, now);
            if store.complete(id, devices).is_err() {
                (local.failed, local.failing) = (Some(*store), true);
            }
            local.stores.pop_front();
            cost.settings_changed();
        }
        local.renew_due();
    }

    /// Brings up to date what depends on control registers, after an instruction that may have changed them.
    #[cold]
    fn settle<C: Cost>(
        &mut self,
        id: StrandId,
        now: u64,
        ends: u64,
        shared: &Shared,
        devices: &Devices,
        cost: &mut C,
    ) {
        let Self { strand, local, .. } = self;
        strand.set_vector(local.vectors != 0);
        for timer in Timer::ALL {
            local.arm(timer, strand.compare(timer), |compare, offset| {
                let ticks = compare.wrapping_sub(offset) & (u64::MAX >> 1);
                // A count that has passed does not come again.
                match shared.time_of(ticks) {
                    at if at > now => at,
                    _ => NEVER,
                }
            });
        }
        let seen = (strand.level(), strand.takes_overflows());
        if seen != local.seen && local.counting {
            cost.tell(id, ends);
        }
        let mut unit = devices.strand_unit(id);
        if strand.overflow() != unit.softint() {
            unit.set_softint(strand.overflow());
        }
        if seen != local.seen {
            unit.set_mode(match seen.0 {
                Level::User => SparcMode::User,
                Level::Privileged => SparcMode::Privileged,
                Level::Hyperprivileged => SparcMode::Hyperprivileged,
            });
            unit.set_interruptible(seen.1);
            local.seen = seen;
        }
        drop(unit);
        self.look(id, devices);
    }

    /// The counters catch up with what happened.
    #[cold]
    fn tell<C: Cost>(&mut self, id: StrandId, now: u64, devices: &Devices, cost: &mut C) {
        cost.tell(id, now);
        self.look(id, devices);
    }

    /// Looks at what the counters want of the strand.
    fn look(&mut self, id: StrandId, devices: &Devices) {
        let Self { strand, local, .. } = self;
        let unit = devices.strand_unit(id);
        strand.set_overflow(unit.softint());
        local.counting = unit.pcr() & COUNTING != 0;
        local.quiet = match unit.events_before_trap() {
            u64::MAX => NEVER,
            events => events / MOST_EVENTS,
        };
    }
}

/// %pcr: ST, UT and HT, which say in which mode the counters count.
const COUNTING: u64 = 0b1110;

/// An instruction brings at most so many events of a counter: each of its fetch and its data can touch two lines.
const MOST_EVENTS: u64 = 8;

/// Returns what the fetch of an instruction is to the memory system.
#[inline(always)]
const fn kind(instruction: Instruction) -> Kind {
    match instruction {
        Instruction::Load { .. } | Instruction::LoadTwin { .. } => Kind::FetchLoad,
        Instruction::Store { .. } | Instruction::StoreTwin { .. } => Kind::FetchStore,
        Instruction::Ldstub { .. } | Instruction::Swap { .. } | Instruction::Cas { .. } => {
            Kind::FetchModify
        }
        _ => Kind::FetchOther,
    }
}

/// Returns how an instruction has passed control on, which came before the one at `npc`. A conditional branch to the instruction
/// after its delay slot is taken for one that is not taken.
#[inline(always)]
fn flow(instruction: Instruction, npc: u64, strand: &Strand, trapped: bool) -> Flow {
    let taken = |always| match (
        always,
        strand.npc == npc.wrapping_add(4)
            || strand.npc == npc.wrapping_add(8) && strand.pc == npc.wrapping_add(4),
    ) {
        (true, _) => Flow::Jump,
        (false, true) => Flow::NotTaken,
        (false, false) => Flow::Taken,
    };
    match instruction {
        Instruction::Branch { condition, .. } => taken(condition.is_always()),
        Instruction::BranchOnRegister { .. } => taken(false),
        Instruction::Call { .. } => Flow::Call,
        Instruction::Jmpl { rd, .. } if rd == Register::O7 => Flow::Call,
        Instruction::Jmpl { .. } => Flow::Jump,
        Instruction::Return { .. } => Flow::Return,
        Instruction::Done | Instruction::Retry => Flow::Trap,
        Instruction::Trap { .. } if trapped => Flow::Trap,
        _ => Flow::Next,
    }
}
