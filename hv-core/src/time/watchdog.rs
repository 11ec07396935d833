//! Detects and retires bad sources of time.

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::Timekeeper;
use super::frequency::{Frequency, FrequencyMeter};
use super::sample::{Observer, Problem, Roles, Sample};

/// Periodically compares the chosen source of a [`Timekeeper`] with another source, the reference.
///
/// Each check reads the chosen source between two reads of the reference. From the reads of two checks follow the least and
/// the most time that has passed between them according to the reference. The time according to the chosen source must lie
/// between these two, up to a tolerance. If the two reads of the reference are too far apart, the check is inconclusive; a
/// further pair of reads, with nothing in between, then shows whether the reference itself is slow to read.
///
/// If the two sources differ, a third source, the tiebreaker, decides which of them is bad. Without a tiebreaker, or if it
/// cannot tell, the chosen source counts as bad as soon as the reference is known to advance.
///
/// The watchdog retires a bad source. It corrects nothing. It also measures the frequency of the chosen source with every
/// check, for people to see: the time is by the nominal frequency.
///
/// Call it on one strand after the other: then it also detects counters that differ between strands.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    last: Option<Sample>,
    stalled: Stalled,
    meter: Option<FrequencyMeter>,
}

/// The consecutive checks that found a difference while the reference stood still.
#[derive(Clone, Copy, Debug, Default)]
struct Stalled {
    checks: u32,
    /// The count of the reference in the last of these checks.
    reference: Option<u64>,
}

/// The limits of a [`Watchdog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest difference between the rates of two sources, in parts per million.
    pub tolerance: u32,
    /// The longest time between the two reads of the reference of a conclusive check, in nanoseconds.
    pub bracket: u64,
    /// The number of attempts of a check to stay within `bracket`. 0 means 1.
    pub tries: u32,
}

impl Default for Limits {
    /// Returns 500 parts per million (crystals stay within 100), 50 us, and 3 attempts.
    fn default() -> Self {
        Self {
            tolerance: 500,
            bracket: 50_000,
            tries: 3,
        }
    }
}

/// The number of consecutive checks with a reference that stands still, after which the reference counts as bad.
const STALLED_CHECKS: u32 = 16;

/// The fault of a bad source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The source shows more time than has passed.
    Fast,
    /// The source shows less time than has passed.
    Slow,
    /// The source stands still.
    Stopped,
    /// The source has gone back.
    Backwards,
    /// The source cannot be read.
    Unreadable,
}

impl core::fmt::Display for Fault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Fast => "too fast",
            Self::Slow => "too slow",
            Self::Stopped => "stands still",
            Self::Backwards => "went back",
            Self::Unreadable => "cannot be read",
        })
    }
}

/// Why a check was inconclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Skipped {
    /// A read of the reference takes too long.
    SlowReference,
    /// Each attempt was interrupted between its reads.
    Disturbed,
    /// The sources differ, but the reference has not advanced: too little time has passed, or the reference has stopped.
    ReferenceStill,
    /// The bad source cannot be retired now: there is no other source, or another strand is changing the source.
    CannotDemote,
}

/// The result of a check. Sources are given by their index in the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// This was the first check of these sources: there is nothing to compare with yet.
    Begun,
    /// The chosen source agrees with the reference.
    Agrees,
    /// The check was inconclusive and had no effect. The next check compares with the one before this.
    Skipped(Skipped),
    /// There is no other source.
    NoReference,
    /// The reference was bad. The watchdog has retired it.
    BadReference {
        /// The reference.
        source: usize,
        /// The fault of the reference.
        fault: Fault,
    },
    /// The chosen source was bad. The watchdog has retired it.
    Demoted {
        /// The retired source.
        source: usize,
        /// The fault of the retired source.
        fault: Fault,
        /// The source that is now chosen.
        chosen: usize,
    },
}

/// A frequency that a [`Watchdog`] has measured. Sources are given by their index in the list of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The chosen source, which has the frequency.
    pub source: usize,
    /// The reference, which measured it.
    pub reference: usize,
    /// The frequency.
    pub frequency: Frequency,
}

impl Watchdog {
    /// Returns a watchdog before its first check.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            last: None,
            stalled: Stalled {
                checks: 0,
                reference: None,
            },
            meter: None,
        }
    }

    /// Returns the frequency of the chosen source, measured by the reference since they have both been in use, or for the
    /// last one to two minutes; `None` before the second check of the two.
    pub fn frequency(&self) -> Option<Measured> {
        let Roles {
            chosen, reference, ..
        } = self.last?.roles;
        Some(Measured {
            source: chosen,
            reference,
            frequency: self.meter?.frequency()?,
        })
    }

    /// Checks the chosen source on the strand that executes the call, and retires a bad source.
    pub fn check<S: ClockSource, const N: usize>(
        &mut self,
        keeper: &Timekeeper<S, N>,
        strand: StrandId,
    ) -> Finding {
        let Some(roles) = Roles::of(keeper) else {
            self.start_over();
            return Finding::NoReference;
        };
        if self.last.is_some_and(|last| last.roles != roles) {
            self.start_over();
        }
        let observer = Observer::new(keeper, strand, roles, self.limits);
        let (source, fault) = match self.compare(&observer) {
            Ok(finding) => return finding,
            Err(Problem::Skip(skipped)) => return Finding::Skipped(skipped),
            Err(Problem::Bad(source, fault)) => (source, fault),
        };
        // The chosen source may have lost time, for example by standing still: the reference has not.
        let last = self.last.as_ref();
        let at_least = last.map_or(0, |last| observer.time_by_reference(last));
        let Ok(chosen) = keeper.demote(source, strand, at_least) else {
            return Finding::Skipped(Skipped::CannotDemote);
        };
        self.start_over();
        if source == roles.chosen {
            Finding::Demoted {
                source,
                fault,
                chosen,
            }
        } else {
            Finding::BadReference { source, fault }
        }
    }

    /// Takes a sample and compares it with the previous one.
    fn compare<S: ClockSource, const N: usize>(
        &mut self,
        observer: &Observer<'_, S, N>,
    ) -> Result<Finding, Problem> {
        let sample = observer.sample()?;
        let finding = match &self.last {
            None => Finding::Begun,
            Some(last) => match observer.compare(last, &sample) {
                Ok(()) => Finding::Agrees,
                Err(Problem::Bad(source, _))
                    if source == sample.roles.chosen
                        && !sample.reference_advanced(self.stalled.reference) =>
                {
                    self.stalled.reference = Some(sample.reference_end());
                    self.stalled.checks = self.stalled.checks.saturating_add(1);
                    return Err(match self.stalled.checks {
                        STALLED_CHECKS.. => Problem::Bad(sample.roles.reference, Fault::Stopped),
                        _ => Problem::Skip(Skipped::ReferenceStill),
                    });
                }
                Err(problem) => return Err(problem),
            },
        };
        if self.meter.is_none() {
            self.meter = observer.meter();
        }
        if let Some(meter) = &mut self.meter {
            meter.add(sample.reading());
        }
        self.last = Some(sample);
        self.stalled = Stalled::default();
        Ok(finding)
    }

    fn start_over(&mut self) {
        self.last = None;
        self.stalled = Stalled::default();
        self.meter = None;
    }
}
