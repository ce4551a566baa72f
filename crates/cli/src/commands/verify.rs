//! `repackbench verify`.

use std::{borrow::Cow, fmt::Display, path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_reader::{
    Repository,
    git::{self, GitRepository},
    hg::{self, HgRepository},
};

use repackbench_report::{Article, Block};
use serde::Serialize;

use crate::{
    failure::{FAILED, Failure},
    options::{Completeness, Effort, MemoryArguments, located},
    output::{
        listing::{Listing, ListingArguments, words},
        print,
    },
    progress::Bar,
    repository::{open_whole, print_notes},
};

/// Compare two repositories object by object.
///
/// Reads and hashes every object of both, under any codec, and compares ids, refs and everything else that decides what
/// git or hg shows, such as shallow, grafts, phases and lists of files. Prints one line for each difference, and exits
/// with 1 if there is any. --json writes one line for each difference, then one with the counts.
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

    #[command(flatten)]
    listing: ListingArguments,
}

/// A difference, as JSON.
#[derive(Serialize)]
struct DifferenceLine<'a> {
    difference: &'a str,
}

/// The result, as JSON.
#[derive(Serialize)]
struct VerificationLine<'a> {
    first: Cow<'a, str>,
    second: Cow<'a, str>,
    /// Objects or revisions of the first repository.
    compared: u64,
    /// Those that do not hash to their node, by design, and were compared byte by byte.
    unhashed: u64,
    differences: u64,
}

pub(crate) fn run(arguments: &VerifyArguments) -> Result<ExitCode, Failure> {
    let listing = arguments.listing.create()?;
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let allow_missing = arguments.completeness.allow_missing;
    let open = |path| open_whole(path, allow_missing, arguments.effort.quiet());
    let (first, second) = (open(&arguments.first)?, open(&arguments.second)?);
    print_notes(&first, arguments.effort.quiet());
    print_notes(&second, arguments.effort.quiet());
    // While it lives, a signal ends the comparison as it ends every other job.
    let job = Bar::new(arguments.effort.quiet());
    let mut differences = Differences { count: 0, listing, rows: Vec::new(), written: Ok(()) };
    let threads = arguments.effort.threads();
    let agreement = match (&first, &second) {
        (Repository::Git(first), Repository::Git(second)) => compare_git(first, second, threads, &mut differences)?,
        (Repository::Hg(first), Repository::Hg(second)) => compare_hg(first, second, threads, &mut differences)?,
        _ => return Err(Failure::new(FAILED, "a Git and a Mercurial repository have no object in common")),
    };
    drop(job);
    finish(arguments, differences, &agreement)
}

/// What was compared.
struct Agreement {
    compared: u64,
    unhashed: u64,
    /// What to say if there is no difference.
    sentence: String,
}

/// Writes the result. Differences are printed already.
fn finish(arguments: &VerifyArguments, differences: Differences, agreement: &Agreement) -> Result<ExitCode, Failure> {
    let Differences { count, mut listing, rows, written } = differences;
    written?;
    let line = VerificationLine {
        first: arguments.first.to_string_lossy(),
        second: arguments.second.to_string_lossy(),
        compared: agreement.compared,
        unhashed: agreement.unhashed,
        differences: count,
    };
    listing.line("verification", line)?;
    if count > 0 {
        listing.tables.write_markdown(&[words(&["difference"], &rows)])?;
        return Ok(ExitCode::from(FAILED));
    }
    let article = Article { blocks: vec![Block::Notes(vec![agreement.sentence.clone()])], ..Article::default() };
    match arguments.effort.quiet() {
        true => listing.tables.write_markdown(&[article])?,
        false => listing.write(&[article])?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints, writes and counts differences.
struct Differences {
    count: u64,
    listing: Listing,
    /// For Markdown.
    rows: Vec<Vec<String>>,
    written: Result<(), Failure>,
}

impl Differences {
    fn add(&mut self, difference: impl Display) {
        self.count += 1;
        if self.written.is_ok() {
            self.written = self.write(&difference.to_string());
        }
    }

    fn write(&mut self, difference: &str) -> Result<(), Failure> {
        if self.listing.tables.has_markdown() {
            self.rows.push(vec![difference.to_owned()]);
        }
        self.listing.line("difference", DifferenceLine { difference })?;
        if self.listing.tables.prints_tables() { print(&format!("{difference}\n")) } else { Ok(()) }
    }
}

fn compare_git(
    first: &GitRepository,
    second: &GitRepository,
    threads: usize,
    differences: &mut Differences,
) -> Result<Agreement, Failure> {
    let objects = git::verify::compare(first, second, threads, &mut |difference| differences.add(difference))?;
    let sentence = format!("{objects} objects and all references are the same");
    Ok(Agreement { compared: objects as u64, unhashed: 0, sentence })
}

fn compare_hg(
    first: &HgRepository,
    second: &HgRepository,
    threads: usize,
    differences: &mut Differences,
) -> Result<Agreement, Failure> {
    let verified = hg::verify::compare(first, second, threads, &mut |difference| differences.add(difference))?;
    let (compared, unhashed) = (verified.revisions, verified.unhashed);
    let mut sentence = format!(
        "{compared} revisions are the same, and so are requirements, names, phases, bookmarks, local tags and markers"
    );
    if unhashed > 0 {
        sentence.push_str(&format!(
            "; {unhashed} of them do not hash to their node, by design, and were compared byte by byte"
        ));
    }
    Ok(Agreement { compared, unhashed, sentence })
}
