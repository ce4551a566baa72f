//! `repackbench chains`.

use std::process::ExitCode;

use repackbench_reader::{Repository, git::btree::BtreeFile};
use repackbench_report::chain_table;
use repackbench_timing::{chains::compare_chains, clock::SystemClock};

use super::{name_of, open, print, print_notes};
use crate::{
    args::ChainsArguments,
    failure::{Failure, print_note},
    progress::Bar,
};

pub(crate) fn run(arguments: &ChainsArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(1).set();
    let mut repositories = Vec::with_capacity(arguments.repositories.len());
    for path in &arguments.repositories {
        let repository = open(path)?;
        if !arguments.quiet {
            print_notes(&repository, false);
            note_loose(&repository)?;
        }
        repositories.push((name_of(path), repository));
    }
    let bar = Bar::new(arguments.quiet);
    let comparison = compare_chains(&repositories, &SystemClock::new(), &bar)?;
    print(&chain_table(&comparison))?;
    Ok(ExitCode::SUCCESS)
}

/// Says how many loose objects, and values of a B-tree, which are in no chain, are not looked at.
fn note_loose(repository: &Repository) -> Result<(), Failure> {
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
