//! `repackbench chains`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_analysis::{ChainComparison, chain_comparisons};
use repackbench_reader::{Repository, git::btree::BtreeFile};
use repackbench_records::ResultLine;
use repackbench_report::sections;
use repackbench_timing::{arms::chains::measure_chains, clock::SystemClock};

use crate::{
    failure::{Failure, print_note},
    options::{MemoryArguments, QuietArgument, RecordArguments, located},
    output::{command_line, record_file::RecordFile, table_output::TableArguments},
    progress::Bar,
    repository::{name_of, open, print_notes},
};

/// Show the cost of reading by the length of delta chains
///
/// Groups the objects in the packs or revlogs of a repository by the number of deltas in their
/// chains, and shows for each group the number of objects, their stored bytes, and the median CPU
/// time to read one from empty caches, whole chain included. At most 500 objects of a group are
/// read, with at most 500,000 deltas, the same each time. Short reads are repeated many times, so
/// that the caches of the processor are warm. Loose objects are left out.
///
/// Variants of the repository are compared with it, with ratios. They are read in turn, object by
/// object; they must hold the same objects at the end of the same deltas, and give the same content.
/// This shows the cost of prefix and patch, which need every base of a chain, and what --max-chain
/// saves.
///
/// Examples:
///   repackbench chains repo
///   repackbench chains repo repo.zstd-9 repo.zstd-9-prefix --json chains.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ChainsArguments {
    /// Repository, then variants of it.
    #[arg(required = true, value_name = "REPO", value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    output: TableArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    quiet: QuietArgument,
}

pub(crate) fn run(arguments: &ChainsArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    let output = arguments.output.create(arguments.records.json.as_ref())?;
    arguments.memory.ceiling(1).set();
    let mut json = RecordFile::open(&arguments.records)?;
    let mut repositories = Vec::with_capacity(arguments.repositories.len());
    for path in &arguments.repositories {
        let repository = open(path)?;
        if !arguments.quiet.quiet {
            print_notes(&repository, false);
            note_objects_without_chains(&repository)?;
        }
        repositories.push((name_of(path), repository));
    }
    let bar = Bar::new(arguments.quiet.quiet);
    let records = measure_chains(&repositories, command_line().as_deref(), &SystemClock::new(), &bar)?;
    for record in &records {
        json.append(&ResultLine::Chains(Box::new(record.clone())))?;
    }
    let comparisons = chain_comparisons(&records);
    let comparisons = if comparisons.is_empty() { vec![ChainComparison::default()] } else { comparisons };
    output.write(&comparisons.iter().map(sections::chains).collect::<Vec<_>>())?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the number of loose objects and of those in a B-tree, which are in no chain.
fn note_objects_without_chains(repository: &Repository) -> Result<(), Failure> {
    if let Repository::Git(git) = repository {
        if let Some(path) = git.btree() {
            let values = BtreeFile::open(path, git.object_hash())?.len();
            print_note(format!("{}: left out: {values} objects of a B-tree, which are in no chain", path.display()));
        }
        let loose = git.loose_objects()?.len();
        if loose > 0 {
            let folder = git.common_dir().display();
            print_note(format!("{folder}: left out: {loose} loose objects, which are in no chain"));
        }
    }
    Ok(())
}
