//! The pace: how often a counter samples.

use core::num::NonZeroU32;

use super::program::Period;
use super::random::Random;
use super::throttle::{Throttle, Throttled};

/// How often to sample: after a number of events, or after a time. The periods can be randomised and the rate bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    rhythm: Rhythm,
    spread: Option<Spread>,
    throttle: Option<Throttle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rhythm {
    Events(Period),
    /// This many ticks; the period that is tried first.
    Ticks(NonZeroU32, Period),
}

/// By how much periods differ from the one that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    shift: u32,
    seed: u64,
}

impl Pace {
    /// Returns a pace of one sample per period.
    pub const fn every(period: Period) -> Self {
        Self::new(Rhythm::Events(period))
    }

    /// Returns a pace of one sample in this many ticks of running time, on average: the period follows the rate of the
    /// events. `first` is the first period.
    pub const fn interval(ticks: NonZeroU32, first: Period) -> Self {
        Self::new(Rhythm::Ticks(ticks, first))
    }

    /// Returns a pace of this many samples per second of running time, on a clock of `ticks` per second. Intervals are whole
    /// ticks, 1 to 2^32 - 1. `first` is the first period.
    pub const fn frequency(samples: NonZeroU32, ticks: u64, first: Period) -> Self {
        let interval = ticks.saturating_add(samples.get() as u64 / 2) / samples.get() as u64;
        let interval = if interval > u32::MAX as u64 {
            u32::MAX
        } else {
            interval as u32
        };
        match NonZeroU32::new(interval) {
            Some(interval) => Self::interval(interval, first),
            None => Self::interval(NonZeroU32::MIN, first),
        }
    }

    const fn new(rhythm: Rhythm) -> Self {
        Self {
            rhythm,
            spread: None,
            throttle: None,
        }
    }

    /// Makes periods differ at random from the one that is due: up or down, by up to a 2^`shift`th of it, or by one event if
    /// that is more and possible. Their mean is the period that is due. Samples then do not always hit the same instruction of
    /// a loop whose length divides the period. `shift` is 1 to 31; 3 is a good choice.
    #[must_use]
    pub const fn randomised(mut self, shift: u32, seed: u64) -> Self {
        let shift = match shift {
            0 => 1,
            1..=31 => shift,
            _ => 31,
        };
        self.spread = Some(Spread { shift, seed });
        self
    }

    /// Bounds how often the counter interrupts.
    #[must_use]
    pub const fn throttled(mut self, bound: Throttle) -> Self {
        self.throttle = Some(bound);
        self
    }
}

/// A pace in use: the periods, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    pace: Pace,
    random: Random,
    throttled: Throttled,
    /// The period that is due, before it is randomised and throttled.
    due: Period,
    /// The present period.
    current: Period,
    /// The time of the last sample.
    sampled_at: u64,
}

impl Pacer {
    pub(super) fn new(pace: Pace) -> Self {
        let (Rhythm::Events(due) | Rhythm::Ticks(_, due)) = pace.rhythm;
        let mut pacer = Self {
            pace,
            random: Random::new(pace.spread.map_or(0, |spread| spread.seed)),
            throttled: Throttled::default(),
            due,
            current: due,
            sampled_at: 0,
        };
        pacer.draw();
        pacer
    }

    /// Returns the present period.
    pub(super) const fn current(&self) -> Period {
        self.current
    }

    /// Ends the present period at this time, after this many events, and begins the next. Returns `true` if the bound on
    /// interrupts has been exceeded, so that periods get longer.
    pub(super) fn next(&mut self, now: u64, events: u64) -> bool {
        if let Rhythm::Ticks(ticks, _) = self.pace.rhythm {
            let took = now.saturating_sub(self.sampled_at).max(1);
            self.follow(ticks.get().into(), took, events);
        }
        self.sampled_at = now;
        let throttled = match &self.pace.throttle {
            Some(bound) => self.throttled.interrupt(bound, now),
            None => false,
        };
        self.draw();
        throttled
    }

    /// Adapts the period that is due after this many events took `took` ticks instead of `wanted`. It moves a quarter of the
    /// way to the right period, so that one odd interval does not matter much; but if the right one is double or half of it or
    /// beyond, it doubles or halves at once, so that it gets there fast.
    fn follow(&mut self, wanted: u64, took: u64, events: u64) {
        let due = u64::from(self.due.events());
        let right = events.saturating_mul(wanted) / took;
        let new = if right >= due * 2 {
            due * 2
        } else if right <= due / 2 {
            due / 2
        } else if right >= due {
            due + (right - due).div_ceil(4)
        } else {
            due - (due - right).div_ceil(4)
        };
        self.due = Period::nearest(new);
    }

    fn draw(&mut self) {
        let due = u64::from(self.due.events()) << self.throttled.doublings();
        let due = Period::nearest(due).events();
        let drawn = match &self.pace.spread {
            None => due.into(),
            Some(spread) => {
                let most = (due >> spread.shift).max(1).min(due - 1);
                let up = self.random.below(2 * most + 1);
                u64::from(due - most) + u64::from(up)
            }
        };
        self.current = Period::nearest(drawn);
    }
}
