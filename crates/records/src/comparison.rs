//! What statistics make of the records of one workload: plain data between the crate that computes and the crate that
//! prints.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Checks, ComparedTime, DeltaCacheUse, Host, RepositoryState, Role, SizeRecord, TracedReads, Variant, WorkloadLabel,
};

/// One workload on one repository: every variant beside the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadComparison {
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// The machine that all runs were made on.
    pub host: Host,
    /// What was replayed.
    pub workload: WorkloadLabel,
    /// Which time [`VariantComparison::compared_median`] and all ratios are of.
    pub compared_time: ComparedTime,
    /// One row for each variant: as found, baseline, then candidates as they were typed.
    pub rows: Vec<VariantComparison>,
    /// The baseline against itself (A / A'): how far from 1 a ratio can be by chance. `None` when no block held both.
    pub noise: Option<RatioEstimate>,
    /// How large a difference has to be to be one, as a part of 1: 0.01, or the outer bound of the noise if that is more.
    /// `None` while the noise has no interval.
    pub noise_floor: Option<f64>,
    /// Whether there may be verdicts: not if the interval of the noise lies wholly outside of 0.99 to 1.01, as then something
    /// disturbed the two runs of the same files that the method does not cancel; and not if
    /// [some times are guesses](Self::has_guesses).
    pub is_valid: bool,
    /// Whether some run was too short for its time to be more than a guess: of user time, which is made of timer ticks. Left
    /// out of the JSON form where it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_guesses: bool,
    /// How many ratios the verdicts were given together with, this workload's among them; see [`Verdict`].
    pub cells: usize,
    /// How many blocks it takes that any of so many ratios can be called a difference, however clear it is. 0 for runs of several
    /// copies, which are judged by another rule.
    pub blocks_for_verdicts: u32,
    /// How many copies of the workload ran at once.
    pub jobs: u32,
    /// What the machine did besides, over all runs.
    pub disturbance: DisturbanceShares,
}

impl WorkloadComparison {
    /// The row that the others are compared with: the first of the baseline's two.
    pub fn baseline(&self) -> Option<&VariantComparison> {
        self.rows.iter().find(|row| row.variant.role == Role::Baseline)
    }
}

/// What one may say of a variant's time beside the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Faster by more than the noise floor.
    Faster,
    /// Slower by more than the noise floor.
    Slower,
    /// The interval lies within the noise floor on both sides of 1.
    Same,
    /// None of these.
    Inconclusive,
}

/// What disturbed runs, as shares of the time that they took; `None` where the system does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DisturbanceShares {
    /// Processors' time that a hypervisor gave to others. More than 1 is possible: there may be several processors.
    pub steal: Option<f64>,
    /// Time in which some task of the machine waited for a processor.
    pub cpu_pressure: Option<f64>,
    /// Time in which some task waited for a disk.
    pub io_pressure: Option<f64>,
    /// Time in which some task waited for memory.
    pub memory_pressure: Option<f64>,
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
    /// The compared time as a multiple of the geometric mean of the baseline's two (A and A') in the same block. `None` for the
    /// baseline, and where no block allows a ratio.
    pub ratio: Option<RatioEstimate>,
    /// The probability of a distance from 1 like this one's if the true ratio lay within the noise floor, corrected for the
    /// number of [cells](WorkloadComparison::cells) by Holm's method. `None` without a ratio or a noise floor.
    pub adjusted_p: Option<f64>,
    /// What that comes to. `None` for the baseline, where there is no interval, and where the comparison is not valid.
    pub verdict: Option<Verdict>,
    /// How the cache of delta bases did in the last run; it does the same in each.
    pub delta_cache: Option<DeltaCacheUse>,
    /// What reading checked, and what helped it.
    pub checks: Option<Checks>,
    /// The median of the runs' peak resident memory, in bytes.
    pub peak_resident_median: Option<u64>,
    /// What each run did, by name; see [`crate::Record::counts`].
    pub counts: BTreeMap<String, u64>,
    /// Where the variant's bytes on disk go.
    pub size: SizeRecord,
    /// What the workload reads of the variant's files; `None` if it has no access trace.
    pub reads: Option<TracedReads>,
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
