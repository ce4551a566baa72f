//! `repackbench size`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::{Results, predicted_search_seconds};
use repackbench_client::GitProgram;
use repackbench_reader::{Repository, git::GitRepository};
use repackbench_records::{ResultLine, SCHEMA_VERSION, SizeLine, SizeRecord};
use repackbench_report::{articles_text, sections};
use repackbench_timing::sizes::measure;
use repackbench_writer::{Progress, cache::Cache, git::recompute::search_anew};

use crate::{
    failure::{Failure, print_note},
    options::{Completeness, EXPERT, Effort, MemoryArguments, RecordArguments, WHAT, WindowArgument, located},
    output::{
        command_line,
        record_file::RecordFile,
        result_output::{OutputArguments, ResultOutput},
    },
    progress::Bar,
    repository::{name_of, open_whole, print_notes},
};

/// CPU seconds of a search that is not worth a note, as the repository is small.
const SHORT_SEARCH: f64 = 1.0;

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
    /// In a copy, which is thrown away. A variant is searched as zlib:6. --window implies this.
    #[arg(long, help_heading = WHAT)]
    rechosen: bool,

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
    /// A window is for a search.
    fn is_rechosen(&self) -> bool {
        self.rechosen || self.window.window.is_some()
    }

    /// The size of `repository`, which is called `name`, with deltas that git searched for anew.
    fn searched(&self, repository: &GitRepository, name: &str) -> Result<SizeRecord, Failure> {
        let git = self.window.applied_to(GitProgram::new(&self.git)?);
        let bar = Bar::new(self.effort.quiet());
        let scratch = Cache::open(None)?.scratch()?;
        let searched = search_anew(repository, scratch.path(), &git, self.effort.control(&bar))?;
        bar.finish();
        if !self.effort.quiet() {
            searched.notes.iter().for_each(print_note);
        }
        let window = self.window.window.map(|window| format!(" with window {window}")).unwrap_or_default();
        Ok(measure(&Repository::open(scratch.path())?, &format!("{name}, rechosen{window}"))?)
    }

    /// Says what a search for deltas would take.
    fn note_search(&self, size: &SizeRecord) {
        let seconds = predicted_search_seconds(&size.objects.sum(), None);
        if !self.effort.quiet() && seconds >= SHORT_SEARCH {
            let name = &size.label;
            print_note(format!(
                "{name}: --rechosen shows it after git repack -adF, which takes about {seconds:.0} s of CPU time"
            ));
        }
    }
}

pub(crate) fn run(arguments: &SizeArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let mut output = ResultOutput::create(&arguments.output, arguments.records.json.as_ref())?;
    let mut json = RecordFile::open(&arguments.records)?;
    let mut results = Results::default();
    for path in &arguments.repositories {
        let repository = open_whole(path, arguments.completeness.allow_missing, arguments.effort.quiet())?;
        print_notes(&repository, arguments.effort.quiet());
        let size = measure(&repository, &name_of(path))?;
        let searched = match &repository {
            Repository::Git(repository) if arguments.is_rechosen() => {
                Some(arguments.searched(repository, &size.label)?)
            }
            Repository::Git(_) => {
                arguments.note_search(&size);
                None
            }
            Repository::Hg(_) => None,
        };
        for size in std::iter::once(size).chain(searched) {
            let line = SizeLine {
                schema: SCHEMA_VERSION,
                program_version: env!("CARGO_PKG_VERSION").to_owned(),
                command: command_line(),
                size,
            };
            json.append(&ResultLine::Size(Box::new(line.clone())))?;
            results.sizes.push(line);
        }
    }
    let sizes: Vec<_> = results.sizes.iter().map(|line| line.size.clone()).collect();
    let text = articles_text(&[sections::sizes(&sizes)], output.style());
    output.write(&results, &text)?;
    Ok(ExitCode::SUCCESS)
}
