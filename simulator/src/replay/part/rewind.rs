//! Undoes what cores have executed ahead.

use super::ReplayPart;
use crate::memory::{Affected, MAX_AHEAD_REFERENCES, Variant};
use crate::replay::scheduler::turns::Due;

impl<V: Variant> ReplayPart<'_, V> {
    /// For each core that a turn affects, undoes what the core has executed after the turn, and drops the line that the core loses.
    #[inline]
    pub(super) fn handle_affected(&mut self, turn: Due) {
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
    pub(super) fn rewind_all(&mut self, before: Due) {
        while let Some(core) = self.scheduler.first_core_ahead() {
            self.rewind(core, before);
        }
        self.work.end_all_ahead();
    }

    /// If a core runs ahead, makes it stop at the place `before` in the turn order, and undoes what the core has executed after that
    /// place. Returns `false` if nothing had to be undone.
    pub(super) fn rewind(&mut self, core: usize, before: Due) -> bool {
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
}
