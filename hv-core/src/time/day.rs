//! The time of day, apart from the clock that measures durations.

/// A reading of the reference for a [`TimeOfDay`], such as a battery-backed clock or a time server. Times are in
/// nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayReading {
    /// The time by the clock before the reading.
    pub before: u64,
    /// What the reference showed: the time since its epoch.
    pub day: u64,
    /// The time by the clock after the reading.
    pub after: u64,
    /// The largest amount by which the reference may have been behind the true time of day: its step, and the delay of its
    /// update.
    pub late: u64,
}

/// What a [`TimeOfDay`] does after a reading of its reference. Amounts are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// The time of day is as right as the reference can tell: it goes on at the rate of the clock.
    Agrees,
    /// It is behind by this amount: until that is made up, it goes faster, by [`TimeOfDay::SLEW`].
    Faster(u64),
    /// It is ahead by this amount: until that is made up, it goes slower, by [`TimeOfDay::SLEW`].
    Slower(u64),
    /// It was behind by more than [`TimeOfDay::STEP`], and has gone forward by this amount at once.
    Stepped(u64),
    /// It is ahead by more than [`TimeOfDay::STEP`]: it stands still for this time.
    Stands(u64),
    /// The reading is of no use: a later one has been followed, or `after` is before `before`.
    Ignored,
}

/// A time of day that follows a reference, and never goes back.
///
/// It adds a correction of its own to the readings of a clock, such as a [`StrandClock`](super::StrandClock). The clock does
/// not change: the durations that it measures never include a correction. The reference may be coarse and late, so that a
/// reading of it only gives bounds for the true time of day. As long as the time of day is within them, there is no
/// correction; otherwise it is corrected to the nearer bound, and no further. So the noise of the reference has no effect,
/// and the correction does not swing.
///
/// One value serves all strands: keep it behind a lock.
///
/// ```
/// use hv_core::time::{DayReading, Followed, TimeOfDay};
///
/// // The clock shows 5 s, and the reference, which is updated every 10 ms, shows 9,000 s.
/// const SECOND: u64 = 1_000_000_000;
/// let (clock, late) = (5 * SECOND, 10_000_000);
/// let mut day = TimeOfDay::new(DayReading { before: clock, day: 9000 * SECOND, after: clock, late });
///
/// // A second later by the clock, a second and 1 ms have passed by the reference: 1 ms is made up in the next 2 s.
/// let (clock, shown) = (clock + SECOND, 9001 * SECOND + 1_000_000);
/// let reading = DayReading { before: clock, day: shown, after: clock, late };
/// assert_eq!(day.follow(reading), Followed::Faster(1_000_000));
/// assert_eq!(day.at(clock), 9001 * SECOND);
/// assert_eq!(day.at(clock + SECOND), 9002 * SECOND + 500_000);
/// assert_eq!(day.at(clock + 2 * SECOND), 9003 * SECOND + 1_000_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TimeOfDay {
    /// The time by the clock when the correction began, and the time of day then.
    clock: u64,
    day: u64,
    /// What the last reading made of it.
    followed: Followed,
    /// The latest time of day that was returned.
    last: u64,
}

impl TimeOfDay {
    /// A correction is this fraction of the time that passes: 500 parts per million.
    pub const SLEW: u64 = 2000;

    /// The largest amount that is made up gradually: 128 ms.
    pub const STEP: u64 = 128_000_000;

    /// Returns the time of day that the reference shows.
    pub const fn new(reading: DayReading) -> Self {
        Self {
            clock: reading.after,
            day: reading.day,
            followed: Followed::Agrees,
            last: reading.day,
        }
    }

    /// Returns the time of day at a time by the clock, in nanoseconds since the epoch of the reference. It is never less
    /// than what an earlier call returned.
    pub fn at(&mut self, clock: u64) -> u64 {
        self.last = self.last.max(self.corrected(clock));
        self.last
    }

    /// Follows the reference. Call it now and then, but at most once per millisecond: between two calls, the time of day
    /// deviates from the reference by as much as the clock does.
    pub fn follow(&mut self, reading: DayReading) -> Followed {
        let DayReading {
            before, day, after, ..
        } = reading;
        let Some(taken) = after.checked_sub(before).filter(|_| after >= self.clock) else {
            return Followed::Ignored;
        };
        let latest = day.saturating_add(reading.late).saturating_add(taken);
        let shown = self.corrected(after);
        let (behind, ahead) = (day.saturating_sub(shown), shown.saturating_sub(latest));
        self.followed = match (behind, ahead) {
            (0, 0) => Followed::Agrees,
            (0, ..=Self::STEP) => Followed::Slower(ahead),
            (0, _) => Followed::Stands(ahead),
            (..=Self::STEP, _) => Followed::Faster(behind),
            _ => Followed::Stepped(behind),
        };
        self.clock = after;
        self.day = match self.followed {
            Followed::Stepped(_) => day,
            _ => shown,
        };
        self.followed
    }

    fn corrected(&self, clock: u64) -> u64 {
        let passed = clock.saturating_sub(self.clock);
        let part = passed / Self::SLEW;
        let passed = match self.followed {
            Followed::Agrees | Followed::Stepped(_) | Followed::Ignored => passed,
            Followed::Faster(behind) => passed.saturating_add(part.min(behind)),
            Followed::Slower(ahead) => passed.saturating_sub(part.min(ahead)),
            Followed::Stands(ahead) => passed.saturating_sub(ahead),
        };
        self.day.saturating_add(passed)
    }
}
