//! Lets a core's strands run ahead of the other cores.
//!
//! References that need nothing outside their core do not affect other cores, so a core's strands can execute them even before
//! earlier turns of other cores. The outcome is the same, unless in the meantime another core takes a line from the core's caches
//! or wakes one of its threads. In that case, the core is *restored* to its state before it ran ahead, and executes the references
//! again, up to the turn that affects it.

use std::iter;
use std::num::NonZero;

use guest_abi::StrandId;

use super::Scheduler;
use super::turns::{CorePipelines, Due};
use crate::recording::{Position, References};

/// The maximum number of cores.
pub(crate) const CORES: usize = StrandId::COUNT / StrandId::PER_CORE;

/// The cores that run ahead.
#[derive(Debug)]
pub(super) struct Ahead {
    cores: Box<[Core]>,
    /// One bit for each core, which is set if the core runs ahead.
    ahead: u64,
    /// The woken strands of cores that run ahead, and the times at which they are ready. Each core must be restored before its
    /// strands are woken.
    woken: Vec<(StrandId, u64)>,
    /// The latest turn so far in the turn order. If a turn wakes a thread, the next turn can be earlier than this one.
    latest: Due,
    /// The current place in the turn order. All earlier turns are over.
    current: Due,
}

const _: () = assert!(CORES <= u64::BITS as usize);

/// A core that runs ahead, and its state before it ran ahead.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pipelines: CorePipelines,
    /// One bit for each of the core's strands, which is set if the strand has executed in the latest [run](super::core_run::CoreRun).
    pub(super) strands: u8,
    pub(super) saved: [Saved; StrandId::PER_CORE],
}

/// A strand's state before it ran ahead, and what it has executed ahead since then. `next` is the thread's position before the run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Saved {
    pub(super) thread: usize,
    pub(super) next: Position,
    /// The number of references that the strand executed in its turn, before it ran ahead.
    pub(super) in_turn: usize,
    pub(super) ready: u64,
    /// The time at which the strand can continue after what it executed ahead.
    pub(super) ends: u64,
    /// The number of cycles that the strand waited for its pipeline while it ran ahead.
    pub(super) pipeline: u64,
    /// The number of references that the strand executed ahead. `instructions` is the number of instructions.
    pub(super) references: usize,
    pub(super) instructions: u64,
}

/// What a strand has to undo because its core was restored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undone<'a> {
    pub(crate) thread: usize,
    pub(crate) strand: StrandId,
    /// The references that the strand had executed ahead.
    pub(crate) references: References<'a>,
    /// The number of instructions that these references began.
    pub(crate) instructions: u64,
    /// The number of cycles from the time at which the strand was ready until the end of these references.
    pub(crate) cycles: u64,
    /// The number of these cycles in which the strand waited for its pipeline.
    pub(crate) pipeline: u64,
}

impl Ahead {
    pub(super) fn new() -> Self {
        let core = Core {
            pipelines: CorePipelines::IDLE,
            strands: 0,
            saved: [Saved::default(); StrandId::PER_CORE],
        };
        Self {
            cores: vec![core; CORES].into(),
            ahead: 0,
            woken: Vec::new(),
            latest: Due::FIRST,
            current: Due::FIRST,
        }
    }

    #[inline(always)]
    pub(super) fn core(&mut self, core: usize) -> &mut Core {
        &mut self.cores[core]
    }

    /// Notes that a core begins to run ahead, with its pipelines in this state.
    #[inline(always)]
    pub(super) fn begin(&mut self, core: usize, pipelines: CorePipelines) {
        self.ahead |= 1 << core;
        self.cores[core].pipelines = pipelines;
    }

    /// Notes that a turn begins.
    #[inline]
    pub(super) fn begin_turn(&mut self, turn: Due) {
        self.current = self.after_latest(turn);
        self.latest = self.latest.max(turn);
    }

    /// If a strand's core runs ahead, notes that the strand has been woken and will be ready at the time `ready`. Returns `true` if
    /// the core runs ahead.
    pub(super) fn wake(&mut self, strand: StrandId, ready: u64) -> bool {
        let is_ahead = self.ahead >> strand.core() & 1 == 1;
        if is_ahead {
            self.woken.push((strand, ready));
        }
        is_ahead
    }

    /// Returns the later of two places in the turn order: `place`, and the first place after all turns so far.
    #[inline]
    fn after_latest(&self, place: Due) -> Due {
        place.max(self.latest.after())
    }

    /// Notes that a thread stops sleeping at the time `at`, before the next turn.
    pub(super) fn note_wake(&mut self, at: u64) {
        self.current = self.after_latest(Due::new(at, 0));
    }
}

impl Scheduler {
    /// Returns the current place in the turn order. All earlier turns are over.
    pub(crate) fn current_due(&self) -> Due {
        self.ahead.current
    }

    /// Returns the place of the next event in the turn order. The event is a turn, or the end of a sleep.
    pub(crate) fn next_due(&self) -> Due {
        let sleeper = Some(self.sleepers.first()).filter(|at| *at != u64::MAX);
        let wakes = sleeper.map_or(Due::NEVER, |at| Due::new(at, 0));
        self.ahead.after_latest(self.turns.first_due().min(wakes))
    }

    /// Returns the place of the executing thread's turn, or of a later part of that turn.
    pub(crate) fn executing_due(&self) -> Due {
        Due::for_strand(self.begins, self.threads[self.executing].strand)
    }

    /// Returns the place of a core's next turn in the turn order; [`Due::NEVER`] if none of its strands can execute.
    pub(crate) fn next_due_of(&self, core: usize) -> Due {
        self.turns.core_due(core)
    }

    /// Returns the first core that runs ahead; `None` if no core does.
    pub(crate) fn first_core_ahead(&self) -> Option<usize> {
        first(self.ahead.ahead)
    }

    /// Returns the number of cores that run ahead.
    pub(crate) fn cores_ahead(&self) -> u64 {
        self.ahead.ahead.count_ones().into()
    }

    /// Returns a core that runs ahead and has a woken strand; `None` if there is none. The caller must undo what the core has
    /// executed after the current place, and then [wake](Self::wake_strands) the strand.
    #[inline]
    pub(crate) fn woken_core(&self) -> Option<usize> {
        self.ahead.woken.first().map(|(strand, _)| strand.core())
    }

    /// Wakes those strands of a core that were to be woken while the core ran ahead.
    pub(crate) fn wake_strands(&mut self, core: usize) {
        let Self { ahead, turns, .. } = self;
        for (strand, ready) in ahead.woken.extract_if(.., |(strand, _)| strand.core() == core) {
            turns.set(strand, Some(ready));
        }
    }

    /// Returns `true` if a core runs ahead.
    pub(crate) fn runs_ahead(&self, core: usize) -> bool {
        self.ahead.ahead >> core & 1 == 1
    }

    /// Returns the number of instructions that may be executed before the scheduler stops.
    pub(crate) fn instructions_left(&self) -> u64 {
        self.stops.stop_after.saturating_sub(self.stops.passed.instructions)
    }

    /// Stops a core from running ahead. Everything that its strands have executed ahead becomes final.
    #[inline]
    pub(crate) fn commit_core(&mut self, core: usize) {
        self.ahead.ahead &= !(1 << core);
    }

    /// Restores a core to its state before it ran ahead. Returns what its strands have to undo.
    pub(crate) fn undo(&mut self, core: usize) -> impl Iterator<Item = Undone<'_>> {
        self.restore(core);
        let Self { ahead, threads, .. } = self;
        let Core { strands, saved, .. } = &ahead.cores[core];
        let strands = strands_of(core, *strands);
        strands.map(|(number, strand)| {
            let Saved { thread, ready, ends, references, instructions, pipeline, .. } =
                saved[number];
            let of = &threads[thread];
            let references = of.chunk.from(&of.next, references);
            Undone { thread, strand, references, instructions, cycles: ends - ready, pipeline }
        })
    }

    fn restore(&mut self, core: usize) {
        self.ahead.ahead &= !(1 << core);
        let before = &mut self.ahead.cores[core];
        for (number, id) in strands_of(core, before.strands) {
            let saved = &before.saved[number];
            let (thread, strand) = (&mut self.threads[saved.thread], &mut self.strands[id.index()]);
            (thread.next, strand.ready) = (saved.next, saved.ready);
            thread.next.advance(&thread.chunk, saved.in_turn);
            self.stops.passed.references -= saved.references as u64;
            self.stops.passed.instructions -= saved.instructions;
        }
        self.turns.restore_core(core, before.pipelines);
    }

    /// Notes the turn of a core's first deferred store; [`Due::NEVER`] if no store is deferred.
    #[inline]
    pub(crate) fn set_store(&mut self, core: usize, store: Due) {
        self.turns.renew_core(core, store);
    }

    /// Does the same as [`set_store`](Self::set_store) after a deferred store. Since the last call of either function, the core's strands
    /// must have executed nothing but deferred stores.
    #[inline]
    pub(crate) fn replace_store(&mut self, core: usize, store: Due) {
        self.turns.replace_store(core, store);
    }
}

fn first(bits: u64) -> Option<usize> {
    (bits != 0).then(|| bits.trailing_zeros() as usize)
}

/// Returns the strands of a core whose bits are set in `bits`, each with its number in the core.
pub(super) fn strands_of(core: usize, mut bits: u8) -> impl Iterator<Item = (usize, StrandId)> {
    iter::from_fn(move || {
        let number = NonZero::new(bits)?.trailing_zeros() as usize;
        bits &= bits - 1;
        Some((number, StrandId::new(core * StrandId::PER_CORE + number)?))
    })
}
