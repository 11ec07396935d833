//! Measures the processor time and the wall time of work.

use std::time::Instant;

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};

/// The time that some work took, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// The processor time, summed over all processors.
    pub(super) cpu: f64,
    /// The wall time, by the host's monotonic clock.
    pub(super) wall: f64,
}

/// Returns the result of `work`, and its time. `who` selects the processor time of this process or of its children. A child's time is
/// included only if `work` waits for the child.
pub(super) fn timed<T>(
    who: UsageWho,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(T, Time)> {
    let (start, before) = (Instant::now(), used(who)?);
    let result = work()?;
    let time = Time { cpu: used(who)? - before, wall: start.elapsed().as_secs_f64() };
    Ok((result, time))
}

fn used(who: UsageWho) -> anyhow::Result<f64> {
    let usage = getrusage(who).context("the processor time is unknown")?;
    let times = [usage.user_time(), usage.system_time()];
    let seconds = times.map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6);
    Ok(seconds.iter().sum())
}
