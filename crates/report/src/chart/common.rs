//! Helpers of several charts.

use repackbench_analysis::{ResultSource, Results};
use repackbench_records::{RepositoryState, WorkloadComparison};

use super::{
    ChartKind, Figure, slug,
    svg::{Drawing, Width},
};
use crate::sections::{names::short_name, source};

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

/// A place in a title: the repository, and the machine if there are several.
pub(super) fn place_name(place: &ResultSource<'_>) -> String {
    format!("{}{}", name(place.repository), source::suffix(place))
}

/// The identifier of a figure. Workloads that only differ in parameters get numbers later.
pub(super) fn id(section: ChartKind, repository: &RepositoryState, is_alone: bool, workload: &str) -> String {
    slug([section.slug(), if is_alone { "" } else { name(repository) }, workload])
}

/// The baseline's label; a word where there is no baseline.
pub(super) fn baseline_label(comparison: &WorkloadComparison) -> String {
    comparison.baseline().map_or_else(|| "baseline".to_owned(), |row| row.variant.label().into_owned())
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
