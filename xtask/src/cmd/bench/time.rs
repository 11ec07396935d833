//! What time work takes: of processors, and by the clock.

use std::time::Instant;

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};

/// The time that work took, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// Of all processors that worked, together.
    pub(super) cpu: f64,
    /// By the clock on the wall.
    pub(super) wall: f64,
}

/// Does work of this process, with all its threads. Returns its result and the time it took.
pub(super) fn own<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, Time)> {
    of(UsageWho::RUSAGE_SELF, work)
}

/// Does work that processes do that it starts, and waits for.
pub(super) fn of_children<T>(
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(T, Time)> {
    of(UsageWho::RUSAGE_CHILDREN, work)
}

fn of<T>(who: UsageWho, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, Time)> {
    let (start, before) = (Instant::now(), used(who)?);
    let result = work()?;
    let time = Time {
        cpu: used(who)? - before,
        wall: start.elapsed().as_secs_f64(),
    };
    Ok((result, time))
}

fn used(who: UsageWho) -> anyhow::Result<f64> {
    let usage = getrusage(who).context("the processor time is unknown")?;
    let times = [usage.user_time(), usage.system_time()];
    let seconds = times.map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6);
    Ok(seconds.iter().sum())
}
