//! What a session of identical variants comes to: every difference in it is false.

use serde::{Deserialize, Serialize};

use crate::{RepositoryState, WorkloadLabel};

/// The same files under several names, measured as if they were variants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SelfTest {
    /// The repository that was read.
    pub repository: Option<RepositoryState>,
    /// The jobs, in the order in which they were done.
    pub workloads: Vec<WorkloadLabel>,
    /// How many names the files had besides the baseline's.
    pub names: usize,
    /// The fewest and the most whole blocks that a job was measured in.
    pub blocks: Option<(usize, usize)>,
    /// As it was measured: in random blocks.
    pub interleaved: SpuriousEffects,
    /// The very same runs as if they had been made one name after another: those that came first for the baseline, the next
    /// ones for the first name, and so on.
    pub one_after_another: SpuriousEffects,
}

/// The differences that a way of comparing shows where there are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SpuriousEffects {
    /// How many ratios have an interval.
    pub cells: usize,
    /// How many of their intervals leave out 1.
    pub intervals_without_1: usize,
    /// How many ratios were called faster or slower; `None` where no verdicts are given.
    pub differences: Option<usize>,
    /// The median of the ratios' distances from 1, as a part of 1.
    pub median: Option<f64>,
    /// Their 95th percentile.
    pub percentile_95: Option<f64>,
}
