//! Decides which time sources are safe on a machine, and which one is the best.

use core::cmp::Reverse;
use core::fmt;

use guest_abi::clock::{Description, Scope};

use super::pc;
use super::scale::Scale;
use super::wrap::WrapExtender;

/// The properties of a machine and its hypervisor that can make a clock wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The number of strands that read the clock.
    pub strands: usize,
    /// `true` if idle strands may stop some of the machine's counters.
    pub idle_stops_counters: bool,
    /// `true` if power management changes the processors' clock rate.
    pub rate_changes: bool,
    /// The rate of the CPU's clock in Hz; 0 if it is unknown.
    pub cpu_hz: u64,
    /// The longest time between two calls of [`Timekeeper::poll`](super::Timekeeper::poll), in nanoseconds.
    pub poll_interval: u64,
}

/// The operator's setting for a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperatorSetting {
    /// The source is used only if it is safe. This is the default.
    #[default]
    Default,
    /// The source is not used, even if it is safe.
    Disable,
    /// The source is used even if it is not safe, unless another usable source has a higher rating. A source that is absent, or
    /// whose frequency is unusable, cannot be forced.
    Force,
}

/// Why a source is not safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The machine does not have the source. The operator cannot force it.
    Absent,
    /// The frequency, in Hz, is 0 (unknown) or outside of 1 Hz to 10 GHz. The operator cannot force the source.
    Frequency(u64),
    /// The operator has disabled the source.
    Disabled,
    /// A read takes several accesses, and the counter may advance between them.
    Tears,
    /// Each strand has its own counter, and the counters differ. The value is the number of strands that read the clock.
    Unsynchronised(usize),
    /// The counter stands still while a strand idles.
    StopsWhenIdle,
    /// The rate follows a clock that power management changes.
    RateVaries,
    /// The counter may be the CPU's clock, whose rate is unknown.
    CpuClockUnknown,
    /// The rate of the counter differs from the rate of the CPU's clock by less than 5%, so the counter may be that clock. The values are
    /// the two rates in Hz.
    CpuClock(u64, u64),
    /// The counter may wrap between two polls. The value is the longest safe time between polls, in nanoseconds.
    WrapsUnseen(u64),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("not there"),
            Self::Frequency(0) => f.write_str("frequency unknown"),
            Self::Frequency(hz) => write!(f, "{hz} Hz, not 1 Hz to 10 GHz"),
            Self::Disabled => f.write_str("disabled by the operator"),
            Self::Tears => f.write_str("read in parts that may not belong together"),
            Self::Unsynchronised(strands) => write!(f, "not the same on all {strands} strands"),
            Self::StopsWhenIdle => f.write_str("stops when idle"),
            Self::RateVaries => f.write_str("rate varies with power management"),
            Self::CpuClockUnknown => f.write_str("may be the CPU's clock, whose rate is unknown"),
            Self::CpuClock(hz, cpu) => {
                write!(f, "may be the CPU's clock: {hz} Hz is within 5% of its {cpu} Hz")
            }
            Self::WrapsUnseen(poll) => write!(f, "wraps unseen, unless polled every {poll} ns"),
        }
    }
}

/// Whether a source is usable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The source is safe on this machine, and the operator has not disabled it.
    Safe,
    /// The source is not safe, but the operator forces it.
    Forced(Reason),
    /// The source is not used, for the given reason.
    Unsafe(Reason),
}

impl Verdict {
    /// Returns the verdict on a source. `source` is `None` if the machine does not have the source.
    pub fn assess(
        source: Option<&Description>,
        environment: &Environment,
        operator: OperatorSetting,
    ) -> Self {
        let Some(source) = source else {
            return Self::Unsafe(Reason::Absent);
        };
        if Scale::new(source.hz).is_none() {
            return Self::Unsafe(Reason::Frequency(source.hz));
        }
        match (operator, check_hazards(source, environment)) {
            (OperatorSetting::Disable, _) => Self::Unsafe(Reason::Disabled),
            (_, Ok(())) => Self::Safe,
            (OperatorSetting::Force, Err(reason)) => Self::Forced(reason),
            (OperatorSetting::Default, Err(reason)) => Self::Unsafe(reason),
        }
    }

    /// Returns `true` if the source is safe or forced.
    pub const fn is_usable(self) -> bool {
        matches!(self, Self::Safe | Self::Forced(_))
    }
}

/// Checks that the source is safe on the machine. The error is the first reason why it is not.
fn check_hazards(source: &Description, environment: &Environment) -> Result<(), Reason> {
    let hazards = source.hazards;
    if hazards.tears {
        return Err(Reason::Tears);
    }
    if source.scope == Scope::StrandUnsynchronised && environment.strands > 1 {
        return Err(Reason::Unsynchronised(environment.strands));
    }
    if hazards.stops_when_idle && environment.idle_stops_counters {
        return Err(Reason::StopsWhenIdle);
    }
    if hazards.rate_varies && environment.rate_changes {
        return Err(Reason::RateVaries);
    }
    if hazards.may_be_cpu_clock {
        check_hidden(source.hz, environment.cpu_hz)?;
    }
    let poll = max_poll_interval(source);
    if environment.poll_interval > poll {
        return Err(Reason::WrapsUnseen(poll));
    }
    Ok(())
}

/// Checks that a counter of unknown hardware is not the CPU's clock. The counter's rate must be the rate of a well-known timer, or differ
/// by at least 5% from the rate of the CPU's clock, which must be known.
fn check_hidden(hz: u64, cpu_hz: u64) -> Result<(), Reason> {
    if let pc::PIT_HZ | pc::PMT_HZ = hz {
        return Ok(());
    }
    if cpu_hz == 0 {
        return Err(Reason::CpuClockUnknown);
    }
    let is_near = u128::from(cpu_hz.abs_diff(hz)) * 20 < hz.into();
    if is_near { Err(Reason::CpuClock(hz, cpu_hz)) } else { Ok(()) }
}

/// Returns the longest safe time between two polls of a source, in nanoseconds; 0 if its frequency is unusable.
pub fn max_poll_interval(source: &Description) -> u64 {
    match Scale::new(source.hz) {
        // The result is one less than the converted interval, because the conversion may round up by 1.
        Some(scale) => {
            scale.nanoseconds(WrapExtender::longest_interval(source.width)).saturating_sub(1)
        }
        None => 0,
    }
}

/// Returns the index of the usable source with the highest rating; `None` if no source is usable. If several usable sources share this
/// rating, returns the first of them.
pub fn choose(sources: impl IntoIterator<Item = (Verdict, u16)>) -> Option<usize> {
    let usable = sources.into_iter().enumerate().filter(|(_, (verdict, _))| verdict.is_usable());
    usable.min_by_key(|(_, (_, rating))| Reverse(*rating)).map(|(index, _)| index)
}
