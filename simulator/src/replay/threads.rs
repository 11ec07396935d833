//! What each thread did: the sum of what happened on the thread's strand while the thread executed.

use guest_abi::StrandId;

use crate::memory::{Executed, Truth, Waited};
use crate::run::ThreadRun;

pub(super) struct Threads {
    /// What each thread did until the latest change of threads on its strand.
    results: Vec<ThreadRun>,
    /// For each strand: its latest thread, and what had happened on the strand when the thread began.
    on: Vec<(usize, Waited)>,
}

const NONE: usize = usize::MAX;

impl Threads {
    /// Returns threads that have done nothing. Each has a number and a strand.
    pub(super) fn new(threads: impl Iterator<Item = (usize, StrandId)>) -> Self {
        let results = threads.map(|(thread, strand)| ThreadRun::new(thread, strand));
        Self { results: results.collect(), on: vec![(NONE, Waited::default()); StrandId::COUNT] }
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
        let now = truth.waited(strand);
        let (before, since) = std::mem::replace(&mut self.on[strand.index()], (thread, now));
        if let Some(results) = self.results.get_mut(before) {
            results.add(&now.since(&since));
        }
    }

    /// Records that a thread executed from `begins` on, and took `cycles` since its strand was
    /// ready.
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
        self.served += waited.served;
        let (stack, cycles) = (&mut self.stack, &waited.requests);
        stack.l2 += cycles.l2;
        stack.local += cycles.local;
        stack.remote += cycles.remote;
        stack.c2c += cycles.c2c;
        stack.arriving += waited.arriving;
        stack.stores += waited.stores;
        stack.atomics += waited.atomics;
    }
}
