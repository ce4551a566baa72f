//! `repackbench verify`.

use std::process::ExitCode;

use repackbench_reader::git::verify::compare;

use super::{open, print, print_notes};
use crate::{
    args::VerifyArguments,
    failure::{FAILED, Failure},
};

pub(crate) fn run(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    let (first, second) = (open(&arguments.first)?, open(&arguments.second)?);
    print_notes(&first, arguments.effort.quiet);
    print_notes(&second, arguments.effort.quiet);
    let mut differences = 0u64;
    let mut printed = Ok(());
    let objects = compare(&first, &second, arguments.effort.threads(), &mut |difference| {
        differences += 1;
        if printed.is_ok() {
            printed = print(&format!("{difference}\n"));
        }
    })?;
    printed?;
    if differences > 0 {
        return Ok(ExitCode::from(FAILED));
    }
    if !arguments.effort.quiet {
        print(&format!("{objects} objects and all references are the same\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
