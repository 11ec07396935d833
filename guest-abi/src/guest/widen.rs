//! Counts of 64 bits from counters of 31, 32 or any other number of bits.
//!
//! Two reads of a counter tell how many events were between them if there were fewer than 2^BITS, whether the counter
//! wrapped or not. If there were more, the counter does not show it: only a clock and a bound on the rate of the events can
//! tell that the interval was too long. [`Widened`] leaves that to the caller; [`TimedCount`] checks it.

use core::fmt;
use core::num::NonZeroU32;

/// The number of events since a counter of `BITS` bits (1 to 64) was first read. Wraps at 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widened<const BITS: u32> {
    events: u64,
    last: u64,
}

/// The count of a DRAM counter, 31 bits.
pub type DramCount = Widened<31>;

/// The count of a counter of a strand's %pic, 32 bits.
pub type StrandCount = Widened<32>;

/// The count of a counter of a hub, 64 bits. It needs no widening; the type lets a caller treat all counters alike.
pub type HubCount = Widened<64>;

impl<const BITS: u32> Widened<BITS> {
    /// The most events that may lie between two reads: 2^`BITS` - 1.
    pub const MOST: u64 = {
        assert!(BITS >= 1 && BITS <= 64, "a counter has 1 to 64 bits");
        u64::MAX >> (64 - BITS)
    };

    /// Returns a count of 0 for a counter that now holds `raw`. This and the other methods ignore bits beyond `BITS`.
    pub fn new(raw: impl Into<u64>) -> Self {
        Self {
            events: 0,
            last: raw.into() & Self::MOST,
        }
    }

    /// Takes the present value of the counter, and returns the count. It is right if no more than [`MOST`](Self::MOST)
    /// events happened since the last call.
    pub fn update(&mut self, raw: impl Into<u64>) -> u64 {
        let now = raw.into() & Self::MOST;
        let more = now.wrapping_sub(self.last) & Self::MOST;
        self.events = self.events.wrapping_add(more);
        self.last = now;
        self.events
    }

    /// Takes note that the guest has written this value to the counter. The count stays as it is, without the events since
    /// the last [`update`](Self::update).
    pub fn rebase(&mut self, raw: impl Into<u64>) {
        self.last = raw.into() & Self::MOST;
    }

    /// Returns a count from its parts.
    #[cfg(feature = "capi")]
    pub(crate) const fn resumed(events: u64, last: u64) -> Self {
        Self { events, last }
    }

    /// Returns the value of the counter when it was last read or written.
    #[cfg(feature = "capi")]
    pub(crate) const fn last(&self) -> u64 {
        self.last
    }

    /// Returns the count as of the last update.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Returns the longest safe interval between two reads, in which at most [`MOST`](Self::MOST) events can happen. It is in
    /// ticks of the clock that the rate refers to; 0 if no interval is safe.
    pub const fn longest_interval(rate: Rate) -> u64 {
        let periods = Self::MOST / rate.events.get() as u64;
        periods.saturating_mul(rate.ticks.get() as u64)
    }

    /// Returns the same count with a clock that shows `now`, and a bound on the rate.
    pub const fn timed(self, now: u64, rate: Rate) -> TimedCount<BITS> {
        TimedCount {
            count: self,
            read_at: now,
            longest: Self::longest_interval(rate),
        }
    }
}

/// A bound on the rate of events: while the clock advances by `ticks`, at most `events` happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    events: NonZeroU32,
    ticks: NonZeroU32,
}

impl Rate {
    /// One event per tick.
    pub const ONE_A_TICK: Self = Self {
        events: NonZeroU32::MIN,
        ticks: NonZeroU32::MIN,
    };

    /// Returns the bound of `events` in any `ticks`; `None` if one of them is 0.
    pub const fn new(events: u32, ticks: u32) -> Option<Self> {
        match (NonZeroU32::new(events), NonZeroU32::new(ticks)) {
            (Some(events), Some(ticks)) => Some(Self { events, ticks }),
            _ => None,
        }
    }

    /// Returns the bound of `events` in every tick; `None` for 0.
    pub const fn per_tick(events: u32) -> Option<Self> {
        Self::new(events, 1)
    }
}

/// A [`Widened`] count that checks the interval between reads.
///
/// Read the clock together with the counter. A delay between the two goes unnoticed, so choose a rate that allows for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedCount<const BITS: u32> {
    count: Widened<BITS>,
    read_at: u64,
    longest: u64,
}

impl<const BITS: u32> TimedCount<BITS> {
    /// Takes the present value of the counter and the time, and returns the count.
    ///
    /// # Errors
    /// If the last read was too long ago, or `now` is before it. The count then continues from this read, at
    /// [`TooLate::at_least`].
    pub fn update_at(&mut self, raw: impl Into<u64>, now: u64) -> Result<u64, TooLate> {
        let interval = now.wrapping_sub(self.read_at);
        self.read_at = now;
        let events = self.count.update(raw);
        if interval <= self.longest {
            Ok(events)
        } else {
            Err(TooLate {
                interval,
                longest: self.longest,
                at_least: events,
            })
        }
    }

    /// Takes note that the guest has written this value to the counter at this time: see [`Widened::rebase`].
    pub fn rebase_at(&mut self, raw: impl Into<u64>, now: u64) {
        self.count.rebase(raw);
        self.read_at = now;
    }

    /// Returns the longest safe interval between two reads, in ticks.
    pub const fn longest_interval(&self) -> u64 {
        self.longest
    }

    /// Returns the count as of the last read.
    pub const fn events(&self) -> u64 {
        self.count.events()
    }
}

/// A counter that was read so late that it may have wrapped more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// Ticks since the previous read.
    pub interval: u64,
    /// The longest safe interval, in ticks.
    pub longest: u64,
    /// The count if the counter wrapped at most once. It may be too low by any multiple of 2^BITS.
    pub at_least: u64,
}

impl TooLate {
    /// Returns by how many ticks the read was too late.
    pub const fn by(&self) -> u64 {
        self.interval.saturating_sub(self.longest)
    }
}

impl fmt::Display for TooLate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "counter read {} ticks too late ({} since the last read, at most {} are safe)",
            self.by(),
            self.interval,
            self.longest
        )
    }
}

impl core::error::Error for TooLate {}
