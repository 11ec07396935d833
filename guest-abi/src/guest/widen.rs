//! 64-bit counts from counters of 31, 32 or any other number of bits.
//!
//! Two reads of a counter tell the number of events between them if that number is less than 2^BITS. A larger number can be noticed only
//! with a clock and a limit on the event rate: see [`Rate::is_within`].
//!
//! DRAM counters have a flag. A wrap sets the flag, and a write clears it. While the flag is clear, the counter has not wrapped, however
//! long the interval is: see [`Widened::valid_up_to`].

use core::num::NonZeroU32;

/// The value of a `BITS`-bit counter (1 to 64 bits). With `FLAG`, the bit above the counter is a flag that a wrap sets.
///
/// The value has its own type, so that a register with two counters cannot be mistaken for one counter: see
/// [`DramPic::reading`](crate::layout::DramPic::reading).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct Reading<const BITS: u32, const FLAG: bool = false>(u64);

impl<const BITS: u32, const FLAG: bool> Reading<BITS, FLAG> {
    /// The largest value of the counter.
    const MAX_VALUE: u64 = {
        assert!(BITS >= 1 && BITS <= 64, "a counter has 1 to 64 bits");
        assert!(!FLAG || BITS < 64, "a flag is above the counter");
        u64::MAX >> (64 - BITS)
    };

    /// The mask of the flag; 0 without a flag.
    const WRAPPED: u64 = if FLAG { Self::MAX_VALUE + 1 } else { 0 };

    /// Returns the counter in the lowest `BITS` bits of `raw`, and its flag in the bit above. Ignores all other bits.
    pub const fn new(raw: u64) -> Self {
        Self(raw & (Self::MAX_VALUE | Self::WRAPPED))
    }

    /// Returns the counter without its flag.
    pub const fn value(self) -> u64 {
        self.0 & Self::MAX_VALUE
    }

    /// Returns the counter in the lowest bits, and its flag in the bit above.
    pub const fn raw(self) -> u64 {
        self.0
    }
}

impl From<u32> for Reading<32> {
    fn from(value: u32) -> Self {
        Self::new(value.into())
    }
}

impl From<u64> for Reading<64> {
    fn from(value: u64) -> Self {
        Self::new(value)
    }
}

/// The number of events since a counter was first [read](Reading). Wraps at 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct Widened<const BITS: u32, const FLAG: bool = false> {
    events: u64,
    last: Reading<BITS, FLAG>,
    valid_up_to: u64,
}

/// The count of a DRAM counter: 31 bits, and a flag. See [`DramPic::reading`](crate::layout::DramPic::reading).
///
/// Once set, the flag shows no further wrap until it is cleared. To clear it, write the register with the values just read but
/// without flags, and [`rebase`](Self::rebase) both counts. Events between the read and the write are lost.
pub type DramCount = Widened<31, true>;

/// The count of a 32-bit counter in a strand's %pic.
pub type StrandCount = Widened<32>;

/// The count of a 64-bit counter of a hub. Such a counter needs no widening, but this type has the same interface as the other counts.
pub type HubCount = Widened<64>;

impl<const BITS: u32, const FLAG: bool> Widened<BITS, FLAG> {
    /// The largest number of events between two reads for which a count without a flag is right: 2^`BITS` - 1.
    pub const MAX_INCREMENT: u64 = Reading::<BITS, FLAG>::MAX_VALUE;

    /// Returns a count of 0 for a counter that shows `reading`.
    pub fn new(reading: impl Into<Reading<BITS, FLAG>>) -> Self {
        Self { events: 0, last: reading.into(), valid_up_to: Self::MAX_INCREMENT }
    }

    /// Updates the count from the current value of the counter, and returns the count. The count is right if at most
    /// [`valid_up_to`](Self::valid_up_to) events happened since the last call. `valid_up_to` is at least [`MAX_INCREMENT`](Self::MAX_INCREMENT).
    pub fn update(&mut self, reading: impl Into<Reading<BITS, FLAG>>) -> u64 {
        let reading = reading.into();
        let (now, last) = (reading.value(), self.last.value());
        let wrapped = Reading::<BITS, FLAG>::WRAPPED;
        let new_flag = reading.raw() & !self.last.raw() & wrapped;
        // If the counter has wrapped and its value is not lower than the last value, the number of events is 2^BITS more than the
        // difference of the values.
        let hidden = if now >= last { new_flag } else { 0 };
        let more = (now.wrapping_sub(last) & Self::MAX_INCREMENT).wrapping_add(hidden);
        let was_clear = FLAG && self.last.raw() & wrapped == 0;
        self.valid_up_to = if new_flag != 0 {
            // One more event would make the counter wrap a second time.
            Self::MAX_INCREMENT + wrapped - last
        } else if was_clear && now >= last {
            u64::MAX
        } else {
            Self::MAX_INCREMENT
        };
        self.events = self.events.wrapping_add(more);
        self.last = reading;
        self.events
    }

    /// Returns a limit: the count is right if at most this number of events happened between the last two reads. If more events
    /// happened, the counter may have wrapped once more than the count says.
    ///
    /// - 2^64 - 1 if the flag shows that the counter has not wrapped.
    /// - The largest number of events that wrap the counter only once, if the flag was clear and is set now.
    /// - [`MAX_INCREMENT`](Self::MAX_INCREMENT) if the flag was set before or does not exist.
    pub const fn valid_up_to(&self) -> u64 {
        self.valid_up_to
    }

    /// Continues from a value that the guest has written. Drops the events since the last [`update`](Self::update).
    pub fn rebase(&mut self, reading: impl Into<Reading<BITS, FLAG>>) {
        self.last = reading.into();
    }

    /// Returns the count at the last [`update`](Self::update).
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Returns the longest interval, in ticks of the rate's clock, in which at most [`MAX_INCREMENT`](Self::MAX_INCREMENT) events can happen.
    pub const fn longest_interval(rate: Rate) -> u64 {
        rate.max_interval(Self::MAX_INCREMENT)
    }
}

/// A limit on the event rate: at most `events` happen while the clock advances by `ticks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    events: NonZeroU32,
    ticks: NonZeroU32,
}

impl Rate {
    /// One event per tick.
    pub const ONE_PER_TICK: Self = Self { events: NonZeroU32::MIN, ticks: NonZeroU32::MIN };

    /// Returns a limit of `events` in any interval of `ticks`; `None` if either is 0.
    pub const fn new(events: u32, ticks: u32) -> Option<Self> {
        match (NonZeroU32::new(events), NonZeroU32::new(ticks)) {
            (Some(events), Some(ticks)) => Some(Self { events, ticks }),
            _ => None,
        }
    }

    /// Returns a limit of `events` in every tick; `None` for 0.
    pub const fn per_tick(events: u32) -> Option<Self> {
        Self::new(events, 1)
    }

    /// Returns `true` if at most `events` can happen in `interval` ticks. A count is right if this method returns `true` for the count's
    /// [`valid_up_to`](Widened::valid_up_to) and the interval between the last two reads. A delay between reading the clock and reading the
    /// counter goes unnoticed, so choose a rate with a margin.
    pub const fn is_within(self, events: u64, interval: u64) -> bool {
        events == u64::MAX || interval <= self.max_interval(events)
    }

    /// Returns the longest interval, in ticks, in which at most `events` can happen.
    const fn max_interval(self, events: u64) -> u64 {
        (events / self.events.get() as u64).saturating_mul(self.ticks.get() as u64)
    }
}
