//! Reads a PMU's PCR and counters so that they fit together: the counters count the events that the PCR selects.

use core::fmt;
use core::hint::spin_loop;

use super::{Hypercall, PerfCounters, RetryError, Tries};
use crate::clock::Clock;
use crate::counter::{Counter, CounterSet};
use crate::layout::DramPic;
use crate::register::{PerfReg, Pics, Pmu};
use crate::status::HvError;

/// Limits on the work for a snapshot. The default is [`ONCE`](Self::ONCE).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SnapshotLimits {
    /// The maximum number of times that the counters are read. They are read again if the PCR changed during the read.
    pub max_reads: Tries,
    /// The maximum number of tries for each call. A call is repeated if its status is EWOULDBLOCK.
    pub max_tries: Tries,
}

impl SnapshotLimits {
    /// One read of the counters, and one try of each call.
    pub const ONCE: Self = Self { max_reads: Tries::ONCE, max_tries: Tries::ONCE };
}

/// A PMU's PCR and counters. The PCR was the same before and after the read of the counters, so the counters count the events that the PCR
/// selects, unless another strand changed the PCR and changed it back between the two reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub struct Snapshot {
    /// The PMU whose registers were read.
    pub pmu: Pmu,
    /// The value of the PCR, which was the same before and after the read of the counters.
    pub pcr: u64,
    /// Counter 0, without the flag of a DRAM counter.
    pub pic0: u64,
    /// Counter 1, without the flag of a DRAM counter.
    pub pic1: u64,
    /// The counters that have wrapped since their flags were last cleared. Only DRAM counters have flags.
    pub wrapped: CounterSet,
    /// The time between the reads of counter 0 and counter 1.
    pub skew: Skew,
    /// The number of times that the counters were read.
    pub reads: u32,
}

impl Snapshot {
    /// Returns the value of counter 0 or 1, without the flag of a DRAM counter.
    pub const fn counter(&self, counter: Counter) -> u64 {
        match counter {
            Counter::Pic0 => self.pic0,
            Counter::Pic1 => self.pic1,
        }
    }

    /// Returns counter 0 or 1; a DRAM counter has its flag in bit 31.
    pub(super) const fn raw(&self, counter: Counter) -> u64 {
        let flag = (self.wrapped.contains(counter) as u64) << DramPic::WIDTH;
        self.counter(counter) | flag
    }
}

/// The time between the read of PIC0 and the later read of PIC1. All numbers are 0 if one read
/// returned both counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Skew {
    /// The number of hypercalls that read PIC1, refused calls included. 0 if one read returned both
    /// counters.
    pub hypercalls: u32,
    /// Ticks from just before the read of PIC0 to just after the read of PIC1; `None` without a clock.
    pub ticks: Option<u64>,
    /// PIC0 is read twice: before and after PIC1. This field is the number of events that PIC0 counted between these two reads. When PIC1 was
    /// read, PIC0 had advanced by at most this number. If PIC0 was written between its two reads, the number has no meaning.
    pub pic0_events: u64,
}

/// The reason why a snapshot failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The PCR changed during every read of the counters. Holds the number of reads.
    Changing(Tries),
    /// A read of this register failed.
    Read(PerfReg, RetryError),
}

impl SnapshotError {
    /// Returns the status of the read that failed; `None` if the PCR kept changing.
    pub const fn status(&self) -> Option<HvError> {
        match self {
            Self::Changing(_) => None,
            Self::Read(_, error) => error.status(),
        }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changing(reads) => {
                write!(f, "PCR changed during each of {} reads", reads.number())
            }
            Self::Read(register, error) => write!(f, "{register}: {error}"),
        }
    }
}

impl core::error::Error for SnapshotError {}

impl<H: Hypercall> PerfCounters<H> {
    /// Like [`snapshot_with`](Self::snapshot_with), but without a clock: the skew has no ticks.
    pub fn snapshot(
        &self,
        pmu: impl Into<Pmu>,
        bounds: SnapshotLimits,
    ) -> Result<Snapshot, SnapshotError> {
        self.snapshot_with(pmu, bounds, None, |_| spin_loop())
    }

    /// Reads a PMU's PCR and counters. Measures the skew with `clock`. Between two tries of one register, calls `pause` with the number of
    /// refused tries so far.
    ///
    /// # Errors
    /// Fails if a read fails, or if the PCR changes during every read. `bounds` limits the number of reads.
    pub fn snapshot_with(
        &self,
        pmu: impl Into<Pmu>,
        bounds: SnapshotLimits,
        clock: Option<&dyn Clock>,
        pause: impl FnMut(u32),
    ) -> Result<Snapshot, SnapshotError> {
        let pmu = pmu.into();
        let mut reader = Reader { counters: self, tries: bounds.max_tries, clock, pause };
        let mut pcr = reader.read(pmu.pcr())?.value;
        for reads in 1..=bounds.max_reads.number() {
            let (pic0, pic1, wrapped, skew) = reader.pics(pmu.pics())?;
            let afterwards = reader.read(pmu.pcr())?.value;
            if afterwards == pcr {
                return Ok(Snapshot { pmu, pcr, pic0, pic1, wrapped, skew, reads });
            }
            pcr = afterwards;
        }
        Err(SnapshotError::Changing(bounds.max_reads))
    }
}

struct Reader<'a, H, P> {
    counters: &'a PerfCounters<H>,
    tries: Tries,
    clock: Option<&'a dyn Clock>,
    pause: P,
}

struct RegisterReading {
    value: u64,
    calls: u32,
    before: Option<u64>,
    after: Option<u64>,
}

impl<H: Hypercall, P: FnMut(u32)> Reader<'_, H, P> {
    fn read(&mut self, register: PerfReg) -> Result<RegisterReading, SnapshotError> {
        let ticks = || self.clock.map(Clock::ticks);
        let (mut before, mut calls) = (None, 0_u32);
        let attempt = || {
            (before, calls) = (ticks(), calls.saturating_add(1));
            self.counters.get(register)
        };
        let value = self.tries.retry_with(&mut self.pause, attempt);
        let value = value.map_err(|error| SnapshotError::Read(register, error))?;
        Ok(RegisterReading { value, calls, before, after: ticks() })
    }

    fn pics(&mut self, pics: Pics) -> Result<(u64, u64, CounterSet, Skew), SnapshotError> {
        match pics {
            Pics::Shared(pic) => {
                let both = DramPic::from(self.read(pic)?.value);
                let skew = Skew { hypercalls: 0, ticks: self.clock.map(|_| 0), pic0_events: 0 };
                let (pic0, pic1) =
                    (both.counter(Counter::Pic0).into(), both.counter(Counter::Pic1).into());
                Ok((pic0, pic1, both.wrapped(), skew))
            }
            Pics::Separate(pic0, pic1) => {
                let first = self.read(pic0)?;
                let second = self.read(pic1)?;
                let again = self.read(pic0)?;
                let times = first.before.zip(second.after);
                let skew = Skew {
                    hypercalls: second.calls,
                    ticks: times.map(|(from, to)| to.wrapping_sub(from)),
                    pic0_events: again.value.wrapping_sub(first.value),
                };
                Ok((first.value, second.value, CounterSet::NONE, skew))
            }
        }
    }
}
