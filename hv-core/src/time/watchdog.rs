//! Detects and retires bad sources of time.

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::finding::{Fault, Finding, Limits, Measured, Skipped};
use super::frequency::FrequencyMeter;
use super::keeper::Timekeeper;
use super::sample::{Observer, Problem, Roles, Sample};

/// Compares the chosen source of a [`Timekeeper`] regularly with another source, the reference.
///
/// Each check reads the chosen source between two reads of the reference. Two checks bound the time that has passed between them,
/// according to the reference. The time that the chosen source measured must be within these bounds, up to a tolerance. If the two
/// reads of the reference are too far apart, the check is inconclusive. Two more reads, with nothing in between, then show whether
/// the reference itself is slow to read.
///
/// If the two sources differ, a third source, the tiebreaker, decides which of them is bad. If there is no tiebreaker, or it cannot
/// decide, the chosen source counts as bad as soon as the reference is known to advance.
///
/// The watchdog retires a bad source, and corrects nothing. Each check also measures the frequency of the chosen source. This is
/// for display only: the timekeeper uses the nominal frequency.
///
/// Call the watchdog on all strands in turn: it then also detects counters that differ between strands.
#[derive(Debug)]
pub struct Watchdog {
    limits: Limits,
    last: Option<Sample>,
    /// The number of consecutive checks that found a difference while the reference stood still, and the reference's last count.
    stalled: Option<(u32, u64)>,
    meter: Option<FrequencyMeter>,
}

/// A reference that has stood still in this number of consecutive checks counts as bad.
const STALLED_CHECKS: u32 = 16;

impl Watchdog {
    /// Returns a watchdog that has made no check.
    pub const fn new(limits: Limits) -> Self {
        Self { limits, last: None, stalled: None, meter: None }
    }

    /// Returns the frequency of the chosen source, measured by the reference over the time since both came into use, but at most over the
    /// last two minutes. Returns `None` before the second check of these two sources.
    pub fn frequency(&self) -> Option<Measured> {
        let Roles { chosen, reference, .. } = self.last?.roles;
        Some(Measured { source: chosen, reference, frequency: self.meter?.frequency()? })
    }

    /// Checks the chosen source on the strand that executes the call, and retires a bad source.
    pub fn check<S: ClockSource, const N: usize>(
        &mut self,
        keeper: &Timekeeper<S, N>,
        strand: StrandId,
    ) -> Finding {
        let Some(roles) = Roles::assign(keeper) else {
            self.start_over();
            return Finding::NoReference;
        };
        if self.last.is_some_and(|last| last.roles != roles) {
            self.start_over();
        }
        let observer = Observer { keeper, strand, roles, limits: self.limits };
        let (source, fault) = match self.compare(&observer) {
            Ok(finding) => return finding,
            Err(Problem::Skip(skipped)) => return Finding::Skipped(skipped),
            Err(Problem::Bad(source, fault)) => (source, fault),
        };
        // The time comes from the reference, because the chosen source may have lost time, for example by standing still.
        let last = self.last.as_ref();
        let at_least = last.map_or(0, |last| observer.time_by_reference(last));
        let Ok(chosen) = keeper.demote(source, strand, at_least) else {
            return Finding::Skipped(Skipped::CannotDemote);
        };
        self.start_over();
        if source == roles.chosen {
            Finding::Demoted { source, fault, chosen }
        } else {
            Finding::BadReference { source, fault }
        }
    }

    /// Takes a sample, and compares it with the previous sample.
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
                        && !sample.reference_advanced(self.stalled.map(|(_, count)| count)) =>
                {
                    let checks = self.stalled.map_or(1, |(checks, _)| checks.saturating_add(1));
                    self.stalled = Some((checks, sample.reference_end()));
                    return Err(match checks {
                        STALLED_CHECKS.. => Problem::Bad(sample.roles.reference, Fault::Stopped),
                        _ => Problem::Skip(Skipped::ReferenceStill),
                    });
                }
                Err(problem) => return Err(problem),
            },
        };
        self.meter = self.meter.or_else(|| observer.meter());
        if let Some(meter) = &mut self.meter {
            meter.add(sample.reading());
        }
        self.last = Some(sample);
        self.stalled = None;
        Ok(finding)
    }

    fn start_over(&mut self) {
        *self = Self::new(self.limits);
    }
}
