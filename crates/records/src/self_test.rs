//! The result of a self-test: variants are identical, so that every difference is spurious.

use serde::{Deserialize, Serialize};

use crate::{RepositoryState, WorkloadLabel};

/// The same files measured under several names, as if they were variants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// The repository that was read.
    pub repository: Option<RepositoryState>,
    /// The workloads, in the order of measurement.
    pub workloads: Vec<WorkloadLabel>,
    /// The number of names without the baseline's.
    pub names: usize,
    /// The smallest and the largest number of complete blocks of a workload.
    pub blocks: Option<(usize, usize)>,
    /// As measured: in random blocks.
    pub interleaved: SpuriousEffects,
    /// The same runs as if one name had been measured after another: the first runs count for the baseline, the next
    /// for the first name, and so on.
    pub one_after_another: SpuriousEffects,
}

/// The spurious differences of one way of comparing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SpuriousEffects {
    /// The number of ratios with an interval.
    pub cells: usize,
    /// The number of those whose interval excludes 1.
    pub intervals_without_1: usize,
    /// The number of ratios called faster or slower; `None` without verdicts.
    pub differences: Option<usize>,
    /// The median of the ratios' distances from 1, as a part of 1.
    pub median: Option<f64>,
    /// Their 95th percentile.
    pub percentile_95: Option<f64>,
}
