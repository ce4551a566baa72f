//! `repackbench size`.

use std::process::ExitCode;

use repackbench_report::size_table;
use repackbench_timing::sizes::measure;

use super::{name_of, open, print, print_notes};
use crate::{args::SizeArguments, failure::Failure};

pub(crate) fn run(arguments: &SizeArguments) -> Result<ExitCode, Failure> {
    let mut sizes = Vec::with_capacity(arguments.repositories.len());
    for path in &arguments.repositories {
        let repository = open(path)?;
        print_notes(&repository, arguments.quiet);
        sizes.push(measure(&repository, &name_of(path))?);
    }
    print(&size_table(&sizes))?;
    Ok(ExitCode::SUCCESS)
}
