//! `repackbench size`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use repackbench_analysis::Results;
use repackbench_client::GitProgram;
use repackbench_reader::{Repository, git::GitRepository};
use repackbench_records::{ResultLine, SizeRecord};
use repackbench_report::{articles_text, sections};
use repackbench_timing::{
    delta_search::predicted_time,
    sizes::{ids, measure},
};
use repackbench_writer::{
    Progress,
    cache::Cache,
    git::recompute::{search_anew, search_window},
};

use crate::{
    failure::{Failure, print_note},
    options::{Completeness, EXPERT, Effort, MemoryArguments, RecordArguments, WHAT, WindowArgument, located},
    output::{
        record_file::{RecordFile, size_line},
        result_output::{OutputArguments, ResultOutput},
    },
    progress::Bar,
    repository::{name_of, open_whole, print_notes},
};

/// How long a search may take that nobody asked for.
const UNASKED_SEARCH: Duration = Duration::from_secs(10);

/// Show where the bytes of repositories go, and compare them.
///
/// Shows stored bytes by object kind, whole and delta, pack entry headers, indexes and other files, with ratios to the
/// first repository; then payload bytes, before compression, and the number of chunks in each form: compressed on their
/// own, with a dictionary, with the content of their base, or stored raw. For Mercurial repositories it shows
/// manifests, changelog and filelogs, snapshots and deltas, revlog indexes, the list of files and the rest, and the
/// share of the manifest in the growth.
#[derive(Debug, Args)]
pub(crate) struct SizeArguments {
    /// Repositories; ratios are to the first one.
    #[arg(required = true, value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    /// Show each Git repository with new deltas, too, which git searches for (repack -adF).
    ///
    /// In a copy, which is thrown away. A variant is searched as zlib:6. This is the default for the first
    /// repository if stock git reads it and the search is predicted to take at most 10 s. --window implies this.
    /// Packed objects that no ref and no reflog reaches are dropped, as git repack -adF drops them.
    #[arg(long, help_heading = WHAT)]
    rechosen: bool,

    /// Do not search for deltas anew.
    #[arg(long, help_heading = WHAT, conflicts_with_all = ["rechosen", "window"])]
    as_found: bool,

    /// Count the bytes of ids in commits, trees and tags.
    ///
    /// Commits name a tree and parents, trees name their entries, and tags name an object. No codec shrinks these ids;
    /// convert --codec CODEC,ids=number writes numbers in their place, and then the numbers are counted. In a delta,
    /// only ids that it inserts are counted. This decodes all commits, trees and tags of a Git repository. Mercurial
    /// is left out.
    #[arg(long, help_heading = WHAT)]
    ids: bool,

    #[command(flatten)]
    window: WindowArgument,

    /// git program, for --rechosen.
    #[arg(long, value_name = "PROGRAM", default_value = "git", help_heading = EXPERT)]
    git: PathBuf,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

impl SizeArguments {
    /// The size of `repository` with deltas that git searched for anew, beside `size` with those it has, if the user
    /// asked for it, or if it is the first one and this takes little time.
    fn rechosen(
        &self,
        repository: &GitRepository,
        size: &SizeRecord,
        is_first: bool,
    ) -> Result<Option<SizeRecord>, Failure> {
        // A window is for a search.
        if self.rechosen || self.window.window.is_some() {
            return self.searched(repository, &GitProgram::new(&self.git)?, size).map(Some);
        }
        if self.as_found || !is_first || repository.extension_spec().is_some() {
            return Ok(None);
        }
        let takes = predicted_time(&size.objects.sum(), search_window(repository), self.effort.threads());
        if takes > UNASKED_SEARCH {
            self.note(format!(
                "{}: --rechosen shows it after git repack -adF too, which takes about {:.0} s",
                size.label,
                takes.as_secs_f64()
            ));
            return Ok(None);
        }
        // Without git, or with objects that it cannot repack, there is one column less.
        let searched = GitProgram::new(&self.git).map_err(Failure::from);
        match searched.and_then(|git| self.searched(repository, &git, size)) {
            Ok(searched) => Ok(Some(searched)),
            Err(failure) if failure.is_interrupt() => Err(failure),
            Err(failure) => {
                self.note(format!("{}: not shown with new deltas: {failure}", size.label));
                Ok(None)
            }
        }
    }

    /// The size of `repository` with deltas that `git` searched for anew.
    fn searched(&self, repository: &GitRepository, git: &GitProgram, size: &SizeRecord) -> Result<SizeRecord, Failure> {
        let git = self.window.applied_to(git.clone());
        let bar = Bar::new(self.effort.quiet());
        let scratch = Cache::open(None)?.scratch()?;
        let searched = search_anew(repository, scratch.path(), &git, self.effort.control(&bar))?;
        bar.finish();
        searched.notes.iter().for_each(|note| self.note(note));
        let window = self.window.window.map(|window| format!(" with window {window}")).unwrap_or_default();
        let rechosen =
            self.measured(&Repository::open(scratch.path())?, &format!("{}, rechosen{window}", size.label))?;
        let dropped = size.objects.sum().entries.saturating_sub(rechosen.objects.sum().entries);
        if dropped > 0 {
            self.note(format!("{}: without {dropped} unreachable or repeated objects", rechosen.label));
        }
        Ok(rechosen)
    }

    /// The size of `repository`, which tables call `label`.
    fn measured(&self, repository: &Repository, label: &str) -> Result<SizeRecord, Failure> {
        let size = measure(repository, label)?;
        let ids = if self.ids { ids::count(repository)? } else { None };
        if self.ids && ids.is_none() {
            self.note(format!("{label}: ids are not counted in Mercurial, nor under prefix and patch"));
        }
        if let Some(left_out) = ids.as_ref().map(|ids| ids.left_out).filter(|left_out| left_out.payloads > 0) {
            let (objects, bytes) = (left_out.payloads, left_out.bytes);
            self.note(format!("{label}: {objects} objects of {bytes} bytes together are too large to count their ids"));
        }
        Ok(SizeRecord { ids: ids.map(|ids| ids.sum()), ..size })
    }

    fn note(&self, note: impl std::fmt::Display) {
        if !self.effort.quiet() {
            print_note(note);
        }
    }
}

pub(crate) fn run(arguments: &SizeArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let mut output = ResultOutput::create(&arguments.output, arguments.records.json.as_ref())?;
    let mut json = RecordFile::open(&arguments.records)?;
    let mut results = Results::default();
    // While it lives, a signal ends the reading as it ends every other job.
    let job = Bar::new(arguments.effort.quiet());
    for path in &arguments.repositories {
        let repository = open_whole(path, arguments.completeness.allow_missing, arguments.effort.quiet())?;
        print_notes(&repository, arguments.effort.quiet());
        let size = arguments.measured(&repository, &name_of(path))?;
        let searched = match &repository {
            Repository::Git(repository) => arguments.rechosen(repository, &size, results.sizes.is_empty())?,
            Repository::Hg(_) => {
                if results.sizes.is_empty() && !arguments.as_found {
                    arguments.note(format!(
                        "{}: hg searches for deltas again for each codec: bench --rechosen shows what that saves",
                        size.label
                    ));
                }
                None
            }
        };
        for size in std::iter::once(size).chain(searched) {
            let line = size_line(size);
            json.append(&ResultLine::Size(Box::new(line.clone())))?;
            results.sizes.push(line);
        }
    }
    drop(job);
    let sizes: Vec<_> = results.sizes.iter().map(|line| line.size.clone()).collect();
    let text = articles_text(&[sections::sizes(&sizes)], output.style());
    output.write(&results, &text)?;
    Ok(ExitCode::SUCCESS)
}
