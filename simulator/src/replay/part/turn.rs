//! Executes what is due in a turn.

use super::ReplayPart;
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

    /// Lets a core's strands run ahead by about `most` references, up to the place `before` in the turn order. If `stored` is not
    /// `None`, the strands execute references a second time, and the first `stored` of their stores have already been executed. The
    /// strands then stop after the last of these stores.
    #[inline]
    pub(super) fn ahead(&mut self, core: usize, before: Due, most: usize, stored: Option<usize>) {
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
