//! How much the differences between two runs matter.

use std::collections::BTreeMap;

use super::values::{RUN, Values};

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

/// The numbers that determine how much the differences between two runs matter.
pub(super) struct Weights<'v> {
    a: &'v Values,
    b: &'v Values,
    /// The sum of the numbers of each group and kind, in the run where this sum is larger.
    sums: BTreeMap<(&'v str, &'v str), f64>,
    /// The cycles of the longer run; 0 if neither run contains its cycles.
    cycles: f64,
}

impl<'v> Weights<'v> {
    pub(super) fn new(a: &'v Values, b: &'v Values) -> Self {
        let mut sums: BTreeMap<(&str, &str), f64> = BTreeMap::new();
        for run in [a, b] {
            let mut of_run: BTreeMap<(&str, &str), f64> = BTreeMap::new();
            for ((group, _), number) in &run.numbers {
                *of_run.entry((group, &number.kind)).or_default() += number.value.abs();
            }
            for (kind, sum) in of_run {
                let largest = sums.entry(kind).or_default();
                *largest = largest.max(sum);
            }
        }
        let cycles = |run: &Values| run.number(RUN, "cycles").unwrap_or(0.0);
        Self { a, b, sums, cycles: cycles(a).max(cycles(b)) }
    }

    pub(super) fn weight(
        &self,
        (group, name): &(String, String),
        kind: &str,
        a: Option<f64>,
        b: Option<f64>,
    ) -> Weight {
        if self.is_repeated(group, name, [a, b]) {
            return Weight::Repeated;
        }
        let [a, b] = [a, b].map(|number| number.unwrap_or(0.0));
        let most = a.abs().max(b.abs());
        let sum = self.sums.get(&(&**group, kind)).copied().unwrap_or(most);
        let relative = (b - a).abs() / most.max(f64::MIN_POSITIVE);
        let spread = self.a.spread.max(self.b.spread);
        let measure = (relative - spread).max(0.0) * (most / sum.max(f64::MIN_POSITIVE)).sqrt();
        if ALWAYS.contains(&&**group) {
            return Weight::Matters(measure);
        }
        let is_cycles = kind.split(' ').any(|word| CYCLES.contains(&word));
        let change = (b - a).abs();
        let cycles = if is_cycles { change } else { change * CYCLES_OF_EVENT };
        let is_count = a.fract() == 0.0 && b.fract() == 0.0;
        match is_count && (most < FEW * sum || cycles < FEW * self.cycles) {
            true => Weight::FewCounts,
            false if relative <= spread => Weight::WithinSpread,
            false => Weight::Matters(measure),
        }
    }

    /// Returns `true` if another row shows the same change. There are three cases: a true count that equals the measured count, a time of a
    /// run whose cycles are shown, and a length in a spread.
    fn is_repeated(&self, group: &str, name: &str, numbers: [Option<f64>; 2]) -> bool {
        let same = |other: &str| [self.a, self.b].map(|run| run.number(group, other)) == numbers;
        match group {
            "time" => self.cycles > 0.0 && name != "hertz",
            group if SPREADS.contains(&group) => true,
            _ => name.strip_suffix(" truth").is_some_and(|unit| same(&format!("{unit} measured"))),
        }
    }
}
