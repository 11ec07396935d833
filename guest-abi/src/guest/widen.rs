//! Counts of 64 bits from counters of 31, 32 or any other number of bits.
//!
//! Two reads of a counter tell how many events were between them if there were fewer than 2^BITS, whether the counter
//! wrapped or not. If there were more, the counter does not show it: only a clock and a bound on the rate of the events can
//! tell that the interval was too long. [`Widened`] leaves that to the caller; [`TimedCount`] checks it.
//!
//! The counters of DRAM channels have a flag that a wrap sets and a write clears. It shows a first wrap however long the
//! interval is, and also that there was none: [`Widened::right_up_to`].

use core::fmt;
use core::num::NonZeroU32;

/// The number of events since a counter of `BITS` bits (1 to 64) was first read. Wraps at 2^64.
///
/// With `FLAG`, bit `BITS` of what the counter holds is a flag that a wrap sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widened<const BITS: u32, const FLAG: bool = false> {
    events: u64,
    /// The counter, with its flag if it has one, when it was last read or written.
    last: u64,
    right_up_to: u64,
}

/// The count of a DRAM counter: 31 bits, and its flag in bit 31. See [`DramPic::raw`](crate::layout::DramPic::raw).
///
/// The flag is of use once. To use it again, clear it: write the register with the counters as they are read and without
/// flags, and [`rebase`](Self::rebase) both counts. Events between that read and that write are lost.
pub type DramCount = Widened<31, true>;

/// The count of a counter of a strand's %pic, 32 bits.
pub type StrandCount = Widened<32>;

/// The count of a counter of a hub, 64 bits. It needs no widening; the type lets a caller treat all counters alike.
pub type HubCount = Widened<64>;

impl<const BITS: u32, const FLAG: bool> Widened<BITS, FLAG> {
    /// The most events that may lie between two reads, if no flag tells more: 2^`BITS` - 1.
    pub const MOST: u64 = {
        assert!(BITS >= 1 && BITS <= 64, "a counter has 1 to 64 bits");
        assert!(!FLAG || BITS < 64, "a flag is above the counter");
        u64::MAX >> (64 - BITS)
    };

    /// The flag, or 0.
    const WRAPPED: u64 = if FLAG { Self::MOST + 1 } else { 0 };

    /// The counter and its flag.
    const KEPT: u64 = Self::MOST | Self::WRAPPED;

    /// Returns a count of 0 for a counter that now holds `raw`. This and the other methods ignore bits beyond the counter and
    /// its flag.
    pub fn new(raw: impl Into<u64>) -> Self {
        Self::resumed(0, raw.into() & Self::KEPT)
    }

    /// Takes the present value of the counter, and returns the count. It is right if no more than
    /// [`right_up_to`](Self::right_up_to) events happened since the last call, which is [`MOST`](Self::MOST) or more.
    pub fn update(&mut self, raw: impl Into<u64>) -> u64 {
        let raw = raw.into() & Self::KEPT;
        let (now, last) = (raw & Self::MOST, self.last & Self::MOST);
        let new_flag = raw & !self.last & Self::WRAPPED;
        // A counter that wrapped and is not below its last value has counted 2^BITS more than it shows.
        let hidden = if now >= last { new_flag } else { 0 };
        let more = (now.wrapping_sub(last) & Self::MOST).wrapping_add(hidden);
        let was_clear = FLAG && self.last & Self::WRAPPED == 0;
        self.right_up_to = if new_flag != 0 {
            // One less than it takes to wrap twice.
            Self::KEPT - last
        } else if was_clear && now >= last {
            u64::MAX
        } else {
            Self::MOST
        };
        self.events = self.events.wrapping_add(more);
        self.last = raw;
        self.events
    }

    /// Returns the most events between the last two reads for which the count is right. Beyond that, the counter may have
    /// wrapped once more than the count has it.
    ///
    /// 2^64 - 1 if the flag shows that the counter has not wrapped. If it was clear and is set, the number of events that is
    /// one short of a second wrap. If it was set before, or there is none, [`MOST`](Self::MOST).
    pub const fn right_up_to(&self) -> u64 {
        self.right_up_to
    }

    /// Takes note that the guest has written this value to the counter. The count stays as it is, without the events since
    /// the last [`update`](Self::update).
    pub fn rebase(&mut self, raw: impl Into<u64>) {
        self.last = raw.into() & Self::KEPT;
    }

    /// Returns a count from its parts.
    pub(crate) const fn resumed(events: u64, last: u64) -> Self {
        Self {
            events,
            last,
            right_up_to: Self::MOST,
        }
    }

    /// Returns the value of the counter, with its flag, when it was last read or written.
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
        rate.longest(Self::MOST)
    }

    /// Returns the same count with a clock that shows `now`, and a bound on the rate.
    pub const fn timed(self, now: u64, rate: Rate) -> TimedCount<BITS, FLAG> {
        TimedCount {
            count: self,
            read_at: now,
            rate,
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

    /// Returns the longest interval, in ticks, in which at most this many events can happen.
    const fn longest(self, events: u64) -> u64 {
        (events / self.events.get() as u64).saturating_mul(self.ticks.get() as u64)
    }
}

/// A [`Widened`] count that checks the interval between reads.
///
/// Read the clock together with the counter. A delay between the two goes unnoticed, so choose a rate that allows for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedCount<const BITS: u32, const FLAG: bool = false> {
    count: Widened<BITS, FLAG>,
    read_at: u64,
    rate: Rate,
}

impl<const BITS: u32, const FLAG: bool> TimedCount<BITS, FLAG> {
    /// Takes the present value of the counter and the time, and returns the count.
    ///
    /// # Errors
    /// If the counter may have wrapped once more than the count has it, since the last read was too long ago for what the
    /// counter and its flag show, or `now` is before it and the flag does not show that there was no wrap. The count then
    /// continues from this read, at [`TooLate::at_least`].
    pub fn update_at(&mut self, raw: impl Into<u64>, now: u64) -> Result<u64, TooLate> {
        let interval = now.wrapping_sub(self.read_at);
        self.read_at = now;
        let events = self.count.update(raw);
        let right_up_to = self.count.right_up_to();
        let longest = self.rate.longest(right_up_to);
        if interval <= longest || FLAG && right_up_to == u64::MAX {
            Ok(events)
        } else {
            Err(TooLate {
                interval,
                longest,
                at_least: events,
            })
        }
    }

    /// Takes note that the guest has written this value to the counter at this time: see [`Widened::rebase`].
    pub fn rebase_at(&mut self, raw: impl Into<u64>, now: u64) {
        self.count.rebase(raw);
        self.read_at = now;
    }

    /// Returns the longest interval between two reads that is safe whatever the flag shows, in ticks.
    pub const fn longest_interval(&self) -> u64 {
        Widened::<BITS, FLAG>::longest_interval(self.rate)
    }

    /// Returns the count as of the last read.
    pub const fn events(&self) -> u64 {
        self.count.events()
    }
}

/// A counter that was read so late that it may have wrapped once more than the count has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate {
    /// Ticks since the previous read.
    pub interval: u64,
    /// The longest interval that is safe for what the counter and its flag show, in ticks.
    pub longest: u64,
    /// The count if the counter wrapped no more often than it shows. It may be too low by any multiple of 2^BITS.
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
