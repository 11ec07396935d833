//! A core's strands execute while no other core does.

use guest_abi::StrandId;
use smallvec::SmallVec;

use super::Scheduler;
use super::ahead::{Ahead, Core, Saved, strands_of};
use super::scheduled::{ScheduledThread, StrandQueue};
use super::stops::Stops;
use super::turns::{Due, Turns};
use crate::memory::{CoreAhead, Executed, ExecutedAhead, Lane, Variant};

/// A core that executes while no other core does. First, the strand whose turn it is can execute [one instruction](Self::execute). Then
/// all strands can [run ahead](Self::run_ahead) of other cores. At the end, the caller must call [`Scheduler::end_run`].
pub(crate) struct CoreRun<'a> {
    core: usize,
    /// The thread that executes next.
    executing: usize,
    ahead: &'a mut Ahead,
    turns: &'a mut Turns,
    threads: &'a [ScheduledThread],
    strands: &'a mut [StrandQueue],
    stops: &'a mut Stops,
    lanes: SmallVec<[Lane<'a>; StrandId::PER_CORE]>,
    /// The index of each strand's lane.
    lane_of: [u8; StrandId::PER_CORE],
}

/// Turns of at least this number of cycles are [quanta](Scheduler::quantum): so many instructions fit into them that it takes less work
/// to execute whole shapes than one instruction and then more of them ahead.
const LONG_TURN_CYCLES: u64 = 1024;

impl Scheduler {
    /// Prepares a core to execute. The core must not be running ahead.
    #[inline(always)]
    pub(crate) fn begin_run(&mut self, core: usize) -> CoreRun<'_> {
        let Self { executing, ahead, turns, threads, strands, stops, .. } = self;
        ahead.core(core).strands = 0;
        let (executing, lanes) = (*executing, SmallVec::new());
        let lane_of = [0; StrandId::PER_CORE];
        CoreRun { core, executing, ahead, turns, threads, strands, stops, lanes, lane_of }
    }

    /// Ends a core's run. For each strand that has executed, calls `note` with its thread, the number of instructions that it executed
    /// ahead, the number of cycles that it took for them, and how many of these cycles it waited for its pipeline.
    #[inline(always)]
    pub(crate) fn end_run(&mut self, core: usize, mut note: impl FnMut(usize, u64, u64, u64)) {
        let Self { ahead, threads, strands, stops, .. } = self;
        let Core { strands: ran, saved, .. } = ahead.core(core);
        for (number, strand) in strands_of(core, *ran) {
            let Saved { thread, in_turn, ready, ends, pipeline, references, instructions, .. } =
                saved[number];
            strands[strand.index()].ready = ends;
            let scheduled = &mut threads[thread];
            scheduled.next.advance(&scheduled.chunk, in_turn + references);
            stops.passed.references += references as u64;
            stops.passed.instructions += instructions;
            note(thread, instructions, ends - ready, pipeline);
        }
    }

    /// Returns the time at which another strand's turn begins, if that is soon and the executing thread's next instruction has at most
    /// `most` references. The thread should then execute a single instruction. Returns `None` if it must execute a
    /// [quantum](Self::quantum).
    #[inline(always)]
    pub(crate) fn short_turn(&self, most: usize) -> Option<u64> {
        let thread = &self.threads[self.executing];
        let until = self.turns.until(thread.strand).min(self.sleepers.first());
        let is_long = until >= self.begins + LONG_TURN_CYCLES;
        let is_single = !is_long && !self.mid_instruction && !thread.data_alone;
        (is_single && thread.chunk.ends_within(&thread.next, most)).then_some(until)
    }
}

impl<'a> CoreRun<'a> {
    /// Lets the thread that executes next execute an instruction in a [short turn](Scheduler::short_turn). `execute` does so. It gets the
    /// thread's number, and the time from which the strand was ready. Returns what was executed. No strand may have executed in this run
    /// yet.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        execute: impl FnOnce(usize, u64, &mut Lane<'a>) -> Executed,
    ) -> Executed {
        let thread = self.executing;
        let of = &self.threads[thread];
        self.lanes.push(of.lane().expect("the thread has references"));
        let ready = self.strands[of.strand.index()].ready;
        let executed = execute(thread, ready, &mut self.lanes[0]);
        let ends = executed.ends;
        self.turns.issued_without_reorder(of.strand, executed.issued, ends);
        self.stops.passed.references += executed.references as u64;
        self.stops.passed.instructions += executed.instructions;
        let number = of.strand.index() % StrandId::PER_CORE;
        let core = self.ahead.core(self.core);
        core.strands = 1 << number;
        let (next, in_turn) = (of.next, executed.references);
        core.saved[number] = Saved { thread, next, in_turn, ready: ends, ends, ..Saved::default() };
        executed
    }

    /// Lets the core's strands execute up to the place `before` in the turn order, as long as they need nothing outside the core. Stops
    /// after about `most` references, and returns the number of executed references.
    #[inline(never)]
    pub(crate) fn run_ahead<V: Variant, const WATCHED: bool>(
        &mut self,
        before: Due,
        most: usize,
        mut state: CoreAhead<'_, V, WATCHED>,
    ) -> usize {
        let Self { ahead, turns, threads, strands, lanes, lane_of, .. } = self;
        let core = self.core;
        ahead.begin(core, turns.core(core));
        let Core { strands: ran, saved, .. } = ahead.core(core);
        let mut turns = turns.core_turns(core, before);
        let mut references = 0;
        while references < most
            && let Some(turn) = turns.first()
        {
            let saved = &mut saved[turn.strand];
            if *ran >> turn.strand & 1 == 0 {
                let strand = &strands[core * StrandId::PER_CORE + turn.strand];
                let (number, ready) = (strand.threads[0], strand.ready);
                let thread = &threads[number];
                let Some(lane) = thread.lane() else { break };
                let next = thread.next;
                *saved = Saved { thread: number, next, ready, ends: ready, ..Saved::default() };
                *ran |= 1 << turn.strand;
                lane_of[turn.strand] = lanes.len() as u8;
                lanes.push(lane);
            }
            let lane = &mut lanes[usize::from(lane_of[turn.strand])];
            if lane.is_empty() {
                break;
            }
            let ExecutedAhead { executed, blocked } =
                state.execute_turn(lane, turn.at, turn.until, most - references);
            if executed.references > 0 {
                saved.pipeline += turn.at - saved.ends;
                saved.ends = executed.ends;
                saved.references += executed.references;
                saved.instructions += executed.instructions;
                references += executed.references;
                turns.issued(&turn, executed.issued, executed.ends);
            }
            if blocked {
                break;
            }
        }
        state.count_clocks();
        for lane in lanes {
            state.count(lane);
        }
        references
    }
}
