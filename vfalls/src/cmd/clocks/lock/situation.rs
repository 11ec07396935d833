//! Describes a simulated situation: a drifting local clock, a system time with a tick of 10 ms, and a thread that wakes up to compare the
//! two.

use hv_core::time::DayReading;
use serde::Serialize;

const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1000 * MILLISECOND;
/// The time between two updates of the system time, in nanoseconds.
pub(super) const TICK: i64 = 10 * MILLISECOND;

/// What goes wrong in a situation, in addition to the drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Trouble {
    Nothing,
    /// The thread often wakes up too late, by up to 5 ms.
    LateWakeUps,
    /// Every 57th update of the system time is late by [`LATE`], and every 32nd is early by [`EARLY`].
    UnevenSystemTime,
}

impl Trouble {
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Nothing => "-",
            Self::LateWakeUps => "late wake-ups",
            Self::UnevenSystemTime => "uneven system time",
        }
    }
}

const LATE: i64 = 3 * MILLISECOND;
const EARLY: i64 = 2 * MILLISECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Situation {
    pub(super) trouble: Trouble,
    /// How much faster the local clock is than the true time, in parts per million.
    pub(super) drift: i64,
}

impl Situation {
    pub(super) const ALL: [Self; 6] = [
        Self { trouble: Trouble::Nothing, drift: 80 },
        Self { trouble: Trouble::Nothing, drift: 500 },
        Self { trouble: Trouble::LateWakeUps, drift: 80 },
        Self { trouble: Trouble::LateWakeUps, drift: 500 },
        Self { trouble: Trouble::UnevenSystemTime, drift: 80 },
        Self { trouble: Trouble::UnevenSystemTime, drift: 500 },
    ];

    /// Returns the time that the local clock shows at the true time `now`.
    pub(super) const fn clock(self, now: i64) -> i64 {
        now + now * self.drift / 1_000_000
    }

    /// Returns the system time at the true time `now`.
    pub(super) fn system(self, now: i64) -> i64 {
        let (update, within) = (now / TICK, now % TICK);
        if !matches!(self.trouble, Trouble::UnevenSystemTime) {
            return update * TICK;
        }
        let is_late = update % 57 == 0 && within < LATE;
        let is_early = (update + 1) % 32 == 0 && within >= TICK - EARLY;
        (update - i64::from(is_late) + i64::from(is_early && !is_late)) * TICK
    }

    /// Returns the true time at which the thread wakes up. `second` is the time at which the wake-up is due, in seconds.
    pub(super) const fn wake_up(self, second: i64) -> i64 {
        let late = match self.trouble {
            Trouble::LateWakeUps => second * 7919 % 5001 * 1000,
            Trouble::Nothing | Trouble::UnevenSystemTime => 0,
        };
        second * SECOND + late
    }

    /// Returns how far the system time can be ahead of the true time, and how far behind.
    const fn accuracy(self) -> [i64; 2] {
        match self.trouble {
            Trouble::UnevenSystemTime => [EARLY, TICK + LATE],
            Trouble::Nothing | Trouble::LateWakeUps => [0, TICK],
        }
    }

    /// Takes a reading for [`TimeOfDay`](hv_core::time::TimeOfDay). The time of day in a reading must never be ahead of the true time, so
    /// the system time's largest possible lead is subtracted.
    pub(super) fn reading(self, clock: i64, system: i64) -> DayReading {
        let [early, late] = self.accuracy();
        DayReading {
            before: clock.cast_unsigned(),
            day: (system - early).max(0).cast_unsigned(),
            after: clock.cast_unsigned(),
            max_lag: (early + late).cast_unsigned(),
        }
    }
}
