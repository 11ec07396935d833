//! Safe code that the C functions share.

use core::hint::spin_loop;

use guest_abi::guest::{NegotiateError, Presence, Present};
use guest_abi::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};
use guest_abi::trap::VFALLS_GET_PERFREG;
use guest_abi::{Counter, HvError, Hypercall, PerfCounters, Pmu, Trap, Version};

use super::{sun4v_count, sun4v_present, sun4v_version};

pub(super) fn negotiated<H: Hypercall>(
    counters: Result<PerfCounters<H>, NegotiateError>,
) -> Result<sun4v_version, HvError> {
    match counters {
        Ok(counters) => Ok(counters.version().into()),
        Err(NegotiateError::Refused(error)) => Err(error),
        Err(NegotiateError::MajorZero) => Err(HvError::Invalid),
        // The hypervisor granted a higher minor number than requested.
        Err(_) => Err(HvError::NotSupported),
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
        let mut bits = Self { units: 0, refused: 0, busy: 0, unclear: 0 };
        for pmu in present.pmus().iter() {
            let bit = 1 << pmu.index();
            bits.units |= bit;
            match present.presence(pmu) {
                Presence::Absent | Presence::Readable => {}
                Presence::Refused => bits.refused |= bit,
                Presence::Busy => bits.busy |= bit,
                _ => bits.unclear |= bit,
            }
        }
        bits
    }
}

/// Reads performance register `id`. The hypervisor refuses an `id` that no register has.
pub(super) fn read(route: impl Hypercall, id: u64) -> Result<u64, HvError> {
    let [value, ..] = route.call(Trap::Fast, VFALLS_GET_PERFREG, [id, 0, 0, 0, 0])?;
    Ok(value)
}

/// Repeats `attempt` while its status is EWOULDBLOCK, at most `tries` times (0 means 1). Returns the last status.
pub(super) fn retried(tries: u32, mut attempt: impl FnMut() -> u64) -> u64 {
    for _ in 1..tries {
        let status = attempt();
        if status != HvError::WouldBlock.number() {
            return status;
        }
        spin_loop();
    }
    attempt()
}

/// Returns the function that maps a counter of `pmu` to the mask of its event select in the PMU's control register.
pub(super) const fn field(pmu: Pmu) -> fn(Counter) -> u64 {
    match pmu {
        Pmu::Dram(_) => DramPcr::field,
        Pmu::Lpu(_) => LpuPcr::field,
        Pmu::Gpd(_) => GpdPcr::field,
        Pmu::Asu(_) => AsuPcr::field,
    }
}

/// Returns `pcr` with `event` in the field that `mask` covers, and all other bits unchanged.
pub(super) fn insert(mask: u64, pcr: u64, event: u64) -> u64 {
    pcr & !mask | event << mask.trailing_zeros() & mask
}

/// Adds the events since the last read to `count`, and returns the sum; 0 for NULL. `since` returns their number,
/// given the last raw value.
pub(super) fn counted(
    count: Option<&mut sun4v_count>,
    raw: u32,
    since: impl FnOnce(u64) -> u64,
) -> u64 {
    count.map_or(0, |count| {
        count.events = count.events.wrapping_add(since(count.last));
        count.last = raw.into();
        count.events
    })
}
