//! Helpers of the C functions, without unsafe code.

use super::{sun4v_count, sun4v_present, sun4v_version};
use crate::counter::Counter;
use crate::group::Version;
use crate::guest::{Hypercall, NegotiateError, PerfCounters, Present, RetryError, Tries, Widened};
use crate::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};
use crate::register::Pmu;
use crate::status::{EOK, HvError};

/// Returns counters without a version: the hypervisor decides which registers it serves.
pub(super) const fn counters<H: Hypercall>(route: H) -> PerfCounters<H> {
    PerfCounters::assumed(route, Version::NONE)
}

pub(super) fn negotiated<H: Hypercall>(
    counters: Result<PerfCounters<H>, NegotiateError>,
) -> Result<sun4v_version, HvError> {
    match counters {
        Ok(counters) => Ok(counters.version().into()),
        Err(NegotiateError::Refused(error)) => Err(error),
        Err(NegotiateError::MoreThanAsked(_)) => Err(HvError::NotSupported),
        Err(NegotiateError::MajorZero) => Err(HvError::Invalid),
    }
}

pub(super) fn pmu(number: u32) -> Option<Pmu> {
    Pmu::ALL.get(number as usize).copied()
}

pub(super) fn counter(number: u32) -> Option<Counter> {
    Counter::new(number as usize)
}

impl From<Version> for sun4v_version {
    fn from(Version { major, minor }: Version) -> Self {
        Self { major, minor }
    }
}

impl From<Present> for sun4v_present {
    fn from(present: Present) -> Self {
        Self {
            units: present.pmus().bits(),
            refused: present.refused.bits(),
            busy: present.busy.bits(),
            unclear: present.unclear.bits(),
        }
    }
}

pub(super) fn retried(tries: u32, mut attempt: impl FnMut() -> u64) -> u64 {
    let tries = Tries::new(tries).unwrap_or(Tries::ONCE);
    match tries.retry(|| HvError::check(attempt())) {
        Ok(()) => EOK,
        Err(RetryError::StillBlocked(_)) => HvError::WouldBlock.number(),
        Err(RetryError::Failed(error)) => error.number(),
    }
}

/// Returns the function that gives the select field of each counter in the PMU's control register.
pub(super) const fn field(pmu: Pmu) -> fn(Counter) -> u64 {
    match pmu {
        Pmu::Dram(_) => DramPcr::field,
        Pmu::Lpu(_) => LpuPcr::field,
        Pmu::Gpd(_) => GpdPcr::field,
        Pmu::Asu(_) => AsuPcr::field,
    }
}

/// Returns `pcr` with `event` in the field that `mask` covers.
pub(super) fn insert(mask: u64, pcr: u64, event: u64) -> u64 {
    pcr & !mask | event << mask.trailing_zeros() & mask
}

/// Updates a count from C by a raw value of its counter. Returns the count; 0 for NULL.
pub(super) fn counted<const BITS: u32, const FLAG: bool>(
    count: Option<&mut sun4v_count>,
    resumed: fn(u64, u64) -> Widened<BITS, FLAG>,
    raw: u32,
) -> u64 {
    count.map_or(0, |count| {
        let mut widened = resumed(count.events, count.last);
        count.events = widened.update(raw);
        count.last = widened.last();
        count.events
    })
}
