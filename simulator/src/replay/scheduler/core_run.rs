//! A core's strands execute without a break, while no other core does.

use guest_abi::StrandId;
use smallvec::SmallVec;

use super::Scheduler;
use super::ahead::{Ahead, Core, Saved, strands_of};
use super::scheduled::{ScheduledThread, StrandQueue};
use super::stops::Stops;
use super::turns::{Due, Turns};
use crate::memory::{CoreAhead, Executed, ExecutedAhead, Lane, Variant};

/// A core whose strands execute without a break. First, the strand whose turn it is can execute [one instruction](Self::turn). Then the
/// core can [run ahead](Self::run_ahead). At the end, the caller must call [`Scheduler::end_run`].
pub(crate) struct CoreRun<'a> {
    core: usize,
    ahead: &'a mut Ahead,
    turns: &'a mut Turns,
    threads: &'a [ScheduledThread],
    strands: &'a mut [StrandQueue],
    stops: &'a mut Stops,
    lanes: SmallVec<[Lane<'a>; StrandId::PER_CORE]>,
    /// The index of each strand's lane.
    lane_of: [u8; StrandId::PER_CORE],
}

impl Scheduler {
    /// Prepares a core to execute.
    #[inline(always)]
    pub(crate) fn begin_run(&mut self, core: usize) -> CoreRun<'_> {
        let Self { ahead, turns, threads, strands, stops, .. } = self;
        ahead.cores[core].strands = 0;
        let (lanes, lane_of) = (SmallVec::new(), [0; StrandId::PER_CORE]);
        CoreRun { core, ahead, turns, threads, strands, stops, lanes, lane_of }
    }

    /// Ends a core's run. For each strand that has executed, calls `note` with its thread, the number of instructions that it executed
    /// ahead, the number of cycles in which it did so, and how many of these cycles it waited for its pipeline.
    #[inline(always)]
    pub(crate) fn end_run(&mut self, core: usize, mut note: impl FnMut(usize, u64, u64, u64)) {
        let Self { ahead, threads, strands, stops, .. } = self;
        let Core { strands: ran, saved, .. } = &ahead.cores[core];
        for (number, strand) in strands_of(core, *ran) {
            let Saved { thread, begun, ready, ends, pipeline, references, instructions, .. } =
                saved[number];
            strands[strand.index()].ready = ends;
            let scheduled = &mut threads[thread];
            scheduled.next.advance(&scheduled.chunk, begun + references);
            stops.passed.references += references as u64;
            stops.passed.instructions += instructions;
            note(thread, instructions, ends - ready, pipeline);
        }
    }

    /// Returns the thread that executes next, and the time at which its turn ends; `None` if it has no instructions to execute without a
    /// break, or if no other strand can execute.
    #[inline(always)]
    pub(crate) fn short_turn(&self) -> Option<(usize, u64)> {
        let thread = &self.threads[self.executing];
        let until = self.turns.until(thread.strand).min(self.sleepers.first());
        let is_short = until < self.begins + 1024 && !self.mid_instruction && !thread.data_alone;
        is_short.then_some((self.executing, until))
    }
}

impl<'a> CoreRun<'a> {
    /// Lets a thread, which must have instructions to execute, execute one in its turn. `execute` executes the instruction. Returns the
    /// number of cycles since the strand was ready.
    #[inline(always)]
    pub(crate) fn turn(
        &mut self,
        thread: usize,
        execute: impl FnOnce(&mut Lane<'a>) -> Executed,
    ) -> Option<(Executed, u64)> {
        let of = &self.threads[thread];
        self.lanes.push(of.lane()?);
        let executed = execute(self.lanes.last_mut()?);
        self.turns.issued_without_reorder(of.strand, executed.issued, executed.ends);
        self.stops.passed.references += executed.references as u64;
        self.stops.passed.instructions += executed.instructions;
        let ends = executed.ends;
        let took = ends - self.strands[of.strand.index()].ready;
        let number = of.strand.index() % StrandId::PER_CORE;
        let core = &mut self.ahead.cores[self.core];
        core.strands = 1 << number;
        core.saved[number] = Saved {
            thread,
            next: of.next,
            begun: executed.references,
            ready: ends,
            ends,
            ..Saved::default()
        };
        Some((executed, took))
    }

    /// Lets the core's strands execute up to the place `before` in the turn order, as long as they need nothing outside the core. The
    /// core must not be running ahead yet. Stops after about `most` references, and returns the number of executed references.
    #[inline(always)]
    pub(crate) fn run_ahead<V: Variant, const WATCHED: bool>(
        &mut self,
        before: Due,
        most: usize,
        mut state: CoreAhead<'_, V, WATCHED>,
    ) -> usize {
        let Self { core, ahead, turns, threads, strands, lanes, lane_of, .. } = self;
        let core = *core;
        ahead.ahead |= 1 << core;
        let Core { pipelines, strands: ran, saved } = &mut ahead.cores[core];
        *pipelines = turns.core(core);
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
                lane_of[turn.strand] = lanes.len() as u8;
                let Some(lane) = thread.lane() else { break };
                lanes.push(lane);
                let next = thread.next;
                *saved = Saved { thread: number, next, ready, ends: ready, ..Saved::default() };
                *ran |= 1 << turn.strand;
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
