//! Counters that time can be told from, and what is known against them.

use crate::strand::StrandId;

/// A hardware counter that goes up with time: %tick, %stick, a timer device.
///
/// Unlike a [`Clock`](super::Clock) it may wrap, stop, tear, or differ between strands; its [`Description`] says which.
pub trait ClockSource {
    /// What it is. Always the same.
    fn describe(&self) -> Description;

    /// What the counter shows now, on the strand that executes the call. Bits beyond its width mean nothing. `None` if it
    /// cannot be read.
    ///
    /// Hardware knows its strand without being told; a simulation does not.
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

/// What a counter is, and what can make it wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// What people call it.
    pub name: &'static str,
    /// How many bits it has.
    pub width: Width,
    /// Ticks a second; 0 if that is not known.
    pub hz: u64,
    /// How many ticks it goes on by at once: 1 for a counter, more for a variable that an interrupt updates.
    pub step: u64,
    /// Of two that are safe, the one with the higher rating is the better one.
    pub rating: u16,
    /// Who shares it.
    pub scope: Scope,
    /// What can make it wrong.
    pub hazards: Hazards,
}

/// Who shares a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// There is one, which all strands read.
    Machine,
    /// Each strand has one of its own, and all show the same at a time.
    Strand,
    /// Each strand has one of its own, and they are apart.
    StrandUnsynchronised,
}

/// What can make a counter wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hazards {
    /// It stands still while its strand is idle.
    pub stops_when_idle: bool,
    /// Its rate follows a clock that power management changes.
    pub rate_varies: bool,
    /// It is read in parts that may not belong together.
    pub tears: bool,
}

/// How many bits a counter has: 8 to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Width(u8);

impl Width {
    /// %tick and %stick: bit 63 is NPT ("non-privileged trap"), no part of the counter (UltraSPARC Architecture 2007).
    pub const TICK: Self = Self(63);

    /// All of a word.
    pub const WORD: Self = Self(64);

    /// So many bits; `None` unless 8 to 64.
    pub const fn new(bits: u8) -> Option<Self> {
        match bits {
            8..=64 => Some(Self(bits)),
            _ => None,
        }
    }

    /// How many.
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }
}

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
