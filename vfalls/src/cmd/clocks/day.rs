//! Computes a time of day from the chosen clock. This time of day follows the system's time of day.

use std::fmt;

use guest_abi::clock::{Clock, ClockSource};
use hv_core::time::{Correction, DayReading, TimeOfDay};
use serde::Serialize;

use crate::cmd::clocks::host::HostClock;

/// How many readings of the system's time of day led to each kind of correction. Also the
/// difference between the computed time and the system's at the end.
#[derive(Serialize, Default)]
pub(super) struct TimeOfDayStats {
    readings: u32,
    agreed: u32,
    /// The number of readings that changed the rate.
    slewed: u32,
    /// The number of readings that made the time step forward or stand still.
    stepped: u32,
    /// The computed time minus the system's time of day at the end, in nanoseconds.
    ahead: i64,
}

impl TimeOfDayStats {
    /// Counts a reading by the correction that followed it.
    fn note(&mut self, followed: Correction) {
        self.readings += 1;
        match followed {
            Correction::Agrees => self.agreed += 1,
            Correction::Faster(_) | Correction::Slower(_) => self.slewed += 1,
            Correction::Stepped(_) | Correction::Paused(_) => self.stepped += 1,
            Correction::Ignored => self.readings -= 1,
        }
    }
}

impl fmt::Display for TimeOfDayStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { readings, agreed, slewed, stepped, ahead } = self;
        write!(f, "{readings} readings, {agreed} agreed, {slewed} slewed, {stepped} stepped; ")?;
        write!(f, "{ahead} ns ahead of the system's")
    }
}

/// A time of day that follows the system's time of day.
pub(super) struct TimeOfDayFollower<C> {
    clock: C,
    step: u64,
    system: HostClock,
    day: TimeOfDay,
    found: TimeOfDayStats,
}

impl<C: Clock> TimeOfDayFollower<C> {
    /// Starts at the system's time of day. Returns `None` if the system has none. `step` is the
    /// smallest step of `clock`, in nanoseconds.
    pub(super) fn new(clock: C, step: u64) -> Option<Self> {
        let system = HostClock::time_of_day()?;
        Some(Self {
            day: TimeOfDay::new(read(&clock, step, &system)),
            clock,
            step,
            system,
            found: TimeOfDayStats::default(),
        })
    }

    /// Reads the system's time of day, and corrects the computed time.
    pub(super) fn follow(&mut self) {
        let reading = read(&self.clock, self.step, &self.system);
        self.found.note(self.day.follow(reading));
    }

    /// Measures the difference between the computed time and the system's time. Returns the
    /// difference and the counts.
    pub(super) fn end(mut self) -> TimeOfDayStats {
        let reading = read(&self.clock, self.step, &self.system);
        let day = self.day.at(reading.after);
        self.found.ahead = day.wrapping_sub(reading.day + self.step).cast_signed();
        self.found
    }
}

/// Reads a clock, then the system's time of day, then the clock again. Repeats this several times,
/// and returns the quickest reading.
fn read(clock: &impl Clock, step: u64, system: &HostClock) -> DayReading {
    let try_once = || DayReading {
        before: clock.ticks(),
        // `clock` may be behind by up to `step`, so the system's time can seem to be ahead of it by
        // `step`. A reading's time of day must never be ahead, so `step` is subtracted.
        day: system.now().saturating_sub(step),
        after: clock.ticks(),
        max_lag: system.describe().step.saturating_add(step),
    };
    (0..8).fold(try_once(), |best, _| {
        let next = try_once();
        let taken = |of: &DayReading| of.after - of.before;
        if taken(&next) < taken(&best) { next } else { best }
    })
}
