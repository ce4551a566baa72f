//! Two sets of results held against each other.

use serde::{Deserialize, Serialize};

use crate::{RatioEstimate, WorkloadLabel};

/// What changed from older results to newer ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultChange {
    /// What is compared between the two: see [`Measure`].
    pub measure: Measure,
    /// One for each repository, workload and variant that both have.
    pub cells: Vec<CellChange>,
    /// Cells that only one of the two has, by name, the older ones first.
    pub unmatched: Vec<String>,
}

/// What a time is taken relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The ratio to the baseline of the same results: it holds from machine to machine, and does not see what all variants
    /// have in common.
    RatioToBaseline,
    /// The time itself: for two results of one machine.
    Time,
}

/// One variant in one workload, then and now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellChange {
    /// The repository's name.
    pub repository: String,
    /// What was replayed.
    pub workload: WorkloadLabel,
    /// The variant's label.
    pub variant: String,
    /// The new time as a multiple of the old one, both as the measure says. `None` if either is not known.
    pub time: Option<RatioEstimate>,
    /// The new size as a multiple of the old one.
    pub size: f64,
}
