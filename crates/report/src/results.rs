//! What a report is made of.

use repackbench_records::{EqualBudget, Experiment, Explanation, Record, SizeLine, TraceRecord, WorkloadComparison};

/// Everything that some files of results hold, and what was derived from it: what HTML, Markdown and CSV are made of. Any part may be
/// empty.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The runs, in the order in which they were read.
    pub runs: Vec<Record>,
    /// What was derived from the runs: each workload on each repository.
    pub comparisons: Vec<WorkloadComparison>,
    /// What was derived from the comparisons: variants at equal size or time.
    pub budgets: Vec<EqualBudget>,
    /// What workloads read of variants.
    pub traces: Vec<TraceRecord>,
    /// Ratios split into factors.
    pub explanations: Vec<Explanation>,
    /// Where repositories' bytes go, where that was asked for by itself.
    pub sizes: Vec<SizeLine>,
    /// Published experiments that were run again.
    pub experiments: Vec<Experiment>,
}
