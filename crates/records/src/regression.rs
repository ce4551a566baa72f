//! Two sets of results held against each other.

use serde::{Deserialize, Serialize};

use crate::{ComparedTime, Host, RatioEstimate, WorkloadLabel};

/// What changed from older results to newer ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultChange {
    /// What is compared between the two.
    pub measure: Measure,
    /// One for each repository, workload and variant that both have.
    pub cells: Vec<CellChange>,
    /// Cells that only the older results have.
    pub only_old: Vec<CellId>,
    /// Cells that only the newer results have.
    pub only_new: Vec<CellId>,
    /// The machine of the older results and that of the newer ones, if each has one and they are not the same.
    pub changed_host: Option<(Host, Host)>,
    /// The repositories whose content changed between the two, by name.
    pub changed_repositories: Vec<String>,
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

/// One variant in one workload on one repository, and whatever else tells cells of the same results apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellId {
    /// The repository's name.
    pub repository: String,
    /// The machine's description; `None` where neither results are of several machines.
    pub machine: Option<String>,
    /// What was replayed.
    pub workload: WorkloadLabel,
    /// The variant's label.
    pub variant: String,
    /// The label of the baseline that the time is a ratio to; `None` where there is one only, or the time is no ratio.
    pub baseline: Option<String>,
    /// Which time is compared; `None` where all results compare the same one in this workload.
    pub compared_time: Option<ComparedTime>,
}

/// One cell, then and now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellChange {
    /// The cell.
    pub id: CellId,
    /// The new time as a multiple of the old one, both as the measure says; `None` if either is not known. The interval holds the
    /// truth at least as often as the two that it is made from hold theirs both.
    pub time: Option<RatioEstimate>,
    /// The new size as a multiple of the old one.
    pub size: f64,
}

impl CellChange {
    /// Whether the time is worse by more than `gate`, a part of 1: all of its interval. Without one nothing is claimed.
    pub fn is_slower(&self, gate: f64) -> bool {
        self.time.and_then(|time| time.interval).is_some_and(|interval| interval.low > 1.0 + gate)
    }

    /// Whether the size is worse by more than `gate`, a part of 1.
    pub fn is_larger(&self, gate: f64) -> bool {
        self.size > 1.0 + gate
    }
}
