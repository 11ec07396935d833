//! Safe code that the C functions share.

use guest_abi::guest::{DramCount, NegotiateError, Presence, PresentPmus, Reading, Snapshot};
use guest_abi::layout::{AsuPcr, DramPcr, EventSelect, GpdPcr, LpuPcr};
use guest_abi::trap::{VFALLS_GET_PERFREG, VFALLS_SET_PERFREG};
use guest_abi::{Counter, HvError, Hypercall, PerfCounters, Pmu, Trap, Version};

use crate::event;
use crate::types::{vfperf_count, vfperf_present, vfperf_snapshot, vfperf_version};

pub(crate) fn negotiation_result<H: Hypercall>(
    counters: Result<PerfCounters<H>, NegotiateError>,
) -> Result<vfperf_version, HvError> {
    match counters {
        Ok(counters) => Ok(counters.version().into()),
        Err(NegotiateError::Refused(error)) => Err(error),
        Err(NegotiateError::MajorZero) => Err(HvError::Invalid),
        // The hypervisor granted a higher minor number than requested.
        Err(_) => Err(HvError::NotSupported),
    }
}

/// Returns the counters in the version that the guest has negotiated. Fails with EBADTRAP if the guest has not negotiated.
pub(crate) fn join_negotiated<H: Hypercall>(route: H) -> Result<PerfCounters<H>, HvError> {
    PerfCounters::join(route)?.ok_or(HvError::BadTrap)
}

impl From<Version> for vfperf_version {
    fn from(Version { major, minor }: Version) -> Self {
        Self { major, minor }
    }
}

impl From<PresentPmus> for vfperf_present {
    fn from(present: PresentPmus) -> Self {
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

impl From<Snapshot> for vfperf_snapshot {
    fn from(snapshot: Snapshot) -> Self {
        let bit = |counter| u32::from(snapshot.wrapped.contains(counter)) << counter.index();
        Self {
            pcr: snapshot.pcr,
            pic: [snapshot.pic0, snapshot.pic1],
            skew_ticks: snapshot.skew.ticks.unwrap_or(0),
            skew_events: snapshot.skew.pic0_events,
            skew_calls: snapshot.skew.hypercalls,
            wrapped: bit(Counter::Pic0) | bit(Counter::Pic1),
            reads: snapshot.reads,
            unit: snapshot.pmu.index() as u32,
        }
    }
}

/// Reads the performance register `id`. The hypervisor refuses an unknown `id`.
pub(crate) fn read(route: impl Hypercall, id: u64) -> Result<u64, HvError> {
    let [value, ..] = route.call(Trap::Fast, VFALLS_GET_PERFREG, [id, 0, 0, 0, 0])?;
    Ok(value)
}

/// Writes the performance register `id`. The hypervisor refuses an unknown `id`.
pub(crate) fn write(route: impl Hypercall, id: u64, value: u64) -> Result<(), HvError> {
    route.call(Trap::Fast, VFALLS_SET_PERFREG, [id, value, 0, 0, 0]).map(|_| ())
}

/// Returns the mask of the field in `pmu`'s control register that selects a counter's event.
pub(crate) fn field(pmu: Pmu, counter: Counter) -> u64 {
    match pmu {
        Pmu::Dram(_) => DramPcr::field(counter),
        Pmu::Lpu(_) => LpuPcr::field(counter),
        Pmu::Gpd(_) => GpdPcr::field(counter),
        Pmu::Asu(_) => AsuPcr::field(counter),
    }
}

/// Returns `pcr` with `event` selected for one of `pmu`'s counters; `None` if the event belongs to another kind of unit, or its code is too
/// large.
pub(crate) fn select_event(pmu: Pmu, pcr: u64, counter: Counter, event: u32) -> Option<u64> {
    let mask = field(pmu, counter);
    let code = u64::from(event.checked_sub(event::kind(pmu))?);
    (code <= mask >> mask.trailing_zeros()).then(|| insert(mask, pcr, code))
}

/// Returns `pcr` with `code` in the field that `mask` covers, and all other bits unchanged.
pub(crate) fn insert(mask: u64, pcr: u64, code: u64) -> u64 {
    pcr & !mask | code << mask.trailing_zeros() & mask
}

impl vfperf_count {
    /// Adds the new events to the count, and returns the count. `since` takes the counter's previous value, and returns the number of
    /// events from that value to `raw`.
    pub(crate) fn advance(&mut self, raw: u64, since: impl FnOnce(u64) -> u64) -> u64 {
        self.events = self.events.wrapping_add(since(self.last));
        self.last = raw;
        self.events
    }

    /// Like [`advance`](Self::advance), for a counter of `pmu`. In the `raw` value of a DRAM counter, bit 31 is the counter's
    /// flag.
    pub(crate) fn advance_unit(&mut self, pmu: Pmu, raw: u64) -> u64 {
        self.advance(raw, |last| match pmu {
            Pmu::Dram(_) => DramCount::new(Reading::new(last)).update(Reading::new(raw)),
            Pmu::Lpu(_) | Pmu::Gpd(_) | Pmu::Asu(_) => raw.wrapping_sub(last),
        })
    }
}
