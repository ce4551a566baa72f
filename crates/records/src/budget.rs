//! Codecs at equal budgets.

use serde::{Deserialize, Serialize};

use crate::{ComparedTime, Host, RepositoryState, WorkloadLabel};

/// What a codec reaches at the same size or time as the baseline, interpolated between two of its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EqualBudget {
    /// The repository.
    pub repository: RepositoryState,
    /// The machine.
    pub host: Host,
    /// The workload whose time is compared.
    pub workload: WorkloadLabel,
    /// The time of the workload that is compared.
    pub compared_time: ComparedTime,
    /// The codec without a level.
    pub codec: String,
    /// The quantity that equals the baseline's.
    pub budget: Quantity,
    /// The quantity that is compared.
    pub of: Quantity,
    /// That quantity as a multiple of the baseline's; `None` if no two neighbouring levels are on both sides of the
    /// budget.
    pub ratio: Option<f64>,
    /// The labels of the two levels, or of the level nearest to the budget.
    pub levels: Vec<String>,
}

/// A cost of a codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// All bytes of the repository on disk.
    Size,
    /// The workload's time.
    ReadTime,
    /// The time of the workload `encode`.
    EncodeTime,
}
