//! Executes a strand's instructions, and takes its traps.

use guest_abi::StrandId;
use guest_abi::sampling::SparcMode;
use platform::models::Devices;

use super::buffers::{BufferedStore, Target};
use super::calls::PendingCall;
use super::cost::Cost;
use super::log::What;
use super::map::RESET;
use super::reach::{InstructionEffects, Reach};
use super::shared::Shared;
use super::strand::{Local, NEVER, State};
use crate::interpreter::instruction::Register;
use crate::interpreter::{ErrorState, Exception, Instruction, Level, Strand, Timer, Trap};
use crate::recording::{Class, Flow, Kind, Reference};

/// A strand's registers and its other state.
#[derive(Clone)]
pub(super) struct ExecutingStrand {
    pub(super) strand: Strand,
    pub(super) local: Local,
    /// When the strand can execute its next instruction, in cycles since the machine started.
    pub(super) ready: u64,
    /// The hypercall that has not returned yet, if there is one.
    pub(super) pending_call: Option<PendingCall>,
    /// Whether execution stopped at a breakpoint on the strand's next instruction.
    pub(super) stopped: bool,
}

/// The number of cycles that a trap takes, except a software trap. *Assumed*.
const TRAP: u64 = 1;

impl ExecutingStrand {
    /// Returns a strand after power-on.
    pub(super) fn reset() -> Self {
        Self {
            strand: Strand::reset(RESET),
            local: Local::new(),
            ready: 0,
            pending_call: None,
            stopped: false,
        }
    }

    /// Begins the strand's turn.
    #[inline(always)]
    pub(super) const fn begin_turn<'a, C>(
        &'a mut self,
        id: StrandId,
        shared: &'a mut Shared,
        devices: &'a Devices,
        cost: &'a mut C,
    ) -> StrandTurn<'a, C> {
        let Self { strand, local, pending_call, .. } = self;
        StrandTurn {
            strand,
            pending_call,
            reach: Reach {
                id,
                now: 0,
                pc: 0,
                local,
                shared,
                devices,
                cost,
                done: InstructionEffects::NOTHING,
            },
            changed: true,
        }
    }
}

/// A strand during its turn, with everything that it can reach.
pub(super) struct StrandTurn<'a, C> {
    strand: &'a mut Strand,
    pending_call: &'a mut Option<PendingCall>,
    reach: Reach<'a, C>,
    /// Whether the state that determines interrupts may have changed since the last check.
    changed: bool,
}

impl<C: Cost> StrandTurn<'_, C> {
    pub(super) const fn pc(&self) -> u64 {
        self.strand.pc
    }

    /// Completes the strand's oldest store to memory or to devices, if the machine has store buffers.
    pub(super) fn complete(&mut self, now: u64, target: Target) -> Option<BufferedStore> {
        self.reach.begin(now, self.strand.pc);
        self.reach.complete(target)
    }

    /// Returns whether the turn can continue: the strand runs, and has had no effect on other strands or on the machine.
    #[inline(always)]
    pub(super) fn can_continue(&self) -> bool {
        self.reach.local.state == State::Running && self.reach.shared.effects.is_empty()
    }

    /// Executes an instruction or takes a trap. Returns the time at which the strand can execute its next instruction.
    #[inline(always)]
    pub(super) fn execute(&mut self, now: u64) -> Result<u64, ErrorState> {
        if now >= self.reach.local.due {
            self.handle_due_events(now);
        }
        let pending = if std::mem::take(&mut self.changed) {
            self.wake();
            let Self { strand, reach, .. } = self;
            if reach.local.state == State::Halted {
                return Ok(now);
            }
            let failing = std::mem::take(&mut reach.local.failing);
            failing.then_some(Trap::STORE_ERROR).or_else(|| strand.interrupt())
        } else {
            None
        };
        let Self { strand, reach, .. } = self;
        let (pc, npc, level) = (strand.pc, strand.npc, strand.level());
        reach.begin(now, pc);
        let executed = match pending {
            None => strand.execute_next(reach),
            Some(trap) => Err(trap.into()),
        };
        let InstructionEffects { fetched, data, cycles, retry_at, touched } = reach.done;
        let Reach { id, local, shared, cost, .. } = reach;
        let id = *id;
        if let Some(until) = retry_at {
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
                class: class(instruction),
                flow: flow(instruction, npc, strand, trap.is_some()),
            };
            ends = cost.instruction(id, now, &fetch, data) + cycles;
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
                let pending_call = PendingCall::new(id, strand, exception.trap.number(), npc, now);
                if let Some(left) = std::mem::replace(self.pending_call, pending_call) {
                    shared.abandoned.push(left.unreturned());
                }
            }
            if let Err(state) = strand.take(exception) {
                local.state = State::Error;
                return Err(state);
            }
        } else if settles
            && level > strand.level()
            && let Some(pending_call) = self.pending_call.take()
        {
            match pending_call.returned(strand, ends) {
                Some(call) => shared.called(&call),
                None => shared.abandoned.push(pending_call.unreturned()),
            }
        }
        if settles {
            self.changed = true;
            self.refresh_state(ends);
        } else if local.quiet == 0 {
            self.update_counters(ends);
        } else {
            local.quiet -= 1;
        }
        Ok(ends)
    }

    /// Does everything that is due: delivers interrupts, matches timers and completes stores.
    #[cold]
    fn handle_due_events(&mut self, now: u64) {
        self.changed = true;
        let Self { strand, reach, .. } = self;
        let local = &mut reach.local;
        local.receive(now);
        strand.set_vector(local.vectors != 0);
        for timer in Timer::ALL {
            if local.matches(timer, now) {
                strand.matched(timer);
            }
        }
        self.complete_late(now, now);
    }

    /// Completes the late stores to devices that are due by the time `until`. The current time is `now`.
    pub(super) fn complete_late(&mut self, now: u64, until: u64) {
        let Reach { id, local, shared, devices, cost, .. } = &mut self.reach;
        while let Some(store) =
            local.stores.front().copied().filter(|store| store.completes <= until)
        {
            local.stores.pop_front();
            cost.update_counters(*id, now);
            if store.complete(*id, devices, &mut shared.ptimer, &mut shared.effects, now).is_err() {
                local.note_failed(store, now);
            }
            cost.settings_changed();
        }
        local.renew_due();
    }

    /// Updates the state that depends on control registers. Must be called after an instruction or a trap that may have changed a control
    /// register. `ends` is the time at which the instruction or trap ends.
    #[cold]
    fn refresh_state(&mut self, ends: u64) {
        let Self { strand, reach, .. } = self;
        let Reach { id, now, local, shared, devices, cost, .. } = reach;
        strand.set_vector(local.vectors != 0);
        for timer in Timer::ALL {
            local.arm(timer, strand.compare(timer), shared.niagara, *now);
        }
        let seen = (strand.level(), strand.takes_overflows());
        if seen != local.seen && local.counting {
            cost.update_counters(*id, ends);
        }
        let mut unit = devices.strand_unit(*id);
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
        self.check_overflow();
        // The strand halts, but a pending interrupt or a failed store wakes it immediately.
        self.wake();
    }

    /// Wakes a halted strand if an interrupt or the trap for a failed store is pending.
    fn wake(&mut self) {
        let Self { strand, reach, .. } = self;
        let Local { state, failing, .. } = &mut *reach.local;
        if *state == State::Halted && (strand.is_woken() || *failing) {
            *state = State::Running;
        }
    }

    /// Updates the strand's counters up to `now`, and notes when they can next overflow.
    #[cold]
    fn update_counters(&mut self, now: u64) {
        self.reach.cost.update_counters(self.reach.id, now);
        self.check_overflow();
        self.changed = true;
    }

    /// Checks whether an overflow trap is pending, and notes when the counters can next overflow.
    fn check_overflow(&mut self) {
        let Self { strand, reach, .. } = self;
        let unit = reach.devices.strand_unit(reach.id);
        strand.set_overflow(unit.softint());
        reach.local.counting = unit.pcr() & COUNTING != 0;
        reach.local.quiet = match unit.events_before_trap() {
            u64::MAX => NEVER,
            events => events / MAX_EVENTS,
        };
    }
}

/// The bits ST, UT and HT of %pcr. Each lets the counters count in one mode.
const COUNTING: u64 = 0b1110;

/// An upper bound on the number of events that an instruction adds to a counter. The instruction's fetch and its data can each touch two
/// cache lines.
const MAX_EVENTS: u64 = 8;

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

/// Returns an instruction's class: `Atomic` or `Other`. Guests have no floating-point unit, so the counters distinguish no other classes.
#[inline(always)]
const fn class(instruction: Instruction) -> Class {
    match kind(instruction) {
        Kind::FetchModify => Class::Atomic,
        _ => Class::Other,
    }
}

/// Returns how an instruction passed control to its successor. `npc` is the strand's `npc` before the instruction. A conditional branch
/// to the instruction after its delay slot counts as not taken.
#[inline(always)]
fn flow(instruction: Instruction, npc: u64, strand: &Strand, trapped: bool) -> Flow {
    let taken = |always| {
        let falls_through = strand.npc == npc.wrapping_add(4)
            || strand.npc == npc.wrapping_add(8) && strand.pc == npc.wrapping_add(4);
        match (always, falls_through) {
            (true, _) => Flow::Jump,
            (false, true) => Flow::NotTaken,
            (false, false) => Flow::Taken,
        }
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
