//! Computes the number of clock bits that a header can omit.

/// The properties of a machine and its hypervisor that determine the number of clock bits in a header.
///
/// ```
/// use hv_core::trace::{Clock19, Conditions, Layout};
///
/// const MACHINE: Conditions = Conditions {
///     hz: 4_000_000_000,
///     probe_ns: 200,
///     timer_hz: 100,
///     longest_off_ns: 20_000_000,
/// };
/// // Of the 32 bits of the clock, 9 low bits and 4 high bits can be omitted. This leaves the 19 bits of Clock19.
/// assert_eq!((MACHINE.lowest_cut(), MACHINE.highest_cut()), (9, 4));
/// const _: () = assert!(Clock19::CLOCK_BITS == 32 - MACHINE.lowest_cut() - MACHINE.highest_cut());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// The rate of the clock, in Hz.
    pub hz: u64,
    /// The duration of a probe, in ns. A probe records one event, so two events of a strand are at least this duration apart.
    pub probe_ns: u64,
    /// The rate of the timer interrupt, in Hz; 0 if there is none.
    pub timer_hz: u64,
    /// The longest time for which interrupts stay disabled, in ns.
    pub longest_off_ns: u64,
}

/// Returns the position of the highest bit that is set, counted from 1; 0 if none is set.
const fn first_bit(value: u128) -> u32 {
    u128::BITS - value.leading_zeros()
}

impl Conditions {
    /// Returns the number of low clock bits that a header can omit: `first_bit(probe in ticks) - 1`. The times of any two of a strand's
    /// events still differ in the other bits.
    pub const fn lowest_cut(&self) -> u32 {
        let probe = self.hz as u128 * self.probe_ns as u128 / 1_000_000_000;
        first_bit(probe).saturating_sub(1)
    }

    /// Returns the number of high bits of a 32-bit clock that a header can omit: `32 - first_bit(2 * (longest off + timer interval)
    /// in ticks)`. A reader can supply these bits because the timer interrupt records a heartbeat within each wrap of the other
    /// bits. Returns 0 if the clock needs all 32 bits or more, or if there is no timer.
    pub const fn highest_cut(&self) -> u32 {
        match self.latency() {
            Some(latency) => 32u32.saturating_sub(first_bit(2 * latency)),
            None => 0,
        }
    }

    /// Returns the longest permitted distance between heartbeats, in ticks, for headers whose clock wraps after `1 << bits` ticks (`bits`
    /// up to 64). With this distance, each wrap has a heartbeat even if one heartbeat is missing and the next one is late. Returns `None`
    /// if the timer interrupt is too rare.
    pub const fn max_heartbeat_interval(&self, bits: u32) -> Option<u64> {
        let (Some(latency), Some(interval)) = (self.latency(), self.interval()) else {
            return None;
        };
        let wrap: u128 = match bits {
            0..64 => 1 << bits,
            _ => 1 << 64,
        };
        let distance = wrap.saturating_sub(latency) / 2;
        if distance >= interval { Some(distance as u64) } else { None }
    }

    /// Returns how late a heartbeat can be, in ticks; `None` if there is no timer.
    const fn latency(&self) -> Option<u128> {
        let off = (self.hz as u128 * self.longest_off_ns as u128).div_ceil(1_000_000_000);
        match self.interval() {
            Some(interval) => Some(off + interval),
            None => None,
        }
    }

    /// Returns the time between timer interrupts, in ticks; `None` if there is no timer.
    const fn interval(&self) -> Option<u128> {
        match self.timer_hz {
            0 => None,
            rate => Some(self.hz.div_ceil(rate) as u128),
        }
    }
}
