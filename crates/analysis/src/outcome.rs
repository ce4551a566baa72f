//! The outcome of each variant over all workloads of a repository.

use repackbench_records::{Role, Variant, VariantComparison, Verdict, WorkloadComparison};

/// One variant in all workloads.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// The variant, as its first row describes it.
    pub variant: &'a Variant,
    /// Its bytes as a multiple of the baseline's; `None` if the baseline has none.
    pub size: Option<f64>,
    /// Its row in each workload, in the order of the comparisons.
    pub rows: Vec<Option<&'a VariantComparison>>,
    /// Whether it may be named as the best at something: not if it checks less than the baseline, or differs only in
    /// its cache.
    pub is_headline: bool,
}

impl Outcome<'_> {
    /// The time ratio in the workload at `index`.
    pub fn time_ratio(&self, index: usize) -> Option<f64> {
        Some(self.rows.get(index).copied().flatten()?.ratio?.ratio)
    }

    /// The largest of its time and size ratios; 0 without any ratio.
    pub fn worst(&self) -> f64 {
        let times = (0..self.rows.len()).filter_map(|index| self.time_ratio(index));
        times.chain(self.size).fold(0.0, f64::max)
    }

    /// Whether `other` is at least as small, and clearly takes less time in every workload: both are decided, and its
    /// intervals end before those of this variant begin.
    pub fn is_dominated_by(&self, other: &Outcome<'_>) -> bool {
        let interval = |outcome: &Outcome<'_>, index: usize| {
            let row = outcome.rows.get(index).copied().flatten()?;
            let is_decided = !matches!(row.verdict, None | Some(Verdict::Inconclusive));
            row.ratio.filter(|_| is_decided)?.interval
        };
        let is_slower = |index| match (interval(self, index), interval(other, index)) {
            (Some(own), Some(other)) => other.high < own.low,
            _ => false,
        };
        let is_no_smaller = matches!((self.size, other.size), (Some(own), Some(other)) if other <= own);
        is_no_smaller && !self.rows.is_empty() && (0..self.rows.len()).all(is_slower)
    }
}

/// See [`Outcome::is_headline`].
pub(crate) fn is_headline(variant: &Variant) -> bool {
    variant.role == Role::Candidate && variant.checksum && variant.delta_cache.is_none()
}

/// The variants of comparisons of one repository, in the order of their rows. Variants are distinguished by label and
/// by whether they have checksums.
pub fn outcomes<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<Outcome<'a>> {
    let mut outcomes: Vec<Outcome<'a>> = Vec::new();
    for (index, comparison) in comparisons.iter().enumerate() {
        let baseline_bytes = comparison.baseline().map(|row| row.size.total_bytes).filter(|bytes| *bytes > 0);
        for row in &comparison.rows {
            let is_it = |outcome: &Outcome<'_>| {
                (outcome.variant.label(), outcome.variant.checksum) == (row.variant.label(), row.variant.checksum)
            };
            let at = outcomes.iter().position(is_it).unwrap_or_else(|| {
                outcomes.push(Outcome {
                    variant: &row.variant,
                    size: baseline_bytes.map(|of| row.size.total_bytes as f64 / of as f64),
                    rows: vec![None; comparisons.len()],
                    is_headline: is_headline(&row.variant),
                });
                outcomes.len() - 1
            });
            if let Some(cell) = outcomes.get_mut(at).and_then(|outcome| outcome.rows.get_mut(index)) {
                *cell = Some(row);
            }
        }
    }
    outcomes
}

/// Whether the workload reads a repository rather than writing one.
pub fn is_reading(comparison: &WorkloadComparison) -> bool {
    !matches!(comparison.workload.name.as_str(), "encode" | "ingest")
}

/// The comparisons without floors, which only show the codec's share of a workload.
pub fn without_floors<'a>(comparisons: &[&'a WorkloadComparison]) -> Vec<&'a WorkloadComparison> {
    comparisons.iter().copied().filter(|comparison| comparison.workload.floor_of().is_none()).collect()
}
