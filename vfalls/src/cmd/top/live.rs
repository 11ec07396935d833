//! Performs the replay that the view shows, in its own thread, at a pace that the view sets.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use simulator::replay::{PausedReplay, Prepared, Progress, RunError, Stage};
use simulator::run::Replayed;

/// The numbers of samples per second that the keys `-` and `+` select; `None` is full speed.
const RATES: [Option<u32>; 8] =
    [Some(1), Some(2), Some(5), Some(10), Some(20), Some(50), Some(100), None];

/// The index in [`RATES`] of 10 samples per second, a rate at which a user can follow the view.
const TEN_A_SECOND: usize = 3;

/// The stack size of the replay's thread, in bytes. In a build without optimisation, several stack
/// frames each contain a service of 160 KB.
const STACK: usize = 8 << 20;

/// The pace of the replay: its speed, and whether it pauses after each sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Whether the replay waits after each sample until the user continues it.
    pub(crate) paused: bool,
    /// The index of the speed in [`RATES`].
    rate: usize,
}

impl Pace {
    pub(crate) const fn new(paused: bool) -> Self {
        Self { paused, rate: TEN_A_SECOND }
    }

    pub(crate) fn faster(&mut self) {
        self.rate = (self.rate + 1).min(RATES.len() - 1);
    }

    pub(crate) fn slower(&mut self) {
        self.rate = self.rate.saturating_sub(1);
    }

    /// Returns the number of samples per second; `None` at full speed.
    pub(crate) fn rate(self) -> Option<u32> {
        RATES[self.rate]
    }
}

/// What the view shows at the end of an interval.
#[derive(Clone)]
pub(crate) struct LiveSample {
    /// The result of the replay so far.
    pub(crate) run: Replayed,
    pub(crate) progress: Progress,
}

impl LiveSample {
    pub(crate) fn new(now: PausedReplay<'_>) -> Self {
        Self { run: now.run(), progress: now.progress() }
    }
}

struct LiveState {
    pace: Pace,
    /// How many more samples the replay may take during the pause.
    steps: u64,
    stopped: bool,
    /// The latest sample; `None` if the view has taken it.
    latest: Option<LiveSample>,
}

/// What the view shares with the replay's thread.
struct SharedState {
    state: Mutex<LiveState>,
    changed: Condvar,
}

impl SharedState {
    fn state(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a sample to the view, and then waits for as long as the pace requires. At full speed,
    /// skips the sample if the view has not taken the previous one. `since` is the time at which
    /// the previous wait ended.
    fn sample(&self, make: impl FnOnce() -> LiveSample, since: &mut Instant) -> ControlFlow<()> {
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

/// A replay that runs in its own thread.
pub(crate) struct Live {
    shared: Arc<SharedState>,
    thread: Option<JoinHandle<Result<Replayed, RunError>>>,
}

impl Live {
    pub(crate) fn start(prepared: Prepared, pace: Pace) -> anyhow::Result<Self> {
        let shared = Arc::new(SharedState {
            state: Mutex::new(LiveState { pace, steps: 0, stopped: false, latest: None }),
            changed: Condvar::new(),
        });
        let of_thread = Arc::clone(&shared);
        let run = move || {
            let mut since = Instant::now();
            prepared.run(|progress| match progress {
                Stage::Sample { now, .. } => of_thread.sample(|| LiveSample::new(now), &mut since),
                _ if of_thread.state().stopped => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        };
        let thread = thread::Builder::new().stack_size(STACK).spawn(run);
        Ok(Self { shared, thread: Some(thread.context("the replay's thread cannot be started")?) })
    }

    /// Returns the latest sample; `None` if the view has taken it already.
    pub(crate) fn take(&self) -> Option<LiveSample> {
        self.shared.state().latest.take()
    }

    /// Sets the pace. If the replay is paused, it takes `steps` more samples.
    pub(crate) fn set(&self, pace: Pace, steps: u64) {
        let mut state = self.shared.state();
        state.pace = pace;
        state.steps = if pace.paused { state.steps + steps } else { 0 };
        self.shared.changed.notify_all();
    }

    /// Returns the result once, after the end of the replay. Returns `None` before the end, and in
    /// later calls.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<Replayed>> {
        let Some(thread) = self.thread.take_if(|thread| thread.is_finished()) else {
            return Ok(None);
        };
        let ended = thread.join().map_err(|_| anyhow!("the replay failed"))?;
        Ok(Some(ended?))
    }
}

/// Stops the replay at its next sample. Does not wait for the replay's thread, which may be waiting
/// for its input.
impl Drop for Live {
    fn drop(&mut self) {
        self.shared.state().stopped = true;
        self.shared.changed.notify_all();
    }
}
