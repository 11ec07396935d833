//! Whose turn it is, and what becomes of its instruction.

use std::collections::BTreeSet;

use guest_abi::sampling::SparcMode;
use guest_abi::{Node, StrandId};
use platform::models::Devices;

use super::calls::Calling;
use super::cost::Cost;
use super::log::What;
use super::map::RESET;
use super::reach::{Done, Reach};
use super::shared::{Order, Shared};
use super::strand::{Local, NEVER, State};
use super::{Limits, Stop, interrupts};
use crate::interpreter::instruction::Register;
use crate::interpreter::{ErrorState, Exception, Instruction, Level, Strand, Timer, Trap};
use crate::recording::{Flow, Kind, Reference};
use crate::scheduler::turns::Turns;

/// A strand: its registers, and what it has beside them.
pub(super) struct Executing {
    pub(super) strand: Strand,
    pub(super) local: Local,
    /// When it can go on.
    ready: u64,
    /// The hypercall that it is in.
    calling: Option<Calling>,
}

/// All strands, and what they reach.
pub(super) struct Running {
    pub(super) strands: Vec<Executing>,
    pub(super) shared: Shared,
    pub(super) breakpoints: BTreeSet<u64>,
    turns: Turns,
    /// The time of the latest turn.
    time: u64,
    off: bool,
    /// The strand that the run has stopped at a breakpoint.
    stopped: Option<StrandId>,
}

/// What a trap takes that is not a software trap, in cycles. *Assumed*.
const TRAP: u64 = 1;

impl Running {
    /// Returns the strands after power on: all but strand 0 are parked.
    pub(super) fn new(shared: Shared) -> Self {
        let executing = |_| Executing {
            strand: Strand::reset(RESET),
            local: Local::new(),
            ready: 0,
            calling: None,
        };
        let mut new = Self {
            strands: (0..shared.machine.strands()).map(executing).collect(),
            shared,
            breakpoints: BTreeSet::new(),
            turns: Turns::new(),
            time: 0,
            off: false,
            stopped: None,
        };
        new.shared.running[0] = 1;
        new.set_running(Node::Node0, 1);
        new
    }

    /// Returns the time of the earliest strand, or of the latest turn if none executes.
    pub(super) fn now(&self) -> u64 {
        self.turns.first().map_or(self.time, |turn| turn.at)
    }

    /// See [`super::Execution::run`].
    pub(super) fn run<C: Cost>(&mut self, devices: &Devices, cost: &mut C, limits: Limits) -> Stop {
        let stop = self.go(devices, cost, limits);
        let now = self.now().min(limits.cycles).max(self.time);
        for strand in (0..self.strands.len()).filter_map(StrandId::new) {
            cost.tell(strand, now);
        }
        stop
    }

    fn go<C: Cost>(&mut self, devices: &Devices, cost: &mut C, limits: Limits) -> Stop {
        let mut left = limits.instructions;
        loop {
            if self.off {
                return Stop::Off;
            }
            let Some(turn) = self.turns.first() else {
                return Stop::Ended;
            };
            if left == 0 || turn.at >= limits.cycles {
                return Stop::Limit;
            }
            let (id, until) = (turn.strand, turn.until.min(limits.cycles));
            let mut now = turn.at;
            let executing = &mut self.strands[id.index()];
            let mut issued = now;
            let ended = loop {
                if !self.breakpoints.is_empty()
                    && self.stopped.take() != Some(id)
                    && self.breakpoints.contains(&executing.strand.pc)
                {
                    self.stopped = Some(id);
                    break Some(Stop::Breakpoint(id));
                }
                issued = now;
                let result = executing.execute(id, now, &mut self.shared, devices, cost);
                left -= 1;
                match result {
                    Ok(ends) => now = ends,
                    Err(state) => break Some(Stop::ErrorState { strand: id, state }),
                }
                if now >= until
                    || left == 0
                    || executing.local.state != State::Running
                    || !self.shared.orders.is_empty()
                {
                    break None;
                }
            };
            self.time = issued;
            executing.ready = now;
            if matches!(ended, Some(Stop::Breakpoint(_))) {
                self.turns.set(id, Some(now));
            } else {
                self.turns.issued(id, issued, now);
            }
            self.follow(id);
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// See [`super::Execution::step`].
    pub(super) fn step<C: Cost>(
        &mut self,
        devices: &Devices,
        cost: &mut C,
        id: StrandId,
    ) -> Option<Stop> {
        let executing = self.strands.get_mut(id.index())?;
        if executing.local.state != State::Running {
            return None;
        }
        let now = executing.ready.max(self.time);
        let result = executing.execute(id, now, &mut self.shared, devices, cost);
        self.time = now;
        executing.ready = *result.as_ref().unwrap_or(&now);
        self.turns.issued(id, now, executing.ready);
        self.follow(id);
        cost.tell(id, now);
        Some(match result {
            Err(state) => Stop::ErrorState { strand: id, state },
            Ok(_) if self.off => Stop::Off,
            Ok(_) => Stop::Limit,
        })
    }

    /// Does what a strand's instruction does to others, and sees to whether the strand goes on itself.
    fn follow(&mut self, id: StrandId) {
        let mut own = self.strands[id.index()].local.state != State::Running;
        for order in std::mem::take(&mut self.shared.orders) {
            match order {
                Order::Interrupt(to, arrives, vector) => {
                    self.strands[to.index()].local.send(arrives, vector);
                    self.schedule(to);
                }
                Order::Run(node, strands) => {
                    self.set_running(node, strands);
                    own = true;
                }
                Order::Translation(core) => {
                    for strand in self
                        .strands
                        .chunks_mut(StrandId::PER_CORE)
                        .nth(core)
                        .into_iter()
                        .flatten()
                    {
                        strand.local.forget_pages();
                    }
                }
                Order::Off => self.off = true,
            }
        }
        if own {
            self.schedule(id);
        }
    }

    /// Parks the strands of a node that are not in a set, and lets the others run.
    fn set_running(&mut self, node: Node, strands: u64) {
        let first = node.index() * StrandId::PER_NODE;
        for number in 0..StrandId::PER_NODE {
            let runs = strands >> number & 1 == 1;
            let Some(executing) = self.strands.get_mut(first + number) else {
                continue;
            };
            let state = &mut executing.local.state;
            match (*state, runs) {
                (State::Parked, true) => {
                    *state = State::Running;
                    executing.ready = executing.ready.max(self.time + interrupts::WITHIN);
                }
                (State::Running | State::Halted, false) => *state = State::Parked,
                _ => continue,
            }
            if let Some(id) = StrandId::new(first + number) {
                self.schedule(id);
            }
        }
    }

    /// Sets when the next turn of a strand is.
    fn schedule(&mut self, id: StrandId) {
        let Executing { local, ready, .. } = &self.strands[id.index()];
        let at = match local.state {
            State::Running => Some(*ready),
            State::Halted if local.due != NEVER => Some(local.due.max(*ready)),
            _ => None,
        };
        self.turns.set(id, at);
    }

    /// See [`super::Execution::park`].
    pub(super) fn park(&mut self, id: StrandId) {
        let node = id.node();
        let running = &mut self.shared.running[node.index()];
        *running &= !(1 << (id.index() % StrandId::PER_NODE));
        let running = *running;
        self.set_running(node, running);
    }

    /// Sends an interrupt from outside.
    pub(super) fn interrupt(&mut self, to: StrandId, vector: u8) {
        let now = self.now();
        if let Some(executing) = self.strands.get_mut(to.index()) {
            executing.local.send(now, vector);
            self.schedule(to);
        }
    }

    /// See [`super::Execution::physical`].
    pub(super) fn physical(&self, id: StrandId, address: u64) -> Option<u64> {
        let Executing { strand, local, .. } = &self.strands[id.index()];
        if strand.level() == Level::Hyperprivileged || self.shared.niagara {
            return Some(address);
        }
        let core = &self.shared.cores[id.core()];
        let data = || core.data.find(local.partition, address);
        let entry = core.instructions.find(local.partition, address);
        Some(entry.or_else(data)?.translated(address))
    }
}

impl Executing {
    /// Executes an instruction, or takes a trap. Returns when the strand can go on.
    #[inline(always)]
    fn execute<C: Cost>(
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
