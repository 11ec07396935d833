//! The PCR and both counters of a PMU, read as one.

use core::fmt;

use super::retry::{retry, spin};
use super::{Hypercall, PerfCounters, RetryError, Tries};
use crate::clock::Clock;
use crate::layout::DramPic;
use crate::register::{Counter, PerfReg, Pics, Pmu};

/// How much work a snapshot may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How often the counters are read, if the PCR is not the same afterwards.
    pub attempts: Tries,
    /// How often one register is asked for, if the answer is EWOULDBLOCK.
    pub tries: Tries,
}

impl Bounds {
    /// Nothing is done twice.
    pub const ONCE: Self = Self {
        attempts: Tries::ONCE,
        tries: Tries::ONCE,
    };
}

/// A PMU's PCR and counters. The PCR read the same before and after the counters: so they count what it says, unless
/// someone changed it and changed it back in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The PMU.
    pub pmu: Pmu,
    /// What its PCR holds.
    pub pcr: u64,
    /// Counter 0.
    pub pic0: u64,
    /// Counter 1.
    pub pic1: u64,
    /// How far apart the counters were read.
    pub skew: Skew,
    /// How often the counters were read, the last time included.
    pub attempts: u32,
}

impl Snapshot {
    /// One of the two counters.
    pub const fn counter(&self, counter: Counter) -> u64 {
        match counter {
            Counter::Pic0 => self.pic0,
            Counter::Pic1 => self.pic1,
        }
    }
}

/// How far apart the two counters were read: PIC0 first, then PIC1. All zeros if one read gave both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// Hypercalls from the answer of PIC0 to the answer of PIC1: the one that read it, and those refused before.
    pub hypercalls: u32,
    /// Ticks from just before the call that read PIC0 to just after the call that read PIC1; `None` without a clock.
    pub ticks: Option<u64>,
    /// By how much PIC0 went on until it was read again, after PIC1. At the moment when PIC1 was read, PIC0 was between
    /// its value in the snapshot and that value plus this. (A write to PIC0 in between shows as some other number.)
    pub pic0_events: u64,
}

/// Why there is no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The PCR was different after the counters had been read, each time.
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
    /// Reads a PMU whole, without a clock.
    ///
    /// # Errors
    /// If a register cannot be read, or the PCR keeps changing, within the bounds.
    pub fn snapshot(&self, pmu: impl Into<Pmu>, bounds: Bounds) -> Result<Snapshot, SnapshotError> {
        self.snapshot_with(pmu, bounds, None, spin)
    }

    /// Reads a PMU whole. `pause` is what to do between two tries of one register: it is told how many were refused.
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
            let (pic0, pic1, skew) = reader.pics(pmu.pics())?;
            let afterwards = reader.read(pmu.pcr())?.value;
            if afterwards == pcr {
                return Ok(Snapshot {
                    pmu,
                    pcr,
                    pic0,
                    pic1,
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

    fn pics(&mut self, pics: Pics) -> Result<(u64, u64, Skew), SnapshotError> {
        match pics {
            Pics::Together(pic) => {
                let both = DramPic::from(self.read(pic)?.value);
                let skew = Skew {
                    hypercalls: 0,
                    ticks: self.clock.map(|_| 0),
                    pic0_events: 0,
                };
                Ok((both.pic0().into(), both.pic1().into(), skew))
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
                Ok((first.value, second.value, skew))
            }
        }
    }
}
