//! Shares, which `hg share` makes: work trees whose store is that of another repository.
//!
//! Source: `hg help -e share`, and `localrepo.py` of Mercurial (`_getsharedvfs`).

use std::{
    fs,
    path::{Path, PathBuf},
};

use bstr::ByteSlice;

use super::requirements;
use crate::{Place, ReaderError, Result, bounds::read_regular_file};

/// The file with the path of the other `.hg`.
const SHARED_PATH: &str = "sharedpath";

/// The `.hg` whose store the share at `hg_dir` uses; `None` if `hg_dir` has a store of its own.
///
/// # Errors
/// [`ReaderError::Corrupt`] if it names no repository, [`ReaderError::Unsupported`] for a share of a share, which hg does
/// not make.
pub(super) fn source_of(hg_dir: &Path) -> Result<Option<PathBuf>> {
    let Some(kind) = requirements::kind_of_share(hg_dir)? else { return Ok(None) };
    let file = hg_dir.join(SHARED_PATH);
    let content = read_regular_file(&file)?.unwrap_or_default();
    let named = content.strip_suffix(b"\n").unwrap_or(&content);
    let wrong = |found: String| ReaderError::corrupt(&file, Place::Whole, "the path of the .hg that is shared", found);
    let quoted = || format!("'{}'", named.escape_ascii());
    let path = match named.to_path() {
        Ok(path) if !named.is_empty() => path,
        _ => return Err(wrong(quoted())),
    };
    let path = match kind {
        ShareKind::Absolute => path.to_owned(),
        ShareKind::Relative => hg_dir.join(path),
    };
    let source = fs::canonicalize(path).map_err(|error| wrong(format!("{}: {error}", quoted())))?;
    if !source.join("store").is_dir() {
        return Err(wrong(format!("{}, which has no store", quoted())));
    }
    match requirements::kind_of_share(&source)? {
        None => Ok(Some(source)),
        Some(_) => Err(ReaderError::unsupported(&file, "a share of a share")),
    }
}

/// How a share names the repository with its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShareKind {
    /// By an absolute path.
    Absolute,
    /// By a path that is relative to its own `.hg`.
    Relative,
}
