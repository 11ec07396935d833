//! Replays a part of the programs' references.

use super::error::RunError;
use super::pace::Pace;
use super::scheduler::ahead::CORES;
use super::scheduler::turns::Due;
use super::scheduler::{NextTurn, Scheduler};
use super::threads::Threads;
use crate::analysis::details::{ThreadWatcher, Watcher};
use crate::memory::{
    Affected, Executed, MAX_AHEAD_REFERENCES, MAX_OVERSHOOT, Quantum, Variant, Work,
};

/// The maximum number of references that a core's strands execute ahead of other cores before the core waits for its turn. The
/// larger this number, the more references have to be executed again when another core takes a line from the core's caches.
const MAX_AHEAD: u64 = 512;

/// The number of references by which a core may exceed [`MAX_AHEAD`], because it stops only between instructions.
const OVERSHOOT: u64 = MAX_OVERSHOOT as u64;

// A single call must be able to execute again everything that a core has executed ahead.
const _: () = assert!(MAX_AHEAD + OVERSHOOT <= MAX_AHEAD_REFERENCES as u64);

/// The minimum number of references for which a core runs ahead. With fewer, running ahead costs more than it saves.
const MIN_AHEAD: u64 = 16;

/// The number of references before the end of a part at which cores stop running ahead.
const END: u64 = OVERSHOOT + MIN_AHEAD;

/// The number of references before the end of a part at which the first [edge](Edge) is chosen. As long as more are left, all cores
/// together execute less than half of them ahead.
const NEAR_END: u64 = 2 * CORES as u64 * MAX_AHEAD;

/// The order in which strands execute.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReplayOrder {
    /// Strands execute in the order of their turns.
    OneByOne,
    /// Cores run ahead of others, with the same outcome. The part pauses when the total number of references reaches this number.
    Ahead(u64),
}

/// A replay while it executes references.
pub(super) struct ReplayPart<'a, V: Variant> {
    scheduler: &'a mut Scheduler,
    threads: &'a mut Threads,
    work: Work<'a, V>,
    /// The number of references that have been executed and not undone.
    references: u64,
    /// The number of references at which the part ends.
    until: u64,
    /// Collects details; `None` if no details are collected.
    details: Option<&'a mut Watcher>,
    pace: &'a mut Pace,
    edge: Edge,
}

/// The place in the turn order up to which cores run ahead. A part ends after an exact number of references, and cores have to undo what
/// they have executed beyond its end. So near the end, they stop at an edge: the place at which, at the pace of the replay so far, most of
/// the remaining references have been executed. When all cores have reached it, the next edge is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// The end of the part is so far away that there is no edge yet.
    None,
    At(Due),
    /// The end of the part came before the latest edge. So cores do not stop at a place, but each may execute fewer references ahead.
    Missed,
}

impl Edge {
    fn place(self) -> Due {
        match self {
            Self::At(place) => place,
            Self::None | Self::Missed => Due::NEVER,
        }
    }

    /// Returns `true` if the latest turn is not before the edge. If so, neither is any later turn.
    #[inline]
    fn is_reached(self, turn: Due) -> bool {
        self.place() <= turn
    }
}

impl<'a, V: Variant> ReplayPart<'a, V> {
    /// Returns a part that begins after `references` references and executes at most `most`.
    pub(super) fn new(
        scheduler: &'a mut Scheduler,
        threads: &'a mut Threads,
        work: Work<'a, V>,
        (details, pace): (Option<&'a mut Watcher>, &'a mut Pace),
        references: u64,
        most: u64,
    ) -> Self {
        let until = references.saturating_add(most);
        Self { scheduler, threads, work, references, until, details, pace, edge: Edge::None }
    }

    /// Executes references. Returns the total number of references so far, and whether the programs continue.
    pub(super) fn replay(self, way: ReplayOrder) -> Result<(u64, bool), RunError> {
        match way {
            ReplayOrder::OneByOne => self.without_steps(),
            ReplayOrder::Ahead(pause) => self.run_ahead(pause),
        }
    }

    fn without_steps(mut self) -> Result<(u64, bool), RunError> {
        self.rewind_all(self.scheduler.next_due());
        while self.references < self.until {
            if self.scheduler.next_turn()? == NextTurn::Never {
                return Ok((self.references, false));
            }
            let core = self.scheduler.executing_due().core();
            self.execute(self.until - self.references);
            self.note_store(core);
        }
        Ok((self.references, true))
    }

    /// Executes references until their total number is at least `pause`. Cores may run ahead of others, unless the part is about to
    /// end. The total includes references that cores have executed ahead.
    fn run_ahead(mut self, pause: u64) -> Result<(u64, bool), RunError> {
        self.pace.begin(self.references, self.scheduler.now());
        loop {
            let mut left = self.left();
            if left < END {
                self.rewind_all(self.scheduler.next_due());
                self.edge = Edge::Missed;
                left = self.left();
                if left < END {
                    return self.without_steps();
                }
            }
            if left < NEAR_END && self.edge == Edge::None && !self.choose_edge() {
                return self.without_steps();
            }
            if self.references >= pause {
                return Ok((self.references, true));
            }
            let next = loop {
                match self.scheduler.next_turn()? {
                    NextTurn::Store(turn) => self.store(turn),
                    next => break next,
                }
            };
            while let Some(core) = self.scheduler.woken_core() {
                self.rewind(core, self.scheduler.current_due());
                self.scheduler.wake_strands(core);
            }
            if next == NextTurn::Woken {
                continue;
            }
            if next == NextTurn::Never {
                self.rewind_all(self.scheduler.next_due());
                return Ok((self.references, false));
            }
            let turn = self.scheduler.executing_due();
            let core = turn.core();
            self.work.end_ahead(core);
            // A pause can fall into the middle of a long quantum.
            self.execute((pause - self.references).min(left));
            self.handle_affected(turn);
            if self.scheduler.is_mid_instruction() {
                // The rest of the instruction is executed next. So undo everything that cores have executed ahead beyond this rest
                // in the turn order.
                self.note_store(core);
                let rest = turn.at_time(self.work.latest()).after();
                self.rewind_all(rest.max(self.scheduler.current_due()));
                continue;
            }
            let most = self.max_ahead();
            if most >= MIN_AHEAD {
                self.work.begin_ahead(core);
                self.ahead(core, self.edge.place(), most as usize, None);
            } else {
                self.note_store(core);
            }
            if self.edge.is_reached(turn) && !self.choose_edge() {
                return self.without_steps();
            }
        }
    }

    /// Returns a lower bound for the number of references until the part ends or the scheduler stops.
    fn left(&self) -> u64 {
        (self.until - self.references).min(self.scheduler.instructions_left())
    }

    /// Chooses the first or the next edge. Returns `false` if too few references are left for one.
    fn choose_edge(&mut self) -> bool {
        let next = self.scheduler.next_due();
        let most = self.left().saturating_sub(END) / 8 * 7;
        if next != Due::NEVER {
            let at = self.pace.at(most, self.references, next.at());
            self.edge = Edge::At(next.at_time(at));
        }
        most >= MIN_AHEAD
    }

    /// Returns the maximum number of references that a core may execute ahead now. If the latest edge was missed, all cores together may
    /// execute about half of the remaining references ahead.
    fn max_ahead(&self) -> u64 {
        let room = self.left().saturating_sub(OVERSHOOT);
        let cores = match self.edge {
            Edge::Missed => 2 * (1 + self.scheduler.cores_ahead()),
            Edge::None | Edge::At(_) => 1,
        };
        (room / cores).min(MAX_AHEAD)
    }

    /// Executes a deferred store, whose turn has come.
    fn store(&mut self, turn: Due) {
        let core = turn.core();
        match &mut self.details {
            None => self.work.store_ahead(core, &mut ()),
            Some(details) => {
                let Some((strand, _)) = self.work.next_store(core) else { return };
                let (thread, offset) = self.scheduler.first_thread(strand);
                let mut watcher = details.watch_thread(thread, strand, offset, None);
                self.work.store_ahead(core, &mut watcher);
            }
        }
        self.scheduler.replace_store(core, self.next_store(core));
        self.handle_affected(turn);
    }

    fn note_store(&mut self, core: usize) {
        self.scheduler.set_store(core, self.next_store(core));
    }

    /// Returns the turn of a core's first deferred store; [`Due::NEVER`] if no store is deferred.
    fn next_store(&self, core: usize) -> Due {
        self.work.next_store(core).map_or(Due::NEVER, |(strand, at)| Due::for_strand(at, strand))
    }

    /// For each core that a turn affects, undoes what the core has executed after the turn, and drops the line that the core loses.
    #[inline]
    fn handle_affected(&mut self, turn: Due) {
        while let Some(affected) = self.work.next_affected() {
            self.undo_after(turn, affected);
        }
    }

    /// Undoes what an affected core has executed after a turn, and drops the line that the core loses.
    #[inline(never)]
    fn undo_after(&mut self, turn: Due, affected: Affected) {
        let has_undone = match affected.core == turn.core() {
            true => self.rewind_after_store(affected.core),
            false => {
                let place = turn.at_time(affected.at).max(self.scheduler.current_due());
                self.rewind(affected.core, place)
            }
        };
        self.work.drop_lost_line(affected, has_undone);
    }

    /// Undoes everything that cores have executed ahead after the place `before` in the turn order.
    fn rewind_all(&mut self, before: Due) {
        while let Some(core) = self.scheduler.first_core_ahead() {
            self.rewind(core, before);
        }
        self.work.end_all_ahead();
    }

    /// Executes at most `most` references of the next thread's quantum. Before the next turn, the caller must call
    /// [`note_store`](Self::note_store), which also updates when the core's strands have their next turns.
    fn execute(&mut self, most: u64) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // The quantum can begin with data of an earlier instruction.
        let instruction = self.details.as_ref().and_then(|_| self.scheduler.instruction());
        let (thread, quantum) = self.scheduler.quantum(most);
        let begins = quantum.begins;
        self.threads.begin(thread, quantum.strand, self.work.truth());
        let executed = match &mut self.details {
            None => self.work.replay(&quantum),
            Some(details) => {
                let Quantum { strand, offset, .. } = quantum;
                watch(
                    details.watch_thread(thread, strand, offset, instruction),
                    &quantum,
                    &mut self.work,
                )
            }
        };
        let cycles = self.scheduler.executed_without_reorder(&executed);
        self.references += executed.references as u64;
        self.threads.executed(thread, &executed, begins, cycles);
    }

    /// If a core runs ahead, makes it stop at the place `before` in the turn order, and undoes what the core has executed after that
    /// place. Returns `false` if nothing had to be undone.
    fn rewind(&mut self, core: usize, before: Due) -> bool {
        // Two strands can each have a store in the same turn, and possibly only the first of these stores has been executed.
        while self.next_store(core) < before {
            self.store(self.next_store(core));
        }
        if self.scheduler.next_due_of(core) < before {
            // The core's next turn comes before the place `before`, and everything that the core has executed ahead comes before
            // that turn. So nothing has to be undone.
            self.scheduler.commit_core(core);
        }
        self.reexecute(core, before, usize::MAX)
    }

    /// If a core runs ahead, makes it stop after the last of its stores that has been executed, and undoes what the core has executed
    /// after that store. Returns `false` if the core does not run ahead.
    fn rewind_after_store(&mut self, core: usize) -> bool {
        let stored = self.work.stored(core);
        self.reexecute(core, Due::NEVER, stored)
    }

    /// Undoes everything that a core has executed ahead. Then executes again only what comes before the place `before` in the turn
    /// order, and nothing after the core's first `stored` stores. Returns `false` if the core does not run ahead.
    #[cold]
    #[inline(never)]
    fn reexecute(&mut self, core: usize, before: Due, stored: usize) -> bool {
        let is_ahead = self.scheduler.runs_ahead(core);
        if is_ahead {
            self.work.undo_ahead(core);
            for undone in self.scheduler.undo(core) {
                self.references -= undone.references.len() as u64;
                self.threads.undo(&undone);
                self.work.subtract_undone(undone.strand, undone.references);
            }
            self.ahead(core, before, MAX_AHEAD_REFERENCES, Some(stored));
            self.scheduler.commit_core(core);
        }
        self.work.end_ahead(core);
        is_ahead
    }

    /// Lets a core's strands run ahead by about `most` references, up to the place `before` in the turn order. If `stored` is not
    /// `None`, the strands execute references a second time, and the first `stored` of their stores have already been executed. The
    /// strands then stop after the last of these stores.
    #[inline]
    fn ahead(&mut self, core: usize, before: Due, most: usize, stored: Option<usize>) {
        let executed = match self.details {
            None => self.ahead_watched::<false>(core, before, most, stored),
            Some(_) => self.ahead_watched::<true>(core, before, most, stored),
        };
        self.references += executed as u64;
        self.note_store(core);
    }

    /// Does the same as [`ahead`](Self::ahead), and collects details if `WATCHED` is set. Returns the number of executed
    /// references.
    #[inline(never)]
    fn ahead_watched<const WATCHED: bool>(
        &mut self,
        core: usize,
        before: Due,
        most: usize,
        stored: Option<usize>,
    ) -> usize {
        let Self { scheduler, threads, work, .. } = self;
        let state = work.core_ahead::<WATCHED>(core, stored);
        scheduler.run_ahead(core, before, most, state, |thread, instructions, cycles, pipeline| {
            threads.executed_ahead(thread, instructions, cycles, pipeline);
        })
    }
}

/// Replays a thread's quantum and collects details about it.
#[inline(never)]
fn watch<V: Variant>(
    mut watcher: ThreadWatcher<'_>,
    quantum: &Quantum<'_>,
    work: &mut Work<'_, V>,
) -> Executed {
    work.replay_watched(quantum, &mut watcher)
}
