//! The measured figures, and the ratios that tables and verdicts share.

use std::collections::BTreeMap;

use repackbench_analysis::{CopyRatio, LEAST_NOISE_FLOOR, Ratio, hierarchical_interval};
use repackbench_records::Estimate;

use super::{
    git_arm::GitArm,
    seeks::DiskReads,
    trees::{COPIES, Kind},
};
use crate::{
    interleaved::ratio_of,
    samples::{ELAPSED, Samples},
};

/// All measured figures.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// The published reading of each tree, by its label.
    pub(super) raw: BTreeMap<String, Samples>,
    /// The decoding reading of each compressed kind: run r reads copy r modulo [`COPIES`].
    pub(super) decoded: BTreeMap<Kind, Samples>,
    /// The readings without decoding of the same runs and copies.
    pub(super) beside_decoded: BTreeMap<Kind, Samples>,
    /// One run of the published command on each tree.
    pub(super) by_command: BTreeMap<String, Samples>,
    pub(super) disk: BTreeMap<String, DiskReads>,
    pub(super) git: GitArm,
    /// Whether folders and inodes were dropped as well.
    pub(super) drops_all: bool,
}

/// The ratio of one tree's times to another's.
pub(super) fn ratio_between(figures: &Figures, one: &str, other: &str) -> Option<Ratio> {
    ratio_of(figures.raw.get(one)?.get(ELAPSED), figures.raw.get(other)?.get(ELAPSED))
}

/// The ratio of one kind to another over all copies that were written side by side. Differences between copies are a level of their own,
/// above differences between runs.
pub(super) fn fair_ratio(raw: &BTreeMap<String, Samples>, one: Kind, other: Kind) -> Option<Ratio> {
    ratio_over_copies(raw, one, other, |readings| readings.get(ELAPSED).to_vec())
}

/// The ratio of the values that `of` derives from readings.
pub(super) fn ratio_over_copies(
    raw: &BTreeMap<String, Samples>,
    one: Kind,
    other: Kind,
    of: fn(&Samples) -> Vec<f64>,
) -> Option<Ratio> {
    let mut values = Vec::new();
    for copy in 0..COPIES {
        let times = |kind: Kind| raw.get(&copy_label(kind, copy)).map(of);
        let (Some(one), Some(other)) = (times(one), times(other)) else { continue };
        let logs = one.iter().zip(&other).map(|(one, other)| (one / other).ln());
        let finite = (0..).zip(logs).filter(|(_, log)| log.is_finite());
        values.extend(finite.map(|(block, log_ratio)| CopyRatio { block, copy, log_ratio }));
    }
    let found = hierarchical_interval(&values)?;
    let interval = found.interval.map(|interval| [interval.low, interval.high]);
    let samples = values.iter().map(|value| value.log_ratio.exp()).collect();
    Some(Ratio { estimate: Estimate { value: found.ratio, interval, samples }, floor: LEAST_NOISE_FLOOR })
}

/// A copy as a multiple of the second copy of the same kind, which was made the same way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayoutError {
    pub(super) copy: String,
    pub(super) of: String,
    pub(super) ratio: Ratio,
}

impl LayoutError {
    /// Both copies, as in `flat-3 / flat-2`.
    pub(super) fn label(&self) -> String {
        format!("{} / {}", self.copy, self.of)
    }
}

/// The later copies of each kind, compared with the second one.
pub(super) fn layout_errors(raw: &BTreeMap<String, Samples>) -> Vec<LayoutError> {
    let mut errors = Vec::new();
    for kind in Kind::PUBLISHED {
        let times = |label: &str| raw.get(label).map(|readings| readings.get(ELAPSED));
        for number in 3..COPIES + 2 {
            let (copy, of) = (kind.copy(number), kind.copy(2));
            if let (Some(first), Some(later)) = (times(&of), times(&copy))
                && let Some(ratio) = ratio_of(later, first)
            {
                errors.push(LayoutError { copy, of, ratio });
            }
        }
    }
    errors
}

/// The label of a copy that was written side by side with others.
pub(super) fn copy_label(kind: Kind, copy: u32) -> String {
    kind.copy(copy + 2)
}
