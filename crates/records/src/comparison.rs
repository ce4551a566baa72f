//! What statistics make of the records of one workload: plain data between the crate that computes and the crate that
//! prints.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{ComparedTime, RepositoryState, SizeRecord, Variant, WorkloadLabel};

/// One workload on one repository: every variant beside the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadComparison {
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// What was replayed.
    pub workload: WorkloadLabel,
    /// Which time [`VariantComparison::compared_median`] and all ratios are of.
    pub compared_time: ComparedTime,
    /// One row for each variant: as found, baseline, then candidates as they were typed.
    pub rows: Vec<VariantComparison>,
    /// The baseline against itself (A / A'): how far from 1 a ratio can be by chance. `None` when no block held both.
    pub noise: Option<RatioEstimate>,
}

/// One variant's times and sizes in one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariantComparison {
    /// The variant. For the baseline, A and A' are one row.
    pub variant: Variant,
    /// How many runs the medians are over.
    pub runs: usize,
    /// The median of the compared time.
    pub compared_median: Duration,
    /// The median of elapsed time.
    pub wall_median: Duration,
    /// The compared time as a multiple of the time of the baseline's first run (A) in the same block. `None` for the baseline, and where no block allows a ratio.
    pub ratio: Option<RatioEstimate>,
    /// What each run did, by name; see [`crate::Record::counts`].
    pub counts: BTreeMap<String, u64>,
    /// Where the variant's bytes on disk go.
    pub size: SizeRecord,
}

/// A ratio of times, estimated from pairs of runs in the same block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimate {
    /// exp(median of the log-ratios).
    pub ratio: f64,
    /// Where the true median lies; `None` when there are too few pairs to say so.
    pub interval: Option<RatioInterval>,
    /// How many blocks gave a pair.
    pub pairs: usize,
}

/// A confidence interval of a [`RatioEstimate`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which such an interval holds the true median: at least what was asked for, as ranks are
    /// whole numbers.
    pub coverage: f64,
}
