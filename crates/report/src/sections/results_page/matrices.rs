//! Each repository under each codec.

use repackbench_analysis::{PageRepository, ResultsPage};
use repackbench_records::DeltaState;

use super::{answer::titled, marked_name};
use crate::{
    document::{Article, Block, Column, Table, plain_text},
    number::{megabytes, or_dash, three_decimals, time_ratio},
};

/// The two states of the deltas, and how to find them.
type StateOf = fn(&PageRepository) -> Option<&DeltaState>;
/// What a row's figures are multiples of, as text.
type BaseOf<'a> = &'a dyn Fn(&DeltaState) -> Option<String>;

const STATES: [(&str, StateOf); 2] =
    [("as found", |of| Some(&of.estimate.as_found)), ("with deltas rechosen by git", |of| of.searched())];

/// Sizes as multiples of the repository in that state.
pub(super) fn sizes(page: &ResultsPage) -> Vec<Article> {
    let note = "Sizes as multiples of the repository in that state, whose MB are in the second column.";
    let of_state = |(name, state): (&str, StateOf)| {
        let heading = format!("Sizes {name}");
        let cell = |state: &DeltaState, codec: &str| {
            let spec = state.specs.iter().find(|spec| spec.spec.typed == codec)?;
            Some(three_decimals(spec.total_bytes.value / state.total_bytes as f64))
        };
        let bytes = |state: &DeltaState| Some(megabytes(state.total_bytes));
        article(&heading, note, matrix(page, state, ("MB", &bytes), &cell))
    };
    STATES.into_iter().filter_map(of_state).collect()
}

/// CPU times as multiples of those under the baseline: a table for each workload and state.
pub(super) fn times(page: &ResultsPage) -> Vec<Article> {
    let workloads = page.repositories.iter().flat_map(|of| &of.estimate.as_found.workloads);
    let mut names: Vec<&str> = Vec::new();
    for workload in workloads {
        if !names.contains(&workload.workload.name.as_str()) {
            names.push(&workload.workload.name);
        }
    }
    let of_workload = |workload: &str| STATES.map(|(name, state)| times_of(page, workload, name, state));
    names.into_iter().flat_map(of_workload).flatten().collect()
}

fn times_of(page: &ResultsPage, workload: &str, name: &str, state: StateOf) -> Option<Article> {
    let note = "Predicted CPU time of one replay as a multiple of that under the first codec, whose milliseconds are in the \
                second column.";
    let of_name = |state: &DeltaState| state.workloads.iter().position(|of| of.workload.name == workload);
    let cell = |state: &DeltaState, codec: &str| {
        let at = state.specs.iter().position(|spec| spec.spec.typed == codec)?;
        Some(time_ratio(state.workloads.get(of_name(state)?)?.ratios.get(at)?.value))
    };
    let seconds = |state: &DeltaState| {
        let milliseconds = state.workloads.get(of_name(state)?)?.seconds * 1e3;
        Some(format!("{milliseconds:.2}"))
    };
    article(&format!("{} {name}", plain_text(workload)), note, matrix(page, state, ("ms", &seconds), &cell))
}

fn article(heading: &str, note: &str, table: Table) -> Option<Article> {
    (!table.is_empty()).then(|| titled(heading, vec![Block::note(note), Block::Table(table)]))
}

/// A row for each repository that has the state, a column for what a cell is a multiple of, and one for each codec.
fn matrix(
    page: &ResultsPage,
    state: StateOf,
    (unit, base): (&str, BaseOf<'_>),
    cell: &dyn Fn(&DeltaState, &str) -> Option<String>,
) -> Table {
    let mut codecs: Vec<&str> = Vec::new();
    for spec in page.repositories.iter().filter_map(state).flat_map(|state| &state.specs) {
        if !codecs.contains(&spec.spec.typed.as_str()) {
            codecs.push(&spec.spec.typed);
        }
    }
    let head = [Column::words("repository"), Column::numbers(unit)];
    let mut table = Table::new(head.into_iter().chain(codecs.iter().map(|codec| Column::numbers(plain_text(codec)))));
    for repository in &page.repositories {
        let Some(state) = state(repository) else { continue };
        let cells = codecs.iter().map(|codec| or_dash(cell(state, codec), |cell| cell));
        table.row([marked_name(repository), or_dash(base(state), |base| base)].into_iter().chain(cells));
    }
    table
}
