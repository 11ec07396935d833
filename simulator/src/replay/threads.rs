//! Each thread's work: the sum of the events on its strand while the thread executed.

use guest_abi::StrandId;

use super::scheduler::ahead::Undone;
use crate::counts::Counts;
use crate::memory::{Executed, Served, Stray, Truth, Waited};
use crate::run::{Stack, ThreadRun};

pub(super) struct Threads {
    /// What each thread had done when its strand last changed threads.
    results: Vec<ThreadRun>,
    /// Each strand's latest thread, and the strand's counts when that thread began.
    on: Vec<(usize, Waited)>,
    /// The error about the first thread that executed on the wrong strand.
    stray: Option<Stray>,
}

const NO_THREAD: usize = usize::MAX;

impl Threads {
    /// Returns the threads with these numbers and strands, before they have executed anything.
    pub(super) fn new(threads: impl Iterator<Item = (usize, StrandId)>) -> Self {
        let results = threads.map(|(thread, strand)| ThreadRun::new(thread, strand));
        let on = vec![(NO_THREAD, Waited::default()); StrandId::COUNT];
        Self { results: results.collect(), on, stray: None }
    }

    /// Records that the thread with this index executes next on its strand.
    #[inline]
    pub(super) fn begin(&mut self, thread: usize, strand: StrandId, truth: &Truth) {
        if self.on[strand.index()].0 != thread {
            self.change(thread, strand, truth);
        }
    }

    #[cold]
    fn change(&mut self, thread: usize, strand: StrandId, truth: &Truth) {
        if self.results.get(thread).is_some_and(|of| of.strand != strand) {
            self.stray.get_or_insert(Stray::thread(thread, strand.index()));
        }
        let now = truth.waited(strand);
        let (before, since) = std::mem::replace(&mut self.on[strand.index()], (thread, now));
        if let Some(results) = self.results.get_mut(before) {
            results.add(&now.since(&since));
        }
    }

    /// Records that a thread began to execute at `begins`, and stopped `cycles` cycles after its strand was ready.
    #[inline]
    pub(super) fn executed(
        &mut self,
        thread: usize,
        executed: &Executed,
        begins: u64,
        cycles: u64,
    ) {
        let results = &mut self.results[thread];
        results.instructions += executed.instructions;
        results.cycles += cycles;
        results.stack.pipeline += cycles - (executed.ends - begins);
    }

    /// Records that a thread executed `instructions` instructions ahead. The thread took `cycles` cycles since its strand was
    /// ready, and waited for its pipeline in `pipeline` of these cycles.
    #[inline]
    pub(super) fn executed_ahead(
        &mut self,
        thread: usize,
        instructions: u64,
        cycles: u64,
        pipeline: u64,
    ) {
        let results = &mut self.results[thread];
        results.instructions += instructions;
        results.cycles += cycles;
        results.stack.pipeline += pipeline;
    }

    /// Subtracts a strand's undone instructions and cycles from the results of its thread.
    pub(super) fn undo(&mut self, undone: &Undone<'_>) {
        let results = &mut self.results[undone.thread];
        results.instructions -= undone.instructions;
        results.cycles -= undone.cycles;
        results.stack.pipeline -= undone.pipeline;
    }

    pub(super) fn stray(&self) -> Option<Stray> {
        self.stray
    }

    pub(super) fn results(&self, truth: &Truth) -> Vec<ThreadRun> {
        let mut all = self.results.clone();
        let strands = (0..).map_while(StrandId::new);
        for (strand, (thread, since)) in strands.zip(&self.on) {
            if let Some(results) = all.get_mut(*thread) {
                results.add(&truth.waited(strand).since(since));
            }
        }
        for results in &mut all {
            results.stack.busy = results.cycles - results.stack.sum();
        }
        all
    }
}

impl ThreadRun {
    fn add(&mut self, waited: &Waited) {
        let Waited { served, requests, arriving, stores, atomics } = *waited;
        let Served { l2, local, remote, c2c } = requests;
        self.served.add(&served);
        let (busy, pipeline) = (0, 0);
        let waits = Stack { busy, l2, local, remote, c2c, arriving, stores, atomics, pipeline };
        self.stack.add(&waits);
    }
}
