//! Lets strands execute in turns, and applies the effects that a strand's instructions have on other strands.

use std::collections::BTreeSet;

use guest_abi::{Node, StrandId};
use platform::models::Devices;

use super::buffers::{BufferedStore, Target};
use super::cost::Cost;
use super::effects::{Effect, Observed};
use super::executing::ExecutingStrand;
use super::shared::Shared;
use super::strand::{NEVER, State};
use super::{Limits, Stop, interrupts};
use crate::interpreter::{Level, Timer};
use crate::machine::clocks::{Change, Clock};
use crate::replay::scheduler::turns::{Turn, Turns};

/// All strands of the machine, and the state that they share.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) strands: Vec<ExecutingStrand>,
    pub(super) shared: Shared,
    pub(super) breakpoints: BTreeSet<u64>,
    turns: Turns,
    /// A turn that was interrupted, for example by a limit. The next run starts with the rest of this turn.
    begun: Option<Turn>,
    /// The latest instruction's time.
    time: u64,
    /// The latest cycle limit that was reached.
    reached: u64,
    off: bool,
    /// The last instruction's access, if the execution must stop there.
    watched: Option<Observed>,
}

impl Running {
    /// Returns the strands after power-on: strand 0 runs, and all other strands are parked.
    pub(super) fn new(shared: Shared) -> Self {
        let mut new = Self {
            strands: (0..shared.machine.strands()).map(|_| ExecutingStrand::reset()).collect(),
            shared,
            breakpoints: BTreeSet::new(),
            turns: Turns::new(),
            begun: None,
            time: 0,
            reached: 0,
            off: false,
            watched: None,
        };
        new.shared.running[0] = 1;
        new.set_running(Node::Node0, 1);
        new
    }

    /// Returns the time of the earliest turn of any strand. If no strand has a turn, returns the time of the latest instruction.
    pub(super) fn now(&self) -> u64 {
        self.turns.first().map_or(self.time, |turn| turn.at)
    }

    pub(super) fn run<C: Cost>(&mut self, devices: &Devices, cost: &mut C, limits: Limits) -> Stop {
        let stop = self.go(devices, cost, limits);
        let now = self.now().min(limits.cycles);
        for strand in (0..self.strands.len()).filter_map(StrandId::new) {
            cost.update_counters(strand, now);
        }
        stop
    }

    fn go<C: Cost>(&mut self, devices: &Devices, cost: &mut C, limits: Limits) -> Stop {
        let mut left = limits.instructions;
        loop {
            if self.off {
                return Stop::Off;
            }
            let Some(turn) = self.begun.or_else(|| self.turn(C::QUANTUM)) else {
                return Stop::Ended;
            };
            if turn.at >= limits.cycles {
                self.reached = limits.cycles;
                return Stop::Limit;
            }
            if left == 0 {
                return Stop::Limit;
            }
            let (id, until) = (turn.strand, turn.until.min(limits.cycles));
            let mut now = turn.at;
            let executing = &mut self.strands[id.index()];
            let mut stopped = std::mem::take(&mut executing.stopped);
            let mut strand_turn = executing.begin_turn(id, &mut self.shared, devices, cost);
            let mut issued = now;
            let ended = loop {
                if !self.breakpoints.is_empty()
                    && !std::mem::take(&mut stopped)
                    && self.breakpoints.contains(&strand_turn.pc())
                {
                    break Some(Stop::Breakpoint(id));
                }
                issued = now;
                let result = strand_turn.execute(now);
                left -= 1;
                match result {
                    Ok(ends) => now = ends,
                    Err(state) => break Some(Stop::ErrorState { strand: id, state }),
                }
                if now >= until || left == 0 || !strand_turn.can_continue() {
                    break None;
                }
            };
            self.time = issued;
            executing.ready = now;
            executing.stopped = matches!(ended, Some(Stop::Breakpoint(_)));
            self.begun = (now < turn.until).then_some(Turn { at: now, ..turn });
            if executing.stopped {
                self.turns.set(id, Some(now));
            } else {
                self.turns.issued(id, issued, now);
            }
            self.apply_effects(id);
            let watched = self.watched.take().map(Stop::Watched);
            if let Some(ended) = ended.or(watched) {
                return ended;
            }
        }
    }

    /// Chooses the strand with the earliest time, and returns its turn of at least `quantum` cycles.
    #[inline]
    fn turn(&self, quantum: u64) -> Option<Turn> {
        let turn = self.turns.first()?;
        let until = turn.until.max(turn.at + quantum);
        Some(Turn { until, ..turn })
    }

    pub(super) fn step<C: Cost>(
        &mut self,
        devices: &Devices,
        cost: &mut C,
        id: StrandId,
    ) -> Option<Stop> {
        let executing = self.strands.get_mut(id.index())?;
        let now = executing.ready.max(self.time);
        match executing.local.state {
            State::Running => {}
            State::Halted if executing.local.due <= now => {}
            _ => return None,
        }
        executing.stopped = false;
        let mut strand_turn = executing.begin_turn(id, &mut self.shared, devices, cost);
        let result = strand_turn.execute(now);
        self.time = now;
        executing.ready = *result.as_ref().unwrap_or(&now);
        self.turns.issued(id, now, executing.ready);
        self.begun = None;
        self.apply_effects(id);
        cost.update_counters(id, now);
        Some(match result {
            Err(state) => Stop::ErrorState { strand: id, state },
            Ok(_) if self.off => Stop::Off,
            Ok(_) => self.watched.take().map_or(Stop::Limit, Stop::Watched),
        })
    }

    /// Completes a strand's oldest store to memory or to devices, if the machine has store buffers.
    pub(super) fn complete<C: Cost>(
        &mut self,
        devices: &Devices,
        cost: &mut C,
        id: StrandId,
        target: Target,
    ) -> Option<BufferedStore> {
        let executing = self.strands.get_mut(id.index())?;
        let now = executing.ready.max(self.time);
        let mut strand_turn = executing.begin_turn(id, &mut self.shared, devices, cost);
        let store = strand_turn.complete(now, target);
        self.apply_effects(id);
        store
    }

    /// If `on` is set, later stores wait until the caller completes them. Otherwise, later stores do not wait. In both cases, completes all
    /// earlier stores.
    pub(super) fn set_store_buffers<C: Cost>(&mut self, devices: &Devices, cost: &mut C, on: bool) {
        self.shared.buffers = on;
        for id in (0..self.strands.len()).filter_map(StrandId::new) {
            let executing = &mut self.strands[id.index()];
            let now = executing.ready.max(self.time);
            // Stores that are on their way to devices complete immediately, because no store buffer holds them.
            executing.begin_turn(id, &mut self.shared, devices, cost).complete_late(now, NEVER);
            for target in [Target::Memory, Target::Device] {
                while self.complete(devices, cost, id, target).is_some() {}
            }
            self.strands[id.index()].local.forget_pages();
        }
    }

    /// Applies the effects that a strand's instruction has on other strands. Reschedules the strand itself if its state has changed.
    fn apply_effects(&mut self, id: StrandId) {
        let own = self.strands[id.index()].local.state != State::Running;
        if self.deliver_effects() || own {
            self.schedule(id);
        }
    }

    /// Delivers the effects of instructions, such as interrupts, to other strands. Returns whether an effect has started or parked
    /// strands.
    fn deliver_effects(&mut self) -> bool {
        let mut ran = false;
        for effect in std::mem::take(&mut self.shared.effects) {
            match effect {
                Effect::Interrupt(to, arrives, vector) => {
                    self.strands[to.index()].local.send(arrives, vector);
                    self.schedule(to);
                }
                Effect::Withdraw(from, arrives, vector) => {
                    self.strands[from.index()].local.withdraw(arrives, vector);
                    self.schedule(from);
                }
                Effect::Run(node, strands) => {
                    self.set_running(node, strands);
                    ran = true;
                }
                Effect::Translation(core) => {
                    let mut cores = self.strands.chunks_mut(StrandId::PER_CORE);
                    for strand in cores.nth(core).into_iter().flatten() {
                        strand.local.forget_pages();
                    }
                }
                Effect::Off => self.off = true,
                Effect::Watched(access) => self.watched = Some(access),
            }
        }
        ran
    }

    /// Starts or parks a node's strands. A strand runs from now on if its bit in `strands` is set, and is parked otherwise.
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

    fn schedule(&mut self, id: StrandId) {
        let ExecutingStrand { local, ready, .. } = &self.strands[id.index()];
        let at = match local.state {
            State::Running => Some(*ready),
            State::Halted if local.due != NEVER => Some(local.due.max(*ready)),
            _ => None,
        };
        self.turns.set(id, at);
        self.begun = None;
    }

    pub(super) fn park(&mut self, id: StrandId) {
        let node = id.node();
        let running = &mut self.shared.running[node.index()];
        *running &= !(1 << (id.index() % StrandId::PER_NODE));
        let running = *running;
        self.set_running(node, running);
    }

    /// Sends a strand an interrupt that does not come from another strand, for example because of a request in the mailbox.
    pub(super) fn interrupt(&mut self, to: StrandId, vector: u8) {
        let now = self.now();
        if let Some(executing) = self.strands.get_mut(to.index()) {
            executing.local.send(now, vector);
            self.schedule(to);
        }
    }

    /// Notes that a strand's store to this physical address has failed now.
    pub(super) fn fail_store(&mut self, of: StrandId, physical: u64) {
        let now = self.now();
        self.strands[of.index()].local.fail_store(physical, now);
        self.schedule(of);
    }

    /// Changes a clock. If the execution has stopped at a cycle limit, the change happens at this limit. Otherwise it happens at the time
    /// of the next instruction.
    pub(super) fn change_clock(&mut self, clock: Clock, change: Change) {
        let now = match self.reached {
            reached if reached > self.time => self.now().min(reached),
            _ => self.now(),
        };
        self.shared.clock_changes.note(now, clock, change);
        let of = match clock {
            Clock::Tick(strand) | Clock::Stick(strand) => strand,
            Clock::Ptimer => {
                let Shared { ptimer, effects, .. } = &mut self.shared;
                ptimer.change(change, now, effects);
                self.deliver_effects();
                return;
            }
        };
        let all = (0..self.strands.len()).filter_map(StrandId::new);
        for id in all.filter(|id| of.is_none_or(|of| of == *id)) {
            let ExecutingStrand { strand, local, .. } = &mut self.strands[id.index()];
            match clock {
                Clock::Tick(_) => local.tick.change(change, now),
                _ => local.stick.change(change, now),
            }
            for timer in Timer::ALL {
                local.arm(timer, strand.compare(timer), self.shared.niagara, now);
            }
            local.renew_due();
            self.schedule(id);
        }
    }

    pub(super) fn physical(&self, id: StrandId, address: u64) -> Option<u64> {
        let ExecutingStrand { strand, local, .. } = &self.strands[id.index()];
        if strand.level() == Level::Hyperprivileged {
            return Some(address);
        }
        let Shared { niagara, physical, .. } = &self.shared;
        if let Some(physical) = niagara.untranslated(physical, address) {
            return physical;
        }
        let core = &self.shared.cores[id.core()];
        let data = || core.data.find(local.partition, address);
        let entry = core.instructions.find(local.partition, address);
        Some(entry.or_else(data)?.translated(address))
    }
}
