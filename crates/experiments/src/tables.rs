//! Helpers for the tables of all experiments.

use repackbench_records::{Estimate, ExperimentColumn, ExperimentRow, Unit};

/// A column of this name.
pub(crate) fn column(name: &str, unit: Unit) -> ExperimentColumn {
    ExperimentColumn { name: name.to_owned(), unit }
}

/// A row without published figures.
pub(crate) fn unpublished(label: impl Into<String>, measured: Vec<Option<Estimate>>) -> ExperimentRow {
    ExperimentRow { label: label.into(), published: vec![None; measured.len()], measured }
}

/// Whether a row has any measured figure.
pub(crate) fn has_figure(row: &ExperimentRow) -> bool {
    row.measured.iter().any(Option::is_some)
}
