//! Opening the repositories that the user names, and notes about them.

use std::path::Path;

use repackbench_codec::CodecSpec;
use repackbench_reader::{
    ReaderError, Repository,
    git::{
        incomplete::{refuse_dangling_references, refuse_missing_alternates},
        repository::Target,
    },
};
use repackbench_writer::{
    Layout,
    cache::{Cache, OutputNote},
};

use crate::failure::{BAD_INPUT, Failure, print_note};

/// Opens a repository. One with missing alternates may lack any object, and is refused.
pub(crate) fn open(path: &Path) -> Result<Repository, Failure> {
    let repository = Repository::open(path)?;
    if let Repository::Git(git) = &repository {
        refuse_missing_alternates(git).map_err(|error| {
            Failure::from(error).with_hint("`repackbench convert --allow-missing` makes a variant of what exists")
        })?;
    }
    Ok(repository)
}

/// Whether no commit was ever made in `repository`, so that there is nothing to measure.
pub(crate) fn is_without_commits(repository: &Repository) -> Result<bool, ReaderError> {
    Ok(match repository {
        Repository::Git(git) => git.references()?.iter().all(|found| matches!(found.target, Target::Symbolic(_))),
        Repository::Hg(hg) => hg.revlogs().is_empty(),
    })
}

/// How the message about a repository without commits ends.
pub(crate) const NO_COMMITS: &str = "the repository has no commits, so there is nothing to measure";

/// Opens a repository to measure it. It has to have a commit.
pub(crate) fn open_with_commits(path: &Path) -> Result<Repository, Failure> {
    let repository = open(path)?;
    if is_without_commits(&repository)? {
        let message = format!("{}: {NO_COMMITS}", name_of(path));
        return Err(Failure::new(BAD_INPUT, message).with_hint("commit something first, or name another repository"));
    }
    Ok(repository)
}

/// The failure to convert `source`, with a hint if it holds chunks that only their own variant can decode.
pub(crate) fn cannot_convert(source: &Repository, failure: Failure) -> Failure {
    match source.recorded_spec() {
        Some(spec) if spec.uses_bases() => failure.with_hint(
            "prefix and patch need the content of delta bases, which a conversion does not have: \
             name the repository that this variant was made from",
        ),
        _ => failure,
    }
}

/// Opens a repository for a statement about all of it. Everything it names has to exist, unless `allow_missing`.
pub(crate) fn open_whole(path: &Path, allow_missing: bool, quiet: bool) -> Result<Repository, Failure> {
    let repository = Repository::open(path)?;
    if let Repository::Git(git) = &repository {
        // Nothing can be read without a dictionary, whatever may be missing.
        git.dictionaries()?;
        for found in [refuse_missing_alternates(git), refuse_dangling_references(git)] {
            // A repository that changed in the meantime explains whatever is missing.
            if found.is_err()
                && let Err(changed @ ReaderError::Changed { .. }) = git.snapshot()
            {
                return Err(changed.into());
            }
            match found {
                Err(error @ ReaderError::Corrupt { .. }) if allow_missing => {
                    if !quiet {
                        print_note(format!("{error}: ignored"));
                    }
                }
                Err(error @ ReaderError::Corrupt { .. }) => {
                    return Err(Failure::from(error).with_hint("--allow-missing continues with what exists"));
                }
                found => found?,
            }
        }
    }
    Ok(repository)
}

/// Prints notes about content of the repository that is ignored, unless `quiet`.
pub(crate) fn print_notes(repository: &Repository, quiet: bool) {
    if !quiet {
        repository.notes().iter().for_each(print_note);
    }
}

/// Prints a note about the orders in `layouts` that have no effect on `repository`, unless `quiet`.
pub(crate) fn print_orders_without_effect(repository: &Repository, layouts: &[Layout], quiet: bool) {
    let idle = layouts.iter().filter(|layout| layout.has_nothing_to_order(repository));
    let names: Vec<&str> = idle.map(|layout| layout.order.name()).collect();
    if !names.is_empty() && !quiet {
        print_without_effect(repository, &format!("--order {}", names.join(",")), "an order");
    }
}

/// Prints that `option` has no effect, since `repository` has no packs, which alone have `what`.
fn print_without_effect(repository: &Repository, option: &str, what: &str) {
    let folder = repository.folder().display();
    print_note(format!("{folder}: {option}: no effect, as nothing is packed and only packs have {what}"));
}

/// Prints a note if one of `specs` has numbers, but `repository` has no packs for them, unless `quiet`.
pub(crate) fn print_numbers_without_effect(repository: &Repository, specs: &[CodecSpec], quiet: bool) {
    let Repository::Git(git) = repository else { return };
    if !quiet && git.packs().is_empty() && specs.iter().any(CodecSpec::uses_numbers) {
        print_without_effect(repository, "ids=number", "numbers");
    }
}

/// Registers the folder of an output while it is written, so that `cache prune` finds what this run leaves if it is
/// killed. If it cannot be registered, the next run that writes there finds it.
pub(crate) fn note_output(target: &Path) -> Option<OutputNote> {
    let folder = target.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?;
    Cache::open(None).and_then(|cache| cache.note_output(folder)).ok()
}

/// The name of a repository in messages and tables: its path as typed.
pub(crate) fn name_of(path: &Path) -> String {
    path.display().to_string()
}
