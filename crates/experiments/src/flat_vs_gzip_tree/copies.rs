//! Ratios over several copies of a tree or a repository.

use repackbench_analysis::{CopyRatio, hierarchical_interval};
use repackbench_records::Estimate;

use super::trees::COPIES;

/// The elapsed times `one` as a multiple of `other`, both of the same runs: run r read copy r modulo [`COPIES`].
pub(super) fn by_copy(one: &[f64], other: &[f64]) -> Option<Estimate> {
    let logs = one.iter().zip(other).map(|(one, other)| (one / other).ln());
    let of_run = |(run, log_ratio): (u32, f64)| CopyRatio { block: run, copy: run % COPIES, log_ratio };
    let values: Vec<CopyRatio> = (0..).zip(logs).map(of_run).collect();
    let found = hierarchical_interval(&values)?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    let samples = values.iter().map(|value| value.log_ratio.exp()).collect();
    Some(Estimate { value: found.ratio, interval, samples })
}
