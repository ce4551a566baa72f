//! Checks that a repository has everything it refers to.
//!
//! Git ignores a missing object directory in an alternates file, so all objects of a repository may be gone unnoticed.
//! A comparison of two repositories, or a count of sizes, must not ignore that.

use repackbench_codec::Decoders;

use super::{GitRepository, ObjectStore, pack::PackFile, repository::Target};
use crate::{Place, ReaderError, Result};

/// Fails if an alternates file names an object directory that cannot be read.
///
/// # Errors
/// [`ReaderError::Corrupt`] names the file and the directory.
pub fn refuse_missing_alternates(repository: &GitRepository) -> Result<()> {
    match repository.missing_alternates().first() {
        Some(missing) => {
            let expected = format!("an object directory at {}", missing.named.display());
            Err(ReaderError::corrupt(&missing.file, Place::Whole, expected, missing.found.clone()))
        }
        None => Ok(()),
    }
}

/// Fails if a ref names a missing object. Shallow and partial repositories may lack objects.
///
/// # Errors
/// [`ReaderError::Corrupt`] names the ref and the object. Refs or object stores cannot be read.
pub fn refuse_dangling_references(repository: &GitRepository) -> Result<()> {
    if repository.is_partial_clone() || !repository.shallow().is_empty() {
        return Ok(());
    }
    let references = repository.references()?;
    let mut store = ObjectStore::open(repository, Decoders::default())?;
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

/// Fails if an index is damaged, which may be the reason why an object was not found.
fn check_indexes(repository: &GitRepository) -> Result<()> {
    let check = |files| PackFile::open(files, repository.object_hash())?.check_index_checksum();
    repository.packs().iter().try_for_each(check)
}
