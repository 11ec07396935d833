//! How often a counter samples.

use core::num::NonZeroU32;

use super::program::Period;
use super::random::Random;
use super::throttle::{Throttle, Throttled};

/// How often to sample: by events, or by time. It can be made irregular, and it can be bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    rhythm: Rhythm,
    spread: Option<Spread>,
    throttle: Option<Throttle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rhythm {
    Events(Period),
    /// So many ticks, from a first period that is a guess.
    Ticks(NonZeroU32, Period),
}

/// By how much a period differs from the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    shift: u32,
    seed: u64,
}

impl Pace {
    /// One sample for so many events.
    pub const fn every(period: Period) -> Self {
        Self::new(Rhythm::Events(period))
    }

    /// One sample in so many ticks of running time, on average: the period follows the rate of the events. `first` is the
    /// period to begin with.
    pub const fn interval(ticks: NonZeroU32, first: Period) -> Self {
        Self::new(Rhythm::Ticks(ticks, first))
    }

    /// So many samples a second of running time, on a clock of so many ticks a second. Intervals are whole ticks, 1 to
    /// 2^32 - 1.
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

    /// Periods differ at random from the one that is due, by up to a 2^`shift`th of it (but at least by one event where
    /// that can be) up or down; their mean is the one that is due. Samples then do not always hit the same instruction of a
    /// loop whose length divides the period. `shift` is 1 to 31, 3 is a good one.
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

    /// Interrupts no more often than this.
    #[must_use]
    pub const fn throttled(mut self, bound: Throttle) -> Self {
        self.throttle = Some(bound);
        self
    }
}

/// A pace that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    pace: Pace,
    random: Random,
    throttled: Throttled,
    /// The period that is due, not randomised and not throttled.
    due: Period,
    /// The period under way.
    current: Period,
    /// When the last sample was.
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

    /// The period under way.
    pub(super) const fn current(&self) -> Period {
        self.current
    }

    /// The period under way is over at this time, after so many events; a new one begins. Whether it was throttled.
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

    /// Events that should have taken `wanted` ticks took so many. The period goes a quarter of the way to the right one,
    /// or at once to half or double of what it is if that is not even enough: so it gets near fast, and one odd interval
    /// does not matter much.
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
