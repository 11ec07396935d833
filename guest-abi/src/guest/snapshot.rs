//! The PCR and both counters of a PMU, read so that they belong together.

use core::fmt;

use super::retry::{retry, spin};
use super::{Hypercall, PerfCounters, RetryError, Tries};
use crate::clock::Clock;
use crate::layout::DramPic;
use crate::register::{Counter, CounterSet, PerfReg, Pics, Pmu};

/// Bounds on the work for a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How often to read the counters, if the PCR is different afterwards.
    pub attempts: Tries,
    /// How often to try a call, if its status is EWOULDBLOCK.
    pub tries: Tries,
}

impl Bounds {
    /// Do nothing twice.
    pub const ONCE: Self = Self {
        attempts: Tries::ONCE,
        tries: Tries::ONCE,
    };
}

/// A PMU's PCR and counters. The PCR was the same before and after the counters were read, so they count what it says,
/// unless it was changed and changed back in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The PMU.
    pub pmu: Pmu,
    /// The value of its PCR.
    pub pcr: u64,
    /// Counter 0.
    pub pic0: u64,
    /// Counter 1.
    pub pic1: u64,
    /// The counters that have wrapped since their flags were last cleared. Only counters of DRAM channels have flags.
    pub wrapped: CounterSet,
    /// How far apart in time the counters were read.
    pub skew: Skew,
    /// How often the counters were read, including the last time.
    pub attempts: u32,
}

impl Snapshot {
    /// Returns one of the two counters.
    pub const fn counter(&self, counter: Counter) -> u64 {
        match counter {
            Counter::Pic0 => self.pic0,
            Counter::Pic1 => self.pic1,
        }
    }

    /// Returns one of the two counters, that of a DRAM channel with its flag in bit 31: what [`Widened`](super::Widened) takes.
    pub const fn raw(&self, counter: Counter) -> u64 {
        let flag = (self.wrapped.contains(counter) as u64) << DramPic::WIDTH;
        self.counter(counter) | flag
    }
}

/// How far apart in time the two counters were read: PIC0 first, then PIC1. All zeros if one read gave both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// Hypercalls that were made for PIC1: those that were refused, and the one that read it. 0 if one read gave both.
    pub hypercalls: u32,
    /// Ticks from just before the call that read PIC0 to just after the call that read PIC1; `None` without a clock.
    pub ticks: Option<u64>,
    /// By how much PIC0 had advanced when it was read again after PIC1. When PIC1 was read, PIC0 was between its value in the
    /// snapshot and that value plus this. (If PIC0 was written in between, the number means nothing.)
    pub pic0_events: u64,
}

/// Why a snapshot failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The PCR changed while the counters were read, in each of these attempts.
    Changing(Tries),
    /// A register could not be read.
    Read(PerfReg, RetryError),
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changing(attempts) => {
                write!(f, "PCR changed during each of {} reads", attempts.number())
            }
            Self::Read(register, error) => write!(f, "{register}: {error}"),
        }
    }
}

impl core::error::Error for SnapshotError {}

impl<H: Hypercall> PerfCounters<H> {
    /// Reads the PCR and the counters of a PMU, without a clock.
    ///
    /// # Errors
    /// If a register cannot be read, or the PCR keeps changing, within the bounds.
    pub fn snapshot(&self, pmu: impl Into<Pmu>, bounds: Bounds) -> Result<Snapshot, SnapshotError> {
        self.snapshot_with(pmu, bounds, None, spin)
    }

    /// Reads the PCR and the counters of a PMU. Calls `pause` between two tries of one register with the number of those
    /// refused so far.
    ///
    /// # Errors
    /// If a register cannot be read, or the PCR keeps changing, within the bounds.
    pub fn snapshot_with(
        &self,
        pmu: impl Into<Pmu>,
        bounds: Bounds,
        clock: Option<&dyn Clock>,
        pause: impl FnMut(u32),
    ) -> Result<Snapshot, SnapshotError> {
        let pmu = pmu.into();
        let mut reader = Reader {
            counters: self,
            tries: bounds.tries,
            clock,
            pause,
        };
        let mut pcr = reader.read(pmu.pcr())?.value;
        for attempts in 1..=bounds.attempts.number() {
            let (pic0, pic1, wrapped, skew) = reader.pics(pmu.pics())?;
            let afterwards = reader.read(pmu.pcr())?.value;
            if afterwards == pcr {
                return Ok(Snapshot {
                    pmu,
                    pcr,
                    pic0,
                    pic1,
                    wrapped,
                    skew,
                    attempts,
                });
            }
            pcr = afterwards;
        }
        Err(SnapshotError::Changing(bounds.attempts))
    }
}

struct Reader<'a, H, P> {
    counters: &'a PerfCounters<H>,
    tries: Tries,
    clock: Option<&'a dyn Clock>,
    pause: P,
}

struct Reading {
    value: u64,
    calls: u32,
    before: Option<u64>,
    after: Option<u64>,
}

impl<H: Hypercall, P: FnMut(u32)> Reader<'_, H, P> {
    fn read(&mut self, register: PerfReg) -> Result<Reading, SnapshotError> {
        let ticks = || self.clock.map(Clock::ticks);
        let mut before = None;
        let answer = retry(self.tries, &mut self.pause, || {
            before = ticks();
            self.counters.get(register)
        })
        .map_err(|error| SnapshotError::Read(register, error))?;
        Ok(Reading {
            value: answer.value,
            calls: answer.refused.saturating_add(1),
            before,
            after: ticks(),
        })
    }

    fn pics(&mut self, pics: Pics) -> Result<(u64, u64, CounterSet, Skew), SnapshotError> {
        match pics {
            Pics::Together(pic) => {
                let both = DramPic::from(self.read(pic)?.value);
                let skew = Skew {
                    hypercalls: 0,
                    ticks: self.clock.map(|_| 0),
                    pic0_events: 0,
                };
                let (pic0, pic1) = (both.pic0().into(), both.pic1().into());
                Ok((pic0, pic1, both.wrapped(), skew))
            }
            Pics::Apart(pic0, pic1) => {
                let first = self.read(pic0)?;
                let second = self.read(pic1)?;
                let again = self.read(pic0)?;
                let skew = Skew {
                    hypercalls: second.calls,
                    ticks: first
                        .before
                        .zip(second.after)
                        .map(|(from, to)| to.wrapping_sub(from)),
                    pic0_events: again.value.wrapping_sub(first.value),
                };
                Ok((first.value, second.value, CounterSet::NONE, skew))
            }
        }
    }
}
