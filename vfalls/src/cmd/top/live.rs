//! The replay, in a thread of its own, and the pace at which the view lets it go.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use simulator::replay::{Now, Prepared, Progress, RunError};
use simulator::run::Replayed;

/// Samples a second, slow to fast; `None` is as fast as the simulation goes.
const RATES: [Option<u32>; 8] =
    [Some(1), Some(2), Some(5), Some(10), Some(20), Some(50), Some(100), None];

/// The place of [`RATES`] at which a view begins.
const TEN_A_SECOND: usize = 3;

/// The stack of the simulation's thread: without optimisation, a service of 160 KB is moved through some frames.
const STACK: usize = 8 << 20;

/// How fast the simulation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// It waits after each sample.
    pub(crate) paused: bool,
    /// A place of [`RATES`].
    rate: usize,
}

impl Pace {
    /// At a rate that people can follow.
    #[must_use]
    pub(crate) const fn new(paused: bool) -> Self {
        Self { paused, rate: TEN_A_SECOND }
    }

    /// Twice as fast or so.
    pub(crate) fn faster(&mut self) {
        self.rate = (self.rate + 1).min(RATES.len() - 1);
    }

    /// Half as fast or so.
    pub(crate) fn slower(&mut self) {
        self.rate = self.rate.saturating_sub(1);
    }

    /// Returns the samples a second; `None` if it is as fast as the simulation goes.
    #[must_use]
    pub(crate) fn rate(self) -> Option<u32> {
        RATES[self.rate]
    }
}

/// A replay at one of its samples.
#[derive(Clone)]
pub(crate) struct Sample {
    /// The replay until then.
    pub(crate) run: Replayed,
    /// The bytes of the recordings that were read.
    pub(crate) read: u64,
}

impl Sample {
    /// Returns the replay until now.
    pub(crate) fn new(now: Now<'_>) -> Self {
        Self { run: now.run(), read: now.bytes_read() }
    }
}

struct State {
    pace: Pace,
    /// How many samples a pause lets pass.
    steps: u64,
    stopped: bool,
    /// What the view has not seen yet.
    latest: Option<Sample>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over a sample, unless the simulation goes at full speed and the view has not taken the sample before. Then waits as
    /// long as the pace says: the next sample is to come `since` the one before.
    fn sample(&self, make: impl FnOnce() -> Sample, since: &mut Instant) -> ControlFlow<()> {
        let mut state = self.state();
        let passes = !state.pace.paused && state.pace.rate().is_none();
        if !passes || state.latest.is_none() {
            drop(state);
            let latest = make();
            state = self.state();
            state.latest = Some(latest);
        }
        loop {
            if state.stopped {
                return ControlFlow::Break(());
            }
            let wait = match (state.pace.paused, state.pace.rate()) {
                (true, _) if state.steps == 0 => Duration::MAX,
                (true, _) => {
                    state.steps -= 1;
                    Duration::ZERO
                }
                (false, None) => Duration::ZERO,
                (false, Some(rate)) => {
                    (Duration::from_secs(1) / rate).saturating_sub(since.elapsed())
                }
            };
            if wait.is_zero() {
                *since = Instant::now();
                return ControlFlow::Continue(());
            }
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A simulation that runs.
pub(crate) struct Live {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<Replayed, RunError>>>,
}

impl Live {
    /// Starts a replay.
    ///
    /// # Errors
    /// There can be no more threads.
    pub(crate) fn start(prepared: Prepared, pace: Pace) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State { pace, steps: 0, stopped: false, latest: None }),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        let run = move || {
            let mut since = Instant::now();
            prepared.run(&mut |progress| match progress {
                Progress::Sample { now, .. } => of_thread.sample(|| Sample::new(now), &mut since),
                _ if of_thread.state().stopped => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        };
        let thread = thread::Builder::new().stack_size(STACK).spawn(run);
        Ok(Self { shared, thread: Some(thread.context("the simulation cannot have a thread")?) })
    }

    /// Returns the last sample, unless it has been taken.
    #[must_use]
    pub(crate) fn take(&self) -> Option<Sample> {
        self.shared.state().latest.take()
    }

    /// Sets the pace, and how many samples may pass in a pause beside those before.
    pub(crate) fn set(&self, pace: Pace, steps: u64) {
        let mut state = self.shared.state();
        state.pace = pace;
        state.steps = match pace.paused {
            true => state.steps + steps,
            false => 0,
        };
        self.shared.changed.notify_all();
    }

    /// Returns how the simulation ended; `None` if it goes on, or this has been asked before.
    ///
    /// # Errors
    /// It ended before its program.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<Replayed>> {
        let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) else {
            return Ok(None);
        };
        let ended = thread.join().map_err(|_| anyhow!("the simulation failed"))?;
        Ok(Some(ended?))
    }
}

/// The simulation stops at its next sample. Nobody waits for it: it may wait for its input.
impl Drop for Live {
    fn drop(&mut self) {
        self.shared.state().stopped = true;
        self.shared.changed.notify_all();
    }
}
