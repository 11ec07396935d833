//! The time of day. It is separate from the clock that measures durations.

/// A reading of the reference clock that a [`TimeOfDay`] follows, such as a battery-backed clock or a time server. All times are in
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayReading {
    /// The time on the local clock, just before the reference was read.
    pub before: u64,
    /// The time of day that the reference shows, since its epoch.
    pub day: u64,
    /// The time on the local clock, just after the reference was read.
    pub after: u64,
    /// The maximum amount by which the reference may be behind the true time of day. This is the reference's step plus its longest update
    /// delay.
    pub max_lag: u64,
}

/// How a [`TimeOfDay`] reacts to a reading of its reference. Amounts are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// The time of day agrees with the reading. It continues at the clock's rate.
    Agrees,
    /// The time of day is behind by this amount. It runs faster, by [`TimeOfDay::SLEW_DIVISOR`], until it has caught up.
    Faster(u64),
    /// The time of day is ahead by this amount. It runs slower, by [`TimeOfDay::SLEW_DIVISOR`], until the reference has caught up.
    Slower(u64),
    /// The time of day was behind by more than [`TimeOfDay::STEP_THRESHOLD`]. It has jumped forward by this amount.
    Stepped(u64),
    /// The time of day is ahead by more than [`TimeOfDay::STEP_THRESHOLD`]. It stands still for this amount of time, and then continues.
    Paused(u64),
    /// The reading has no effect: it is older than an earlier one, or its `after` is before its `before`.
    Ignored,
}

/// A time of day that follows a reference, and never goes back.
///
/// The time of day is the time of a clock, such as a [`StrandClock`](super::StrandClock), plus a correction. The clock itself does not
/// change. The reference may be coarse and late, so a reading gives only bounds for the true time of day. A time of day within these bounds
/// is not corrected; one outside them is corrected to the nearer bound. Noise that stays within the bounds therefore has no effect.
///
/// One value serves all strands. Protect it with a lock.
///
/// ```
/// use hv_core::time::{DayReading, Correction, TimeOfDay};
///
/// // The clock shows 5 s, and the reference, which is updated every 10 ms, shows 9,000 s.
/// const SECOND: u64 = 1_000_000_000;
/// let (clock, max_lag) = (5 * SECOND, 10_000_000);
/// let mut day = TimeOfDay::new(DayReading { before: clock, day: 9000 * SECOND, after: clock, max_lag });
///
/// // The clock shows that 1 s has passed, and the reference shows 1.001 s. The time of day makes up the 1 ms in the next 2 s.
/// let (clock, shown) = (clock + SECOND, 9001 * SECOND + 1_000_000);
/// let reading = DayReading { before: clock, day: shown, after: clock, max_lag };
/// assert_eq!(day.follow(reading), Correction::Faster(1_000_000));
/// assert_eq!(day.at(clock), 9001 * SECOND);
/// assert_eq!(day.at(clock + SECOND), 9002 * SECOND + 500_000);
/// assert_eq!(day.at(clock + 2 * SECOND), 9003 * SECOND + 1_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TimeOfDay {
    /// The time on the local clock at the latest reading.
    clock: u64,
    /// The time of day at the latest reading, after the jump if the reading caused one.
    day: u64,
    /// The correction in progress. It is the result of the latest reading that was not ignored.
    correction: Correction,
    /// The latest time of day that [`at`](Self::at) has returned.
    last: u64,
}

impl TimeOfDay {
    /// A gradual correction makes the time of day faster or slower by one part in `SLEW_DIVISOR`, which is 500 parts per million.
    pub const SLEW_DIVISOR: u64 = 2000;

    /// The maximum amount that is corrected gradually, in nanoseconds: 128 ms.
    pub const STEP_THRESHOLD: u64 = 128_000_000;

    /// Returns a time of day that starts at the time in `reading`.
    pub const fn new(reading: DayReading) -> Self {
        Self {
            clock: reading.after,
            day: reading.day,
            correction: Correction::Agrees,
            last: reading.day,
        }
    }

    /// Returns the time of day when the clock shows `clock`, in nanoseconds since the epoch of the reference. The time of day never
    /// goes back.
    pub fn at(&mut self, clock: u64) -> u64 {
        self.last = self.last.max(self.corrected(clock));
        self.last
    }

    /// Corrects the time of day from a reading. Call this method at most once per millisecond. Between calls, the time of day drifts with
    /// the clock.
    pub fn follow(&mut self, reading: DayReading) -> Correction {
        let DayReading { before, day, after, .. } = reading;
        let Some(taken) = after.checked_sub(before).filter(|_| after >= self.clock) else {
            return Correction::Ignored;
        };
        let latest = day.saturating_add(reading.max_lag).saturating_add(taken);
        let shown = self.corrected(after);
        let (behind, ahead) = (day.saturating_sub(shown), shown.saturating_sub(latest));
        self.correction = match (behind, ahead) {
            (0, 0) => Correction::Agrees,
            (0, ..=Self::STEP_THRESHOLD) => Correction::Slower(ahead),
            (0, _) => Correction::Paused(ahead),
            (..=Self::STEP_THRESHOLD, _) => Correction::Faster(behind),
            _ => Correction::Stepped(behind),
        };
        self.clock = after;
        self.day = match self.correction {
            Correction::Stepped(_) => day,
            _ => shown,
        };
        self.correction
    }

    fn corrected(&self, clock: u64) -> u64 {
        let passed = clock.saturating_sub(self.clock);
        let part = passed / Self::SLEW_DIVISOR;
        let passed = match self.correction {
            Correction::Agrees | Correction::Stepped(_) | Correction::Ignored => passed,
            Correction::Faster(behind) => passed.saturating_add(part.min(behind)),
            Correction::Slower(ahead) => passed.saturating_sub(part.min(ahead)),
            Correction::Paused(ahead) => passed.saturating_sub(ahead),
        };
        self.day.saturating_add(passed)
    }
}
