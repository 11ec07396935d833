//! Hardware counters that can serve as clocks, and each counter's hazards.

use crate::error::in_range;
use crate::strand::StrandId;

/// A hardware counter that advances with time: %tick, %stick, a timer device.
///
/// Unlike a [`Clock`](super::Clock), the counter may wrap, stop, tear, or differ between strands: see its [`Description`].
pub trait ClockSource {
    /// Returns the description of the counter. The description never changes.
    fn describe(&self) -> Description;

    /// Reads the counter on `strand`, which executes the call; `None` if the counter cannot be read. Bits beyond the counter's width
    /// have no meaning. Hardware does not need the argument; a simulated machine does.
    fn read(&self, strand: StrandId) -> Option<u64>;
}

impl<S: ClockSource + ?Sized> ClockSource for &S {
    fn describe(&self) -> Description {
        (**self).describe()
    }

    fn read(&self, strand: StrandId) -> Option<u64> {
        (**self).read(strand)
    }
}

/// The properties of a counter, and its hazards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Description {
    /// The name of the counter, for messages and reports.
    pub name: &'static str,
    /// The width of the counter, which wraps after 2^width ticks.
    pub width: Width,
    /// Ticks per second; 0 if the rate is unknown.
    pub hz: u64,
    /// The smallest advance, in ticks: 1 for a counter, more for a variable that an interrupt handler updates.
    pub step: u64,
    /// The counter's rating. The safe counter with the highest rating is chosen.
    pub rating: u16,
    /// Whether the strands share the counter and, if not, whether their counters agree.
    pub scope: Scope,
    /// How the counter's values can be wrong.
    pub hazards: Hazards,
}

/// Whether the strands share a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All strands read the same counter.
    Machine,
    /// Each strand has its own counter, and all counters show the same value at the same time.
    Strand,
    /// Each strand has its own counter, and the values of the counters differ.
    StrandUnsynchronised,
}

/// How a counter's values can be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hazards {
    /// The counter stands still while its strand is idle.
    pub stops_when_idle: bool,
    /// The rate follows a clock that power management changes.
    pub rate_varies: bool,
    /// A read needs several accesses, and the counter may change between them.
    pub tears: bool,
    /// The hardware behind the counter is unknown. The counter may follow the CPU clock, which can stop or change its rate.
    pub may_be_cpu_clock: bool,
    /// The counter may lose time, for example because an interrupt that advances it is lost.
    pub may_lose: bool,
    /// The counter may gain time, for example because it jumps forward under load.
    pub may_gain: bool,
}

/// A counter's width in bits: 8 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Width(u8);

impl Width {
    /// The width of %tick and %stick, whose bit 63 is NPT ("non-privileged trap") (UltraSPARC Architecture 2007).
    pub const TICK: Self = Self(63);

    /// A full 64-bit word: every bit belongs to the counter.
    pub const WORD: Self = Self(64);

    /// Returns a width of `bits` bits; `None` unless `bits` is 8 to 64.
    pub const fn new(bits: u8) -> Option<Self> {
        match bits {
            8..=64 => Some(Self(bits)),
            _ => None,
        }
    }

    /// Returns the width as a number, 8 to 64.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }
}

in_range!(Width, u8, "number of bits", 8, 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!([0, 7, 65, 255].map(Width::new), [None; 4]);
        assert_eq!(
            [8, 24, 63, 64].map(|bits| Width::new(bits).map(Width::bits)),
            [Some(8), Some(24), Some(63), Some(64)]
        );
        assert_eq!(Width::new(63), Some(Width::TICK));
        assert_eq!(Width::new(64), Some(Width::WORD));
    }
}
