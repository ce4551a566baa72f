//! The B-tree file of a variant.

use std::{fs, io, path::PathBuf};

use crate::{
    bounds::name_of,
    error::{Place, ReaderError, Result},
};

/// The name of a B-tree file in its object directory.
pub const BTREE_FILE: &str = "repackbench.btree";

/// The B-tree file of the repository's own object directory, the first of `object_dirs`.
///
/// # Errors
/// It is no regular file, or another object directory has one. The dictionaries of that directory's variant and its
/// guard against other programs are elsewhere, and a repository that uses it as an alternate sees neither.
pub(super) fn find(object_dirs: &[PathBuf]) -> Result<Option<PathBuf>> {
    let mut found = None;
    for (number, path) in object_dirs.iter().enumerate() {
        let file = path.join(BTREE_FILE);
        let is_there = match fs::metadata(&file) {
            Ok(metadata) if metadata.is_file() => true,
            // Opening a pipe would block until somebody writes to it.
            Ok(metadata) => {
                return Err(ReaderError::corrupt(&file, Place::Whole, "a file", name_of(metadata.file_type())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(ReaderError::io("inspect", &file, error)),
        };
        match (is_there, number) {
            (false, _) => {}
            (true, 0) => found = Some(file),
            (true, _) => return Err(ReaderError::unsupported(&file, "the B-tree of an alternate object directory")),
        }
    }
    Ok(found)
}
