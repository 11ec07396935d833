//! Samples of several sources, and the comparison of two samples.

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::finding::{Fault, Limits, Skipped};
use super::frequency::{FrequencyMeter, Reading};
use super::keeper::Timekeeper;

/// The indices of the sources that a check compares with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) chosen: usize,
    pub(super) reference: usize,
    pub(super) tiebreaker: Option<usize>,
}

impl Roles {
    /// Returns the chosen source, and the best and second best of the other sources; `None` if there is no other source.
    pub(super) fn assign<S: ClockSource, const N: usize>(
        keeper: &Timekeeper<S, N>,
    ) -> Option<Self> {
        let chosen = keeper.chosen();
        let reference = keeper.best_except([Some(chosen), None])?;
        let tiebreaker = keeper.best_except([Some(chosen), Some(reference)]);
        Some(Self { chosen, reference, tiebreaker })
    }
}

/// The counts of the sources, read in the order reference, chosen, reference, reference, tiebreaker, reference, chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) roles: Roles,
    reference: [u64; 4],
    chosen: [u64; 2],
    tiebreaker: Option<u64>,
    /// The time at the first read of the chosen source.
    time: u64,
}

impl Sample {
    /// Returns the first count of the chosen source, and the counts of the reference around it.
    pub(super) fn reading(&self) -> Reading {
        let [before, after, ..] = self.reference;
        let [count, _] = self.chosen;
        Reading { before, count, after }
    }

    /// Returns the last count of the reference in the sample.
    pub(super) fn reference_end(&self) -> u64 {
        self.reference[3]
    }

    /// Returns `true` if the reference advanced during the sample, or has advanced since its count was `before`.
    pub(super) fn reference_advanced(&self, before: Option<u64>) -> bool {
        let [first, .., last] = self.reference;
        first != last || before.is_some_and(|before| before != last)
    }
}

/// The reason why a sample failed, or why two samples do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The check is inconclusive.
    Skip(Skipped),
    /// The source with this index is bad.
    Bad(usize, Fault),
}

/// The bounds of a duration in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Span {
    least: u64,
    most: u64,
}

impl Span {
    fn widened(self, by: u64) -> Self {
        Self { least: self.least.saturating_sub(by), most: self.most.saturating_add(by) }
    }

    /// Returns the fault of a clock that measured the duration `measured`; `None` if the duration is within the bounds.
    fn fault(self, measured: u64) -> Option<Fault> {
        if measured > self.most {
            Some(Fault::Fast)
        } else if measured < self.least {
            Some(Fault::Slow)
        } else {
            None
        }
    }
}

/// Returns `number * millionths / 1,000,000`, rounded up.
fn millionths_of(number: u64, millionths: u32) -> u64 {
    (number / 1_000_000 + 1).saturating_mul(millionths.into())
}

/// Reads the sources on a strand, and compares samples.
pub(super) struct Observer<'a, S, const N: usize> {
    pub(super) keeper: &'a Timekeeper<S, N>,
    pub(super) strand: StrandId,
    pub(super) roles: Roles,
    pub(super) limits: Limits,
}

impl<S: ClockSource, const N: usize> Observer<'_, S, N> {
    /// Takes a sample in which the first two reads of the reference are at most [`Limits::bracket`] apart.
    pub(super) fn sample(&self) -> Result<Sample, Problem> {
        let mut skipped = Skipped::SlowReference;
        for _ in 0..self.limits.tries.max(1) {
            let sample = self.read()?;
            let [before, after, again, _] = sample.reference;
            if self.reference(before, after) <= self.limits.bracket {
                return Ok(sample);
            }
            if self.reference(after, again) <= self.limits.bracket {
                skipped = Skipped::Disturbed;
            }
        }
        Err(Problem::Skip(skipped))
    }

    fn read(&self) -> Result<Sample, Problem> {
        let Self { keeper, strand, roles, .. } = *self;
        let read =
            |source| keeper.ticks(source, strand).ok_or(Problem::Bad(source, Fault::Unreadable));
        let before = read(roles.reference)?;
        let chosen = read(roles.chosen)?;
        let after = read(roles.reference)?;
        let again = read(roles.reference)?;
        let tiebreaker = roles.tiebreaker.and_then(|tiebreaker| keeper.ticks(tiebreaker, strand));
        let end = read(roles.reference)?;
        Ok(Sample {
            roles,
            reference: [before, after, again, end],
            chosen: [chosen, read(roles.chosen)?],
            tiebreaker,
            time: keeper.time_at(chosen).unwrap_or(0),
        })
    }

    /// Returns a meter of the chosen source's frequency.
    pub(super) fn meter(&self) -> Option<FrequencyMeter> {
        let describe = |source| Some(self.keeper.tracked(source)?.description);
        let Roles { chosen, reference, .. } = self.roles;
        Some(FrequencyMeter::new(&describe(chosen)?, &describe(reference)?))
    }

    /// Checks that the sources agree on the duration between two samples.
    pub(super) fn compare(&self, old: &Sample, new: &Sample) -> Result<(), Problem> {
        let Roles { chosen, reference, tiebreaker } = self.roles;
        let measured = self.keeper.between(chosen, old.chosen[0], new.chosen[0]);
        let bounds = self.by_reference(old, new, [0, 1]);
        let Some(fault) = self.tolerant(bounds, [chosen, reference]).fault(measured) else {
            return Ok(());
        };
        let tiebreaker = tiebreaker.zip(old.tiebreaker.zip(new.tiebreaker));
        if tiebreaker.is_some_and(|of| self.tiebreaker_confirms(old, new, of, measured)) {
            let fault = match fault {
                _ if self.reference_stalled(new) => Fault::Stopped,
                Fault::Fast => Fault::Slow,
                _ => Fault::Fast,
            };
            return Err(Problem::Bad(reference, fault));
        }
        let fault = match fault {
            _ if new.chosen[0].wrapping_sub(old.chosen[0]).cast_signed() < 0 => Fault::Backwards,
            _ if self.chosen_stalled(new) => Fault::Stopped,
            fault => fault,
        };
        Err(Problem::Bad(chosen, fault))
    }

    /// Returns the present time: the time of a sample, plus the duration since then according to the reference.
    pub(super) fn time_by_reference(&self, last: &Sample) -> u64 {
        let now = self.keeper.ticks(self.roles.reference, self.strand);
        last.time.saturating_add(now.map_or(0, |now| self.reference(last.reference[1], now)))
    }

    /// Returns `true` if the tiebreaker agrees with the duration that the chosen source measured, and contradicts the reference.
    fn tiebreaker_confirms(
        &self,
        old: &Sample,
        new: &Sample,
        (tiebreaker, (from, to)): (usize, (u64, u64)),
        measured: u64,
    ) -> bool {
        let by_tiebreaker = self.keeper.between(tiebreaker, from, to);
        let uncertainty = self.length(old).saturating_add(self.length(new));
        let bounds = Span { least: by_tiebreaker, most: by_tiebreaker }.widened(uncertainty);
        let for_chosen = self.tolerant(bounds, [self.roles.chosen, tiebreaker]);
        let for_tiebreaker =
            self.tolerant(self.by_reference(old, new, [2, 3]), [self.roles.reference, tiebreaker]);
        for_chosen.fault(measured).is_none() && for_tiebreaker.fault(by_tiebreaker).is_some()
    }

    /// Returns the bounds of a duration according to the reference. The duration begins between the reads `before` and `after` in
    /// the old sample, and ends between the same reads in the new sample.
    fn by_reference(&self, old: &Sample, new: &Sample, [before, after]: [usize; 2]) -> Span {
        Span {
            least: self.reference(old.reference[after], new.reference[before]),
            most: self.reference(old.reference[before], new.reference[after]),
        }
    }

    /// Widens the bounds by the tolerance and by the steps of two sources.
    fn tolerant(&self, span: Span, sources: [usize; 2]) -> Span {
        let [first, second] = sources.map(|source| self.keeper.step(source));
        span.widened(millionths_of(span.most, self.limits.tolerance))
            .widened(first.saturating_add(second))
    }

    /// Returns the longer of the durations that the reference and the chosen source measured for a sample. Either source may be
    /// bad.
    fn length(&self, sample: &Sample) -> u64 {
        let [before, .., end] = sample.reference;
        let [first, last] = sample.chosen;
        let by_chosen = self.keeper.between(self.roles.chosen, first, last);
        self.reference(before, end).max(by_chosen)
    }

    /// Returns `true` if the chosen source did not advance during a sample that took longer than a step of the source.
    fn chosen_stalled(&self, sample: &Sample) -> bool {
        let [before, .., end] = sample.reference;
        let [first, last] = sample.chosen;
        first == last && self.reference(before, end) > self.keeper.step(self.roles.chosen)
    }

    /// Returns `true` if the reference did not advance during a sample that took longer than a step of the reference.
    fn reference_stalled(&self, sample: &Sample) -> bool {
        let [before, .., end] = sample.reference;
        let [first, last] = sample.chosen;
        let by_chosen = self.keeper.between(self.roles.chosen, first, last);
        before == end && by_chosen > self.keeper.step(self.roles.reference)
    }

    fn reference(&self, from: u64, to: u64) -> u64 {
        self.keeper.between(self.roles.reference, from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_at_a_bound_is_no_fault() {
        let faults = [2, 3, 7, 8].map(|measured| Span { least: 3, most: 7 }.fault(measured));
        assert_eq!(faults, [Some(Fault::Slow), None, None, Some(Fault::Fast)]);
    }

    /// The result is at least the exact number, and at most `millionths` above it.
    #[test]
    fn millionths_are_rounded_up() {
        for (number, millionths, exact) in [
            (0, 500, 0),
            (1_000, 1_000, 1),
            (1_999_999, 500, 1_000),
            (7_000_000_000, 500, 3_500_000),
        ] {
            let found = millionths_of(number, millionths);
            assert!((exact..=exact + u64::from(millionths)).contains(&found), "{number}");
        }
    }
}
