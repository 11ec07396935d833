//! Models of %tick and %stick, a strand's counters that advance with time.

use core::array;
use core::ops::DerefMut;
use core::sync::atomic::{AtomicU64, Ordering};

use guest_abi::StrandId;
use spin::Mutex;
use static_assertions::assert_impl_all;

use crate::ticks::TickRegisters;

/// NPT: bit 63. It is not part of the count.
const NPT: u64 = 1 << 63;

const BILLION: u64 = 1_000_000_000;

/// %tick or %stick of one strand. After reset it counts from 0, and NPT is clear. Times are in nanoseconds, and must not go backwards.
#[derive(Clone, Debug)]
pub struct TickCounter {
    hz: u32,
    /// The deviation from the nominal rate, in parts per billion.
    drift: i32,
    stopped: bool,
    npt: bool,
    /// The count at the time `at`.
    count: u64,
    at: u64,
}

impl TickCounter {
    /// Returns a counter after reset, at time 0, that counts at `hz`.
    pub const fn new(hz: u32) -> Self {
        Self { hz, drift: 0, stopped: false, npt: false, count: 0, at: 0 }
    }

    /// Returns the register: NPT, and the 63 bits of the counter.
    pub fn read(&self, now: u64) -> u64 {
        let npt = if self.npt { NPT } else { 0 };
        self.count(now) | npt
    }

    /// Writes the register: NPT, and the 63 bits of the counter.
    pub fn write(&mut self, value: u64, now: u64) {
        self.count = value & !NPT;
        self.npt = value & NPT != 0;
        self.at = now;
    }

    /// Makes the counter deviate from its nominal rate by `parts` per billion. The counter is faster if `parts` is positive. `parts` must
    /// be above -10^9.
    pub fn set_drift(&mut self, parts: i32, now: u64) {
        self.settle(now);
        self.drift = parts;
    }

    /// Stops the counter, or lets it count again.
    pub fn set_stopped(&mut self, stopped: bool, now: u64) {
        self.settle(now);
        self.stopped = stopped;
    }

    fn settle(&mut self, now: u64) {
        self.count = self.count(now);
        self.at = now;
    }

    fn count(&self, now: u64) -> u64 {
        let passed = u128::from(now.saturating_sub(self.at));
        let speed = u128::from(BILLION.saturating_add_signed(self.drift.into()));
        // Whole seconds and the rest are multiplied separately. The products of 64, 32 and 32 bits then fit in 128 bits.
        let ticks = |nanoseconds| nanoseconds * u128::from(self.hz) * speed / u128::from(BILLION);
        let (seconds, rest) = (passed / u128::from(BILLION), passed % u128::from(BILLION));
        let more = match self.stopped {
            true => 0,
            false => ticks(seconds) + ticks(rest) / u128::from(BILLION),
        };
        self.count.wrapping_add(more as u64) & !NPT
    }
}

/// All strands' %tick and %stick, and the current time.
#[derive(Debug)]
pub struct TickCounters {
    now: AtomicU64,
    tick: [Mutex<TickCounter>; StrandId::COUNT],
    stick: [Mutex<TickCounter>; StrandId::COUNT],
}

assert_impl_all!(TickCounters: TickRegisters, Send, Sync);

impl TickCounters {
    /// Returns counters after reset, at time 0, with the given rates.
    pub fn new(tick_hz: u32, stick_hz: u32) -> Self {
        let counters = |hz| array::from_fn(|_| Mutex::new(TickCounter::new(hz)));
        Self { now: AtomicU64::new(0), tick: counters(tick_hz), stick: counters(stick_hz) }
    }

    /// Returns the time in nanoseconds, which only [`set_time`](Self::set_time) changes.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Acquire)
    }

    /// Sets the time in nanoseconds. The time must not go backwards.
    pub fn set_time(&self, now: u64) {
        self.now.store(now, Ordering::Release);
    }

    /// Locks and returns a strand's %tick, for example to stop it or make it drift.
    pub fn tick_counter(&self, strand: StrandId) -> impl DerefMut<Target = TickCounter> {
        self.tick[strand.index()].lock()
    }

    /// Locks and returns a strand's %stick, for example to stop it or make it drift.
    pub fn stick_counter(&self, strand: StrandId) -> impl DerefMut<Target = TickCounter> {
        self.stick[strand.index()].lock()
    }
}

impl TickRegisters for TickCounters {
    fn tick(&self, strand: StrandId) -> u64 {
        self.tick_counter(strand).read(self.now())
    }

    fn stick(&self, strand: StrandId) -> u64 {
        self.stick_counter(strand).read(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::{BILLION as SECOND, *};

    #[test]
    fn counts_at_its_rate() {
        let mut counter = TickCounter::new(1_165_379_275);
        for (now, count) in [
            (0, 0),
            (1, 1),
            (100, 116),
            (SECOND, 1_165_379_275),
            (3600 * SECOND + 1, 4_195_365_390_001),
        ] {
            assert_eq!(counter.read(now), count);
        }
        counter.set_drift(200_000, SECOND);
        assert_eq!(counter.read(2 * SECOND), 2 * 1_165_379_275 + 233_075);
        counter.set_drift(-500_000_000, 2 * SECOND);
        assert_eq!(counter.read(4 * SECOND), 3 * 1_165_379_275 + 233_075);
    }

    #[test]
    fn stands_still() {
        let mut counter = TickCounter::new(1_000_000_000);
        counter.set_stopped(true, 5);
        assert_eq!(counter.read(SECOND), 5);
        counter.set_stopped(false, SECOND);
        assert_eq!(counter.read(SECOND + 3), 8);
    }

    #[test]
    fn has_63_bits_and_npt() {
        let mut counter = TickCounter::new(1_000_000_000);
        counter.write(u64::MAX, 10);
        assert_eq!(counter.read(10), u64::MAX);
        assert_eq!(counter.read(12), 1 << 63 | 1, "it wraps below NPT");
        counter.write(0x7fff_ffff_ffff_ffff, 20);
        assert_eq!(counter.read(21), 0);
    }

    #[test]
    fn each_strand_has_its_own() {
        let counters = TickCounters::new(2_000_000_000, 1_000_000_000);
        let [first, last] = [0, 255].map(|number| StrandId::new(number).unwrap());
        counters.stick_counter(last).write(1000, 0);
        counters.set_time(7);
        assert_eq!([first, last].map(|strand| counters.tick(strand)), [14, 14]);
        let sticks = [first, last].map(|strand| counters.stick(strand));
        assert_eq!(sticks, [7, 1007]);
    }
}
