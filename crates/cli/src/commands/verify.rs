//! `repackbench verify`.

use std::{fmt::Display, path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_reader::{
    Repository,
    git::{self, GitRepository},
    hg::{self, HgRepository},
};

use crate::{
    failure::{FAILED, Failure},
    options::{Completeness, Effort, MemoryArguments, located},
    output::print,
    progress::Bar,
    repository::{open_whole, print_notes},
};

/// Compare two repositories object by object.
///
/// Reads and hashes every object of both, under any codec, and compares ids, refs and everything else that decides what
/// git or hg shows, such as shallow, grafts, phases and lists of files. Prints one line for each difference, and exits
/// with 1 if there is any.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// First repository.
    #[arg(value_parser = located())]
    pub(crate) first: PathBuf,
    /// Second repository.
    #[arg(value_parser = located())]
    pub(crate) second: PathBuf,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let allow_missing = arguments.completeness.allow_missing;
    let open = |path| open_whole(path, allow_missing, arguments.effort.quiet());
    let (first, second) = (open(&arguments.first)?, open(&arguments.second)?);
    print_notes(&first, arguments.effort.quiet());
    print_notes(&second, arguments.effort.quiet());
    // While it lives, a signal ends the comparison as it ends every other job.
    let _job = Bar::new(arguments.effort.quiet());
    let mut differences = Differences { count: 0, printed: Ok(()) };
    let threads = arguments.effort.threads();
    let agreement = match (&first, &second) {
        (Repository::Git(first), Repository::Git(second)) => compare_git(first, second, threads, &mut differences)?,
        (Repository::Hg(first), Repository::Hg(second)) => compare_hg(first, second, threads, &mut differences)?,
        _ => return Err(Failure::new(FAILED, "a Git and a Mercurial repository have no object in common")),
    };
    differences.printed?;
    if differences.count > 0 {
        return Ok(ExitCode::from(FAILED));
    }
    if !arguments.effort.quiet() {
        print(&agreement)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints and counts differences.
struct Differences {
    count: u64,
    printed: Result<(), Failure>,
}

impl Differences {
    fn add(&mut self, difference: impl Display) {
        self.count += 1;
        if self.printed.is_ok() {
            self.printed = print(&format!("{difference}\n"));
        }
    }
}

fn compare_git(
    first: &GitRepository,
    second: &GitRepository,
    threads: usize,
    differences: &mut Differences,
) -> Result<String, Failure> {
    let objects = git::verify::compare(first, second, threads, &mut |difference| differences.add(difference))?;
    Ok(format!("{objects} objects and all references are the same\n"))
}

fn compare_hg(
    first: &HgRepository,
    second: &HgRepository,
    threads: usize,
    differences: &mut Differences,
) -> Result<String, Failure> {
    let verified = hg::verify::compare(first, second, threads, &mut |difference| differences.add(difference))?;
    let mut text = format!("{} revisions and everything beside the revlogs are the same", verified.revisions);
    if verified.unhashed > 0 {
        let unhashed = verified.unhashed;
        text.push_str(&format!(
            "; {unhashed} of them do not hash to their node, by design, and were compared byte by byte"
        ));
    }
    text.push('\n');
    Ok(text)
}
