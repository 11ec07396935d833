//! Each guest's time of day.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_abi::HvError;
use hv_core::GuestId;
use hv_core::time::{DayReading, TimeOfDay};

const SECOND: u64 = 1_000_000_000;

/// The guests' times of day. A guest that sets its time of day does not change another guest's.
#[derive(Debug)]
pub struct TimesOfDay {
    /// For each guest: the guest's time of day when the machine was switched on, in nanoseconds since 1970.
    day_at_power_on: [AtomicU64; GuestId::COUNT],
}

impl TimesOfDay {
    /// Returns the times of day of a machine that was switched on at `time`, in seconds since 1970.
    #[must_use]
    pub fn new(time: u64) -> Self {
        let day_at_power_on = time.saturating_mul(SECOND);
        Self {
            day_at_power_on: [const { AtomicU64::new(0) }; GuestId::COUNT]
                .map(|_| AtomicU64::new(day_at_power_on)),
        }
    }

    /// Returns a guest's time of day in seconds. `time` is the time since the machine was switched on, in nanoseconds.
    pub(super) fn seconds(&self, guest: GuestId, time: u64) -> Result<u64, HvError> {
        let day_at_power_on = self.day_at_power_on[guest.index()].load(Relaxed);
        let mut day =
            TimeOfDay::new(DayReading { before: 0, day: day_at_power_on, after: 0, max_lag: 0 });
        Ok(day.at(time) / SECOND)
    }

    /// Sets a guest's time of day. `time` is the time since the machine was switched on, in nanoseconds. Fails with EINVAL if `seconds` is
    /// less than `time`, because then the machine would have been switched on before 1970. Also fails with EINVAL if `seconds` in
    /// nanoseconds does not fit into 64 bits.
    pub(super) fn set(&self, guest: GuestId, seconds: u64, time: u64) -> Result<(), HvError> {
        let day_at_power_on = seconds.checked_mul(SECOND).and_then(|day| day.checked_sub(time));
        self.day_at_power_on[guest.index()]
            .store(day_at_power_on.ok_or(HvError::Invalid)?, Relaxed);
        Ok(())
    }
}
