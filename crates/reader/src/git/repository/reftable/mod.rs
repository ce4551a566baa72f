//! Refs of the reftable backend, Git 3's default: a stack of tables.
//!
//! The source of the format is git's `Documentation/technical/reftable.adoc`; where it leaves something open, git's
//! `reftable/` and `refs/reftable-backend.c`. The folder `reftable/` of a git directory has the tables, and the file
//! `tables.list` names those in use, one a line, from oldest to newest. A ref has the value of the newest table that
//! has it, which may say that it is deleted. Tables never change: an update adds a table, or replaces several by one.
//!
//! A linked work tree has a `reftable/` of its own, with its `HEAD` and the other refs that each work tree has. The
//! files `HEAD` and `refs/heads` are stubs, so that older versions of git find a repository that they cannot read.
//!
//! Refs are read in full, so the indexes are not needed. They are checked, because git finds single refs by them.

mod block;
mod fields;
mod private;
mod table;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use bstr::{BStr, BString, ByteSlice};

pub use self::{
    private::PrivateRecords,
    table::{ReferenceTable, ReferenceValue},
};
use super::{
    location::Location,
    references::{Target, is_private_to_work_tree, is_reference_name},
};
use crate::{
    bounds::{Bounds, read_regular_file},
    error::{Place, ReaderError, Result},
};

/// The folder of the tables in a git directory.
pub const REFTABLE_FOLDER: &str = "reftable";
/// The file in that folder that names the tables.
pub const TABLES_LIST: &str = "tables.list";

/// A writer may have replaced a table that was listed. The list is read this many times.
const ATTEMPTS: usize = 5;

/// `HEAD` and all refs.
pub(super) fn read_all(location: &Location, hash: gix_hash::Kind) -> Result<BTreeMap<BString, Target>> {
    let mut targets = merge(&open_stack(&location.common_dir, location.bounds(), hash)?)?;
    if location.is_linked_work_tree() {
        targets.retain(|name, _| !is_own_reference(name.as_bstr()));
        let own = merge(&open_stack(&location.git_dir, location.bounds(), hash)?)?;
        targets.extend(own.into_iter().filter(|(name, _)| is_own_reference(name.as_bstr())));
    }
    // git lists no other root refs, such as `ORIG_HEAD`, and ignores names that are not valid, with a message.
    targets.retain(|name, _| name == "HEAD" || name.starts_with(b"refs/") && is_reference_name(name.as_bstr()));
    Ok(targets)
}

/// Whether each work tree has its own ref of this name, in its own tables.
fn is_own_reference(name: &BStr) -> bool {
    !name.starts_with(b"refs/") || is_private_to_work_tree(name)
}

/// The refs of a stack of tables.
fn merge(tables: &[ReferenceTable]) -> Result<BTreeMap<BString, Target>> {
    let mut targets = BTreeMap::new();
    for table in tables {
        table.for_each_ref(&mut |name, value| {
            let target = match value {
                ReferenceValue::Deletion => {
                    targets.remove(name.as_bstr());
                    return;
                }
                ReferenceValue::Object { id, .. } => Target::Object(id),
                ReferenceValue::Symbolic(target) => Target::Symbolic(target),
            };
            targets.insert(BString::from(name), target);
        })?;
    }
    Ok(targets)
}

/// The bytes of the longest file name that systems have.
const LONGEST_NAME: usize = 255;

/// The paths of the files that make up the stack of the git directory `git_dir`: the list, and the tables in it, from
/// oldest to newest.
pub(super) fn stack_files(git_dir: &Path, bounds: Bounds<'_>) -> Result<Vec<PathBuf>> {
    let folder = git_dir.join(REFTABLE_FOLDER);
    let list = folder.join(TABLES_LIST);
    bounds.check(&list)?;
    let content = read_regular_file(&list)?.unwrap_or_default();
    let mut files = vec![list.clone()];
    for (number, name) in content.lines().enumerate().filter(|(_, name)| !name.is_empty()) {
        let has_special = name.iter().any(|byte| matches!(byte, b'/' | 0));
        let is_file_name = !has_special && name != b"." && name != b".." && name.len() <= LONGEST_NAME;
        let Some(name) = name.to_path().ok().filter(|_| is_file_name) else {
            let found = format!("'{}'", name.escape_ascii());
            return Err(ReaderError::corrupt(
                &list,
                Place::Line(number + 1),
                "the name of a file beside the list",
                found,
            ));
        };
        let table = folder.join(name);
        bounds.check(&table)?;
        files.push(table);
    }
    Ok(files)
}

/// The tables of the git directory `git_dir`, from oldest to newest.
pub(super) fn open_stack(git_dir: &Path, bounds: Bounds<'_>, hash: gix_hash::Kind) -> Result<Vec<ReferenceTable>> {
    let mut files = stack_files(git_dir, bounds)?;
    for _ in 0..ATTEMPTS {
        let missing = match open_tables(&files, hash)? {
            Ok(tables) => return Ok(tables),
            Err(missing) => missing,
        };
        let again = stack_files(git_dir, bounds)?;
        if again == files {
            let list = git_dir.join(REFTABLE_FOLDER).join(TABLES_LIST);
            let expected = format!("the table {} that it lists", missing.display());
            return Err(ReaderError::corrupt(&list, Place::Whole, expected, "no such file"));
        }
        files = again;
    }
    Err(ReaderError::Changed { path: git_dir.join(REFTABLE_FOLDER) })
}

/// The tables in `files`, of which the first is the list, or the path of a table that does not exist.
fn open_tables(files: &[PathBuf], hash: gix_hash::Kind) -> Result<std::result::Result<Vec<ReferenceTable>, PathBuf>> {
    let mut tables = Vec::new();
    for path in files.iter().skip(1) {
        match read_regular_file(path)? {
            Some(content) => tables.push(ReferenceTable::parse(path.clone(), content, hash)?),
            None => return Ok(Err(path.clone())),
        }
    }
    Ok(Ok(tables))
}
