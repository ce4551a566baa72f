//! Totals of a whole population from a stratified sample, with what is known of every member as a guide.
//!
//! Each member has a known size `x` (the stored bytes of a chunk as found), and each sampled one a value `y` (its
//! bytes, or the time to decode it, under a codec). Within a stratum `y` is nearly a multiple of `x`, so the total of
//! `y` is estimated by the ratio estimator, stratum by stratum: the sum of the sampled `y` over that of the sampled
//! `x`, times the known total of `x` (Cochran, *Sampling Techniques*, 3rd edition, sections 6.3 and 6.10). Only what
//! `y` differs from that multiple by counts as error.

mod allocation;

use std::collections::HashMap;

use repackbench_records::{Predicted, RatioInterval};

pub use self::allocation::{Offer, allocate};
use crate::COVERAGE;

/// The 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_964;

/// The number of groups whose members are left out in turn to find the error of a ratio of costs.
const GROUPS: usize = 20;

/// The fewest sampled members of a group that say something about the spread of its strata.
const FEWEST: u64 = 8;

/// How many members the spread of a group counts for in that of one of its strata. Few members rarely have an outlier
/// among them, and would look more alike than they are.
const COMMON_MEMBERS: f64 = 8.0;

/// The standard error, as a share of what is not sampled, of outliers that no sampled member shows. zlib streams of one
/// level are nearly always as long as those of another, so that a sample may show no difference at all.
const UNSEEN: f64 = 0.0009;

/// What is known of one stratum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StratumSample {
    /// Which strata it is like: outliers in one stratum of a group make them probable in the others.
    pub group: usize,
    /// The number of its members.
    pub members: u64,
    /// The sum of `x` over all members.
    pub total_x: f64,
    /// The number of sampled members.
    pub sampled: u64,
    sum_x: f64,
    sum_y: f64,
    sum_xx: f64,
    sum_xy: f64,
    sum_yy: f64,
}

impl StratumSample {
    /// A stratum of `members` members, nothing of which is sampled yet.
    pub fn new(group: usize, members: u64, total_x: f64) -> Self {
        StratumSample { group, members, total_x, ..StratumSample::default() }
    }

    /// Adds a sampled member.
    pub fn add(&mut self, x: f64, y: f64) {
        self.sampled += 1;
        self.sum_x += x;
        self.sum_y += y;
        self.sum_xx += x * x;
        self.sum_xy += x * y;
        self.sum_yy += y * y;
    }

    fn mean_x(&self) -> f64 {
        self.total_x / (self.members as f64).max(1.0)
    }

    /// `y` as a multiple of `x`; `None` if nothing is sampled.
    fn rate(&self) -> Option<f64> {
        (self.sum_x > 0.0).then(|| self.sum_y / self.sum_x)
    }

    /// The sum of the squared distances of `y` from `rate` times `x`.
    fn squared_residuals(&self, rate: f64) -> f64 {
        (rate * rate).mul_add(self.sum_xx, (-2.0 * rate).mul_add(self.sum_xy, self.sum_yy)).max(0.0)
    }
}

/// An estimated total.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StratifiedTotal {
    /// The best guess.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error, after Satterthwaite.
    degrees: f64,
}

/// The 97.5 % quantile of Student's distribution with this many degrees of freedom, by the first terms of its expansion
/// around the normal distribution (Abramowitz and Stegun, 26.7.5): within 1 % from 5 on.
pub fn student_quantile(degrees: f64) -> f64 {
    let z = NORMAL_QUANTILE;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let degrees = degrees.max(2.0);
    z + first / degrees + second / degrees.powi(2)
}

impl StratifiedTotal {
    /// The total with a standard error of at least `least`.
    #[must_use]
    pub fn with_least_error(self, least: f64) -> Self {
        StratifiedTotal { standard_error: self.standard_error.max(least), ..self }
    }

    /// The total with a further standard error, as a share of the total, that does not depend on the sample.
    #[must_use]
    pub fn with_share_of_error(self, share: f64) -> Self {
        StratifiedTotal { standard_error: self.standard_error.hypot(share * self.value), ..self }
    }

    /// Half of the length of the 95 % interval.
    pub fn half_width(&self) -> f64 {
        student_quantile(self.degrees) * self.standard_error
    }

    /// The total with `more` added, which is known, and its 95 % interval.
    pub fn plus(&self, more: f64) -> Predicted {
        let value = self.value + more;
        let half_width = self.half_width();
        let interval = RatioInterval { low: value - half_width, high: value + half_width, coverage: COVERAGE };
        Predicted { value, interval: (self.standard_error > 0.0).then_some(interval) }
    }
}

/// The total of `y` over all members of `strata`. A stratum without a sample gets the rate of the one of its group
/// whose members are most nearly as large, or of all others together if there is none. Its spread is its own, or if
/// that is larger, a mean with that of its group, weighted by the members that each is known from. Rates may rise or
/// fall with size, so those of all strata without a sample may be off in one direction, by half the range of the rates
/// in their groups. `None` if nothing is sampled.
pub fn stratified_total(strata: &[StratumSample]) -> Option<StratifiedTotal> {
    let common = Common::of(strata)?;
    let (mut value, mut variance, mut by_degrees, mut not_sampled, mut unknown) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for stratum in strata.iter().filter(|stratum| stratum.members > 0) {
        let rate = common.rate_of(strata, stratum);
        value += rate * stratum.total_x;
        if stratum.sampled < stratum.members {
            not_sampled += rate * (stratum.total_x - stratum.sum_x).max(0.0);
        }
        if stratum.sampled == 0 {
            unknown += common.half_range(stratum.group) * stratum.total_x;
        }
        let members = stratum.members as f64;
        let sampled = (stratum.sampled as f64).max(1.0);
        // What the whole sample covers has no error.
        let left_out = (1.0 - stratum.sampled as f64 / members).max(0.0);
        let sampled_mean_x = if stratum.sampled > 0 { stratum.sum_x / sampled } else { stratum.mean_x() };
        let scale = if sampled_mean_x > 0.0 { stratum.mean_x() / sampled_mean_x } else { 1.0 };
        let of_stratum = (members * common.spread_of(stratum) * scale).powi(2) * left_out / sampled;
        variance += of_stratum;
        by_degrees += of_stratum * of_stratum / (sampled - 1.0).max(1.0);
    }
    variance += (UNSEEN * not_sampled).powi(2) + unknown * unknown;
    let degrees = if by_degrees > 0.0 { variance * variance / by_degrees } else { f64::INFINITY };
    Some(StratifiedTotal { value, standard_error: variance.sqrt(), degrees })
}

/// The totals of `y` in each of `strata`, as [`stratified_total`] estimates them.
fn totals_by_stratum(strata: &[StratumSample]) -> Option<Vec<f64>> {
    let common = Common::of(strata)?;
    Some(strata.iter().map(|stratum| common.rate_of(strata, stratum) * stratum.total_x).collect())
}

/// The total of `y` in double sampling: `reference` is a larger sample of another value of the same members, which is
/// known where `pairs` are, each of them that value with `y`. The total of the reference stands for the sum of `x`
/// (Cochran, chapter 12), so that only what `y` differs from a multiple of the reference by counts as error of `y`,
/// beside the error of the reference. `None` if nothing is sampled.
///
/// The variance of the smaller sample is that within the whole population and not within the larger sample, so that the
/// interval is rather too long.
pub fn total_by_reference(
    reference: &[StratumSample],
    pairs: impl Iterator<Item = (usize, f64, f64)>,
) -> Option<StratifiedTotal> {
    let first = stratified_total(reference)?;
    let totals = totals_by_stratum(reference)?;
    let stratum = |(of, total): (&StratumSample, f64)| StratumSample::new(of.group, of.members, total);
    let mut strata: Vec<StratumSample> = reference.iter().zip(totals).map(stratum).collect();
    for (at, x, y) in pairs {
        if let Some(stratum) = strata.get_mut(at) {
            stratum.add(x, y);
        }
    }
    let second = stratified_total(&strata)?;
    let scale = if first.value > 0.0 { second.value / first.value } else { 0.0 };
    let (of_first, of_second) = ((scale * first.standard_error).powi(2), second.standard_error.powi(2));
    let variance = of_first + of_second;
    let by_degrees = of_first * of_first / first.degrees + of_second * of_second / second.degrees;
    let degrees = if by_degrees > 0.0 { variance * variance / by_degrees } else { f64::INFINITY };
    Some(StratifiedTotal { value: second.value, standard_error: variance.sqrt(), degrees })
}

/// What strata say about each other.
struct Common {
    /// `y` as a multiple of `x` in all of them.
    rate: f64,
    /// The spread of `y` around its rate as a multiple of the mean `x`, by group and in all of them; 1 where too little
    /// is sampled.
    spreads: HashMap<usize, f64>,
    spread: f64,
    /// The least and the largest rate of a sampled stratum, by group and in all of them.
    ranges: HashMap<usize, (f64, f64)>,
    range: (f64, f64),
}

impl Common {
    /// `None` if nothing is sampled.
    fn of(strata: &[StratumSample]) -> Option<Self> {
        let (sum_x, sum_y) = strata.iter().fold((0.0, 0.0), |(x, y), stratum| (x + stratum.sum_x, y + stratum.sum_y));
        if sum_x <= 0.0 && strata.iter().any(|stratum| stratum.total_x > 0.0) {
            return None;
        }
        let mut groups: HashMap<usize, Spread> = HashMap::new();
        let mut all = Spread::default();
        let (mut ranges, mut range) = (HashMap::new(), (f64::INFINITY, 0.0_f64));
        let wider = |(low, high): (f64, f64), rate: f64| (low.min(rate), high.max(rate));
        for stratum in strata {
            if let Some(rate) = stratum.rate() {
                let of_group = ranges.entry(stratum.group).or_insert((rate, rate));
                *of_group = wider(*of_group, rate);
                range = wider(range, rate);
            }
            groups.entry(stratum.group).or_default().add(stratum);
            all.add(stratum);
        }
        let spread = all.relative().unwrap_or(1.0);
        let spreads = groups.iter().filter_map(|(group, spread)| Some((*group, spread.relative()?))).collect();
        Some(Common { rate: if sum_x > 0.0 { sum_y / sum_x } else { 0.0 }, spreads, spread, ranges, range })
    }

    /// Half of the range of the rates in `group`, or in all groups if fewer than two of its strata are sampled.
    fn half_range(&self, group: usize) -> f64 {
        // One rate says nothing of others.
        let of_group = self.ranges.get(&group).filter(|(low, high)| low < high);
        let (low, high) = of_group.unwrap_or(&self.range);
        (high - low).max(0.0) / 2.0
    }

    /// `y` as a multiple of `x` in `stratum`, one of `strata`: see [`stratified_total`].
    fn rate_of(&self, strata: &[StratumSample], stratum: &StratumSample) -> f64 {
        let distance = |other: &StratumSample| (other.mean_x() / stratum.mean_x().max(f64::MIN_POSITIVE)).ln().abs();
        let nearest = || {
            let like = strata.iter().filter(|other| other.group == stratum.group && other.rate().is_some());
            like.min_by(|one, other| distance(one).total_cmp(&distance(other)))?.rate()
        };
        stratum.rate().or_else(nearest).unwrap_or(self.rate)
    }

    /// The standard deviation of `y` around its rate in `stratum`.
    fn spread_of(&self, stratum: &StratumSample) -> f64 {
        let sampled = (stratum.sampled as f64).max(1.0);
        let of_group = self.spreads.get(&stratum.group).unwrap_or(&self.spread);
        let common_squares = COMMON_MEMBERS * (of_group * stratum.mean_x()).powi(2);
        let own_squares = stratum.squared_residuals(stratum.rate().unwrap_or(self.rate));
        let blended = (own_squares + common_squares) / (sampled - 1.0 + COMMON_MEMBERS);
        let own = if stratum.sampled > 1 { own_squares / (sampled - 1.0) } else { 0.0 };
        blended.max(own).sqrt()
    }
}

/// Squared residuals of several strata, as multiples of the mean `x` of each.
#[derive(Default)]
struct Spread {
    squares: f64,
    sampled: u64,
    degrees: u64,
}

impl Spread {
    fn add(&mut self, stratum: &StratumSample) {
        let (Some(rate), true) = (stratum.rate(), stratum.sampled > 1) else { return };
        let mean_x = stratum.sum_x / stratum.sampled as f64;
        self.squares += stratum.squared_residuals(rate) / (mean_x * mean_x);
        self.sampled += stratum.sampled;
        self.degrees += stratum.sampled - 1;
    }

    /// The spread as a multiple of the mean `x`; `None` if too little is sampled.
    fn relative(&self) -> Option<f64> {
        (self.sampled >= FEWEST).then(|| (self.squares / self.degrees as f64).sqrt())
    }
}

/// The costs of one sampled member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemberCost {
    /// Its stratum.
    pub stratum: usize,
    /// Its size.
    pub x: f64,
    /// What it costs under the codec.
    pub cost: f64,
    /// What it costs under the baseline.
    pub baseline: f64,
    /// What it costs as found.
    pub as_found: f64,
}

/// The time of a workload under a codec as a multiple of the time under the baseline.
#[derive(Debug, Clone, Copy)]
pub struct CostRatio<'a> {
    /// The sampled members.
    pub members: &'a [MemberCost],
    /// The sum of `x` over everything that the workload decodes, by stratum.
    pub decoded_x: &'a [f64],
    /// The share of the workload's time, as found, in which it decodes.
    pub share: f64,
    /// The standard error of the share.
    pub share_error: f64,
}

impl CostRatio<'_> {
    /// The costs of everything that the workload decodes, without the members of group `left_out`: under the codec, the
    /// baseline and as found.
    fn costs(&self, left_out: Option<usize>) -> [f64; 3] {
        let mut sums = vec![[0.0; 4]; self.decoded_x.len()];
        let mut all = [0.0; 4];
        for (at, member) in self.members.iter().enumerate() {
            if left_out == Some(at % GROUPS) {
                continue;
            }
            let row = [member.x, member.cost, member.baseline, member.as_found];
            for sum in sums.get_mut(member.stratum).into_iter().chain([&mut all]) {
                for (sum, value) in sum.iter_mut().zip(row) {
                    *sum += value;
                }
            }
        }
        let mut costs = [0.0; 3];
        for (sum, decoded) in sums.iter().zip(self.decoded_x) {
            let [x, rest @ ..] = if sum[0] > 0.0 { sum } else { &all };
            for (cost, value) in costs.iter_mut().zip(rest) {
                *cost += if *x > 0.0 { decoded * value / x } else { 0.0 };
            }
        }
        costs
    }

    /// The ratio, if decoding takes `share` of the time as found.
    fn ratio(&self, [cost, baseline, as_found]: [f64; 3], share: f64) -> f64 {
        if as_found <= 0.0 {
            return 1.0;
        }
        let rest = 1.0 - share;
        (rest + share * cost / as_found) / (rest + share * baseline / as_found)
    }
}

/// The ratio, with an interval that carries the error of the sample (by leaving out a group of members in turn) and
/// that of the share.
pub fn cost_ratio(of: &CostRatio<'_>) -> Predicted {
    let costs = of.costs(None);
    let value = of.ratio(costs, of.share);
    let without: Vec<f64> = (0..GROUPS).map(|group| of.ratio(of.costs(Some(group)), of.share)).collect();
    let mean = without.iter().sum::<f64>() / GROUPS as f64;
    let squares: f64 = without.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    let sample_variance = squares * (GROUPS as f64 - 1.0) / GROUPS as f64;
    let end = |sign: f64| of.ratio(costs, sign.mul_add(of.share_error, of.share).clamp(0.0, 1.0));
    let share_error = (end(1.0) - end(-1.0)) / 2.0;
    let half_width = student_quantile(GROUPS as f64 - 1.0) * share_error.mul_add(share_error, sample_variance).sqrt();
    let interval = RatioInterval { low: (value - half_width).max(0.0), high: value + half_width, coverage: COVERAGE };
    Predicted { value, interval: Some(interval) }
}

/// The geometric mean of ratios, with Student's interval of their logarithms; `None` of fewer than five.
pub fn mean_ratio(ratios: &[f64]) -> Option<Predicted> {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.max(f64::MIN_POSITIVE).ln()).collect();
    let count = logs.len() as f64;
    if logs.len() < 5 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let half_width = student_quantile(count - 1.0) * (squares / (count - 1.0) / count).sqrt();
    let interval =
        RatioInterval { low: (mean - half_width).exp(), high: (mean + half_width).exp(), coverage: COVERAGE };
    Some(Predicted { value: mean.exp(), interval: Some(interval) })
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::SmallRng};

    use super::*;

    /// Members with sizes of a stratum, and a value that is about `rate` times the size.
    fn population(seed: u64, strata: &[(usize, f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut member = |size: f64, rate: f64| {
            let x = size * random.random_range(0.5..1.5);
            (x, x * rate * random.random_range(0.8..1.2))
        };
        strata.iter().map(|(count, size, rate)| (0..*count).map(|_| member(*size, *rate)).collect()).collect()
    }

    fn sampled(population: &[Vec<(f64, f64)>], each: usize, random: &mut SmallRng) -> Vec<StratumSample> {
        let of_stratum = |members: &Vec<(f64, f64)>| {
            let total_x = members.iter().map(|(x, _)| x).sum();
            let mut stratum = StratumSample::new(0, members.len() as u64, total_x);
            for at in rand::seq::index::sample(random, members.len(), each.min(members.len())) {
                stratum.add(members[at].0, members[at].1);
            }
            stratum
        };
        population.iter().map(of_stratum).collect()
    }

    #[test]
    fn intervals_hold_the_true_total_as_often_as_said() {
        let population = population(1, &[(500, 100.0, 0.5), (300, 1000.0, 0.9), (40, 20_000.0, 0.7)]);
        let total: f64 = population.iter().flatten().map(|(_, y)| y).sum();
        let mut random = SmallRng::seed_from_u64(2);
        let holds = |_| {
            let predicted = stratified_total(&sampled(&population, 20, &mut random)).unwrap().plus(0.0);
            let interval = predicted.interval.unwrap();
            (interval.low..=interval.high).contains(&total)
        };
        let held = (0..2000).map(holds).filter(|held| *held).count();
        assert!((1850..=1960).contains(&held), "{held} of 2000");
    }

    #[test]
    fn stratum_without_a_sample_has_the_rate_of_the_nearest_of_its_group() {
        let stratum = |group, members: u64, mean: f64, rate: Option<f64>| {
            let mut stratum = StratumSample::new(group, members, members as f64 * mean);
            rate.into_iter().for_each(|rate| (0..4).for_each(|_| stratum.add(mean, rate * mean)));
            stratum
        };
        let (small, large, other) =
            (stratum(0, 9, 10.0, Some(0.9)), stratum(0, 9, 400.0, Some(0.5)), stratum(1, 9, 900.0, Some(0.1)));
        let total = |of| {
            stratified_total(&[small, large, other, of]).unwrap().value
                - stratified_total(&[small, large, other]).unwrap().value
        };
        assert!((total(stratum(0, 2, 1000.0, None)) - 1000.0).abs() < 1e-9);
        assert!((total(stratum(0, 2, 20.0, None)) - 36.0).abs() < 1e-9);
        let common = (0.9 * 10.0 + 0.5 * 400.0 + 0.1 * 900.0) / 1310.0;
        assert!((total(stratum(2, 1, 1000.0, None)) - 1000.0 * common).abs() < 1e-9, "nothing of its group is sampled");
    }

    #[test]
    fn larger_sample_of_a_similar_value_makes_the_interval_shorter() {
        // The reference varies like the sizes in `population`, and `y` by 2 % around a multiple of it.
        let population = population(5, &[(500, 100.0, 0.5), (300, 1000.0, 0.9), (40, 20_000.0, 0.7)]);
        let mut random = SmallRng::seed_from_u64(6);
        let mut vary = |reference: f64| 0.8 * reference * random.random_range(0.965..1.035);
        let values: Vec<Vec<f64>> =
            population.iter().map(|members| members.iter().map(|(_, reference)| vary(*reference)).collect()).collect();
        let total: f64 = values.iter().flatten().sum();
        let mut random = SmallRng::seed_from_u64(7);
        let (mut held, mut own_widths, mut widths) = (0, 0.0, 0.0);
        for _ in 0..2000 {
            let (mut reference, mut own, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
            for (at, (members, values)) in population.iter().zip(&values).enumerate() {
                let total_x = members.iter().map(|(x, _)| x).sum();
                let mut of_reference = StratumSample::new(0, members.len() as u64, total_x);
                let mut of_own = of_reference;
                for (turn, member) in rand::seq::index::sample(&mut random, members.len(), 40).into_iter().enumerate() {
                    let (x, y) = members[member];
                    of_reference.add(x, y);
                    if turn < 10 {
                        of_own.add(x, values[member]);
                        pairs.push((at, y, values[member]));
                    }
                }
                reference.push(of_reference);
                own.push(of_own);
            }
            let found = total_by_reference(&reference, pairs.into_iter()).unwrap();
            held += usize::from((found.value - total).abs() <= found.half_width());
            widths += found.half_width();
            own_widths += stratified_total(&own).unwrap().half_width();
        }
        assert!((1850..=1990).contains(&held), "{held} of 2000");
        assert!(widths < 0.6 * own_widths, "{widths} and {own_widths}");
    }

    #[test]
    fn student_quantiles_match_the_table() {
        for (degrees, expected) in [(5.0, 2.571), (10.0, 2.228), (19.0, 2.093), (60.0, 2.000), (f64::INFINITY, 1.960)] {
            let found = student_quantile(degrees);
            assert!((found / expected - 1.0_f64).abs() < 0.01, "{degrees}: {found}");
        }
    }

    #[test]
    fn mean_ratio_has_an_interval_that_holds_the_mean() {
        assert_eq!(mean_ratio(&[0.5; 4]), None);
        let equal = mean_ratio(&[0.5; 5]).unwrap();
        assert!((equal.value - 0.5).abs() < 1e-9 && equal.relative_error() < 1e-9);
        // Student's quantile for four degrees of freedom is 2.776, and the standard error of the logarithms 0.2192.
        let spread = mean_ratio(&[0.5, 1.0, 1.0, 1.0, 2.0]).unwrap();
        let interval = spread.interval.unwrap();
        assert!((spread.value - 1.0).abs() < 1e-9 && (interval.high.ln() / (2.776 * 0.2192) - 1.0).abs() < 0.02);
    }

    #[test]
    fn whole_population_has_no_error() {
        let population = population(3, &[(9, 100.0, 0.5), (3, 1000.0, 0.9)]);
        let total: f64 = population.iter().flatten().map(|(_, y)| y).sum();
        let found = stratified_total(&sampled(&population, 100, &mut SmallRng::seed_from_u64(4))).unwrap();
        assert!((found.value - total).abs() < 1e-6 && found.standard_error == 0.0, "{found:?}");
        assert_eq!(found.plus(7.0), Predicted::exact(found.value + 7.0));
        assert_eq!(found.with_least_error(3.0).standard_error, 3.0);
        assert_eq!(found.with_least_error(3.0).with_least_error(2.0).standard_error, 3.0);
    }

    #[test]
    fn stratum_without_sample_gets_the_common_rate() {
        let mut known = StratumSample::new(0, 2, 20.0);
        known.add(10.0, 5.0);
        known.add(10.0, 5.0);
        let unknown = StratumSample::new(0, 4, 100.0);
        let found = stratified_total(&[known, unknown]).unwrap();
        assert!((found.value - 60.0).abs() < 1e-9 && found.standard_error > 0.0, "{found:?}");
        assert_eq!(stratified_total(&[unknown]), None);
        assert_eq!(stratified_total(&[]).map(|total| total.value), Some(0.0));
    }

    /// A stratum of 1,000 members with 10 sampled, which are 10 % more and less than their rate in turn, times
    /// `spread`.
    pub(super) fn stratum(group: usize, spread: f64) -> StratumSample {
        let mut stratum = StratumSample::new(group, 1000, 100_000.0);
        (0..10)
            .for_each(|at| stratum.add(100.0, if at % 2 == 0 { 100.0 + 10.0 * spread } else { 100.0 - 10.0 * spread }));
        stratum
    }

    #[test]
    fn outliers_in_one_stratum_are_probable_in_others_of_its_group() {
        let quiet = |group| {
            let mut quiet = StratumSample::new(group, 1000, 100_000.0);
            quiet.add(100.0, 100.0);
            quiet.add(100.0, 100.0);
            quiet
        };
        // So many members without outliers that the spread of all strata is small.
        let mut many = StratumSample::new(1, 100_000, 1e6);
        (0..10_000).for_each(|_| many.add(10.0, 10.0));
        let error = |group| stratified_total(&[stratum(0, 3.0), quiet(group), many]).unwrap().standard_error;
        assert!(error(0) > 1.3 * error(1), "{} {}", error(0), error(1));
    }

    fn costs(cost: f64) -> Vec<MemberCost> {
        let member = |at: usize| MemberCost {
            stratum: at % 2,
            x: 10.0,
            cost: if at.is_multiple_of(2) { cost } else { 2.0 * cost },
            baseline: 1.0,
            as_found: 1.0,
        };
        (0..40).map(member).collect()
    }

    #[test]
    fn ratio_of_costs_weighs_strata_as_the_workload_does() {
        let members = costs(0.25);
        let of = |decoded_x: &[f64]| {
            cost_ratio(&CostRatio { members: &members, decoded_x, share: 0.5, share_error: 0.0 }).value
        };
        assert!((of(&[100.0, 0.0]) - 0.625).abs() < 1e-9);
        assert!((of(&[0.0, 100.0]) - 0.75).abs() < 1e-9);
        assert!((of(&[50.0, 50.0]) - 0.6875).abs() < 1e-9);
    }

    #[test]
    fn strata_without_a_sample_may_all_be_off_in_one_direction() {
        let stratum = |group, mean: f64, rate: Option<f64>| {
            let mut stratum = StratumSample::new(group, 10, 10.0 * mean);
            rate.into_iter().for_each(|rate| (0..10).for_each(|_| stratum.add(mean, rate * mean)));
            stratum
        };
        let known = [stratum(0, 10.0, Some(0.5)), stratum(0, 100.0, Some(0.7)), stratum(1, 10.0, Some(0.1))];
        let error = |more: &[StratumSample]| stratified_total(&[&known, more].concat()).unwrap().standard_error;
        let one = error(&[stratum(0, 1000.0, None)]);
        let two = error(&[stratum(0, 1000.0, None), stratum(0, 2000.0, None)]);
        // A tenth of 10,000 and of 30,000. What else is unknown of them is small beside it.
        assert!((1000.0..1010.0).contains(&one) && (3000.0..3010.0).contains(&two), "{one} {two}");
        for group in [1, 2] {
            let of_all = error(&[stratum(group, 1000.0, None)]);
            assert!(
                (3000.0..3010.0).contains(&of_all),
                "group {group}, of which nothing or one rate is known: {of_all}"
            );
        }
    }

    #[test]
    fn error_beside_the_sample_adds_in_quadrature() {
        let total = StratifiedTotal { value: 1000.0, standard_error: 3.0, degrees: f64::INFINITY };
        let wider = total.with_share_of_error(0.004);
        assert!((wider.standard_error - 5.0).abs() < 1e-12 && wider.value == 1000.0);
        assert!((wider.half_width() / total.half_width() - 5.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn error_of_the_share_widens_the_interval() {
        let members = costs(0.25);
        let width = |share_error| {
            let of = CostRatio { members: &members, decoded_x: &[50.0, 50.0], share: 0.5, share_error };
            let interval = cost_ratio(&of).interval.unwrap();
            interval.high - interval.low
        };
        assert!(width(0.0) < 1e-9 && width(0.05) > 0.05);
    }
}
