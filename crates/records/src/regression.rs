//! Changes between two sets of results.

use serde::{Deserialize, Serialize};

use crate::{ComparedTime, Host, RatioEstimate, WorkloadLabel};

/// The changes from older results to newer ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultChange {
    /// The compared quantity.
    pub measure: Measure,
    /// One for each cell that both have.
    pub cells: Vec<CellChange>,
    /// Cells that only the older results have.
    pub only_old: Vec<CellId>,
    /// Cells that only the newer results have.
    pub only_new: Vec<CellId>,
    /// The machines of the older and the newer results, if each are of one machine and the two differ.
    pub changed_host: Option<(Host, Host)>,
    /// The repositories whose content changed between the two, by name.
    pub changed_repositories: Vec<String>,
}

/// How times are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// As ratios to the baseline of the same results: comparable between machines, but blind to changes that all
    /// variants share.
    RatioToBaseline,
    /// As times: for two results of one machine.
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

/// One cell in the older and the newer results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellChange {
    /// The cell.
    pub id: CellId,
    /// The time that is compared.
    pub compared_time: ComparedTime,
    /// The new time as a multiple of the old one, both by the measure; `None` if either is unknown. The coverage of its
    /// interval is at least the probability that both of the intervals it is made from contain their true values.
    pub time: Option<RatioEstimate>,
    /// The new size as a multiple of the old one.
    pub size: f64,
}

impl CellChange {
    /// Whether the whole interval of the time is worse by more than `gate`, a part of 1. False without an interval.
    pub fn is_slower(&self, gate: f64) -> bool {
        self.time.and_then(|time| time.interval).is_some_and(|interval| interval.low > 1.0 + gate)
    }

    /// Whether the size is worse by more than `gate`, a part of 1.
    pub fn is_larger(&self, gate: f64) -> bool {
        self.size > 1.0 + gate
    }
}
