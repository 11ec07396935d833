//! What several functions use.

use super::{sun4v_count, sun4v_version};
use crate::group::Version;
use crate::guest::{Hypercall, PerfCounters, RetryError, Tries, Widened};
use crate::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};
use crate::register::{Counter, Pmu};
use crate::status::{EOK, HvError};

pub(super) fn status(result: Result<(), HvError>) -> u64 {
    result.map_or_else(HvError::number, |()| EOK)
}

/// Returns counters without a version: the hypervisor decides what it serves.
pub(super) const fn counters<H: Hypercall>(route: H) -> PerfCounters<H> {
    PerfCounters::assumed(route, Version::NONE)
}

pub(super) fn pmu(number: u32) -> Option<Pmu> {
    Pmu::ALL.get(number as usize).copied()
}

pub(super) fn counter(number: u32) -> Option<Counter> {
    Counter::new(number as usize)
}

impl From<Version> for sun4v_version {
    fn from(version: Version) -> Self {
        Self {
            major: version.major,
            minor: version.minor,
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

pub(super) const fn field(pmu: Pmu) -> fn(Counter) -> u64 {
    match pmu {
        Pmu::Dram(_) => DramPcr::field,
        Pmu::Lpu(_) => LpuPcr::field,
        Pmu::Gpd(_) => GpdPcr::field,
        Pmu::Asu(_) => AsuPcr::field,
    }
}

pub(super) fn place(mask: u64, pcr: u64, event: u64) -> u64 {
    pcr & !mask | event << mask.trailing_zeros() & mask
}

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
