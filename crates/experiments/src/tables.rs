//! What the tables of all experiments have in common.

use repackbench_records::{ExperimentColumn, ExperimentRow, Unit};

/// A column of this name.
pub(crate) fn column(name: &str, unit: Unit) -> ExperimentColumn {
    ExperimentColumn { name: name.to_owned(), unit }
}

/// Whether anything of a row was measured.
pub(crate) fn has_figure(row: &ExperimentRow) -> bool {
    row.measured.iter().any(Option::is_some)
}
