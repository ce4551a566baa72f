//! Codecs at equal budgets.

use serde::{Deserialize, Serialize};

use crate::{Host, RepositoryState, WorkloadLabel};

/// What a codec reaches where it is allowed as much of something as the baseline takes: between two of its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EqualBudget {
    /// The repository.
    pub repository: RepositoryState,
    /// The machine.
    pub host: Host,
    /// The workload whose time is compared.
    pub workload: WorkloadLabel,
    /// The codec without a level.
    pub codec: String,
    /// What is equal to the baseline's.
    pub budget: Quantity,
    /// What is compared.
    pub of: Quantity,
    /// It as a multiple of the baseline's; `None` where no two neighbouring levels lie on both sides of the budget.
    pub ratio: Option<f64>,
    /// The labels of the two levels, or of the one that comes nearest to the budget.
    pub levels: Vec<String>,
}

/// Something that a codec takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Bytes on disk, all of the repository's.
    Size,
    /// The workload's time.
    ReadTime,
    /// The time of the workload `encode`.
    EncodeTime,
}
