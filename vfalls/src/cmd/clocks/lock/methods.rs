//! The methods that lock a local clock to a system time. Times are in nanoseconds; rates are in
//! parts per billion.

use hv_core::time::TimeOfDay;

use super::situation::{Situation, TICK};

/// A time that follows a system time with the help of a local clock.
pub(super) trait LockedClock {
    /// Returns the time at the moment when the local clock shows `clock`.
    fn at(&mut self, clock: i64) -> i64;

    /// Corrects the time at the moment when the local clock shows `clock` and the system time is
    /// `system`.
    fn follow(&mut self, clock: i64, system: i64);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockMethod {
    /// The time runs with the local clock until it differs from the system time by 1.5 ticks, and
    /// is then set to the system time.
    Bound,
    /// The rate is corrected in proportion to the error, with a gain of 4 per second.
    HighGain,
    /// The rate is corrected in proportion to the error, with a gain of 1/2 per second.
    LowGain,
    /// The rate correction is the sum of three parts: for the error, its integral and its trend.
    Pid,
    /// The hypervisor's method: [`TimeOfDay`].
    TimeOfDay,
}

impl LockMethod {
    pub(super) const ALL: [Self; 5] =
        [Self::Bound, Self::HighGain, Self::LowGain, Self::Pid, Self::TimeOfDay];

    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Bound => "bound",
            Self::HighGain => "p, gain 4",
            Self::LowGain => "p, gain 1/2",
            Self::Pid => "pid",
            Self::TimeOfDay => "time of day",
        }
    }

    /// Returns this method's largest rate correction, in parts per billion.
    pub(super) const fn limit(self) -> i64 {
        match self {
            Self::Bound => 0,
            Self::HighGain | Self::LowGain | Self::Pid => 1_000_000,
            Self::TimeOfDay => 1_000_000_000 / TimeOfDay::SLEW_DIVISOR as i64,
        }
    }

    /// Returns a time that starts at 0, as the local clock and the system time do.
    pub(super) fn start(self, situation: Situation) -> Box<dyn LockedClock> {
        let gains = match self {
            Self::Bound => return Box::new(Bound(0)),
            Self::TimeOfDay => return Box::new(HypervisorClock::new(situation)),
            Self::HighGain => [40, 0, 0],
            Self::LowGain => [5, 0, 0],
            Self::Pid => [5, 1, 1],
        };
        Box::new(Controlled { limit: self.limit(), gains, ..Controlled::default() })
    }
}

/// How far the time is ahead of the local clock.
struct Bound(i64);

impl LockedClock for Bound {
    fn at(&mut self, clock: i64) -> i64 {
        clock + self.0
    }

    fn follow(&mut self, clock: i64, system: i64) {
        if (system - self.at(clock)).abs() > TICK * 3 / 2 {
            self.0 = system - clock;
        }
    }
}

/// A time whose rate a controller corrects.
#[derive(Default)]
struct Controlled {
    /// The gains for the error, its integral and its trend. The unit is a tenth of a part per
    /// billion for each nanosecond of error.
    gains: [i64; 3],
    limit: i64,
    /// The local clock, the shown time and the error, all at the latest correction.
    clock: i64,
    time: i64,
    error: i64,
    sum: i64,
    rate: i64,
}

impl LockedClock for Controlled {
    fn at(&mut self, clock: i64) -> i64 {
        let passed = clock - self.clock;
        self.time + passed + passed * self.rate / 1_000_000_000
    }

    fn follow(&mut self, clock: i64, system: i64) {
        self.time = self.at(clock);
        self.clock = clock;
        let error = system - self.time;
        self.sum += error;
        let [proportional, integral, differential] = self.gains;
        let tenths =
            proportional * error + integral * self.sum + differential * (error - self.error);
        self.rate = (tenths / 10).clamp(-self.limit, self.limit);
        self.error = error;
    }
}

/// The time of day that the hypervisor uses. `situation` provides the accuracy of the system time.
struct HypervisorClock {
    day: TimeOfDay,
    situation: Situation,
}

impl HypervisorClock {
    fn new(situation: Situation) -> Self {
        Self { day: TimeOfDay::new(situation.reading(0, 0)), situation }
    }
}

impl LockedClock for HypervisorClock {
    fn at(&mut self, clock: i64) -> i64 {
        self.day.at(clock.cast_unsigned()).cast_signed()
    }

    fn follow(&mut self, clock: i64, system: i64) {
        self.day.follow(self.situation.reading(clock, system));
    }
}
