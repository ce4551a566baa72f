//! What several charts need of results.

use repackbench_analysis::{ResultSource, Results};
use repackbench_records::{RepositoryState, Variant, VariantComparison, WorkloadComparison};

use super::{
    ChartKind, Figure, slug,
    svg::{Drawing, Width},
};
use crate::sections::{
    names::{short_name, variant_name},
    source,
};

/// Whether all results are of one repository, so that identifiers need not name it.
pub(super) fn is_alone(results: &Results) -> bool {
    let of_comparisons = results.comparisons.iter().map(|comparison| &comparison.repository);
    let of_traces = results.traces.iter().map(|trace| &trace.repository);
    let of_explanations = results.explanations.iter().map(|explanation| &explanation.repository);
    let mut all =
        of_comparisons.chain(of_traces).chain(of_explanations).chain(results.runs.iter().map(|run| &run.repository));
    let first = all.next();
    first.is_none_or(|first| all.all(|other| other.name == first.name))
}

/// A repository's name in a title: without the folders before it, where it is a path.
pub(super) fn name(repository: &RepositoryState) -> &str {
    short_name(&repository.name)
}

/// A place in a title: the repository's name, and the machine where there are several.
pub(super) fn place_name(place: &ResultSource<'_>) -> String {
    format!("{}{}", name(place.repository), source::suffix(place))
}

/// What tells variants apart over all sessions: neither the row that one has in a table, nor how its spec was typed.
pub(super) fn key(variant: &Variant) -> String {
    let mut variant = variant.clone();
    if let Some(spec) = &mut variant.spec {
        spec.typed.clone_from(&spec.canonical);
    }
    format!("{:?} {} {}", variant.role, variant.label(), variant.checksum)
}

/// The row of `variant` among `rows` of another table: of the same spelling, or else of the same meaning.
pub(super) fn row_of<'a>(rows: &'a [VariantComparison], variant: &Variant) -> Option<&'a VariantComparison> {
    let is_same = |row: &&VariantComparison| Variant { row: variant.row, ..row.variant.clone() } == *variant;
    rows.iter().find(is_same).or_else(|| rows.iter().find(|row| key(&row.variant) == key(variant)))
}

/// A figure's identifier. Workloads that differ in parameters alone get numbers later.
pub(super) fn id(section: ChartKind, repository: &RepositoryState, is_alone: bool, workload: &str) -> String {
    slug([section.slug(), if is_alone { "" } else { name(repository) }, workload])
}

/// A variant's label; one that checks less than the baseline says so.
pub(super) fn label(row: &VariantComparison) -> String {
    variant_name(&row.variant)
}

/// The baseline's label.
pub(super) fn baseline_label(comparison: &WorkloadComparison) -> String {
    baseline(comparison).map_or_else(|| "baseline".to_owned(), label)
}

/// The baseline's row.
pub(super) fn baseline(comparison: &WorkloadComparison) -> Option<&VariantComparison> {
    comparison.baseline()
}

impl Figure {
    /// This figure with its two pictures.
    pub(super) fn drawn(mut self, draw: impl Fn(Width) -> (Drawing, f64)) -> Self {
        [self.wide, self.narrow] = Width::ALL.map(|width| {
            let (drawing, height) = draw(width);
            drawing.finish(height)
        });
        self
    }
}
