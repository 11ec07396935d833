//! Estimates how long a replay takes for its next references.

/// A point in a replay.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    /// The number of references that have been executed.
    references: u64,
    /// The time in cycles.
    at: u64,
}

/// How fast a replay has executed its latest references.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The start of the previous part of the replay, and of the current part. The first part takes the place of a previous one.
    parts: Option<[Point; 2]>,
}

impl Pace {
    /// Notes that a part begins at the time `at`, after `references` references.
    pub(super) fn begin(&mut self, references: u64, at: u64) {
        let current = Point { references, at };
        let previous = self.parts.map_or(current, |[_, previous]| previous);
        self.parts = Some([previous, current]);
    }

    /// Returns the time at which `more` further references will have been executed if the pace stays the same since the start of the
    /// previous part. `references` have been executed at the time `now`. The result is later than `now`.
    pub(super) fn at(&self, more: u64, references: u64, now: u64) -> u64 {
        let [Point { references: before, at }, _] = self.parts.unwrap_or_default();
        let executed = references.saturating_sub(before).max(1);
        let cycles = u128::from(more) * u128::from(now.saturating_sub(at)) / u128::from(executed);
        now + cycles.clamp(1, MAX_CYCLES.into()) as u64
    }
}

/// The maximum number of cycles by which an estimate is later than now.
const MAX_CYCLES: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_the_latest_two_parts() {
        let mut pace = Pace::default();
        assert_eq!(pace.at(100, 0, 0), 1);
        // 10 references in a cycle. The replay begins late.
        pace.begin(0, 5000);
        assert_eq!(pace.at(100, 1000, 5100), 5110);
        let mut pace = Pace::default();
        pace.begin(0, 0);
        assert_eq!(pace.at(100, 1000, 100), 110);
        // Since the cycle 100, a reference takes two cycles.
        pace.begin(1000, 100);
        pace.begin(1500, 1100);
        assert_eq!(pace.at(100, 1500, 1100), 1300);
        assert_eq!(pace.at(u64::MAX, 1500, 1100), 1100 + (1 << 32));
        // References have been undone.
        assert_eq!(pace.at(1, 900, 1100), 2100);
    }
}
