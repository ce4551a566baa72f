//! Mercurial repositories: [`convert`] writes a new one beside its source, [`convert_into`] one in a folder of the caller's.

mod chunks;
mod emit;
mod metadata;
pub mod rechosen;
mod revlogs;
pub(crate) mod variant;

use std::{
    fs::{File, OpenOptions, Permissions},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use repackbench_codec::BASE_REQUIREMENT;
use repackbench_reader::{ReaderError, Snapshot, dictionaries::DICTIONARY_FOLDER, hg::HgRepository};

use crate::{
    Encoding, Progress, Result, WriterError,
    conversion::{Conversion, build_beside, watched},
    own_copy::OWNER_MAY_READ_AND_WRITE,
};

/// Converts the repository `source` into a new one at `target`: a folder with a `.hg` in it, and no checkout.
///
/// # Errors
/// See [`WriterError`]; [`ReaderError::Changed`] or
/// [`Locked`](repackbench_reader::ReaderError::Locked) when the source was written to meanwhile. Nothing is left under
/// `target` then.
pub fn convert(
    source: &HgRepository,
    encoding: &Encoding,
    target: &Path,
    force: bool,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(Conversion, PathBuf)> {
    build_beside(target, force, &folders(source), |out| convert_into(source, encoding, out, threads, progress))
}

/// The folders of `source`. A store may be linked in from elsewhere.
pub(crate) fn folders(source: &HgRepository) -> [PathBuf; 2] {
    [source.hg_dir().to_owned(), source.store_dir()]
}

/// Converts the repository `source` into the empty folder `out`, which the caller syncs and names, or discards on errors.
pub fn convert_into(
    source: &HgRepository,
    encoding: &Encoding,
    out: &Path,
    threads: usize,
    progress: &dyn Progress,
) -> Result<Conversion> {
    watched(
        || source.snapshot().map(Snapshot::Hg),
        || {
            refuse_bases(source)?;
            let hg_dir = out.join(".hg");
            metadata::write_metadata(source, encoding, threads, &hg_dir, progress)?;
            let store = hg_dir.join("store");
            encoding.write_dictionaries(&store.join(DICTIONARY_FOLDER))?;
            let notes = revlogs::convert_revlogs(source, encoding, threads, &store, progress)?;
            Ok(source.notes().iter().cloned().chain(notes).collect())
        },
    )
}

/// An error for a variant whose deltas were compressed with the full texts of their bases: some of them are no deltas any more,
/// so no conversion gives back what there was.
pub(crate) fn refuse_bases(source: &HgRepository) -> Result<()> {
    if !source.requirements().contains(BASE_REQUIREMENT) {
        return Ok(());
    }
    let what = format!(
        "converting a variant with the requirement '{BASE_REQUIREMENT}': convert the repository that it was made from"
    );
    Err(ReaderError::unsupported(source.hg_dir(), what).into())
}

/// Creates the file `path`, which must not exist, with the permission bits of `mode`, and those that its owner needs.
fn create(path: &Path, mode: u32) -> Result<File> {
    let mode = mode & 0o777 | OWNER_MAY_READ_AND_WRITE;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let file = options.open(path).map_err(|e| WriterError::io("create", path, e))?;
    // Whatever the user's mask takes away: in a repository for several users hg gives files the mode of their folder.
    file.set_permissions(Permissions::from_mode(mode))
        .map_err(|e| WriterError::io("set the permissions of", path, e))?;
    Ok(file)
}
