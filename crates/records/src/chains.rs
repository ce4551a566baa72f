//! The cost of reading an object by the length of its delta chain.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::RatioEstimate;

/// Repositories that hold the same objects in the same chains, compared.
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
    /// The smallest number of deltas in a chain.
    pub least: u32,
    /// The largest number; `None` for no limit.
    pub most: Option<u32>,
    /// The number of objects, which is the same in every repository.
    pub objects: u64,
    /// The number of objects that were read.
    pub sampled: u64,
    /// Their cost in each repository, in the order of [`ChainComparison::repositories`].
    pub costs: Vec<ChainCost>,
}

/// The cost of the objects of a bucket in one repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainCost {
    /// The stored bytes of their own chunks, without those of their bases.
    pub stored_bytes: u64,
    /// The median CPU time to read one of them from empty caches; `None` if none was read.
    pub cpu_median: Option<Duration>,
    /// That time as a multiple of the first repository's for the same object; `None` for the first repository, and if
    /// no object took long enough for the clock.
    pub ratio: Option<RatioEstimate>,
}
