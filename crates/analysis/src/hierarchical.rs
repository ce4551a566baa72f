//! Intervals for cold runs: values that come in groups.
//!
//! The place of a file on a disk affects how fast it is read, and is the same in every run: more runs of one copy do
//! not average it out. So a variant has several physical copies, and the variation between copies is separated from the
//! variation between runs of a copy. The interval is that of the mean over copies, and accounts for their small number.

use std::{collections::BTreeMap, f64::consts::PI};

use rand::{Rng, SeedableRng, rngs::SmallRng};
use repackbench_records::{Estimate, RatioEstimate, RatioInterval};

use crate::statistics::{COVERAGE, median};

/// The number of resamples.
const RESAMPLES: usize = 1000;

/// A fixed seed: an interval must not depend on when it is computed.
const SEED: u64 = 0x636f_6c64;

/// The log-ratio of one block of cold runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CopyRatio {
    /// The block.
    pub block: u32,
    /// The copy that was read in it.
    pub copy: u32,
    /// The logarithm of the ratio.
    pub log_ratio: f64,
}

/// The result of hierarchical resampling of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hierarchical {
    /// The mean over copies of the medians of their log-ratios.
    pub log_ratio: f64,
    /// Its standard error, from resampling copies and, in each, blocks; corrected for the number of copies.
    pub standard_error: f64,
    /// One less than the number of copies: Student's degrees of freedom.
    pub degrees: u32,
    /// The number of values.
    pub pairs: usize,
}

/// Estimates a ratio from `values`. `None` with fewer than two
/// copies, which say nothing about other copies.
///
/// Copies are drawn with replacement, and from each copy as many of its blocks as it has, also with replacement.
/// Drawing from c copies shows only (c - 1) / c of the variance between them, which is corrected. Because c is small,
/// the interval uses Student's distribution. (Percentiles of the draws miss the true value in about one of five
/// sessions with four copies.)
///
/// Values that share a physical copy must have the same number: runs of A and of a variant in one block read copies of
/// the same number. A' has its own copies, so that the noise row shows the effect of copies.
pub fn hierarchical(values: &[CopyRatio]) -> Option<Hierarchical> {
    let mut by_copy: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    for CopyRatio { block, copy, log_ratio } in values {
        by_copy.entry(*copy).or_default().insert(*block, *log_ratio);
    }
    let copies: Vec<Vec<f64>> = by_copy.into_values().map(|blocks| blocks.into_values().collect()).collect();
    let degrees = u32::try_from(copies.len().checked_sub(1)?).ok().filter(|degrees| *degrees > 0)?;
    let log_ratio = mean(copies.iter().filter_map(|copy| median(&mut copy.clone())))?;
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut drawn = Vec::new();
    let mut draw_copy = |random: &mut SmallRng| {
        let copy = copies.get(random.random_range(0..copies.len()))?;
        drawn.clear();
        drawn.extend(copy.iter().filter_map(|_| copy.get(random.random_range(0..copy.len())).copied()));
        median(&mut drawn)
    };
    let resampled: Vec<f64> =
        (0..RESAMPLES).filter_map(|_| mean(copies.iter().filter_map(|_| draw_copy(&mut random)))).collect();
    let centre = mean(resampled.iter().copied())?;
    let variance = mean(resampled.iter().map(|value| (value - centre).powi(2)))?;
    let standard_error = (variance * (f64::from(degrees) + 1.0) / f64::from(degrees)).sqrt();
    Some(Hierarchical { log_ratio, standard_error, degrees, pairs: copies.iter().map(Vec::len).sum() })
}

/// The estimate and its 95 % interval; see [`hierarchical`].
pub fn hierarchical_interval(values: &[CopyRatio]) -> Option<RatioEstimate> {
    hierarchical(values).map(|found| found.estimate())
}

/// The median of positive values, each from a run that read a copy of its own, so that the interval includes what
/// varies between copies. It is [`hierarchical_interval`]'s, which is about the mean, and widened to include the
/// median.
pub fn estimate_of_copies(samples: Vec<f64>) -> Option<Estimate> {
    let value = median(&mut samples.clone())?;
    let interval = over_copies(&samples).and_then(|found| found.interval);
    let interval = interval.map(|RatioInterval { low, high, .. }| [low.min(value), high.max(value)]);
    Some(Estimate { value, interval, samples })
}

/// The values `of` as multiples of `to`, run by run, where each run read copies of its own.
pub fn ratio_of_copies(of: &[f64], to: &[f64]) -> Option<Estimate> {
    let pairs = of.iter().zip(to).filter(|(of, to)| **of > 0.0 && **to > 0.0);
    let found = estimate_of_copies(pairs.map(|(of, to)| of / to).collect())?;
    let value = over_copies(&found.samples).map_or(found.value, |mean| mean.ratio);
    Some(Estimate { value, ..found })
}

/// `None` for a single value, and where a value is not positive.
fn over_copies(samples: &[f64]) -> Option<RatioEstimate> {
    let of_run = |(run, value): (u32, &f64)| CopyRatio { block: run, copy: run, log_ratio: value.ln() };
    let logs: Vec<CopyRatio> = (0..).zip(samples).map(of_run).collect();
    hierarchical_interval(&logs).filter(|_| samples.iter().all(|value| *value > 0.0))
}

impl Hierarchical {
    /// The estimate with its interval.
    pub fn estimate(&self) -> RatioEstimate {
        let reach = student_quantile(self.degrees) * self.standard_error;
        let (low, high) = ((self.log_ratio - reach).exp(), (self.log_ratio + reach).exp());
        let interval = Some(RatioInterval { low, high, coverage: COVERAGE });
        RatioEstimate { ratio: self.log_ratio.exp(), interval, pairs: self.pairs }
    }

    /// The probability of a distance from 0 of at least this one, if the true distance were at most `log_floor`.
    pub fn probability(&self, log_floor: f64) -> f64 {
        let beyond = self.log_ratio.abs() - log_floor;
        if beyond <= 0.0 {
            return 1.0;
        }
        1.0 - student_within(beyond / self.standard_error, self.degrees)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}

/// The probability that Student's t with `degrees` degrees of freedom is between -t and t. Source: Abramowitz and
/// Stegun, 26.7.3 and 26.7.4, exact for whole degrees.
fn student_within(t: f64, degrees: u32) -> f64 {
    let angle = (t / f64::from(degrees).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees % 2 == 1;
    // The first term of the sum, then factors of (k - 1) / k cos^2 up to the last power.
    let (mut term, mut power) = if is_odd { (cosine, 1) } else { (1.0, 0) };
    let mut sum = if degrees == 1 { 0.0 } else { term };
    while power + 2 <= degrees.saturating_sub(2) {
        power += 2;
        term *= f64::from(power - 1) / f64::from(power) * cosine * cosine;
        sum += term;
    }
    if is_odd { 2.0 / PI * (angle + sine * sum) } else { sine * sum }
}

/// The t for which 95 % is between -t and t.
fn student_quantile(degrees: u32) -> f64 {
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if student_within(middle, degrees) < COVERAGE {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::ratio_estimate;

    fn ratio(block: u32, copy: u32, log_ratio: f64) -> CopyRatio {
        CopyRatio { block, copy, log_ratio }
    }

    /// From printed tables of Student's distribution.
    #[test]
    fn quantiles_match_printed_tables() {
        for (degrees, expected) in
            [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (7, 2.365), (10, 2.228), (30, 2.042)]
        {
            let found = student_quantile(degrees);
            assert!((found - expected).abs() < 6e-4, "{degrees}: {found}, expected {expected}");
        }
    }

    #[test]
    fn one_copy_gives_no_estimate() {
        assert_eq!(hierarchical_interval(&[]), None);
        assert_eq!(hierarchical_interval(&[ratio(0, 7, 0.1), ratio(1, 7, 0.1), ratio(2, 7, 0.1)]), None);
    }

    #[test]
    fn estimate_is_mean_over_copies() {
        let found = hierarchical(
            &[(0, 0, -0.2), (1, 1, -0.4), (2, 0, -0.2), (3, 1, -0.4), (4, 0, 5.0)]
                .map(|(block, copy, log)| ratio(block, copy, log)),
        )
        .unwrap();
        assert!((found.log_ratio + 0.3).abs() < 1e-12, "{found:?}");
        assert_eq!((found.degrees, found.pairs), (1, 5));
        let same: Vec<CopyRatio> = (0..12).map(|block| ratio(block, block % 4, -0.5)).collect();
        let found = hierarchical(&same).unwrap();
        let interval = found.estimate().interval.unwrap();
        assert!((interval.low - interval.high).abs() < 1e-12);
        assert!(found.probability(0.01) < 1e-9 && found.probability(0.6) == 1.0);
    }

    #[test]
    fn values_of_copies_have_a_median_and_an_interval_about_it() {
        let found = estimate_of_copies(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((found.value, found.samples.as_slice()), (2.0, &[3.0, 1.0, 2.0][..]));
        let [low, high] = found.interval.unwrap();
        assert!(low < 1.0 && high > 3.0, "three copies say little: {low} {high}");
        assert_eq!(estimate_of_copies(vec![3.0]).unwrap().interval, None, "one copy says nothing of others");
        assert_eq!(estimate_of_copies(vec![]), None);
        assert_eq!(estimate_of_copies(vec![0.0, 1.0, 2.0]).unwrap().interval, None);
    }

    #[test]
    fn ratios_of_copies_pair_the_values_of_a_run() {
        let found = ratio_of_copies(&[2.0, 40.0, 9.0], &[1.0, 20.0]).unwrap();
        assert_eq!(found.samples, [2.0, 2.0]);
        assert!((found.value - 2.0).abs() < 1e-12);
        let [low, high] = found.interval.unwrap();
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9, "nothing varies");
        assert_eq!(ratio_of_copies(&[2.0, 0.0], &[0.0, 1.0]), None);
    }

    fn bell(random: &mut SmallRng, width: f64) -> f64 {
        width * ((0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0)
    }

    /// The rates at which two kinds of intervals exclude 1 although only the places of copies differ: this module's,
    /// and that of the sign test, which treats all blocks alike.
    fn false_difference_rates(blocks: u32, copies: u32, between_copies: f64, between_runs: f64) -> (f64, f64) {
        const ROUNDS: u32 = 600;
        let mut random = SmallRng::seed_from_u64(43);
        let leaves_out_1 = |estimate: Option<RatioEstimate>| {
            let interval = estimate.and_then(|estimate| estimate.interval).unwrap();
            u32::from(interval.low > 1.0 || interval.high < 1.0)
        };
        let (mut hierarchical, mut sign) = (0, 0);
        for _ in 0..ROUNDS {
            let places: Vec<f64> = (0..copies).map(|_| bell(&mut random, between_copies)).collect();
            let values: Vec<CopyRatio> = (0..blocks)
                .map(|block| {
                    let run = bell(&mut random, between_runs) - 0.02 * random.random_range(1e-9_f64..1.0).ln();
                    let other = bell(&mut random, between_runs) - 0.02 * random.random_range(1e-9_f64..1.0).ln();
                    ratio(block, block % copies, places[(block % copies) as usize] + run - other)
                })
                .collect();
            hierarchical += leaves_out_1(hierarchical_interval(&values));
            sign += leaves_out_1(ratio_estimate(&mut values.iter().map(|value| value.log_ratio).collect::<Vec<_>>()));
        }
        (f64::from(hierarchical) / f64::from(ROUNDS), f64::from(sign) / f64::from(ROUNDS))
    }

    /// Three standard errors of a rate of 5 % in 600 rounds are 2.7 %.
    #[test]
    fn intervals_exclude_1_under_null_as_rarely_as_claimed() {
        for (blocks, copies, between_copies, between_runs) in
            [(12, 4, 0.05, 0.02), (24, 4, 0.10, 0.02), (12, 4, 0.0, 0.05), (16, 8, 0.05, 0.02), (40, 4, 0.02, 0.02)]
        {
            let (rate, _) = false_difference_rates(blocks, copies, between_copies, between_runs);
            assert!(rate < 0.077, "{blocks} blocks, {copies} copies, {between_copies}: {rate}");
        }
    }

    /// The reason for this module.
    #[test]
    fn sign_test_mistakes_places_of_copies_for_differences() {
        let (_, sign) = false_difference_rates(24, 4, 0.10, 0.02);
        assert!(sign > 0.2, "{sign}");
    }
}
