//! Computes how much the lengths of several runs vary.

use serde::{Deserialize, Serialize};

/// The lengths of several runs, in cycles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Spread {
    pub least: u64,
    /// The median. If the number of runs is even, this is the lower of the two middle lengths.
    pub median: u64,
    pub most: u64,
    /// The length of each run, in the order of the runs.
    pub cycles: Vec<u64>,
}

impl Spread {
    /// Returns the spread of these lengths; `None` if `cycles` is empty.
    #[must_use]
    pub fn new(cycles: Vec<u64>) -> Option<Self> {
        let mut sorted = cycles.clone();
        sorted.sort_unstable();
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        Some(Self { least, median: sorted[(sorted.len() - 1) / 2], most, cycles })
    }

    /// Returns how much the longest run exceeds the shortest, as a fraction of the shortest.
    #[must_use]
    pub fn difference(&self) -> f64 {
        (self.most - self.least) as f64 / self.least.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_a_median() {
        assert_eq!(Spread::new(vec![]), None);
        let of = |cycles: &[u64]| {
            let Spread { least, median, most, .. } = Spread::new(cycles.to_vec()).unwrap();
            [least, median, most]
        };
        assert_eq!(of(&[7]), [7, 7, 7]);
        assert_eq!(of(&[504, 336, 420]), [336, 420, 504]);
        assert_eq!(of(&[4, 1, 3, 2]), [1, 2, 4]);
        assert!((Spread::new(vec![112, 100]).unwrap().difference() - 0.12).abs() < 1e-9);
    }
}
