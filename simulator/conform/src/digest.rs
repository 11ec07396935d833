//! Reports a system's results, either as one number or call by call.

use core::fmt;

use guest_abi::{StrandId, Trap};

use crate::system::{Change, System};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A call: its strand, its trap, %o0 to %o5 before the call, and %o0 to %o5 after the call.
    Call(StrandId, Trap, [u64; 6], [u64; 6]),
    /// A digest of the state of the machine under test.
    State(u64),
    /// A digest of the service's statistics.
    Counts(u64),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(strand, trap, before, after) => {
                write!(f, "strand {strand}, {trap:?} call")?;
                let mut values = before.iter();
                values.try_for_each(|value| write!(f, " {value:x}"))?;
                f.write_str(": answered")?;
                after.iter().try_for_each(|value| write!(f, " {value:x}"))
            }
            Self::State(state) => write!(f, "state: {state:016x}"),
            Self::Counts(counts) => write!(f, "statistics: {counts:016x}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest {
    pub value: u64,
    pub calls: u64,
}

impl Digest {
    pub const EMPTY: Self = Self { value: 0xcbf2_9ce4_8422_2325, calls: 0 };

    pub fn add(&mut self, event: &Event) {
        match event {
            Event::Call(.., after) => {
                after.iter().for_each(|value| self.fold(*value));
                self.calls += 1;
            }
            Event::State(digest) | Event::Counts(digest) => self.fold(*digest),
        }
    }

    fn fold(&mut self, value: u64) {
        self.value = fold(self.value, value);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, digest {:016x}", self.calls, self.value)
    }
}

/// Adds a value to a digest. The digest depends on the values and their order.
pub(crate) const fn fold(digest: u64, value: u64) -> u64 {
    (digest ^ value).wrapping_mul(0x100_0000_01b3).rotate_left(23)
}

/// A system that also passes each result to a function.
pub struct Watched<'a> {
    pub system: &'a mut dyn System,
    pub each: &'a mut dyn FnMut(&Event),
}

impl System for Watched<'_> {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        let after = self.system.call(strand, trap, registers);
        (self.each)(&Event::Call(strand, trap, registers, after));
        after
    }

    fn change(&mut self, change: Change) {
        self.system.change(change);
    }

    fn state(&mut self) -> u64 {
        let state = self.system.state();
        (self.each)(&Event::State(state));
        state
    }

    fn counts(&mut self) -> u64 {
        let counts = self.system.counts();
        (self.each)(&Event::Counts(counts));
        counts
    }
}
