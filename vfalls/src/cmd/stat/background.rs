//! Performs replays on other host threads, beside the replay that is shown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope, ScopedJoinHandle};

use anyhow::{Context, anyhow};
use simulator::run::Replayed;

/// The stack size of a replay's host thread, in bytes. In a build without optimisation, several stack frames each contain a service of 160
/// KB.
const STACK: usize = 8 << 20;

/// A replay that is not shown.
pub(super) trait BackgroundJob: Send {
    type Done: Send;

    /// Performs the replay. Returns soon after `stop` becomes `true`.
    fn run(self, stop: &AtomicBool) -> anyhow::Result<Self::Done>;
}

/// The jobs that no host thread has taken yet, and the results of those that are done.
pub(super) struct BackgroundJobs<J: BackgroundJob> {
    left: Mutex<std::vec::IntoIter<J>>,
    done: Mutex<Vec<J::Done>>,
    stop: AtomicBool,
}

type Worker<'scope> = ScopedJoinHandle<'scope, anyhow::Result<()>>;

impl<J: BackgroundJob> BackgroundJobs<J> {
    pub(super) fn new(jobs: Vec<J>) -> Self {
        let left = Mutex::new(jobs.into_iter());
        Self { left, done: Mutex::default(), stop: AtomicBool::new(false) }
    }

    /// Calls `run` while other host threads do the jobs. Returns the result of `run`, and the results of all jobs, in any order. If the run
    /// was stopped, also stops the jobs, and returns none of their results.
    pub(super) fn run(
        self,
        run: impl FnOnce() -> anyhow::Result<Replayed>,
    ) -> anyhow::Result<(Replayed, Vec<J::Done>)> {
        let run = thread::scope(|scope| {
            let workers = self.start(scope)?;
            let run = run().inspect_err(|_| self.stop())?;
            match run.stopped {
                true => self.stop(),
                false => self.finish(workers)?,
            }
            anyhow::Ok(run)
        })?;
        let mut done = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        if run.stopped {
            done.clear();
        }
        Ok((run, done))
    }

    /// Starts host threads that do jobs: at most one for each job, and at most one for each host processor other than this thread's. If
    /// there is a job, starts at least one.
    fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> anyhow::Result<Vec<Worker<'scope>>>
    where
        J: 'scope,
    {
        let left = lock(&self.left).len();
        let processors = thread::available_parallelism().map_or(1, |number| number.get());
        let workers = left.min((processors - 1).max(1));
        let start = |_| {
            let thread = thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, || self.work()).context("no thread for a replay")
        };
        (0..workers).map(start).collect()
    }

    /// Does jobs until none is left.
    fn work(&self) -> anyhow::Result<()> {
        loop {
            let Some(job) = lock(&self.left).next() else { return Ok(()) };
            let done = job.run(&self.stop)?;
            lock(&self.done).push(done);
        }
    }

    /// Asks all host threads to stop soon.
    fn stop(&self) {
        lock(&self.left).by_ref().for_each(drop);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Does the remaining jobs, and waits until the other host threads have done theirs.
    fn finish(&self, workers: Vec<Worker<'_>>) -> anyhow::Result<()> {
        let own = if workers.is_empty() { Ok(()) } else { self.work() };
        let failed = || Err(anyhow!("a replay has failed"));
        for ended in workers.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>() {
            ended.unwrap_or_else(|_| failed())?;
        }
        own
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
