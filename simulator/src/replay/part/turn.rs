//! Executes what is due in a turn.

use super::{MIN_AHEAD, ReplayPart};
use crate::analysis::details::ThreadWatcher;
use crate::memory::{Executed, Quantum, Variant, Work};
use crate::replay::scheduler::turns::Due;

impl<V: Variant> ReplayPart<'_, V> {
    /// Executes a deferred store, whose turn has come.
    pub(super) fn store(&mut self, turn: Due) {
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

    pub(super) fn note_store(&mut self, core: usize) {
        self.scheduler.set_store(core, self.next_store(core));
    }

    /// Returns the turn of a core's first deferred store; [`Due::NEVER`] if no store is deferred.
    pub(super) fn next_store(&self, core: usize) -> Due {
        self.work.next_store(core).map_or(Due::NEVER, |(strand, at)| Due::for_strand(at, strand))
    }

    /// Executes at most `most` references of the next thread's quantum. Before the next turn, the caller must call
    /// [`note_store`](Self::note_store), which also updates when the core's strands have their next turns.
    pub(super) fn execute(&mut self, most: u64) {
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

    /// Executes at most `most` references of a turn, and then lets its core run ahead.
    pub(super) fn long_turn(&mut self, turn: Due, most: u64) {
        self.execute(most);
        self.handle_affected(turn);
        if self.scheduler.is_mid_instruction() {
            // The rest of the instruction is executed next. So undo everything that cores have executed ahead beyond this rest in
            // the turn order.
            self.note_store(turn.core());
            let rest = turn.at_time(self.work.latest()).after();
            self.rewind_all(rest.max(self.scheduler.current_due()));
        } else {
            self.try_ahead(turn.core());
        }
    }

    /// Executes an instruction of a turn, and then lets its core run ahead. Another strand's turn begins at the time `until`.
    pub(super) fn short_turn(&mut self, turn: Due, until: u64) {
        let runs_ahead = match self.details {
            None => self.short_turn_watched::<false>(turn, until),
            Some(_) => self.short_turn_watched::<true>(turn, until),
        };
        self.note_store(turn.core());
        if !runs_ahead {
            self.handle_affected(turn);
            self.try_ahead(turn.core());
        }
    }

    /// Does the same as [`short_turn`](Self::short_turn), and collects details if `WATCHED` is set. Returns `false` if the core has
    /// not run ahead: few references are left, or cores are affected, and must be handled first.
    #[inline(never)]
    fn short_turn_watched<const WATCHED: bool>(&mut self, turn: Due, until: u64) -> bool {
        let (core, begins) = (turn.core(), turn.at());
        // The turn can begin with data of an earlier instruction.
        let instruction = if WATCHED { self.scheduler.instruction() } else { None };
        let most = self.max_ahead();
        let Self { scheduler, threads, work, details, .. } = self;
        let mut run = scheduler.begin_run(core);
        let executed = run.execute(|thread, ready, lane| {
            let (strand, offset) = (lane.strand, lane.offset);
            threads.begin(thread, strand, work.truth());
            let executed = match details {
                Some(details) if WATCHED => {
                    let mut watcher = details.watch_thread(thread, strand, offset, instruction);
                    work.execute_single(lane, begins, until, &mut watcher)
                }
                _ => work.execute_single(lane, begins, until, &mut ()),
            };
            threads.executed(thread, &executed, begins, executed.ends - ready);
            executed
        });
        let mut references = executed.references;
        let most = most.saturating_sub(references as u64);
        let runs_ahead = most >= MIN_AHEAD && !work.has_affected();
        if runs_ahead {
            work.begin_ahead(core);
            let state = work.core_ahead::<WATCHED>(core, None);
            references += run.run_ahead(self.edge.place(), most as usize, state);
        }
        drop(run);
        self.references += references as u64;
        self.end_run(core);
        runs_ahead
    }

    /// Lets a core's strands run ahead, unless the end of the part is near.
    fn try_ahead(&mut self, core: usize) {
        let most = self.max_ahead();
        if most >= MIN_AHEAD {
            self.work.begin_ahead(core);
            self.ahead(core, self.edge.place(), most as usize, None);
        } else {
            self.note_store(core);
        }
    }

    /// Lets a core's strands run ahead by about `most` references, up to the place `before` in the turn order. If `stored` is not
    /// `None`, the strands execute references a second time, and the first `stored` of their stores have already been executed. The
    /// strands then stop after the last of these stores.
    #[inline]
    pub(super) fn ahead(&mut self, core: usize, before: Due, most: usize, stored: Option<usize>) {
        match self.details {
            None => self.ahead_watched::<false>(core, before, most, stored),
            Some(_) => self.ahead_watched::<true>(core, before, most, stored),
        }
        self.note_store(core);
    }

    /// Does the same as [`ahead`](Self::ahead), and collects details if `WATCHED` is set.
    #[inline(never)]
    fn ahead_watched<const WATCHED: bool>(
        &mut self,
        core: usize,
        before: Due,
        most: usize,
        stored: Option<usize>,
    ) {
        let state = self.work.core_ahead::<WATCHED>(core, stored);
        let references = self.scheduler.begin_run(core).run_ahead(before, most, state);
        self.references += references as u64;
        self.end_run(core);
    }

    #[inline(always)]
    fn end_run(&mut self, core: usize) {
        let Self { scheduler, threads, .. } = self;
        scheduler.end_run(core, |thread, instructions, cycles, pipeline| {
            threads.executed_ahead(thread, instructions, cycles, pipeline);
        });
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
