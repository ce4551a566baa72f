//! What it costs to read an object, by the number of deltas that lead to it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::RatioEstimate;

/// Repositories that hold the same objects in the same chains, side by side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainComparison {
    /// The repositories' names for people; ratios are to the first.
    pub repositories: Vec<String>,
    /// The objects by the number of deltas in their chains, shortest first.
    pub buckets: Vec<ChainBucket>,
}

/// Objects whose chains are about equally long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainBucket {
    /// The least number of deltas in a chain.
    pub least: u32,
    /// The most; `None` for no limit.
    pub most: Option<u32>,
    /// How many objects there are; the same number in every repository.
    pub objects: u64,
    /// How many of them were read.
    pub sampled: u64,
    /// What they take in each repository, in the order of [`ChainComparison::repositories`].
    pub costs: Vec<ChainCost>,
}

/// What the objects of a bucket take in one repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainCost {
    /// The stored bytes of their own chunks, without those of their bases.
    pub stored_bytes: u64,
    /// The median CPU time to read one of them from empty caches; `None` if none was read.
    pub cpu_median: Option<Duration>,
    /// That time as a multiple of the first repository's for the same object; `None` for the first itself, and where no
    /// object took long enough for the clock.
    pub ratio: Option<RatioEstimate>,
}
