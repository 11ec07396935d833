//! Sources read together, and what two such readings say of them.

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::{Fault, Limits, Skipped, Timekeeper};

/// Who is compared with whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) chosen: usize,
    pub(super) reference: usize,
    pub(super) judge: Option<usize>,
}

impl Roles {
    /// The chosen source and the best of the others; `None` if there is no other.
    pub(super) fn of<S: ClockSource, const N: usize>(keeper: &Timekeeper<S, N>) -> Option<Self> {
        let chosen = keeper.chosen();
        let reference = keeper.best_but([Some(chosen), None])?;
        let judge = keeper.best_but([Some(chosen), Some(reference)]);
        Some(Self {
            chosen,
            reference,
            judge,
        })
    }
}

/// What the sources showed, in ticks. They were read in this order: `reference[0]`, `chosen[0]`, `reference[1]`,
/// `reference[2]`, `judge`, `reference[3]`, `chosen[1]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) roles: Roles,
    reference: [u64; 4],
    chosen: [u64; 2],
    judge: Option<u64>,
    /// The time, when the chosen source was read first.
    time: u64,
}

impl Sample {
    /// What the reference showed last.
    pub(super) fn reference_end(&self) -> u64 {
        self.reference[3]
    }

    /// Whether the reference went on since it showed this, or while the sample was taken.
    pub(super) fn reference_goes(&self, before: Option<u64>) -> bool {
        let [first, .., last] = self.reference;
        first != last || before.is_some_and(|before| before != last)
    }
}

/// Why two samples do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Nothing can be said.
    Skip(Skipped),
    /// This source is bad.
    Bad(usize, Fault),
}

/// How long something took, in nanoseconds: no less and no more.
#[derive(Clone, Copy, Debug)]
struct Span {
    least: u64,
    most: u64,
}

impl Span {
    fn widened(self, by: u64) -> Self {
        Self {
            least: self.least.saturating_sub(by),
            most: self.most.saturating_add(by),
        }
    }

    /// What is wrong with a clock that says that it took so long.
    fn fault(self, said: u64) -> Option<Fault> {
        if said > self.most {
            Some(Fault::Fast)
        } else if said < self.least {
            Some(Fault::Slow)
        } else {
            None
        }
    }
}

/// So many millionths of a number, rounded up.
fn part(of: u64, millionths: u32) -> u64 {
    (of / 1_000_000 + 1).saturating_mul(millionths.into())
}

/// Reads the sources on a strand, and compares.
pub(super) struct Observer<'a, S, const N: usize> {
    keeper: &'a Timekeeper<S, N>,
    strand: StrandId,
    roles: Roles,
    limits: Limits,
}

impl<'a, S: ClockSource, const N: usize> Observer<'a, S, N> {
    pub(super) fn new(
        keeper: &'a Timekeeper<S, N>,
        strand: StrandId,
        roles: Roles,
        limits: Limits,
    ) -> Self {
        Self {
            keeper,
            strand,
            roles,
            limits,
        }
    }

    /// Reads all, with the two reads of the reference around that of the chosen source near enough.
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
        let Self {
            keeper,
            strand,
            roles,
            ..
        } = *self;
        let read = |source| {
            keeper
                .ticks(source, strand)
                .ok_or(Problem::Bad(source, Fault::Unreadable))
        };
        let before = read(roles.reference)?;
        let chosen = read(roles.chosen)?;
        let after = read(roles.reference)?;
        let again = read(roles.reference)?;
        let judge = roles.judge.and_then(|judge| keeper.ticks(judge, strand));
        let end = read(roles.reference)?;
        Ok(Sample {
            roles,
            reference: [before, after, again, end],
            chosen: [chosen, read(roles.chosen)?],
            judge,
            time: keeper.time_at(chosen),
        })
    }

    /// Compares what the sources say of the time between two samples.
    pub(super) fn compare(&self, old: &Sample, new: &Sample) -> Result<(), Problem> {
        let Roles {
            chosen,
            reference,
            judge,
        } = self.roles;
        let said = self.keeper.between(chosen, old.chosen[0], new.chosen[0]);
        let known = self.by_reference(old, new, [0, 1]);
        let Some(fault) = self.tolerant(known, [chosen, reference]).fault(said) else {
            return Ok(());
        };
        let acquitted = judge
            .zip(old.judge.zip(new.judge))
            .is_some_and(|(judge, shown)| self.acquits(old, new, judge, shown, said));
        if acquitted {
            let fault = match fault {
                _ if self.reference_stands(new) => Fault::Stopped,
                Fault::Fast => Fault::Slow,
                _ => Fault::Fast,
            };
            return Err(Problem::Bad(reference, fault));
        }
        let fault = match fault {
            _ if new.chosen[0].wrapping_sub(old.chosen[0]).cast_signed() < 0 => Fault::Backwards,
            _ if self.chosen_stands(new) => Fault::Stopped,
            fault => fault,
        };
        Err(Problem::Bad(chosen, fault))
    }

    /// The time now, by the reference and the time of a sample.
    pub(super) fn time_by_reference(&self, last: &Sample) -> u64 {
        let now = self.keeper.ticks(self.roles.reference, self.strand);
        let passed = now.map_or(0, |now| self.reference(last.reference[1], now));
        last.time.saturating_add(passed)
    }

    /// Whether the judge is with the chosen source, which says that it took so long, and against the reference.
    fn acquits(
        &self,
        old: &Sample,
        new: &Sample,
        judge: usize,
        (from, to): (u64, u64),
        said: u64,
    ) -> bool {
        let by_judge = self.keeper.between(judge, from, to);
        let apart = self.length(old).saturating_add(self.length(new));
        let known = Span {
            least: by_judge,
            most: by_judge,
        }
        .widened(apart);
        let with_chosen = self.tolerant(known, [self.roles.chosen, judge]);
        let with_reference = self.tolerant(
            self.by_reference(old, new, [2, 3]),
            [self.roles.reference, judge],
        );
        with_chosen.fault(said).is_none() && with_reference.fault(by_judge).is_some()
    }

    /// How long it was, by the reference, from a moment between two of its reads to one between the same two of the next
    /// sample.
    fn by_reference(&self, old: &Sample, new: &Sample, [before, after]: [usize; 2]) -> Span {
        Span {
            least: self.reference(old.reference[after], new.reference[before]),
            most: self.reference(old.reference[before], new.reference[after]),
        }
    }

    /// With what is allowed for two sources to differ.
    fn tolerant(&self, span: Span, sources: [usize; 2]) -> Span {
        let [first, second] = sources.map(|source| self.keeper.step(source));
        span.widened(part(span.most, self.limits.tolerance))
            .widened(first.saturating_add(second))
    }

    /// How long it took to read a sample, by the slower clock of two that may both be bad.
    fn length(&self, sample: &Sample) -> u64 {
        let [before, .., end] = sample.reference;
        let [first, last] = sample.chosen;
        let by_chosen = self.keeper.between(self.roles.chosen, first, last);
        self.reference(before, end).max(by_chosen)
    }

    /// Whether the chosen source stood still while the sample was taken, though it could have gone on.
    fn chosen_stands(&self, sample: &Sample) -> bool {
        let [before, .., end] = sample.reference;
        let [first, last] = sample.chosen;
        first == last && self.reference(before, end) > self.keeper.step(self.roles.chosen)
    }

    /// Whether the reference did.
    fn reference_stands(&self, sample: &Sample) -> bool {
        let [before, .., end] = sample.reference;
        let [first, last] = sample.chosen;
        let by_chosen = self.keeper.between(self.roles.chosen, first, last);
        before == end && by_chosen > self.keeper.step(self.roles.reference)
    }

    fn reference(&self, from: u64, to: u64) -> u64 {
        self.keeper.between(self.roles.reference, from, to)
    }
}
