//! Which sources of time can be trusted on a machine, and which of them is the best.

use core::fmt;

use guest_abi::clock::{Description, Scope};

use super::{Scale, Wrap};

/// What of a machine, and of the hypervisor on it, can make a clock wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// How many strands read the clock.
    pub strands: usize,
    /// Whether they idle in a way that stops some of their counters.
    pub idles: bool,
    /// Whether power management changes the rate of processor clocks.
    pub rate_changes: bool,
    /// How often [`Timekeeper::poll`](super::Timekeeper::poll) is called, in nanoseconds: at least once in this time.
    pub poll: u64,
}

/// What the operator wants of a source, for problems that no one has foreseen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operator {
    /// What the test says.
    #[default]
    Default,
    /// It is not used.
    Disable,
    /// It counts as safe. That makes no source that is not there, and does not choose it before a better one.
    Force,
}

/// Why a source cannot be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is not there. Cannot be forced.
    Absent,
    /// Its frequency is unknown, or none from 1 MHz to 10 GHz. Cannot be forced.
    Frequency(u64),
    /// The operator does not want it.
    Disabled,
    /// It is read in parts that may not belong together.
    Tears,
    /// Each strand has its own, they differ, and this many strands read it.
    Unsynchronised(usize),
    /// It stands still while a strand idles.
    StopsWhenIdle,
    /// Its rate follows a clock that power management changes.
    RateVaries,
    /// It would have to be polled at least once in so many nanoseconds.
    WrapsUnseen(u64),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("not there"),
            Self::Frequency(0) => f.write_str("frequency unknown"),
            Self::Frequency(hz) => write!(f, "{hz} Hz, not 1 MHz to 10 GHz"),
            Self::Disabled => f.write_str("disabled by the operator"),
            Self::Tears => f.write_str("read in parts that may not belong together"),
            Self::Unsynchronised(strands) => write!(f, "not the same on all {strands} strands"),
            Self::StopsWhenIdle => f.write_str("stops when idle"),
            Self::RateVaries => f.write_str("rate varies with power management"),
            Self::WrapsUnseen(poll) => write!(f, "wraps unseen, unless polled every {poll} ns"),
        }
    }
}

/// Whether a source is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is safe.
    Safe,
    /// It is not safe, but the operator forces it.
    Forced(Reason),
    /// It is not used.
    Unsafe(Reason),
}

impl Verdict {
    /// Judges a source; `None` if it is not there.
    pub fn of(source: Option<&Description>, machine: &Machine, operator: Operator) -> Self {
        let Some(source) = source else {
            return Self::Unsafe(Reason::Absent);
        };
        if Scale::new(source.hz).is_none() {
            return Self::Unsafe(Reason::Frequency(source.hz));
        }
        match (operator, trusted(source, machine)) {
            (Operator::Disable, _) => Self::Unsafe(Reason::Disabled),
            (_, Ok(())) => Self::Safe,
            (Operator::Force, Err(reason)) => Self::Forced(reason),
            (Operator::Default, Err(reason)) => Self::Unsafe(reason),
        }
    }

    /// Whether it is safe or forced.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Safe | Self::Forced(_))
    }
}

/// The first thing that speaks against a source.
fn trusted(source: &Description, machine: &Machine) -> Result<(), Reason> {
    let hazards = source.hazards;
    if hazards.tears {
        return Err(Reason::Tears);
    }
    if source.scope == Scope::StrandUnsynchronised && machine.strands > 1 {
        return Err(Reason::Unsynchronised(machine.strands));
    }
    if hazards.stops_when_idle && machine.idles {
        return Err(Reason::StopsWhenIdle);
    }
    if hazards.rate_varies && machine.rate_changes {
        return Err(Reason::RateVaries);
    }
    let poll = longest_poll(source);
    if machine.poll > poll {
        return Err(Reason::WrapsUnseen(poll));
    }
    Ok(())
}

/// The longest time between two polls of a source that is safe, in nanoseconds; 0 if its frequency is of no use.
pub fn longest_poll(source: &Description) -> u64 {
    match Scale::new(source.hz) {
        // Rounded up at most by 1.
        Some(scale) => scale
            .nanoseconds(Wrap::longest_interval(source.width))
            .saturating_sub(1),
        None => 0,
    }
}

/// The best of some sources: the usable one with the highest rating, of equal ones the first. Its place in the list.
pub fn choose(sources: impl IntoIterator<Item = (Verdict, u16)>) -> Option<usize> {
    let mut best: Option<(usize, u16)> = None;
    for (place, (verdict, rating)) in sources.into_iter().enumerate() {
        if verdict.is_usable() && best.is_none_or(|(_, highest)| rating > highest) {
            best = Some((place, rating));
        }
    }
    best.map(|(place, _)| place)
}
