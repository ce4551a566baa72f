//! Slopes: how cost grows with size.

/// The slope of log `y` against log `x` by least squares: 1 if cost grows as size does, 0 if it does not grow. Points
/// with a value that is not positive are left out. `None` without two different sizes.
pub(super) fn log_slope(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    linear_slope(&logs)
}

/// The slope of `y` against `x` by least squares. `None` without two different values of `x`.
pub(super) fn linear_slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let together: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_of_known_curves() {
        let sizes = [1.0, 2.0, 5.0, 10.0];
        for power in [0.0, 1.0, 2.0] {
            let points = sizes.map(|x: f64| (x, 3.0 * x.powf(power)));
            assert!((log_slope(&points).unwrap() - power).abs() < 1e-9, "{power}");
        }
        assert!((linear_slope(&sizes.map(|x| (x, 7.0 + 150.0 * x))).unwrap() - 150.0).abs() < 1e-9);
    }

    #[test]
    fn one_size_has_no_slope() {
        assert_eq!(log_slope(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(log_slope(&[]), None);
    }
}
