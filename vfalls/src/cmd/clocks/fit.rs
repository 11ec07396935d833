//! Fits a straight line to the differences between two clocks. The slope of the line is the drift.

/// A straight line through points (x, y), fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    /// The change of y when x grows by 1.
    pub(crate) slope: f64,
    /// The standard error of the slope.
    pub(crate) error: f64,
    /// The root mean square of the vertical distances between the points and the line.
    pub(crate) scatter: f64,
}

impl Fit {
    /// Returns the line through these points; `None` if there are fewer than three points, or if
    /// all x are equal.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        if points.len() < 3 {
            return None;
        }
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
        let spread = points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>();
        if spread == 0.0 {
            return None;
        }
        let common = points.iter().map(|point| (point.0 - x) * (point.1 - y));
        let slope = common.sum::<f64>() / spread;
        let left = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2));
        let left = left.sum::<f64>();
        Some(Self {
            slope,
            error: (left / (count - 2.0) / spread).sqrt(),
            scatter: (left / count).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_found() {
        let points = [(1.0, 5.0), (2.0, 7.0), (4.0, 11.0), (9.0, 21.0)];
        let line = Fit::through(&points).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12);
        assert!(line.error < 1e-12 && line.scatter < 1e-12);
    }

    #[test]
    fn errors_are_computed() {
        let points = [(0.0, 1.0), (1.0, 2.0), (2.0, 7.0), (3.0, 8.0)];
        let line = Fit::through(&points).unwrap();
        assert!((line.slope - 2.6).abs() < 1e-12, "{line:?}");
        assert!((line.scatter - 0.8_f64.sqrt()).abs() < 1e-12, "{line:?}");
        assert!((line.error - 0.32_f64.sqrt()).abs() < 1e-12, "{line:?}");
    }

    #[test]
    fn two_points_are_not_enough() {
        assert_eq!(Fit::through(&[]), None);
        assert_eq!(Fit::through(&[(0.0, 0.0), (1.0, 1.0)]), None);
        assert_eq!(Fit::through(&[(2.0, 0.0), (2.0, 1.0), (2.0, 5.0)]), None);
    }
}
