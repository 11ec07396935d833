//! Detects and retires bad time sources.

use core::array;

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::finding::{Fault, Finding, Limits, Measured, Skipped};
use super::frequency::FrequencyMeter;
use super::judge::{Decision, Evidence, Relation};
use super::keeper::Timekeeper;
use super::sample::{Observer, Sample};

/// Regularly compares the sources of a [`Timekeeper`] with each other, on one strand.
///
/// Each check reads all sources several times. It compares the counts with the counts of two earlier checks: the previous check, and an
/// older check, which is at most fifty checks ago. From the counts of two checks, the watchdog computes the shortest and the longest
/// possible duration between the checks according to each source. The durations that the other sources measured must be within these
/// bounds, up to a tolerance. The following rules, in this order, decide which source is wrong:
///
/// 1. A source that goes back, stands still or cannot be read is wrong.
/// 2. The largest group of sources that agree is right.
/// 3. If several groups are equally large, each of them implies that the sources outside the group have made errors. An error
///    is a surprise if the source is not known to make such errors. Group A is wrong if another of these groups, B, implies
///    fewer surprises, and every surprise of B is also a surprise of A. The hazards
///    [`may_lose`](guest_abi::clock::Hazards::may_lose) and [`may_gain`](guest_abi::clock::Hazards::may_gain) say which errors
///    a source can make. A forced source may also stop or change its rate.
///
/// If no rule decides, the check is [`Undecided`](Finding::Undecided): nothing is retired, and the time is uncertain. The watchdog assumes
/// that the sources are independent. If some sources depend on each other, give the timekeeper only one of them.
///
/// The watchdog retires a bad source, and corrects nothing else. If the bad source was the chosen one, the next best source replaces it.
/// The watchdog then uses the new source to recompute the time that has passed since the compared check, which removes the error that the
/// bad source made since then. A retired source that has been right for a while is [trusted](super::Trust) again. Each check also measures
/// the frequency of the chosen source. This frequency is for display only: the timekeeper uses the nominal frequency.
///
/// If each strand has its own counters, give each strand its own watchdog, which compares that strand's counters. The watchdogs do not
/// depend on each other.
#[derive(Debug)]
pub struct Watchdog<const N: usize> {
    limits: Limits,
    last: Option<Sample<N>>,
    /// An earlier sample, and the number of checks since then. This sample reveals a drift that is too slow to exceed the reads'
    /// uncertainty within one period.
    earlier: Option<(Sample<N>, u32)>,
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

/// The number of checks after which the earlier sample is replaced by a newer one. [`Limits::probation`] should be longer than twice this
/// number of periods. A source that drifts slowly may otherwise be trusted again before the drift shows.
const MAX_EARLIER_AGE: u32 = 50;

impl<const N: usize> Watchdog<N> {
    /// Returns a watchdog that has not checked anything yet.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self { limits, last: None, earlier: None, still: [false; N], meter: None }
    }

    /// Returns the frequency of the chosen source, measured against the best other source. The measurement restarts when another source
    /// replaces one of these two, and covers at most the last two minutes. Returns `None` before the second check of the two sources.
    pub fn frequency(&self) -> Option<Measured> {
        let (Pair { chosen, reference }, meter) = self.meter?;
        Some(Measured { source: chosen, reference, frequency: meter.frequency()? })
    }

    /// Compares the sources on the strand that executes the call, and retires a bad source. If several strands use the same
    /// watchdog, the watchdog treats a counter that differs between these strands as bad.
    pub fn check<S: ClockSource>(
        &mut self,
        keeper: &Timekeeper<S, N>,
        strand: StrandId,
    ) -> Finding {
        let observer = Observer { keeper, strand, limits: self.limits };
        let sample = observer.sample();
        // Without an earlier sample, the evidence shows only sources that cannot be read or that go back.
        let short = observer.evidence(self.last.as_ref(), &sample, self.still);
        let earlier = self.earlier.as_ref().map(|(earlier, _)| earlier);
        let long = observer.evidence(earlier, &sample, [false; N]);
        let (since, evidence, decision) = match short.decide() {
            Decision::Agree => (earlier, &long, long.decide()),
            decision => (self.last.as_ref(), &short, decision),
        };
        let finding = match decision {
            Decision::Agree => Finding::Agrees,
            Decision::Undecided { ahead, behind } => Finding::Undecided { ahead, behind },
            Decision::Wrong(source, fault) => {
                let time = |source, ticks| observer.time_since(since?, source, ticks);
                let found = Self::demote(&observer, evidence, source, fault, time);
                if let Finding::Demoted { .. } = found {
                    (self.meter, self.earlier) = (None, None);
                }
                return found;
            }
        };
        if !observer.is_quick(&sample) {
            return match finding {
                Finding::Agrees => Finding::Skipped(Skipped::Slow),
                finding => finding,
            };
        }
        let restored = self.last.as_ref().and_then(|_| {
            (0..N).find(|source| self.is_right_again(&observer, [&short, &long], &sample, *source))
        });
        if let (Some(source), Finding::Undecided { .. }) = (restored, finding) {
            // The last sample stays, so the next check compares with this sample again. By then the restored source
            // is trusted, and its readings can decide.
            self.earlier = None;
            return Finding::Restored { source };
        }
        self.measure(keeper, &sample);
        self.earlier = match self.earlier {
            Some((earlier, checks)) if checks < MAX_EARLIER_AGE && finding == Finding::Agrees => {
                Some((earlier, checks + 1))
            }
            _ => Some((sample, 0)),
        };
        let Some(old) = self.last.replace(sample) else {
            return Finding::Begun;
        };
        self.still = array::from_fn(|source| observer.is_still(&old, &sample, source));
        if finding != Finding::Agrees {
            return finding;
        }
        if let Some(source) = restored {
            return Finding::Restored { source };
        }
        match keeper.best_except(Some(keeper.chosen())) {
            Some(_) => Finding::Agrees,
            None => Finding::NoReference,
        }
    }

    fn demote<S: ClockSource>(
        observer: &Observer<'_, S, N>,
        evidence: &Evidence<N>,
        source: usize,
        fault: Fault,
        time: impl FnOnce(usize, u64) -> Option<u64>,
    ) -> Finding {
        let keeper = observer.keeper;
        // If no other source is trusted, any source that runs is better than the bad source.
        if keeper.best_except(Some(source)).is_none() {
            let runs = |other: &usize| {
                evidence.proven[*other].is_none() && keeper.restore(*other, observer.strand)
            };
            let _ = (0..N).find(runs);
        }
        match keeper.demote_to(source, observer.strand, time) {
            Ok(chosen) => Finding::Demoted { source, fault, chosen },
            Err(_) => Finding::Skipped(Skipped::CannotDemote),
        }
    }

    /// Trusts a retired source again if it has been right for long enough. Returns `true` if the source is trusted again.
    fn is_right_again<S: ClockSource>(
        &self,
        observer: &Observer<'_, S, N>,
        evidence: [&Evidence<N>; 2],
        sample: &Sample<N>,
        source: usize,
    ) -> bool {
        let keeper = observer.keeper;
        let Some(tracked) = keeper.tracked(source) else {
            return false;
        };
        if evidence.iter().any(|evidence| evidence.trusted[source]) {
            return false;
        }
        // It is enough if the source agrees with one trusted source. If the trusted sources differ, each of them may be right.
        let [agrees, agrees_long] = evidence.map(|evidence| {
            let mut relations = evidence.relations[source].iter().zip(evidence.trusted);
            evidence.proven[source].is_none()
                && relations.any(|(relation, trusted)| trusted && *relation == Relation::Agrees)
        });
        if !agrees {
            tracked.mark_wrong(sample.time());
        }
        if let (false, Some((earlier, _))) = (agrees_long, &self.earlier) {
            // The source was wrong at some time since the earlier sample.
            tracked.mark_wrong(earlier.time());
        }
        agrees
            && agrees_long
            && tracked.right_for(sample.time()) >= self.limits.probation
            && keeper.restore(source, observer.strand)
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
