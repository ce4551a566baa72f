//! `repackbench convert`.

use std::{path::Path, process::ExitCode};

use repackbench_reader::git::GitRepository;
use repackbench_report::convert_summary;
use repackbench_timing::sizes::measure;
use repackbench_writer::{
    default_output,
    git::{Conversion, convert},
};

use super::{name_of, open, print};
use crate::{
    args::ConvertArguments,
    failure::{Failure, print_note},
    progress::Bar,
};

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    let source = open(&arguments.repository)?;
    let target = match &arguments.output {
        Some(path) => path.clone(),
        None => default_output(&arguments.repository, &arguments.codec)?,
    };
    let bar = Bar::new(arguments.effort.quiet);
    let threads = arguments.effort.threads();
    let (conversion, path) = convert(&source, &arguments.codec, &target, arguments.force, threads, &bar)?;
    if !arguments.effort.quiet {
        // The output has its name and is whole: what goes wrong from here on does not undo that.
        if let Err(failure) = summarise(&source, &arguments.repository, conversion, &path) {
            print_note(format!("{} is complete, but cannot be summarised: {failure}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what a conversion of `source`, which the user called `name`, into `path` did.
fn summarise(source: &GitRepository, name: &Path, mut conversion: Conversion, path: &Path) -> Result<(), Failure> {
    conversion.notes.extend(repackbench_timing::missing::notes(source)?);
    let before = measure(source, &name_of(name))?;
    let after = measure(&open(path)?, &name_of(path))?;
    print(&convert_summary(&before, &after, conversion.elapsed, conversion.sync, &conversion.notes))
}
