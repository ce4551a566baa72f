//! `repackbench diff`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::compare_results;
use repackbench_records::Measure;
use repackbench_report::sections;

use crate::{
    failure::{FAILED, Failure, REGRESSION},
    options::{Percent, WHAT},
    output::{record_file, table_output::TableArguments},
};

/// Compare newer results with older ones
///
/// Reads two files that `bench --json` wrote for the same repositories and codecs, and prints how
/// times and sizes changed. Times are compared as ratios to the baseline of their own file, so that
/// two machines, or one machine on two days, can be compared. A change that all variants share, such
/// as a slower reader, shows only with --absolute.
///
/// With --gate, exits with 3 if something got worse by more: a size, or a time whose whole interval
/// is beyond it (fewer than 6 blocks give none); or if the newer results lack something.
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
    output: TableArguments,
}

/// The smallest difference to mention if there is no gate, as a share of 1.
const NOTABLE: f64 = 0.03;

pub(crate) fn run(arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let output = arguments.output.create(None)?;
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
    output.write(&[sections::changes(&change, gate.unwrap_or(NOTABLE))])?;
    let is_worse = |gate| change.cells.iter().any(|cell| cell.is_slower(gate) || cell.is_larger(gate));
    // Missing results cannot be judged, so they do not pass.
    let is_refused = |gate| is_worse(gate) || !change.only_old.is_empty();
    Ok(if gate.is_some_and(is_refused) { ExitCode::from(REGRESSION) } else { ExitCode::SUCCESS })
}
