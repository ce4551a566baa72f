//! Writes everything of a Git repository but its objects, as a bare repository.
//!
//! | written | how |
//! |---|---|
//! | `HEAD`, `refs/**`, `packed-refs` | byte for byte; a symbolic link is kept if it does not lead outside |
//! | `reftable/**` instead of them | byte for byte, the tables in use; a linked work tree's own are added as one table |
//! | `logs/**`, `shallow`, `info/grafts` | byte for byte |
//! | `config` | new: format version, extensions that still apply, where remotes are; nothing that makes git run a program |
//! | `objects/info`, `objects/pack`, `refs/heads`, `refs/tags` | created, since git expects them; with `reftable/`, `HEAD` and `refs/heads` are git's stubs |
//!
//! Left out: hooks, the index, `core.worktree`, linked work trees, the repositories of submodules (each is a repository
//! of its own), pseudo-refs in files of their own such as `FETCH_HEAD`, and alternates, whose objects are in the result.
//! Where the alternates of a network of forks are kept, the list is new and names variants.
//! The same source and codec spec give the same bytes.

mod config;
mod files;
mod remotes;
mod tables;
#[cfg(test)]
mod tests;

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::{
    ReaderError,
    git::{GitRepository, repository::RefStorage},
};

use self::{config::VariantKind, files::Output, remotes::Remotes};
use crate::{
    error::{Result, WriterError},
    layout::StoreKind,
};

/// The spec of a repository that does not record one.
const READ_BY_GIT: &str = "zlib:6";

/// What [`write_metadata`] wrote and left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetadataReport {
    /// The number of files, including symbolic links.
    pub files: u64,
    /// The number of bytes in them. A symbolic link has none.
    pub bytes: u64,
    /// What was not copied, one sentence each, for the summary.
    pub left_out: Vec<String>,
}

/// Writes the metadata of `source` into the existing folder `out`. Marks it as a variant under `spec` if stock git
/// cannot read its objects: it cannot read B-trees, and it cannot read every codec.
///
/// Nothing is synced: the caller syncs the finished repository as a whole.
///
/// # Errors
/// [`WriterError::Reader`] when the source cannot be parsed or has changed, [`WriterError::Io`] when a file cannot be
/// written or already exists.
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

/// Creates a bare repository in the new folder `out` for commands of the user's git on the repository as found. It has
/// the refs of `source`, a link to its objects, and the configuration of a variant without remotes.
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

/// Writes the list of object directories from which the repository in `out` borrows; no file if it is empty.
///
/// # Errors
/// [`WriterError::Output`] for a path that such a list cannot name, [`WriterError::Io`] when it cannot be written.
pub(crate) fn write_alternates(object_dirs: &[PathBuf], out: &Path) -> Result<()> {
    if object_dirs.is_empty() {
        return Ok(());
    }
    let mut lines = Vec::new();
    for folder in object_dirs {
        let path = folder.as_os_str().as_bytes();
        if path.contains(&b'\n') {
            let why = "a list of alternates cannot name it, because of its line feed".to_owned();
            return Err(WriterError::Output { path: folder.clone(), why, force_helps: false });
        }
        lines.extend_from_slice(path);
        lines.push(b'\n');
    }
    let file = out.join("objects/info/alternates");
    let made = fs::create_dir_all(out.join("objects/info")).and_then(|()| fs::write(&file, lines));
    made.map_err(|error| WriterError::io("create", &file, error))
}

fn write(source: &GitRepository, spec: &CodecSpec, kind: VariantKind, out: &Path) -> Result<MetadataReport> {
    let mut left_out = Vec::new();
    let config = config::for_variant(source, spec, kind, &mut left_out)?;
    let mut output = Output::new(out);
    if !left_out.is_empty() && kind.remotes == Remotes::Named {
        let path = source.common_dir().join("config");
        output.note_left_out(format!("{}: ignored settings of its remotes: {}", path.display(), left_out.join(", ")));
    }
    for folder in ["objects/info", "objects/pack"] {
        output.create_folder(folder)?;
    }
    output.write("config", &config)?;
    match source.format().ref_storage {
        RefStorage::Files => write_reference_files(source, &mut output)?,
        RefStorage::Reftable => tables::write_tables(source, &mut output)?,
    }
    for name in ["shallow", "info/grafts"] {
        output.copy_if_there(name, &source.common_dir().join(name))?;
    }
    Ok(output.into_report())
}

fn write_reference_files(source: &GitRepository, output: &mut Output<'_>) -> Result<()> {
    for folder in ["refs/heads", "refs/tags"] {
        output.create_folder(folder)?;
    }
    output.copy_reference(source, &source.head_file()?)?;
    for file in source.reference_files()? {
        output.copy_reference(source, &file)?;
    }
    for file in source.reflog_files()? {
        output.copy_reflog(&file)?;
    }
    output.copy_if_there("packed-refs", &source.common_dir().join("packed-refs"))
}
