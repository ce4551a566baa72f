//! `repackbench diff`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::compare_results;
use repackbench_records::{CellChange, CellId, Host, Measure};
use repackbench_report::sections;
use serde::Serialize;

use crate::{
    failure::{FAILED, Failure, REGRESSION},
    options::{Percent, WHAT},
    output::{listing::ListingArguments, record_file},
};

/// Compare newer results with older ones
///
/// Reads two files that `bench --json` wrote for the same repositories and codecs, and prints how
/// times and sizes changed. Times are compared as ratios to the baseline of their own file, so that
/// two machines, or one machine on two days, can be compared. A change that all variants share, such
/// as a slower reader, shows only with --absolute.
///
/// With --gate, exits with 3 if something got worse by more: a size, or a time whose whole interval
/// is beyond it (fewer than 6 blocks give none); or if the newer results lack something. --json
/// writes one line for each variant in each workload, then one with what else changed.
///
/// Examples:
///   repackbench diff before.jsonl after.jsonl
///   repackbench diff main.jsonl branch.jsonl --gate 3%
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct DiffArguments {
    /// Older results.
    pub(crate) old: PathBuf,

    /// Newer results.
    pub(crate) new: PathBuf,

    /// Exit with 3 if something got worse by more than this.
    #[arg(long, value_name = "PERCENT", help_heading = WHAT)]
    pub(crate) gate: Option<Percent>,

    /// Compare absolute times, for results of one machine.
    #[arg(long, help_heading = WHAT)]
    pub(crate) absolute: bool,

    #[command(flatten)]
    listing: ListingArguments,
}

/// What happened to a variant in a workload, as JSON.
#[derive(Serialize)]
struct CellLine<'a> {
    #[serde(flatten)]
    cell: &'a CellChange,
    /// Whether it is worse by more than the gate, or than what is worth mentioning without one.
    is_slower: bool,
    is_larger: bool,
}

/// What else changed, as JSON.
#[derive(Serialize)]
struct ComparisonLine<'a> {
    measure: Measure,
    /// The gate, as a share of 1.
    gate: Option<f64>,
    /// Whether the gate tripped.
    is_refused: bool,
    only_old: &'a [CellId],
    only_new: &'a [CellId],
    changed_host: &'a Option<(Host, Host)>,
    changed_repositories: &'a [String],
}

/// The smallest difference to mention if there is no gate, as a share of 1.
const NOTABLE: f64 = 0.03;

pub(crate) fn run(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let mut listing = arguments.listing.create()?;
    let (old, new) = (record_file::read(&arguments.old)?, record_file::read(&arguments.new)?);
    let measure = if arguments.absolute { Measure::Time } else { Measure::RatioToBaseline };
    let change = compare_results(&old, &new, measure);
    if change.cells.is_empty() {
        let what = format!(
            "{} and {} have no variant and workload in common",
            arguments.old.display(),
            arguments.new.display()
        );
        return Err(Failure::new(FAILED, what));
    }
    let gate = arguments.gate.as_ref().map(|gate| gate.0);
    let limit = gate.unwrap_or(NOTABLE);
    for cell in &change.cells {
        let line = CellLine { cell, is_slower: cell.is_slower(limit), is_larger: cell.is_larger(limit) };
        listing.line("changed-cell", line)?;
    }
    let is_worse = |gate| change.cells.iter().any(|cell| cell.is_slower(gate) || cell.is_larger(gate));
    // Missing results cannot be judged, so they do not pass.
    let is_refused = gate.is_some_and(|gate| is_worse(gate) || !change.only_old.is_empty());
    let line = ComparisonLine {
        measure: change.measure,
        gate,
        is_refused,
        only_old: &change.only_old,
        only_new: &change.only_new,
        changed_host: &change.changed_host,
        changed_repositories: &change.changed_repositories,
    };
    listing.line("comparison-of-results", line)?;
    listing.tables.write(&[sections::changes(&change, limit)])?;
    Ok(if is_refused { ExitCode::from(REGRESSION) } else { ExitCode::SUCCESS })
}
