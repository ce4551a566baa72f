//! What a repository names and does not have.
//!
//! Git goes on without an object directory that its alternates name, so that all of a repository's objects may be gone unnoticed. Whoever
//! is to say that two repositories are the same, or how large one is, has to know.

use repackbench_codec::Decoders;

use super::{GitRepository, ObjectStore, pack::PackFile, repository::Target};
use crate::{Place, ReaderError, Result};

/// Fails if an alternates file names an object directory that cannot be read.
///
/// # Errors
/// [`ReaderError::Corrupt`], which names file and directory.
pub fn refuse_missing_alternates(repository: &GitRepository) -> Result<()> {
    match repository.missing_alternates().first() {
        Some(missing) => {
            let expected = format!("an object directory at {}", missing.named.display());
            Err(ReaderError::corrupt(&missing.file, Place::Whole, expected, missing.found.clone()))
        }
        None => Ok(()),
    }
}

/// Fails if a ref names an object that is not there. Shallow and partial repositories may lack objects.
///
/// # Errors
/// [`ReaderError::Corrupt`], which names ref and object, and whatever keeps refs and object stores from being read.
pub fn refuse_dangling_references(repository: &GitRepository) -> Result<()> {
    if repository.is_partial_clone() || !repository.shallow().is_empty() {
        return Ok(());
    }
    let references = repository.references()?;
    let store = ObjectStore::open(repository, Decoders::default())?;
    for reference in references {
        if let Target::Object(id) = reference.target
            && !store.contains(&id)?
        {
            check_indexes(repository)?;
            let expected = format!("the object that {} names", reference.name);
            return Err(ReaderError::corrupt(repository.git_dir(), Place::Object(id), expected, "none"));
        }
    }
    Ok(())
}

/// An object is not found either where an index is damaged: that is then what is wrong.
fn check_indexes(repository: &GitRepository) -> Result<()> {
    let check = |files| PackFile::open(files, repository.object_hash())?.check_index_checksum();
    repository.packs().iter().try_for_each(check)
}
