//! From intervals to verdicts, without claiming more than the data show.
//!
//! A difference counts only if it exceeds the **noise floor**: the difference between two reads of the same files, and
//! at least 1 %. The sign test gives the probability of the observation if no difference exceeded the floor; it assumes
//! nothing about the shape of the noise. Holm's method corrects it for the number of ratios.

use repackbench_records::{RatioEstimate, RatioInterval, Verdict};

/// The smallest noise floor, as a part of 1: the placement of code and data in memory differs between processes, and
/// changes times by as much.
pub const LEAST_NOISE_FLOOR: f64 = 0.01;

/// The probability of at least one false difference among all ratios of a session.
pub const ERROR_RATE: f64 = 0.05;

/// The noise floor of a workload, as a part of 1, from the interval of A / A'.
pub fn noise_floor(noise: &RatioInterval) -> f64 {
    log_floor(noise).exp_m1()
}

/// [`noise_floor`] as a logarithm.
pub(super) fn log_floor(noise: &RatioInterval) -> f64 {
    noise.low.ln().abs().max(noise.high.ln().abs()).max(LEAST_NOISE_FLOOR.ln_1p())
}

/// Whether the two runs of the baseline are close enough for verdicts: not if their whole interval is beyond the
/// smallest floor.
pub(super) fn is_valid(noise: &RatioInterval) -> bool {
    let least = LEAST_NOISE_FLOOR.ln_1p();
    noise.low.ln() <= least && noise.high.ln() >= -least
}

/// The probability of at least as many of `log_ratios` on one side beyond `log_floor` if their true median were within
/// it. Exact for a true median at the edge of the floor, an upper bound otherwise. Two-sided.
pub fn sign_test(log_ratios: &[f64], log_floor: f64) -> f64 {
    let below = log_ratios.iter().filter(|log| **log < -log_floor).count();
    let above = log_ratios.iter().filter(|log| **log > log_floor).count();
    (2.0 * at_least(below.max(above), log_ratios.len())).min(1.0)
}

/// The probability that at least `heads` of `count` fair coins show heads.
fn at_least(heads: usize, count: usize) -> f64 {
    // Summed over the number of tails, in logarithms, as 0.5^n leaves the range of f64 from n = 1075 on.
    let mut log_probability = count as f64 * 0.5_f64.ln();
    let mut sum = 0.0;
    for tails in 0..=count.saturating_sub(heads) {
        if tails > 0 {
            log_probability += ((count - tails + 1) as f64 / tails as f64).ln();
        }
        sum += log_probability.exp();
    }
    sum.min(1.0)
}

/// Holm's correction, in place: afterwards each value bounds the probability that any of them is as small by chance.
pub fn holm(probabilities: &mut [&mut f64]) {
    probabilities.sort_by(|one, other| one.total_cmp(other));
    let count = probabilities.len();
    let mut least = 0.0_f64;
    for (rank, probability) in probabilities.iter_mut().enumerate() {
        least = least.max((**probability * (count - rank) as f64).min(1.0));
        **probability = least;
    }
}

/// The number of blocks from which the clearest of `cells` ratios can be called a difference: fewer equal signs occur
/// too often by chance.
pub fn blocks_for_verdicts(cells: usize) -> u32 {
    let mut blocks = 1;
    let mut probability = 1.0;
    while probability * cells.max(1) as f64 > ERROR_RATE {
        blocks += 1;
        probability /= 2.0;
    }
    blocks
}

/// The widest noise floor within which two times are the same: beyond it, a difference that matters may hide.
const WIDEST_SAME: f64 = 1.10;

/// The verdict on `estimate`. `None` without an interval.
pub(super) fn verdict(estimate: &RatioEstimate, log_floor: f64, adjusted_p: f64) -> Option<Verdict> {
    let interval = estimate.interval?;
    let (low, high) = (interval.low.ln(), interval.high.ln());
    Some(if adjusted_p <= ERROR_RATE && high < -log_floor {
        Verdict::Faster
    } else if adjusted_p <= ERROR_RATE && low > log_floor {
        Verdict::Slower
    } else if low >= -log_floor && high <= log_floor && log_floor <= WIDEST_SAME.ln() {
        Verdict::Same
    } else {
        Verdict::Inconclusive
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{COVERAGE, median_ranks, ratio_estimate};

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn sign_test_counts_values_beyond_floor() {
        let logs = [-0.5, -0.4, -0.3, -0.2, -0.1, -0.05, 0.005, 0.3];
        // Six of eight: 28 + 8 + 1 of 256 outcomes have as many, and there are two sides.
        near(sign_test(&logs, 0.01), 2.0 * 37.0 / 256.0);
        // Four of eight or more: more than half of all, so certain with both sides.
        near(sign_test(&logs, 0.15), 1.0);
        near(sign_test(&[0.3; 10], 0.1), 2.0 / 1024.0);
        near(sign_test(&[], 0.1), 1.0);
        assert!(sign_test(&vec![1.0; 5000], 0.1) < 1e-300, "no overflow");
    }

    /// Test and interval are two views of one rule: a ratio is significant exactly if its interval does not reach the
    /// floor.
    #[test]
    fn ratio_is_significant_exactly_if_interval_is_beyond_floor() {
        for count in 6..60 {
            for beyond in 0..=count {
                let mut logs: Vec<f64> = (0..count).map(|i| if i < beyond { 0.02 } else { 0.0 }).collect();
                let p = sign_test(&logs, 0.01);
                let low = ratio_estimate(&mut logs).unwrap().interval.unwrap().low.ln();
                assert_eq!(p <= 1.0 - COVERAGE, low > 0.01, "{beyond} of {count}: {p} {low}");
            }
        }
        assert!(median_ranks(5, COVERAGE).is_none());
    }

    #[test]
    fn holm_matches_worked_example() {
        // A worked example: 0.01 * 4, 0.013 * 3 (but not less than 0.04), 0.03 * 2, 0.2 * 1.
        let (mut a, mut b, mut c, mut d) = (0.03, 0.01, 0.2, 0.013);
        holm(&mut [&mut a, &mut b, &mut c, &mut d]);
        near(b, 0.04);
        near(d, 0.04);
        near(a, 0.06);
        near(c, 0.2);
        let mut certain = 0.9;
        holm(&mut [&mut certain, &mut 0.8]);
        near(certain, 1.0);
        holm(&mut []);
    }

    #[test]
    fn number_of_blocks_for_verdicts_is_minimal() {
        for cells in [0, 1, 2, 12, 30, 1000] {
            let blocks = blocks_for_verdicts(cells);
            let clearest = |blocks: u32| sign_test(&vec![1.0; blocks as usize], 0.01) * cells.max(1) as f64;
            assert!(clearest(blocks) <= ERROR_RATE && clearest(blocks - 1) > ERROR_RATE, "{cells}: {blocks}");
        }
        assert_eq!(blocks_for_verdicts(1), 6);
    }

    fn estimate(low: f64, high: f64) -> RatioEstimate {
        RatioEstimate {
            ratio: (low * high).sqrt(),
            interval: Some(RatioInterval { low, high, coverage: 0.96 }),
            pairs: 9,
        }
    }

    #[test]
    fn verdicts_need_interval_beyond_floor_and_small_p() {
        let floor = 0.02_f64.ln_1p();
        for (low, high, p, expected) in [
            (0.90, 0.97, 0.01, Verdict::Faster),
            (0.90, 0.97, 0.06, Verdict::Inconclusive),
            (0.90, 0.985, 0.01, Verdict::Inconclusive),
            (1.03, 1.05, 0.01, Verdict::Slower),
            (1.03, 1.05, 0.2, Verdict::Inconclusive),
            (0.985, 1.015, 1.0, Verdict::Same),
            (0.985, 1.025, 1.0, Verdict::Inconclusive),
        ] {
            assert_eq!(verdict(&estimate(low, high), floor, p), Some(expected), "{low} {high} {p}");
        }
        let wide = |floor: f64| verdict(&estimate(0.985, 1.015), floor.ln(), 1.0);
        assert_eq!((wide(1.09), wide(1.11)), (Some(Verdict::Same), Some(Verdict::Inconclusive)));
        assert_eq!(verdict(&RatioEstimate { interval: None, ..estimate(0.5, 0.6) }, floor, 0.0), None);
    }

    #[test]
    fn noise_sets_floor_and_may_forbid_verdicts() {
        let interval = |low: f64, high: f64| RatioInterval { low, high, coverage: 0.95 };
        near(log_floor(&interval(0.995, 1.004)), 1.01_f64.ln());
        near(log_floor(&interval(0.95, 1.004)), -(0.95_f64.ln()));
        near(log_floor(&interval(0.99, 1.2)), 1.2_f64.ln());
        assert!(is_valid(&interval(0.9, 1.1)) && is_valid(&interval(1.005, 1.1)) && is_valid(&interval(0.9, 0.995)));
        assert!(!is_valid(&interval(1.011, 1.1)) && !is_valid(&interval(0.9, 0.98)));
    }
}
