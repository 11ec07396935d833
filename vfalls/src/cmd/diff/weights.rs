//! How much the differences between two runs matter.

use std::collections::BTreeMap;

use super::values::{Numbers, RUN, Values};

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weight {
    /// How much the difference matters, from 0 to 1. Differences are sorted by this number.
    Matters(f64),
    WithinSpread,
    FewCounts,
    /// Another row shows the same change.
    Repeated,
}

impl Weight {
    pub(super) const fn measure(self) -> f64 {
        match self {
            Self::Matters(measure) => measure,
            Self::WithinSpread | Self::FewCounts | Self::Repeated => -1.0,
        }
    }
}

/// The groups whose rows are never left out.
const ALWAYS: [&str; 3] = [RUN, "time", "configuration"];

/// The groups that hold the spread of a run's cycles.
const SPREADS: [&str; 2] = ["orders", "repeats"];

/// Fields that hold cycles, or whose own fields hold cycles. All other fields hold counts.
const CYCLES: [&str; 5] = ["cycles", "busy", "waited", "stack", "states"];

/// The number of cycles that an event is assumed to take. Changes of counts are converted to cycles with this number, to compare them with
/// a run's cycles.
const CYCLES_OF_EVENT: f64 = 100.0;

/// The fraction of a sum below which a number is unimportant.
const FEW: f64 = 0.001;

/// The numbers that determine how much the differences between two runs matter, in one group.
pub(super) struct Weights<'v> {
    group: &'v str,
    /// The group's numbers in each run.
    runs: [&'v Numbers; 2],
    /// The sum of the numbers of each kind, in the run where this sum is larger.
    sums: BTreeMap<&'v str, f64>,
    /// The larger of the runs' spreads.
    spread: f64,
    /// The cycles of the longer run; 0 if neither run contains its cycles.
    cycles: f64,
}

impl<'v> Weights<'v> {
    pub(super) fn new(group: &'v str, runs: [&'v Numbers; 2], a: &Values, b: &Values) -> Self {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        for run in runs {
            let mut sums_of_run: BTreeMap<&str, f64> = BTreeMap::new();
            for number in run.values() {
                *sums_of_run.entry(&number.kind).or_default() += number.value.abs();
            }
            for (kind, sum) in sums_of_run {
                let largest = sums.entry(kind).or_default();
                *largest = largest.max(sum);
            }
        }
        let (spread, cycles) = (a.spread.max(b.spread), a.cycles().max(b.cycles()));
        Self { group, runs, sums, spread, cycles }
    }

    pub(super) fn weight(&self, name: &str, kind: &str, a: Option<f64>, b: Option<f64>) -> Weight {
        if self.is_repeated(name, [a, b]) {
            return Weight::Repeated;
        }
        let [a, b] = [a, b].map(|number| number.unwrap_or(0.0));
        let most = a.abs().max(b.abs());
        let sum = self.sums.get(kind).copied().unwrap_or(most);
        let relative = (b - a).abs() / most.max(f64::MIN_POSITIVE);
        let measure =
            (relative - self.spread).max(0.0) * (most / sum.max(f64::MIN_POSITIVE)).sqrt();
        if ALWAYS.contains(&self.group) {
            return Weight::Matters(measure);
        }
        let is_cycles = kind.split(' ').any(|word| CYCLES.contains(&word));
        let change = (b - a).abs();
        let cycles = if is_cycles { change } else { change * CYCLES_OF_EVENT };
        let is_count = a.fract() == 0.0 && b.fract() == 0.0;
        match is_count && (most < FEW * sum || cycles < FEW * self.cycles) {
            true => Weight::FewCounts,
            false if relative <= self.spread => Weight::WithinSpread,
            false => Weight::Matters(measure),
        }
    }

    /// Returns `true` if another row shows the same change. There are three cases: a true count that equals the measured count, a time of a
    /// run whose cycles are shown, and a length in a spread.
    fn is_repeated(&self, name: &str, numbers: [Option<f64>; 2]) -> bool {
        let same =
            |other: &str| self.runs.map(|run| run.get(other).map(|number| number.value)) == numbers;
        match self.group {
            "time" => self.cycles > 0.0 && name != "hertz",
            group if SPREADS.contains(&group) => true,
            _ => name.strip_suffix(" truth").is_some_and(|unit| same(&format!("{unit} measured"))),
        }
    }
}
