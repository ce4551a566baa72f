//! Statistics for samples that come in random blocks.
//!
//! Times are compared as **log-ratios within a block**: whatever slows a whole block down cancels, and a ratio and its
//! inverse are equally far from 1. The estimate is exp(median of the log-ratios), so a few disturbed blocks do not move
//! it. Its interval consists of two order statistics of the log-ratios, by the sign test: for any shape of the noise,
//! the true median is between the k-th smallest and the k-th largest of n values with a probability that follows from
//! the binomial distribution. The values only need to be independent. (A bootstrap of the median was tried instead;
//! its intervals are too narrow at 8 to 15 values.)
//!
//! [`compare_records`](crate::compare_records) applies this to records and reduces each comparison to a verdict.

use std::time::Duration;

use repackbench_records::{RatioEstimate, RatioInterval};

/// The minimum coverage of intervals.
pub const COVERAGE: f64 = 0.95;

/// The median: the middle value, or the mean of the two middle values. `None` without values. Sorts
/// `values`, by IEEE 754 total order.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get((values.len() / 2).checked_sub(1)?)?;
    Some(f64::midpoint(lower, upper))
}

/// The median of durations, in whole nanoseconds. `None` without values. Sorts `values`.
pub fn median_duration(values: &mut [Duration]) -> Option<Duration> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *values.get((values.len() / 2).checked_sub(1)?)?;
    Some(lower + (upper - lower) / 2)
}

/// The smallest value that at least `share` of `values` do not exceed (the nearest rank). `None` without values. Sorts
/// `values`.
pub fn percentile<T: Copy + Ord>(values: &mut [T], share: f64) -> Option<T> {
    values.sort_unstable();
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.clamp(1, values.len().max(1)) - 1).copied()
}

/// The value that a share `part` of the values does not exceed, between two values by linear interpolation (type 7 of
/// Hyndman and Fan 1996, as in R and NumPy). `None` without values. Sorts `values`, by IEEE 754 total order.
pub fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let place = part.clamp(0.0, 1.0) * values.len().checked_sub(1)? as f64;
    let lower = *values.get(place.floor() as usize)?;
    let upper = *values.get(place.ceil() as usize)?;
    Some(lower + (upper - lower) * place.fract())
}

/// The ranks of the order statistics that bound the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianRanks {
    /// The k of "k-th smallest and k-th largest", counted from 1.
    pub rank: usize,
    /// The probability that the median is between the two.
    pub coverage: f64,
}

/// The narrowest pair of ranks that contains the median of `count` values with a probability of at least `coverage`.
///
/// The median is below the k-th smallest of n values if fewer than k values are below it. The probability of that is
/// P(B < k) for a binomial B of n fair coins; the upper side is the same. `None` if even the smallest and the largest
/// value have too little coverage: for 95 %, with fewer than 6 values.
pub fn median_ranks(count: usize, coverage: f64) -> Option<MedianRanks> {
    // Logarithms, as 0.5^n leaves the range of f64 from n = 1075 on.
    let mut log_probability = count as f64 * 0.5_f64.ln();
    let mut below = 0.0;
    let mut found = None;
    for rank in 1..=count / 2 {
        // `below` becomes P(B <= rank - 1).
        below += log_probability.exp();
        let covered = 1.0 - 2.0 * below;
        if covered < coverage {
            break;
        }
        found = Some(MedianRanks { rank, coverage: covered });
        // C(n, k) = C(n, k - 1) * (n - k + 1) / k
        log_probability += ((count - rank + 1) as f64 / rank as f64).ln();
    }
    found
}

/// The estimate from paired log-ratios, one from each block. `None` without any. Sorts `log_ratios`.
pub fn ratio_estimate(log_ratios: &mut [f64]) -> Option<RatioEstimate> {
    let ratio = median(log_ratios)?.exp();
    let interval = median_ranks(log_ratios.len(), COVERAGE).and_then(|MedianRanks { rank, coverage }| {
        let low = log_ratios.get(rank.checked_sub(1)?)?.exp();
        let high = log_ratios.get(log_ratios.len().checked_sub(rank)?)?.exp();
        Some(RatioInterval { low, high, coverage })
    });
    Some(RatioEstimate { ratio, interval, pairs: log_ratios.len() })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::*;

    #[test]
    fn percentiles_are_values_by_nearest_rank() {
        let mut hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| percentile(&mut hundred, share)), [1, 50, 99, 100].map(Some));
        assert_eq!(percentile(&mut [15, 20, 35, 40, 50], 0.3), Some(20));
        assert_eq!(percentile(&mut [7, 3], 0.99), Some(7), "the largest of fewer than a hundred");
        assert_eq!(percentile::<u64>(&mut [], 0.5), None);
    }

    #[test]
    fn median_is_middle_or_mean_of_two() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [4.0]), Some(4.0));
        assert_eq!(median(&mut [9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&mut [9.0, 1.0, 5.0, 2.0]), Some(3.5));
        let milliseconds = Duration::from_millis;
        assert_eq!(median_duration(&mut []), None);
        assert_eq!(median_duration(&mut [milliseconds(9), milliseconds(1), milliseconds(5)]), Some(milliseconds(5)));
        assert_eq!(median_duration(&mut [milliseconds(9), milliseconds(4)]), Some(Duration::from_micros(6500)));
    }

    #[test]
    fn quantiles_are_interpolated() {
        let mut values = [40.0, 10.0, 30.0, 20.0];
        let found = [0.0, 0.05, 0.25, 0.5, 0.95, 1.0].map(|part| quantile(&mut values, part).unwrap());
        for (found, expected) in found.into_iter().zip([10.0, 11.5, 17.5, 25.0, 38.5, 40.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!((quantile(&mut [], 0.5), quantile(&mut [7.0], 0.95)), (None, Some(7.0)));
    }

    /// Worked by hand from rows of Pascal's triangle; the same ranks stand in printed tables of the sign test.
    #[test]
    fn ranks_follow_the_binomial_distribution() {
        for too_few in 0..6 {
            assert_eq!(median_ranks(too_few, 0.95), None, "{too_few}");
        }
        // n, rank, number of the 2^n outcomes that lie outside on one side
        for (count, rank, outside) in [
            (6, 1, 1.0),
            (8, 1, 1.0),
            (9, 2, 1.0 + 9.0),
            (10, 2, 1.0 + 10.0),
            (12, 3, 1.0 + 12.0 + 66.0),
            (20, 6, 1.0 + 20.0 + 190.0 + 1140.0 + 4845.0 + 15504.0),
        ] {
            let found = median_ranks(count, 0.95).unwrap();
            assert_eq!(found.rank, rank, "{count}");
            let expected = 1.0 - 2.0 * outside / 2.0_f64.powi(count as i32);
            assert!((found.coverage - expected).abs() < 1e-12, "{count}: {found:?} {expected}");
        }
    }

    #[test]
    fn ranks_of_many_values_match_normal_approximation() {
        // (n - 1.96 sqrt(n)) / 2
        let found = median_ranks(10_000, 0.95).unwrap();
        assert!(found.rank.abs_diff(4902) <= 1, "{found:?}");
        assert!((0.95..0.952).contains(&found.coverage), "{found:?}");
    }

    #[test]
    fn estimate_is_median_between_two_order_statistics() {
        let mut logs: Vec<f64> = [0.5, 0.8, 0.7, 0.9, 0.6, 0.75, 4.0].map(f64::ln).to_vec();
        let estimate = ratio_estimate(&mut logs).unwrap();
        let interval = estimate.interval.unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        assert_eq!(estimate.pairs, 7);
        near(estimate.ratio, 0.75);
        near(interval.low, 0.5);
        near(interval.high, 4.0);
        near(interval.coverage, 1.0 - 2.0 / 128.0);
    }

    #[test]
    fn five_pairs_give_estimate_without_interval() {
        let estimate = ratio_estimate(&mut [0.0, 0.1, 0.2, 0.3, 0.4]).unwrap();
        assert_eq!((estimate.pairs, estimate.interval), (5, None));
        assert_eq!(ratio_estimate(&mut []), None);
    }

    /// Enough to see a true rate of 5 % within 4.2 to 5.8 % (three standard errors).
    const ROUNDS: u32 = 6000;

    /// The rate at which the interval of a variant compared with itself excludes 1. Each block has its own speed, and
    /// each run its own noise: `noise` draws the logarithm of a run's disturbance. `reference` combines the logarithms
    /// of A and A' into the value that a run is compared with.
    fn false_difference_rate(
        blocks: usize,
        noise: fn(&mut SmallRng) -> f64,
        reference: fn(a: f64, again: f64) -> f64,
    ) -> f64 {
        let mut random = SmallRng::seed_from_u64(20_160_612);
        let mut logs = vec![0.0; blocks];
        let mut false_differences = 0;
        for _ in 0..ROUNDS {
            for log_ratio in &mut logs {
                let block_speed: f64 = random.random_range(0.0..1.0);
                let mut run = || block_speed + noise(&mut random);
                let (variant, a, again) = (run(), run(), run());
                *log_ratio = variant - reference(a, again);
            }
            let interval = ratio_estimate(&mut logs).and_then(|estimate| estimate.interval).unwrap();
            false_differences += u32::from(interval.low > 1.0 || interval.high < 1.0);
        }
        f64::from(false_differences) / f64::from(ROUNDS)
    }

    fn a_alone(a: f64, _again: f64) -> f64 {
        a
    }

    /// The sum of twelve uniform values is nearly normal.
    fn bell_noise(random: &mut SmallRng) -> f64 {
        0.03 * ((0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0)
    }

    /// Mostly calm; one run in ten is a third slower.
    fn spiky_noise(random: &mut SmallRng) -> f64 {
        bell_noise(random) / 3.0 + if random.random_bool(0.1) { 0.3 } else { 0.0 }
    }

    /// Only slower, sometimes by much.
    fn exponential_noise(random: &mut SmallRng) -> f64 {
        -0.03 * random.random_range(f64::MIN_POSITIVE..1.0).ln()
    }

    #[test]
    fn intervals_exclude_1_under_null_as_rarely_as_claimed() {
        for (shape, noise) in [
            ("bell", bell_noise as fn(&mut SmallRng) -> f64),
            ("spiky", spiky_noise),
            ("exponential", exponential_noise),
        ] {
            for blocks in [6, 10, 20, 30] {
                let rate = false_difference_rate(blocks, noise, a_alone);
                let claimed = 1.0 - median_ranks(blocks, COVERAGE).unwrap().coverage;
                assert!((rate - claimed).abs() < 0.0085, "{shape}, {blocks} blocks: {rate}, claimed {claimed}");
            }
        }
    }

    /// The reason why an interval must exclude the noise floor, not only 1, to count as a difference: ratios are to the
    /// mean of A and A', whose median under one-sided noise is not that of a single run. `simulation` shows the effect
    /// of the floor.
    #[test]
    fn mean_of_two_runs_breaks_claimed_coverage() {
        let claimed = 1.0 - median_ranks(30, COVERAGE).unwrap().coverage;
        let rate = false_difference_rate(30, exponential_noise, f64::midpoint);
        assert!(rate > claimed + 0.02, "{rate}, claimed {claimed}");
    }
}
