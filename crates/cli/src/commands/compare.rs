//! `repackbench compare`.

use std::process::ExitCode;

use repackbench_analysis::compare_results;
use repackbench_records::Measure;
use repackbench_report::change_table;

use super::print;
use crate::{
    compare_arguments::CompareArguments,
    failure::{FAILED, Failure, REGRESSION},
    record_file,
};

/// What is a difference worth a word where no gate is set, as a part of 1.
const NOTABLE: f64 = 0.03;

pub(crate) fn run(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    let (old, new) = (record_file::read(&arguments.old)?, record_file::read(&arguments.new)?);
    let measure = if arguments.absolute { Measure::Time } else { Measure::RatioToBaseline };
    let change = compare_results(&old, &new, measure);
    if change.cells.is_empty() {
        let what = format!("{} and {} have no cell in common", arguments.old.display(), arguments.new.display());
        return Err(Failure::new(FAILED, what));
    }
    let gate = arguments.gate.as_ref().map(|gate| gate.0);
    print(&change_table(&change, gate.unwrap_or(NOTABLE)))?;
    let is_worse = |gate| change.cells.iter().any(|cell| cell.is_slower(gate) || cell.is_larger(gate));
    // What is gone cannot be judged, so it does not pass.
    let is_refused = |gate| is_worse(gate) || !change.only_old.is_empty();
    Ok(if gate.is_some_and(is_refused) { ExitCode::from(REGRESSION) } else { ExitCode::SUCCESS })
}
