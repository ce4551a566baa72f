//! Findings about one workload: plain data that `analysis` computes and `report` prints.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Checks, ComparedTime, ConversionCost, DeltaCacheUse, Host, OwnGitCost, RepositoryState, RequestPercentiles, Role,
    SizeRecord, TracedReads, Variant, WorkloadLabel, WrittenBytes,
};

/// One workload on one repository: every variant beside the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadComparison {
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// The machine that all runs were made on.
    pub host: Host,
    /// The workload.
    pub workload: WorkloadLabel,
    /// The time that [`VariantComparison::compared_median`] and all ratios use.
    pub compared_time: ComparedTime,
    /// One row for each variant: as found, baseline, then candidates as they were typed.
    pub rows: Vec<VariantComparison>,
    /// The baseline against itself (A / A'): how far from 1 a ratio can be by chance. `None` if no block has both runs.
    pub noise: Option<RatioEstimate>,
    /// The same for elapsed time; `None` where that is the compared time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_noise: Option<RatioEstimate>,
    /// The smallest difference that counts as one, as a part of 1: 0.01, or the outer bound of the noise if that is
    /// larger. `None` while the noise has no interval.
    pub noise_floor: Option<f64>,
    /// Whether verdicts are allowed. They are not if the whole interval of the noise is outside 0.99 to 1.01: then
    /// something that the method does not cancel disturbed the two runs of the same files. Nor are they if [some times
    /// are guesses](Self::has_guesses).
    pub is_valid: bool,
    /// Whether some run was too short for its user time, which the kernel derives from timer ticks, to be more than a
    /// guess. Omitted from JSON if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_guesses: bool,
    /// The number of ratios that the verdicts are corrected for, including those of this workload; see [`Verdict`].
    pub cells: usize,
    /// The number of blocks that the clearest of all ratios needs to be called a difference, also of those that have too
    /// few blocks for a probability. 0 for runs of several copies, which are judged by another rule.
    pub blocks_for_verdicts: u32,
    /// The number of copies of the workload that ran at once.
    pub jobs: u32,
    /// What else the machine did, over all runs.
    pub disturbance: DisturbanceShares,
}

impl WorkloadComparison {
    /// The row that the others are compared with: the first of the baseline's two.
    pub fn baseline(&self) -> Option<&VariantComparison> {
        self.rows.iter().find(|row| row.variant.role == Role::Baseline)
    }
}

/// The verdict on a variant's time compared with the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Faster by more than the noise floor.
    Faster,
    /// Slower by more than the noise floor.
    Slower,
    /// The interval is within the noise floor on both sides of 1.
    Same,
    /// None of these.
    Inconclusive,
}

/// What disturbed runs, as shares of their time; `None` if the system does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DisturbanceShares {
    /// Processor time that a hypervisor gave to other machines. It can exceed 1 on several processors.
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
    /// The number of runs that the medians are over.
    pub runs: usize,
    /// The median of the compared time.
    pub compared_median: Duration,
    /// The median of elapsed time.
    pub wall_median: Duration,
    /// The compared time as a multiple of the geometric mean of the baseline's two times (A and A') in the same block.
    /// `None` for the baseline, and if no block gives a ratio.
    pub ratio: Option<RatioEstimate>,
    /// The probability of a ratio at least this far from 1 if the true ratio were within the noise floor, corrected by
    /// Holm's method for the number of [cells](WorkloadComparison::cells). `None` without a ratio or a noise floor.
    pub adjusted_p: Option<f64>,
    /// The verdict. `None` for the baseline, without an interval, and if the comparison is not valid.
    pub verdict: Option<Verdict>,
    /// Elapsed time against the baseline's; `None` where that is the compared time, and where [`ratio`](Self::ratio) is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<ElapsedComparison>,
    /// Its times against those of the variant that an answer compares codecs with. `None`, and omitted from JSON, where
    /// that is the baseline or itself, and where no block gives a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_reference: Option<ReferenceRatios>,
    /// Hits and misses of the cache of delta bases in the last run; they are the same in each.
    pub delta_cache: Option<DeltaCacheUse>,
    /// What reading checked, and which features sped it up.
    pub checks: Option<Checks>,
    /// The median of the runs' peak resident memory, in bytes.
    pub peak_resident_median: Option<u64>,
    /// The counts of each run, by name; see [`crate::Record::counts`].
    pub counts: BTreeMap<String, u64>,
    /// Where the variant's bytes on disk go.
    pub size: SizeRecord,
    /// What the workload reads from the variant's files; `None` without an access trace.
    pub reads: Option<TracedReads>,
    /// [`decode_share`](crate::Record::decode_share) of its runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_share: Option<f64>,
    /// [`own_git`](crate::Record::own_git) of its runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_git: Option<OwnGitCost>,
    /// The elapsed time of its requests; `None` if the workload does not consist of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestPercentiles>,
    /// What the last run wrote into the store; `None` if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenBytes>,
    /// What the conversion cost; `None` for the repository as found, and if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<ConversionCost>,
}

/// The times of a variant as multiples of another's in the same block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReferenceRatios {
    /// The [row](crate::Variant::row) of the other.
    pub row: u32,
    /// The compared time.
    pub ratio: RatioEstimate,
    /// Elapsed time, where that is not the compared one.
    pub elapsed: Option<RatioEstimate>,
}

/// The elapsed time of a variant whose CPU time is compared. It is judged by the same rules, against the noise of elapsed
/// time, as one of all ratios of elapsed time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ElapsedComparison {
    /// Elapsed time as a multiple of the geometric mean of the baseline's two in the same block.
    pub ratio: RatioEstimate,
    /// As [`VariantComparison::adjusted_p`], corrected for the number of ratios of elapsed time.
    pub adjusted_p: Option<f64>,
    /// The verdict. `None` without an interval, and if the noise of elapsed time forbids verdicts.
    pub verdict: Option<Verdict>,
}

/// A ratio of times, estimated from pairs of runs in the same block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimate {
    /// exp(median of the log-ratios).
    pub ratio: f64,
    /// The interval of the true median; `None` with too few pairs.
    pub interval: Option<RatioInterval>,
    /// The number of blocks that gave a pair.
    pub pairs: usize,
}

/// A confidence interval of a [`RatioEstimate`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RatioInterval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability that such an interval contains the true median: at least the requested one, as ranks are whole
    /// numbers.
    pub coverage: f64,
}
