//! A simulated true time, and counters that may deviate from it.

use std::cell::Cell;

use guest_abi::StrandId;
use guest_abi::clock::{ClockSource, Description, Hazards, Width};
use hv_core::time::{Candidate, Environment, Timekeeper, pc};

pub(crate) const MICROSECOND: u64 = 1000;
pub(crate) const MILLISECOND: u64 = 1000 * MICROSECOND;
pub(crate) const SECOND: u64 = 1000 * MILLISECOND;

pub(crate) const ENVIRONMENT: Environment = Environment {
    strands: 3,
    idle_stops_counters: true,
    rate_changes: true,
    cpu_hz: 1_165_379_275,
    poll_interval: SECOND,
};

pub(crate) fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

/// The true time, in nanoseconds since the start of the test.
#[derive(Default)]
pub(crate) struct World(Cell<u64>);

impl World {
    pub(crate) fn now(&self) -> u64 {
        self.0.get()
    }

    pub(crate) fn pass(&self, nanoseconds: u64) {
        self.0.set(self.0.get() + nanoseconds);
    }
}

/// Describes a counter that has no hazards and advances by single ticks.
pub(crate) fn description(width: u8, hz: u64, rating: u16) -> Description {
    let hazards = Hazards::default();
    Description { width: Width::new(width).unwrap(), hz, rating, hazards, ..pc::rtc(0) }
}

/// A counter into which tests inject faults.
pub(crate) struct Counter<'a> {
    world: &'a World,
    pub(crate) description: Cell<Description>,
    /// The duration of a read in nanoseconds. A read returns the count at its midpoint.
    pub(crate) cost: Cell<u64>,
    /// The count at the counter's latest change, and the true time of that change.
    base: Cell<(u64, u64)>,
    /// The deviation from the nominal rate, in parts per billion.
    drift: Cell<i64>,
    stopped: Cell<bool>,
    pub(crate) dead: Cell<bool>,
    /// The number of ticks by which the counter is ahead on strands 0, 1 and 2.
    pub(crate) apart: Cell<[i64; 3]>,
    /// The bits above the counter's width in each returned value.
    pub(crate) beyond: Cell<u64>,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(world: &'a World, width: u8, hz: u64, rating: u16) -> Self {
        Self::described(world, description(width, hz, rating))
    }

    /// Returns a counter whose reads take no time.
    pub(crate) fn costless(world: &'a World, width: u8, hz: u64) -> Self {
        let counter = Self::new(world, width, hz, 1);
        counter.cost.set(0);
        counter
    }

    pub(crate) fn described(world: &'a World, description: Description) -> Self {
        Self {
            world,
            description: description.into(),
            cost: 20.into(),
            base: (0, 0).into(),
            drift: 0.into(),
            stopped: false.into(),
            dead: false.into(),
            apart: [0; 3].into(),
            beyond: 0.into(),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        let (count, at) = self.base.get();
        if self.stopped.get() {
            return count;
        }
        let Description { hz, step, .. } = self.description.get();
        let passed = u128::from(self.world.now() - at);
        let speed = (1_000_000_000 + self.drift.get()) as u128;
        // Converts whole seconds and the remainder separately, to avoid an overflow.
        let per_second = u128::from(hz) * speed;
        let rest = passed % 1_000_000_000 * per_second / 1_000_000_000;
        let ticks = (passed / 1_000_000_000 * per_second + rest) / 1_000_000_000;
        count.wrapping_add(ticks as u64 / step * step)
    }

    pub(crate) fn set(&self, count: u64) {
        self.base.set((count, self.world.now()));
    }

    pub(crate) fn jump(&self, ticks: i64) {
        self.set(self.count().wrapping_add_signed(ticks));
    }

    pub(crate) fn set_drift(&self, parts: i64) {
        self.set(self.count());
        self.drift.set(parts);
    }

    pub(crate) fn set_stopped(&self, stopped: bool) {
        self.set(self.count());
        self.stopped.set(stopped);
    }

    pub(crate) fn describe_as(&self, change: impl FnOnce(&mut Description)) {
        let mut description = self.description.get();
        change(&mut description);
        self.description.set(description);
    }
}

impl ClockSource for Counter<'_> {
    fn describe(&self) -> Description {
        self.description.get()
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        let cost = self.cost.get();
        self.world.pass(cost / 2);
        let apart = self.apart.get()[strand.index()];
        let count = self.count().wrapping_add_signed(apart);
        self.world.pass(cost - cost / 2);
        let beyond = match self.description.get().width.bits() {
            64 => 0,
            bits => u64::MAX << bits,
        };
        (!self.dead.get()).then_some(count & !beyond | self.beyond.get() & beyond)
    }
}

/// Returns a timekeeper with these counters, each with the operator's default setting.
pub(crate) fn keeper<'a, const N: usize>(
    counters: [&'a Counter<'a>; N],
) -> Timekeeper<&'a Counter<'a>, N> {
    Timekeeper::new(counters.map(Candidate::new), &ENVIRONMENT, strand(0)).unwrap()
}
