//! The pace: the time or the number of events between samples.

use core::num::NonZeroU32;

use super::period::Period;
use super::random::Random;
use super::throttle::{Throttle, ThrottleState};

/// The distance between samples, in events or in time. A pace can make its periods random, and can
/// limit the interrupt rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Pace {
    rhythm: Rhythm,
    spread: Option<Spread>,
    throttle: Option<Throttle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rhythm {
    Events(Period),
    /// The number of ticks between samples, and the first period.
    Ticks(NonZeroU32, Period),
}

/// The maximum deviation of a random period from the nominal period (1/2^`shift` of the nominal period), and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Spread {
    shift: u32,
    seed: u64,
}

impl Pace {
    /// Returns a pace of one sample per period.
    pub const fn every(period: Period) -> Self {
        Self::new(Rhythm::Events(period))
    }

    /// Returns a pace of one sample per `ticks` of running time. The first period is `first`; later periods follow the event rate.
    pub const fn interval(ticks: NonZeroU32, first: Period) -> Self {
        Self::new(Rhythm::Ticks(ticks, first))
    }

    /// Returns a pace of `samples` per second of running time, on a clock of `ticks` per second. The first period is `first`. The
    /// time between samples is rounded to whole ticks, 1 to 2^32 - 1.
    pub const fn frequency(samples: NonZeroU32, ticks: u64, first: Period) -> Self {
        let interval = ticks.saturating_add(samples.get() as u64 / 2) / samples.get() as u64;
        let interval = if interval > u32::MAX as u64 { u32::MAX } else { interval as u32 };
        match NonZeroU32::new(interval) {
            Some(interval) => Self::interval(interval, first),
            None => Self::interval(NonZeroU32::MIN, first),
        }
    }

    const fn new(rhythm: Rhythm) -> Self {
        Self { rhythm, spread: None, throttle: None }
    }

    /// Makes periods random. Their mean stays the nominal period. A period differs from the nominal period by at most 1/2^`shift` of it, or
    /// by at most one event if that is more. In a loop whose length divides the period, random periods spread the samples over the
    /// instructions of the loop. `shift` is 1 to 31; 3 is a good choice.
    pub const fn randomised(mut self, shift: u32, seed: u64) -> Self {
        let shift = match shift {
            0 => 1,
            1..=31 => shift,
            _ => 31,
        };
        self.spread = Some(Spread { shift, seed });
        self
    }

    /// Limits the rate of the counter's interrupts.
    pub const fn throttled(mut self, bound: Throttle) -> Self {
        self.throttle = Some(bound);
        self
    }
}

/// Determines a pace's periods, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    pace: Pace,
    random: Random,
    throttled: ThrottleState,
    /// The nominal period, before randomisation and throttling.
    nominal: Period,
    current: Period,
    sampled_at: u64,
}

impl Pacer {
    pub(super) fn new(pace: Pace) -> Self {
        let (Rhythm::Events(nominal) | Rhythm::Ticks(_, nominal)) = pace.rhythm;
        let mut pacer = Self {
            pace,
            random: Random::new(pace.spread.map_or(0, |spread| spread.seed)),
            throttled: ThrottleState::default(),
            nominal,
            current: nominal,
            sampled_at: 0,
        };
        pacer.draw();
        pacer
    }

    pub(super) const fn current(&self) -> Period {
        self.current
    }

    /// Begins the next period at the time `now`. `events` is the number of events in the last period. Returns `true` if the interrupt
    /// exceeded the throttle's limit.
    pub(super) fn next(&mut self, now: u64, events: u64) -> bool {
        if let Rhythm::Ticks(ticks, _) = self.pace.rhythm {
            let took = now.saturating_sub(self.sampled_at).max(1);
            self.adapt(ticks.get().into(), took, events);
        }
        self.sampled_at = now;
        let throttled = match &self.pace.throttle {
            Some(bound) => self.throttled.interrupt(bound, now),
            None => false,
        };
        self.draw();
        throttled
    }

    /// Adapts the nominal period to the event rate: the last `events` events took `took` ticks, but should have taken `wanted` ticks. The
    /// period moves a quarter of the way to the right value, so that one odd interval has little effect. If the right value is at least
    /// double or at most half of the period, the period doubles or halves instead.
    fn adapt(&mut self, wanted: u64, took: u64, events: u64) {
        let nominal = u64::from(self.nominal.events());
        let right = events.saturating_mul(wanted) / took;
        let new = if right >= nominal * 2 {
            nominal * 2
        } else if right <= nominal / 2 {
            nominal / 2
        } else if right >= nominal {
            nominal + (right - nominal).div_ceil(4)
        } else {
            nominal - (nominal - right).div_ceil(4)
        };
        self.nominal = Period::nearest(new);
    }

    fn draw(&mut self) {
        let nominal = u64::from(self.nominal.events()) << self.throttled.doublings();
        let nominal = Period::nearest(nominal).events();
        let drawn = match &self.pace.spread {
            None => nominal.into(),
            Some(spread) => {
                let max_deviation = (nominal >> spread.shift).max(1).min(nominal - 1);
                let up = self.random.below(2 * max_deviation + 1);
                u64::from(nominal - max_deviation) + u64::from(up)
            }
        };
        self.current = Period::nearest(drawn);
    }
}
