//! Everything of a Git repository that is not object bytes, written out as a bare repository.
//!
//! | written | how |
//! |---|---|
//! | `HEAD`, `refs/**`, `packed-refs` | byte for byte; a symbolic link stays one when it leads nowhere outside |
//! | `logs/**`, `shallow`, `info/grafts` | byte for byte |
//! | `config` | anew: format version, extensions that still apply, where remotes are, and nothing else: nothing that git would run |
//! | `objects/info`, `objects/pack`, `refs/heads`, `refs/tags` | created, since git wants them to be there |
//!
//! Left out: hooks, the index, `core.worktree`, linked work trees and submodules' repositories (each is a repository of
//! its own), pseudo-refs such as `FETCH_HEAD`, and alternates (the result stands alone). The same source and codec spec
//! give the same bytes.

mod config;
mod files;
mod remotes;
#[cfg(test)]
mod tests;

use std::{fs, os::unix::fs::symlink, path::Path};

use repackbench_codec::CodecSpec;
use repackbench_reader::{ReaderError, git::GitRepository};

use self::{config::VariantKind, files::Output, remotes::Remotes};
use crate::{
    error::{Result, WriterError},
    layout::StoreKind,
};

/// The codec of a repository that does not name one.
const READ_BY_GIT: &str = "zlib:6";

/// What [`write_metadata`] wrote, and what it left aside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataReport {
    /// How many files, symbolic links counted.
    pub files: u64,
    /// How many bytes are in them; a symbolic link has none.
    pub bytes: u64,
    /// What was not taken over, one sentence each, for the summary.
    pub left_aside: Vec<String>,
}

/// Writes the metadata of `source` into the existing folder `out`, and marks it as a variant under `spec` if stock git cannot
/// read its objects: it cannot read a B-tree, and not every codec.
///
/// Nothing is synced: the caller syncs the finished repository as a whole.
///
/// # Errors
/// [`WriterError::Reader`] when the source does not parse or has changed, [`WriterError::Io`] when a file cannot be written;
/// a file that is already there is an error too.
pub fn write_metadata(
    source: &GitRepository,
    spec: &CodecSpec,
    store: StoreKind,
    out: &Path,
) -> Result<MetadataReport> {
    let kind = VariantKind {
        is_read_by_git: spec.is_read_by_git() && store != StoreKind::Btree,
        has_packs: store == StoreKind::AsFound,
        remotes: Remotes::Named,
    };
    write(source, spec, kind, out)
}

/// Makes a bare repository in the folder `out`, which is not there yet, that has the refs of `source` and, through a link, its very
/// objects, and of its configuration what a variant has, without remotes: for commands of the user's git on the repository as found.
///
/// # Errors
/// As [`write_metadata`].
pub fn isolate(source: &GitRepository, out: &Path) -> Result<()> {
    let is_read_by_git = source.extension_spec().is_none();
    let typed = source.extension_spec().unwrap_or(READ_BY_GIT);
    let spec = typed.parse().map_err(|error| WriterError::Spec { spec: typed.to_owned(), why: format!("{error}") })?;
    fs::create_dir_all(out).map_err(|error| WriterError::io("create", out, error))?;
    write(source, &spec, VariantKind { is_read_by_git, has_packs: true, remotes: Remotes::Promising }, out)?;
    let (objects, own) = (source.common_dir().join("objects"), out.join("objects"));
    let objects = fs::canonicalize(&objects).map_err(|error| ReaderError::io("open", &objects, error))?;
    fs::remove_dir_all(&own).map_err(|error| WriterError::io("remove", &own, error))?;
    symlink(objects, &own).map_err(|error| WriterError::io("create", &own, error))
}

fn write(source: &GitRepository, spec: &CodecSpec, kind: VariantKind, out: &Path) -> Result<MetadataReport> {
    let mut left_aside = Vec::new();
    let config = config::for_variant(source, spec, kind, &mut left_aside)?;
    let mut output = Output::new(out);
    if !left_aside.is_empty() && kind.remotes == Remotes::Named {
        let path = source.common_dir().join("config");
        output.leave_aside(format!("{}: left aside of its remotes: {}", path.display(), left_aside.join(", ")));
    }
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        output.create_folder(folder)?;
    }
    output.write("config", &config)?;
    output.copy_reference(source, &source.head_file()?)?;
    for file in source.reference_files()? {
        output.copy_reference(source, &file)?;
    }
    for file in source.reflog_files()? {
        output.copy_reflog(&file)?;
    }
    for name in ["packed-refs", "shallow", "info/grafts"] {
        output.copy_if_there(name, &source.common_dir().join(name))?;
    }
    Ok(output.into_report())
}
