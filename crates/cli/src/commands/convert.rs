//! `repackbench convert`.

use std::{path::Path, process::ExitCode};

use repackbench_reader::Repository;
use repackbench_report::convert_summary;
use repackbench_timing::sizes::measure;
use repackbench_writer::{Conversion, convert, default_output, git, hg};

use super::{name_of, open, print};
use crate::{
    args::ConvertArguments,
    failure::{Failure, print_note},
    progress::Bar,
};

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    let source = open(&arguments.repository)?;
    let codec = arguments.codec()?;
    let codec = match &source {
        Repository::Git(_) => &codec,
        Repository::Hg(_) => &codec.for_revlogs(),
    };
    let layout = arguments.layout.layout();
    let target = match &arguments.output {
        Some(path) => path.clone(),
        None => default_output(&arguments.repository, codec, layout)?,
    };
    if arguments.rechosen {
        layout.check_rechosen(codec)?;
    }
    let bar = Bar::new(arguments.effort.quiet);
    let threads = arguments.effort.threads();
    let force = arguments.force;
    let (conversion, path) = match &source {
        Repository::Git(source) if arguments.rechosen => {
            git::rechosen::convert_rechosen(source, codec, &arguments.programs.git()?, &target, force, threads, &bar)?
        }
        Repository::Hg(source) if arguments.rechosen => {
            hg::rechosen::convert_rechosen(source, codec, &arguments.programs.hg()?, &target, force, threads, &bar)?
        }
        source => convert(source, codec, layout, &target, force, threads, &bar)?,
    };
    if !arguments.effort.quiet {
        // The output has its name and is whole: what goes wrong from here on does not undo that.
        if let Err(failure) = summarise(&source, &arguments.repository, conversion, &path) {
            print_note(format!("{} is complete, but cannot be summarised: {failure}", path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what a conversion of `source`, which the user called `name`, into `path` did.
fn summarise(source: &Repository, name: &Path, mut conversion: Conversion, path: &Path) -> Result<(), Failure> {
    conversion.notes.extend(repackbench_timing::missing::notes(source)?);
    // The lengths of Mercurial's deltas are known only when they are decoded, so both are measured at once.
    let (before, after) = std::thread::scope(|scope| {
        let after = scope.spawn(|| Repository::open(path).and_then(|converted| measure(&converted, &name_of(path))));
        let before = measure(source, &name_of(name));
        (before, after.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (before, after) = (before?, after?);
    print(&convert_summary(&before, &after, conversion.elapsed, conversion.sync, &conversion.notes))
}
