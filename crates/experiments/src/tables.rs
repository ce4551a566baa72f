//! Helpers for the tables of all experiments.

use repackbench_records::{ExperimentColumn, ExperimentRow, Unit};

/// A column of this name.
pub(crate) fn column(name: &str, unit: Unit) -> ExperimentColumn {
    ExperimentColumn { name: name.to_owned(), unit }
}

/// Whether a row has any measured figure.
pub(crate) fn has_figure(row: &ExperimentRow) -> bool {
    row.measured.iter().any(Option::is_some)
}
