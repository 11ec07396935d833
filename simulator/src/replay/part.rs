//! Replays a part of the programs' references.

use super::error::RunError;
use super::scheduler::ahead::CORES;
use super::scheduler::turns::Due;
use super::scheduler::{NextTurn, Scheduler};
use super::threads::Threads;
use crate::analysis::details::{ThreadWatcher, Watcher};
use crate::memory::{Executed, MAX_AHEAD_REFERENCES, MAX_OVERSHOOT, Quantum, Variant, Work};

/// The maximum number of references that a core's strands execute ahead of other cores before the core waits for its turn. The
/// larger this number, the more references have to be executed again when another core takes a line from the core's caches.
const MAX_AHEAD: u64 = 512;

/// The number of references by which a core may exceed [`MAX_AHEAD`], because it stops only between instructions.
const OVERSHOOT: u64 = MAX_OVERSHOOT as u64;

// A single call must be able to execute again everything that a core has executed ahead.
const _: () = assert!(MAX_AHEAD + OVERSHOOT <= MAX_AHEAD_REFERENCES as u64);

/// The minimum number of references for which a core runs ahead. With fewer, running ahead costs more than it saves.
const MIN_AHEAD: u64 = 16;

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
}

impl<'a, V: Variant> ReplayPart<'a, V> {
    /// Returns a part that begins after `references` references and executes at most `most`.
    pub(super) fn new(
        scheduler: &'a mut Scheduler,
        threads: &'a mut Threads,
        work: Work<'a, V>,
        details: Option<&'a mut Watcher>,
        references: u64,
        most: u64,
    ) -> Self {
        let until = references.saturating_add(most);
        Self { scheduler, threads, work, references, until, details }
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
        loop {
            let mut left = self.left();
            if left < 2 * OVERSHOOT {
                self.rewind_all(self.scheduler.next_due());
                left = self.left();
                if left < 2 * OVERSHOOT {
                    return self.without_steps();
                }
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
                let with_data = self.scheduler.may_access_data(core);
                self.work.begin_ahead(core, with_data);
                self.ahead(core, Due::NEVER, most as usize, None);
            } else {
                self.note_store(core);
            }
        }
    }

    /// Returns a lower bound for the number of references until the part ends or the scheduler stops.
    fn left(&self) -> u64 {
        (self.until - self.references).min(self.scheduler.instructions_left())
    }

    /// Returns the maximum number of references that a core may execute ahead now. It becomes small near the end of the part: all
    /// cores together execute at most about half of the remaining references ahead, so little has to be undone at the end.
    fn max_ahead(&self) -> u64 {
        let room = self.left().saturating_sub(OVERSHOOT);
        // The usual case: there is no need to count the cores that run ahead.
        if room >= 2 * CORES as u64 * MAX_AHEAD {
            return MAX_AHEAD;
        }
        (room / (2 * (1 + self.scheduler.cores_ahead()))).min(MAX_AHEAD)
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
            match affected.core == turn.core() {
                true => self.rewind_after_store(affected.core),
                false => {
                    let place = turn.at_time(affected.at).max(self.scheduler.current_due());
                    self.rewind(affected.core, place);
                }
            }
            self.work.drop_lost_line(affected);
        }
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

    /// If a core runs ahead, makes it stop at the place `before` in the turn order. Undoes what the core has executed after that
    /// place.
    fn rewind(&mut self, core: usize, before: Due) {
        // Two strands can each have a store in the same turn, and possibly only the first of these stores has been executed.
        while self.next_store(core) < before {
            self.store(self.next_store(core));
        }
        if self.scheduler.next_due_of(core) < before {
            // The core's next turn comes before the place `before`, and everything that the core has executed ahead comes before
            // that turn. So nothing has to be undone.
            self.scheduler.commit_core(core);
        }
        self.reexecute(core, before, usize::MAX);
    }

    /// If a core runs ahead, makes it stop after the last of its stores that has been executed. Undoes what the core has executed
    /// after that store.
    fn rewind_after_store(&mut self, core: usize) {
        let stored = self.work.stored(core);
        self.reexecute(core, Due::NEVER, stored);
    }

    /// Undoes everything that a core has executed ahead. Then executes again only what comes before the place `before` in the turn
    /// order, and nothing after the core's first `stored` stores.
    #[cold]
    #[inline(never)]
    fn reexecute(&mut self, core: usize, before: Due, stored: usize) {
        if self.scheduler.runs_ahead(core) {
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
