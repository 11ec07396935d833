//! Adds up samples and true events by function or page, and computes the distance between the two distributions.

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::functions::{CodeLocation, Functions};
use super::guest::{Samples, Weight};
use super::processor::ExactCounts;
use super::stacks::{Point, StackId, Stacks};
use crate::json;

/// The samples and the true events of one function or page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CodeRow {
    /// The function's name. For a page, this is `page` and the address.
    pub name: String,
    /// The first address of the function or page.
    #[serde(with = "json")]
    pub address: u64,
    /// The path of the file that contains the code; `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The source line of the function's first instruction as `FILE:LINE`; `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The row's share of all sampled events, in percent.
    pub percent: f64,
    pub samples: u64,
    /// The number of events that the samples represent.
    pub events: u64,
    /// The row's share of all true events, in percent.
    pub exact_percent: f64,
    /// The true number of events.
    pub exact: u64,
}

/// All functions or pages that have samples or events, and the distance between the samples and the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The rows, the one with the largest share first.
    pub rows: Vec<CodeRow>,
    /// The total variation distance, which is half the sum of the differences between each row's two shares. It is 0 if there are
    /// no events.
    pub total_variation: f64,
    /// What `total_variation` would be on average if the same number of samples were drawn at random from the true events.
    pub by_chance: f64,
}

type Sum = (Weight, u64);

impl Rows {
    /// Adds up samples and events by function or page.
    #[must_use]
    pub fn new(taken: &Samples, exact: &ExactCounts, symbols: Option<&dyn Functions>) -> Self {
        let rows =
            rows(taken, exact, symbols, |point| vec![CodeLocation::at(point.address, symbols)]);
        let both = rows.iter().map(|row| (row.percent, row.exact_percent));
        let apart = both.map(|(percent, exact)| (percent - exact).abs() / 100.0);
        let samples = rows.iter().map(|row| row.samples).sum();
        Self {
            total_variation: apart.sum::<f64>() / if samples == 0 { 1.0 } else { 2.0 },
            by_chance: by_chance(&rows, samples),
            rows,
        }
    }
}

/// Adds up samples and events by function or page. Each row includes the function's callees.
#[must_use]
pub fn inclusive(
    taken: &Samples,
    exact: &ExactCounts,
    symbols: Option<&dyn Functions>,
    stacks: &Stacks,
) -> Vec<CodeRow> {
    // The stack alone does not determine the callers. If a tail call led to the point's function, the function that made the tail
    // call is also a caller.
    let mut callers: BTreeMap<(StackId, CodeLocation<'_>), BTreeSet<CodeLocation<'_>>> =
        BTreeMap::new();
    rows(taken, exact, symbols, |point| {
        let own = CodeLocation::at(point.address, symbols);
        let callers = callers.entry((point.stack, own)).or_insert_with(|| {
            let addresses = stacks.addresses(*point, symbols);
            let (_, calls) = addresses.split_last().expect("the last is the instruction");
            calls.iter().map(|at| CodeLocation::at(*at, symbols)).collect()
        });
        let others = callers.iter().copied().filter(|place| *place != own);
        others.chain([own]).collect()
    })
}

/// Returns a row for each function or page, the one with the largest share first. `places` returns the functions or pages to
/// which a point belongs. The point's samples and events are added to each of them.
fn rows<'a>(
    taken: &Samples,
    exact: &ExactCounts,
    symbols: Option<&'a dyn Functions>,
    mut places: impl FnMut(&Point) -> Vec<CodeLocation<'a>>,
) -> Vec<CodeRow> {
    let mut sums: BTreeMap<CodeLocation<'_>, Sum> = BTreeMap::new();
    let mut all = Sum::default();
    let mut add = |point: &Point, (weight, exact): Sum| {
        all.0 += weight;
        all.1 += exact;
        for place in places(point) {
            let sum = sums.entry(place).or_default();
            sum.0 += weight;
            sum.1 += exact;
        }
    };
    taken.iter().for_each(|(point, weight)| add(point, (*weight, 0)));
    exact.iter().for_each(|(point, exact)| add(point, (Weight::default(), *exact)));
    let row = |(place, (weight, exact)): (CodeLocation<'_>, Sum)| CodeRow {
        name: place.name(),
        address: place.address,
        file: (symbols.and_then(|symbols| symbols.file(place.address))).map(str::to_owned),
        source: (symbols.filter(|_| place.function.is_some()))
            .and_then(|symbols| symbols.source(place.address)),
        percent: 100.0 * share(weight.events, all.0.events),
        samples: weight.samples,
        events: weight.events,
        exact_percent: 100.0 * share(exact, all.1),
        exact,
    };
    let mut rows: Vec<CodeRow> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse((row.events, row.exact)), row.address));
    rows
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Returns the mean total variation distance between the true events and `samples` samples that are drawn at random from them.
fn by_chance(rows: &[CodeRow], samples: u64) -> f64 {
    if samples == 0 {
        return 0.0;
    }
    let shares = rows.iter().map(|row| row.exact_percent / 100.0);
    let apart: f64 = shares.map(|share| mean_deviation(samples, share)).sum();
    apart / samples as f64 / 2.0
}

/// The number of expected successes above which a normal distribution approximates the binomial distribution.
const MANY: f64 = 1e5;

/// Returns the mean absolute deviation of a binomial distribution with `n` trials and probability `p`. De Moivre's formula is 2 v
/// C(n, v) p^v (1-p)^(n-v+1) with v = floor(np) + 1.
fn mean_deviation(n: u64, p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return 0.0;
    }
    // Successes deviate from their mean as much as failures do, so the smaller probability can be used.
    let p = p.min(1.0 - p);
    if n as f64 * p > MANY {
        return (2.0 / PI * n as f64 * p * (1.0 - p)).sqrt();
    }
    let v = (n as f64 * p).floor() + 1.0;
    let above = n as f64 - v;
    let choices: f64 = (1..=v as u64).map(|k| ((above + k as f64) / k as f64).ln()).sum();
    2.0 * (choices + v.ln() + v * p.ln() + (above + 1.0) * (-p).ln_1p()).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> Point {
        Point { stack: Stacks::EMPTY, address }
    }

    fn taken(samples: &[(u64, u64, u64)]) -> Samples {
        let weight = |&(address, samples, events)| (at(address), Weight { samples, events });
        samples.iter().map(weight).collect()
    }

    #[test]
    fn addresses_of_a_page_are_one_row() {
        let taken = taken(&[(0x1000, 1, 100), (0x1fff, 2, 200), (0x2000, 1, 100)]);
        let exact = ExactCounts::from([(at(0x1004), 150), (at(0x2ffc), 150), (at(0x3000), 100)]);
        let rows = Rows::new(&taken, &exact, None);
        let row = |name: &str, address, percent, samples, events, exact_percent, exact| CodeRow {
            name: name.to_owned(),
            address,
            file: None,
            source: None,
            percent,
            samples,
            events,
            exact_percent,
            exact,
        };
        assert_eq!(
            rows.rows,
            [
                row("page 0x1000", 0x1000, 75.0, 3, 300, 37.5, 150),
                row("page 0x2000", 0x2000, 25.0, 1, 100, 37.5, 150),
                row("page 0x3000", 0x3000, 0.0, 0, 0, 25.0, 100),
            ]
        );
        // The distance is half of the sum 0.375 + 0.125 + 0.25.
        assert_eq!(rows.total_variation, 0.375);
    }

    #[test]
    fn the_distance_is_0_to_1() {
        let exact = ExactCounts::from([(at(0x1000), 7)]);
        let distance =
            |samples: &[_], exact| Rows::new(&taken(samples), exact, None).total_variation;
        assert_eq!(distance(&[(0x1000, 3, 30)], &exact), 0.0);
        assert_eq!(distance(&[(0x2000, 3, 30)], &exact), 1.0);
        assert_eq!(distance(&[], &exact), 1.0, "nothing is known");
        assert_eq!(distance(&[], &ExactCounts::new()), 0.0, "nothing happened");
    }

    #[test]
    fn what_chance_does() {
        let near = |value: f64, expected: f64| {
            assert!((value - expected).abs() < 1e-4 * expected, "{value}, not {expected}");
        };
        // A coin is tossed once, twice and three times. The mean numbers of successes are 0.5, 1 and 1.5.
        near(mean_deviation(1, 0.5), 0.5);
        near(mean_deviation(2, 0.5), 0.5);
        near(mean_deviation(3, 0.5), 0.75);
        // For three trials with probability 0.1, the deviation is 0.3 * 0.729 + 0.7 * 0.243 + 1.7 *
        // 0.027 + 2.7 * 0.001.
        near(mean_deviation(3, 0.1), 0.4374);
        assert_eq!((mean_deviation(9, 0.0), mean_deviation(9, 1.0)), (0.0, 0.0));
        // For many trials, the deviation is the standard deviation times sqrt(2 / pi), which is 500
        // * 0.797885.
        near(mean_deviation(1_000_000, 0.5), 398.942);
        near(mean_deviation(190_000, 0.5), 173.895);
        near(mean_deviation(1_000_000_000_000, 0.9), 239_365.0);
        // One in a million trials fails, and there are a million trials. The deviation is that of a Poisson distribution with
        // mean 1: 2 / e.
        near(mean_deviation(1_000_000, 0.999_999), 0.735_759);

        let exact = ExactCounts::from([(at(0x1000), 50), (at(0x2000), 50)]);
        let rows = Rows::new(&taken(&[(0x1000, 2, 100)]), &exact, None);
        near(rows.by_chance, 0.25);
    }
}
