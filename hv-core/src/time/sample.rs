//! Samples of all sources of a timekeeper, and the comparison of two samples.

use core::array;
use core::cmp::Ordering;

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::finding::{Fault, Limits};
use super::frequency::Reading;
use super::judge::{Evidence, Relation};
use super::keeper::Timekeeper;
use super::source::{Tracked, Trust};

/// Three counts of each source. A strand reads all sources in order, then in the opposite order, and then in order again. With sources A
/// and B, the reads are A1 B1, B2 A2, A3 B3: A1 and A2 enclose B1, and B2 and B3 enclose A2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<const N: usize> {
    counts: [Option<[u64; 3]>; N],
    /// The timekeeper's time at the first read of the chosen source.
    time: u64,
}

/// The bounds of a duration in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct DurationBounds {
    min: u64,
    max: u64,
}

impl DurationBounds {
    fn widened(self, by: u64) -> Self {
        Self { min: self.min.saturating_sub(by), max: self.max.saturating_add(by) }
    }

    /// Compares two sources' measurements of the same period. The first source measured `measured`; by the second source, the period lies
    /// within these bounds. Returns the relation of the first source to the second.
    fn relation(self, measured: u64) -> Relation {
        if measured > self.max {
            Relation::Ahead
        } else if measured < self.min {
            Relation::Behind
        } else {
            Relation::Agrees
        }
    }
}

/// Returns an upper bound for `number * millionths / 1,000,000`, which is too high by at most `millionths`. Saturates at
/// `u64::MAX`.
fn millionths_of(number: u64, millionths: u32) -> u64 {
    (number / 1_000_000 + 1).saturating_mul(millionths.into())
}

/// The maximum number of times that the witnesses are read to see whether a source stands still.
const MAX_PROBES: usize = 64;

/// Reads the sources on a strand, and compares samples.
pub(super) struct Observer<'a, S, const N: usize> {
    pub(super) keeper: &'a Timekeeper<S, N>,
    pub(super) strand: StrandId,
    pub(super) limits: Limits,
}

impl<S: ClockSource, const N: usize> Observer<'_, S, N> {
    /// Takes up to [`Limits::tries`] samples, until the reads of a sample take at most [`Limits::bracket`]. Returns the quickest sample.
    pub(super) fn sample(&self) -> Sample<N> {
        let mut best = self.read();
        for _ in 1..self.limits.tries.max(1) {
            if self.is_quick(&best) {
                break;
            }
            let next = self.read();
            if self.read_duration(&next) < self.read_duration(&best) {
                best = next;
            }
        }
        best
    }

    fn read(&self) -> Sample<N> {
        let Self { keeper, strand, .. } = *self;
        let mut reads = [[None; 3]; N];
        let ticks = |source| keeper.ticks(source, strand);
        for (source, reads) in reads.iter_mut().enumerate() {
            reads[0] = ticks(source);
        }
        for (source, reads) in reads.iter_mut().enumerate().rev() {
            reads[1] = ticks(source);
        }
        for (source, reads) in reads.iter_mut().enumerate() {
            reads[2] = ticks(source);
        }
        let counts = reads.map(|[first, second, third]| Some([first?, second?, third?]));
        let chosen = keeper.chosen();
        let first = counts.get(chosen).copied().flatten().map(|[first, ..]| first);
        let time = first.and_then(|first| keeper.time_at(chosen, first));
        Sample { counts, time: time.or_else(|| keeper.time(strand)).unwrap_or(0) }
    }

    /// Returns `true` if the reads of a sample took at most [`Limits::bracket`].
    pub(super) fn is_quick(&self, sample: &Sample<N>) -> bool {
        self.read_duration(sample) <= self.limits.bracket
    }

    /// Returns the longest duration between the first two reads of a trusted source, as measured by that source.
    fn read_duration(&self, sample: &Sample<N>) -> u64 {
        let lengths =
            sample.counts.iter().enumerate().filter(|(source, _)| self.is_trusted(*source));
        let lengths = lengths.filter_map(|(source, counts)| {
            let [first, second, _] = (*counts)?;
            Some(self.keeper.between(source, first, second))
        });
        lengths.max().unwrap_or(0)
    }

    pub(super) fn is_trusted(&self, source: usize) -> bool {
        self.keeper.tracked(source).is_some_and(|tracked| tracked.trust() != Trust::None)
    }

    /// Returns the evidence from two samples. `still` marks the sources that did not advance in the period before `old`.
    pub(super) fn evidence(
        &self,
        old: Option<&Sample<N>>,
        new: &Sample<N>,
        still: [bool; N],
    ) -> Evidence<N> {
        let relation =
            |sources| old.map_or(Relation::Agrees, |old| self.relation(old, new, sources));
        let relations: [[Relation; N]; N] = array::from_fn(|source| {
            array::from_fn(|other| match source.cmp(&other) {
                Ordering::Equal => Relation::Agrees,
                Ordering::Greater => relation([other, source]),
                Ordering::Less => relation([source, other]).reversed(),
            })
        });
        let tracked = |source| self.keeper.tracked(source);
        Evidence {
            trusted: array::from_fn(|source| self.is_trusted(source)),
            proven: array::from_fn(|source| {
                let witnesses = old.map_or([false; N], |old| self.witnesses(old, new, source));
                let mut relations = relations[source].iter().zip(witnesses);
                let is_behind = relations
                    .any(|(relation, is_witness)| is_witness && *relation == Relation::Behind);
                let is_still = || {
                    still[source] && old.is_some_and(|old| self.is_still(old, new, source))
                        || self.stands_still(source, witnesses)
                };
                self.own_fault(old, new, source)
                    .or_else(|| (is_behind && is_still()).then_some(Fault::Stopped))
            }),
            can_gain: array::from_fn(|source| tracked(source).is_some_and(Tracked::can_gain)),
            can_lose: array::from_fn(|source| tracked(source).is_some_and(Tracked::can_lose)),
            relations,
        }
    }

    /// Returns the fault that a source's own counts prove; `None` if they prove no fault.
    fn own_fault(&self, old: Option<&Sample<N>>, new: &Sample<N>, source: usize) -> Option<Fault> {
        let Some([first, second, third]) = new.counts[source] else {
            return Some(Fault::Unreadable);
        };
        let before = old.and_then(|old| old.counts[source]).map_or(first, |[.., last]| last);
        let went_back = |from: u64, to: u64| to.wrapping_sub(from).cast_signed() < 0;
        let is_back =
            went_back(before, first) || went_back(first, second) || went_back(second, third);
        is_back.then_some(Fault::Backwards)
    }

    /// Returns the sources that can show that `source` stands still: the trusted sources that have advanced. If there are none,
    /// returns all sources but `source`.
    fn witnesses(&self, old: &Sample<N>, new: &Sample<N>, source: usize) -> [bool; N] {
        let advances =
            |other: usize| new.counts[other].is_some() && !self.is_still(old, new, other);
        let is_witness = |other| other != source && self.is_trusted(other) && advances(other);
        let is_any = (0..N).any(is_witness);
        array::from_fn(|other| if is_any { is_witness(other) } else { other != source })
    }

    /// Returns `true` if a source has not advanced between two samples.
    pub(super) fn is_still(&self, old: &Sample<N>, new: &Sample<N>, source: usize) -> bool {
        match (old.counts[source], new.counts[source]) {
            (Some([first, ..]), Some([.., last])) => first == last,
            _ => false,
        }
    }

    /// Returns the relation of the second source to the first source in the time between two samples. The second source must come
    /// later in the list than the first. A source that cannot be read agrees with every other source.
    fn relation(&self, old: &Sample<N>, new: &Sample<N>, sources: [usize; 2]) -> Relation {
        let [outer, inner] = sources;
        let counts = [old.counts[outer], new.counts[outer], old.counts[inner], new.counts[inner]];
        let [Some(old_outer), Some(new_outer), Some(old_inner), Some(new_inner)] = counts else {
            return Relation::Agrees;
        };
        let by_outer = |from, to| self.keeper.between(outer, from, to);
        let bounds = DurationBounds {
            min: by_outer(old_outer[1], new_outer[0]),
            max: by_outer(old_outer[0], new_outer[1]),
        };
        let [step, other_step] = sources.map(|source| self.keeper.step(source));
        bounds
            .widened(millionths_of(bounds.max, self.limits.tolerance))
            .widened(step.saturating_add(other_step))
            .relation(self.keeper.between(inner, old_inner[0], new_inner[0]))
    }

    /// Returns `true` if a source shows the same count while a witness advances by more than two steps of the source. A working source may
    /// show the same count for the duration of one step.
    fn stands_still(&self, source: usize, witnesses: [bool; N]) -> bool {
        let Self { keeper, strand, .. } = *self;
        let begun = keeper.ticks(source, strand);
        let starts: [Option<u64>; N] = array::from_fn(|other| keeper.ticks(other, strand));
        let have_passed = || {
            starts.iter().enumerate().any(|(other, start)| {
                let passed = start.zip(keeper.ticks(other, strand));
                let passed = passed.map(|(from, to)| keeper.between(other, from, to));
                witnesses[other] && passed > Some(keeper.step(source).saturating_mul(2))
            })
        };
        (0..MAX_PROBES).any(|_| have_passed()) && begun == keeper.ticks(source, strand)
    }

    /// Returns the time at which a source has the count `ticks`. The result is the time of a sample, plus the duration since the
    /// sample as this source measures it.
    pub(super) fn time_since(&self, sample: &Sample<N>, source: usize, ticks: u64) -> Option<u64> {
        let [first, ..] = sample.counts.get(source).copied().flatten()?;
        Some(sample.time.saturating_add(self.keeper.between(source, first, ticks)))
    }
}

impl<const N: usize> Sample<N> {
    pub(super) const fn time(&self) -> u64 {
        self.time
    }

    /// Returns a reading of one source (`of`) by another (`by`): a count of `of`, and the counts of `by` just before and just after it.
    pub(super) fn reading(&self, of: usize, by: usize) -> Option<Reading> {
        let counts = |source| self.counts.get(source).copied().flatten();
        let ([first, second, _], [before, between, after]) = (counts(of)?, counts(by)?);
        Some(match by < of {
            true => Reading { before, count: first, after: between },
            false => Reading { before: between, count: second, after },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_at_a_bound_agrees() {
        let span = DurationBounds { min: 3, max: 7 };
        let relations = [2, 3, 7, 8].map(|measured| span.relation(measured));
        let agrees = Relation::Agrees;
        assert_eq!(relations, [Relation::Behind, agrees, agrees, Relation::Ahead]);
    }

    /// The result is at least the exact number, and exceeds it by at most `millionths`.
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
