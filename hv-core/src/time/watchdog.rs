//! Detects and retires bad sources of time.

use core::array;

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::finding::{Fault, Finding, Limits, Measured, Skipped};
use super::frequency::FrequencyMeter;
use super::judge::{Decision, Evidence, Relation};
use super::keeper::Timekeeper;
use super::sample::{Observer, Sample};

/// Compares the sources of a [`Timekeeper`] regularly with each other, on one strand.
///
/// Each check reads all sources several times. Two checks bound the time that has passed between them according to each source, and the
/// other sources must agree with these bounds, up to a tolerance. What decides who is wrong, in this order:
///
/// 1. A source that goes back, stands still or cannot be read is wrong.
/// 2. The largest group of sources that agree is right.
/// 3. If several groups are the largest, the one is right that needs the fewest errors that the sources outside of it cannot make, as far
///    as is known: [`may_lose`](guest_abi::clock::Hazards::may_lose), [`may_gain`](guest_abi::clock::Hazards::may_gain), and every hazard
///    of a source that is forced.
///
/// Otherwise the check is [`Undecided`](Finding::Undecided): nothing is retired, and the time is in doubt. Sources that depend on each other
/// count as independent ones, so give the timekeeper only one of them.
///
/// The watchdog retires a bad source, and corrects nothing else. If the bad source was chosen, the time goes on from where the next best
/// source says that it is: what the bad source did since the previous check does not stay in the time. A retired source that has been right
/// for a while is [trusted](super::Trust) again. Each check also measures the frequency of the chosen source. This is for display only: the
/// timekeeper uses the nominal frequency.
///
/// If each strand has counters of its own, give each strand a watchdog: it compares that strand's counters. No watchdog depends on another.
#[derive(Debug)]
pub struct Watchdog<const N: usize> {
    limits: Limits,
    last: Option<Sample<N>>,
    /// The sources that did not advance between the last two checks.
    still: [bool; N],
    meter: Option<(Pair, FrequencyMeter)>,
}

/// The chosen source, and the source that measures its frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    chosen: usize,
    reference: usize,
}

impl<const N: usize> Watchdog<N> {
    /// Returns a watchdog that has made no check.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, last: None, still: [false; N], meter: None }
    }

    /// Returns the frequency of the chosen source, measured by the best other source over the time since both came into use, but at most
    /// over the last two minutes. Returns `None` before the second check of these two sources.
    pub fn frequency(&self) -> Option<Measured> {
        let (Pair { chosen, reference }, meter) = self.meter?;
        Some(Measured { source: chosen, reference, frequency: meter.frequency()? })
    }

    /// Compares the sources on the strand that executes the call, and retires a bad source. If other strands make calls too, counters that
    /// differ between strands are bad.
    pub fn check<S: ClockSource>(
        &mut self,
        keeper: &Timekeeper<S, N>,
        strand: StrandId,
    ) -> Finding {
        let observer = Observer { keeper, strand, limits: self.limits };
        let sample = observer.sample();
        // Without an earlier sample, a source can only be unreadable.
        let evidence = observer.evidence(self.last.as_ref(), &sample, self.still);
        let finding = match evidence.decide() {
            Decision::Agree => Finding::Agrees,
            Decision::Undecided { ahead, behind } => Finding::Undecided { ahead, behind },
            Decision::Wrong(source, fault) => {
                return self.demote(&observer, &evidence, source, fault);
            }
        };
        if !observer.is_quick(&sample) {
            return match finding {
                Finding::Agrees => Finding::Skipped(Skipped::Slow),
                finding => finding,
            };
        }
        self.measure(keeper, &sample);
        let Some(old) = self.last.replace(sample) else {
            return Finding::Begun;
        };
        self.still = array::from_fn(|source| observer.is_still(&old, &sample, source));
        if finding != Finding::Agrees {
            return finding;
        }
        let restored = (0..N).find(|source| self.is_right_again(&observer, &evidence, *source));
        if let Some(source) = restored {
            return Finding::Restored { source };
        }
        match keeper.best_except(Some(keeper.chosen())) {
            Some(_) => Finding::Agrees,
            None => Finding::NoReference,
        }
    }

    fn demote<S: ClockSource>(
        &mut self,
        observer: &Observer<'_, S, N>,
        evidence: &Evidence<N>,
        source: usize,
        fault: Fault,
    ) -> Finding {
        let keeper = observer.keeper;
        // If no other source is trusted, one that runs is better than this one.
        if keeper.best_except(Some(source)).is_none() {
            let runs = |other: &usize| evidence.proven[*other].is_none() && keeper.restore(*other);
            let _ = (0..N).find(runs);
        }
        let last = self.last.as_ref();
        let time = |source, ticks| observer.time_since(last?, source, ticks);
        match keeper.demote_to(source, observer.strand, time) {
            Ok(chosen) => {
                self.meter = None;
                Finding::Demoted { source, fault, chosen }
            }
            Err(_) => Finding::Skipped(Skipped::CannotDemote),
        }
    }

    /// Returns `true` if a source was retired, and is trusted from now on.
    fn is_right_again<S: ClockSource>(
        &self,
        observer: &Observer<'_, S, N>,
        evidence: &Evidence<N>,
        source: usize,
    ) -> bool {
        let keeper = observer.keeper;
        let (Some(tracked), Some(sample)) = (keeper.tracked(source), &self.last) else {
            return false;
        };
        if evidence.trusted[source] {
            return false;
        }
        let agrees = evidence.proven[source].is_none()
            && evidence.relations[source].get(keeper.chosen()) == Some(&Relation::Agrees);
        if !agrees {
            tracked.was_wrong(sample.time());
        }
        agrees
            && tracked.right_for(sample.time()) >= self.limits.probation
            && keeper.restore(source)
    }

    fn measure<S: ClockSource>(&mut self, keeper: &Timekeeper<S, N>, sample: &Sample<N>) {
        let chosen = keeper.chosen();
        let Some(reference) = keeper.best_except(Some(chosen)) else {
            self.meter = None;
            return;
        };
        let pair = Pair { chosen, reference };
        let describe = |source| Some(keeper.tracked(source)?.description);
        let begun = || Some((pair, FrequencyMeter::new(&describe(chosen)?, &describe(reference)?)));
        self.meter = self.meter.filter(|(of, _)| *of == pair).or_else(begun);
        if let (Some((_, meter)), Some(reading)) =
            (&mut self.meter, sample.reading(chosen, reference))
        {
            meter.add(reading);
        }
    }
}
