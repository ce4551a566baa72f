//! Figures of rounds: medians with intervals.

use repackbench_analysis::{CopyRatio, hierarchical_interval, median};
use repackbench_records::{Estimate, RatioEstimate};

/// Values that were measured, each with the number of its round.
pub(super) type Samples = Vec<(u32, f64)>;

/// The median of times or other positive values, and an interval. Every round has read a copy of its own, so that what varies between copies
/// is in the interval: it is that of Student's t on the logarithms, about their mean, and wide enough for the median.
pub(super) fn estimate(samples: &[(u32, f64)]) -> Option<Estimate> {
    let mut values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
    let raw = values.clone();
    let value = median(&mut values)?;
    let logarithms: Vec<CopyRatio> = samples.iter().filter(|(_, value)| *value > 0.0).map(copy_ratio).collect();
    let interval = hierarchical_interval(&logarithms).filter(|_| logarithms.len() == raw.len());
    let interval = interval.and_then(bounds).map(|[low, high]| [low.min(value), high.max(value)]);
    Some(Estimate { value, interval, samples: raw })
}

/// A value of a round, as if each round had read a copy of its own.
fn copy_ratio((round, value): &(u32, f64)) -> CopyRatio {
    CopyRatio { block: *round, copy: *round, log_ratio: value.ln() }
}

/// The median of shares, which may be 0, without an interval.
pub(super) fn shares(samples: &[(u32, f64)]) -> Option<Estimate> {
    let mut values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
    let raw = values.clone();
    Some(Estimate { value: median(&mut values)?, interval: None, samples: raw })
}

/// How many times `of` is `to`, in those rounds that have both.
pub(super) fn ratio(of: &[(u32, f64)], to: &[(u32, f64)]) -> Option<Estimate> {
    let paired = |(round, value): &(u32, f64)| {
        let (_, other) = to.iter().find(|(other, _)| other == round)?;
        (*value > 0.0 && *other > 0.0).then(|| (*round, value / other))
    };
    let ratios: Samples = of.iter().filter_map(paired).collect();
    let mut found = estimate(&ratios)?;
    let logarithms: Vec<CopyRatio> = ratios.iter().map(copy_ratio).collect();
    if let Some(RatioEstimate { ratio, .. }) = hierarchical_interval(&logarithms) {
        found.value = ratio;
    }
    Some(found)
}

fn bounds(estimate: RatioEstimate) -> Option<[f64; 2]> {
    estimate.interval.map(|interval| [interval.low, interval.high])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_median_and_an_interval_about_it() {
        let found = estimate(&[(0, 3.0), (1, 1.0), (2, 2.0)]).unwrap();
        assert_eq!((found.value, found.samples.as_slice()), (2.0, &[3.0, 1.0, 2.0][..]));
        let [low, high] = found.interval.unwrap();
        assert!(low < 1.0 && high > 3.0, "three copies say little: {low} {high}");
        assert_eq!(estimate(&[(0, 3.0)]).unwrap().interval, None, "one copy says nothing of others");
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn ratios_pair_what_was_measured_in_one_round() {
        let found = ratio(&[(0, 2.0), (1, 40.0), (3, 9.0)], &[(1, 20.0), (0, 1.0), (2, 1.0)]).unwrap();
        assert_eq!(found.samples, [2.0, 2.0]);
        assert!((found.value - 2.0).abs() < 1e-12);
        let [low, high] = found.interval.unwrap();
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0).abs() < 1e-9, "nothing varies");
        assert_eq!(ratio(&[(0, 2.0)], &[(1, 2.0)]), None);
    }
}
