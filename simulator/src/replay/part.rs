//! Replays a part of the programs' references.

use super::error::RunError;
use super::scheduler::ahead::CORES;
use super::scheduler::turns::Due;
use super::scheduler::{NextTurn, Scheduler};
use super::threads::Threads;
use crate::analysis::details::{Noting, Watcher};
use crate::memory::{Executed, MOST_AT_ONCE, MOST_MORE, Quantum, Variant, Work};

/// The maximum number of references that a core's strands execute ahead of other cores before the core waits for its turn. The
/// larger this number, the more references have to be executed again when another core takes a line from the core's caches.
const MOST_AHEAD: u64 = 512;

/// The number of references by which a core may exceed [`MOST_AHEAD`], because it stops only between instructions.
const ROOM: u64 = MOST_MORE as u64;

// A single call must be able to execute again everything that a core has executed ahead.
const _: () = assert!(MOST_AHEAD + ROOM <= MOST_AT_ONCE as u64);

/// The minimum number of references for which a core runs ahead. With fewer, running ahead costs more than it saves.
const LEAST_AHEAD: u64 = 16;

/// The order in which strands execute.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// Strands execute in the order of their turns.
    OneByOne,
    /// Cores run ahead of others, with the same outcome. The part pauses when the total number of references reaches this number.
    Ahead(u64),
}

/// A replay while it executes references.
pub(super) struct Part<'a, V: Variant> {
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

impl<'a, V: Variant> Part<'a, V> {
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
    pub(super) fn replay(self, way: Way) -> Result<(u64, bool), RunError> {
        match way {
            Way::OneByOne => self.one_by_one(),
            Way::Ahead(pause) => self.run_ahead(pause),
        }
    }

    fn one_by_one(mut self) -> Result<(u64, bool), RunError> {
        self.settle_all(self.scheduler.next_place());
        while self.references < self.until {
            if self.scheduler.turn()? == NextTurn::Never {
                return Ok((self.references, false));
            }
            let core = self.scheduler.executing().core();
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
            if left < 2 * ROOM {
                self.settle_all(self.scheduler.next_place());
                left = self.left();
                if left < 2 * ROOM {
                    return self.one_by_one();
                }
            }
            if self.references >= pause {
                return Ok((self.references, true));
            }
            let next = self.scheduler.turn()?;
            if let NextTurn::Store(turn) = next {
                self.store(turn);
                continue;
            }
            while let Some(core) = self.scheduler.woken() {
                self.settle(core, self.scheduler.place());
                self.scheduler.wake_strands(core);
            }
            if next == NextTurn::Woken {
                continue;
            }
            if next == NextTurn::Never {
                self.settle_all(self.scheduler.next_place());
                return Ok((self.references, false));
            }
            let turn = self.scheduler.executing();
            let core = turn.core();
            self.work.end_ahead(core);
            // A pause can fall into the middle of a long quantum.
            self.execute((pause - self.references).min(left));
            self.affect(turn);
            if self.scheduler.is_within() {
                // The rest of the instruction is executed next. So undo everything that cores have executed ahead beyond this rest
                // in the turn order.
                self.note_store(core);
                let rest = turn.at_time(self.work.latest()).after();
                self.settle_all(rest.max(self.scheduler.place()));
                continue;
            }
            let most = self.most_ahead();
            if most >= LEAST_AHEAD {
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
    fn most_ahead(&self) -> u64 {
        let room = self.left().saturating_sub(ROOM);
        // The usual case: there is no need to count the cores that run ahead.
        if room >= 2 * CORES as u64 * MOST_AHEAD {
            return MOST_AHEAD;
        }
        (room / (2 * (1 + self.scheduler.number_ahead()))).min(MOST_AHEAD)
    }

    /// Executes a deferred store, whose turn has come.
    fn store(&mut self, turn: Due) {
        let core = turn.core();
        let Some((strand, _)) = self.work.next_store(core) else { return };
        let (thread, offset) = self.scheduler.first_thread(strand);
        match &mut self.details {
            None => self.work.store_ahead(core, offset, &mut ()),
            Some(details) => {
                let mut noting = details.noting(thread, strand, offset, None);
                self.work.store_ahead(core, offset, &mut noting);
            }
        }
        self.note_store(core);
        self.affect(turn);
    }

    fn note_store(&mut self, core: usize) {
        self.scheduler.set_store(core, self.next_store(core));
    }

    /// Returns the turn of a core's first deferred store; [`Due::NEVER`] if no store is deferred.
    fn next_store(&self, core: usize) -> Due {
        self.work.next_store(core).map_or(Due::NEVER, |(strand, at)| Due::of(at, strand))
    }

    /// For each core that a turn affects, undoes what the core has executed after the turn, and drops the line that the core loses.
    #[inline]
    fn affect(&mut self, turn: Due) {
        while let Some(affected) = self.work.next_affected() {
            match affected.core == turn.core() {
                true => self.settle_after_store(affected.core),
                false => {
                    let place = turn.at_time(affected.at).max(self.scheduler.place());
                    self.settle(affected.core, place);
                }
            }
            self.work.affect(affected);
        }
    }

    /// Undoes everything that cores have executed ahead after the place `before` in the turn order.
    fn settle_all(&mut self, before: Due) {
        while let Some(core) = self.scheduler.ahead() {
            self.settle(core, before);
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
                watch(details.noting(thread, strand, offset, instruction), &quantum, &mut self.work)
            }
        };
        let cycles = self.scheduler.executed_out_of_order(&executed);
        self.references += executed.references as u64;
        self.threads.executed(thread, &executed, begins, cycles);
    }

    /// If a core runs ahead, makes it stop at the place `before` in the turn order. Undoes what the core has executed after that
    /// place.
    fn settle(&mut self, core: usize, before: Due) {
        // Two strands can each have a store in the same turn, and possibly only the first of these stores has been executed.
        while self.next_store(core) < before {
            self.store(self.next_store(core));
        }
        if self.scheduler.next_of(core) < before {
            // The core's next turn comes before the place `before`, and everything that the core has executed ahead comes before
            // that turn. So nothing has to be undone.
            self.scheduler.catch_up(core);
        }
        self.execute_again(core, before, usize::MAX);
    }

    /// If a core runs ahead, makes it stop after the last of its stores that has been executed. Undoes what the core has executed
    /// after that store.
    fn settle_after_store(&mut self, core: usize) {
        let stored = self.work.stored(core);
        self.execute_again(core, Due::NEVER, stored);
    }

    /// Undoes everything that a core has executed ahead. Then executes again only what comes before the place `before` in the turn
    /// order, and nothing after the core's first `stored` stores.
    #[cold]
    #[inline(never)]
    fn execute_again(&mut self, core: usize, before: Due, stored: usize) {
        if self.scheduler.runs_ahead(core) {
            self.work.undo_ahead(core);
            for undone in self.scheduler.undo(core) {
                self.references -= undone.references.len() as u64;
                self.threads.undo(&undone);
                self.work.forget(undone.strand, undone.references);
            }
            self.ahead(core, before, MOST_AT_ONCE, Some(stored));
            self.scheduler.catch_up(core);
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
    mut noting: Noting<'_>,
    quantum: &Quantum<'_>,
    work: &mut Work<'_, V>,
) -> Executed {
    work.watch(quantum, &mut noting)
}
