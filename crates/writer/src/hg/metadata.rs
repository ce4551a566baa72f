//! Writes everything of a Mercurial repository but its revlogs.
//!
//! | written | how |
//! |---|---|
//! | `.hg/requires`, `.hg/store/requires` | with the requirement of the compression; byte for byte if that changes nothing |
//! | the files in [`KEPT_IN_HG_DIR`](repackbench_reader::hg::repository::KEPT_IN_HG_DIR) | byte for byte |
//! | all other files of the store: `fncache`, phases, bookmarks, markers, node maps, lfs | byte for byte |
//!
//! Left out: the dirstate, caches, locks and the undo files of the last transaction, since the result has no checkout;
//! configuration, which can name programs that hg runs; and dictionaries, which belong only to the chunks of the
//! source. Node maps contain revisions and nodes but no offsets, so they stay valid.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, Permissions},
    io::Write as _,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use repackbench_reader::{ReaderError, hg::HgRepository, threads};

use crate::{
    Encoding, JobControl, ProgressUnit, Result, WriterError,
    new_file::{copy_as_owner, create_with_mode},
};

/// Creating fewer folders than this is faster than starting threads.
const WORTH_THREADS: usize = 32;

/// The owner needs these permissions to fill a folder.
const OWNER_MAY_ALL: u32 = 0o700;

/// Creates `hg_dir` and all folders below it that `source` has files in, and copies all files of the store except
/// revlogs, and `kept` of those outside of it.
pub(super) fn write_metadata(
    source: &HgRepository,
    kept: &[PathBuf],
    encoding: &Encoding,
    hg_dir: &Path,
    control: JobControl<'_>,
) -> Result<()> {
    let JobControl { threads, progress } = control;
    create_folders(source, kept, threads, hg_dir)?;
    write_requirements(source, encoding, hg_dir)?;
    let store = Path::new("store");
    let others: Vec<PathBuf> = source.other_store_files().iter().map(|path| store.join(path)).collect();
    progress.start("copying other files", (kept.len() + others.len()) as u64, ProgressUnit::Items);
    for path in kept.iter().chain(&others) {
        if progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
        let from = source.hg_dir().join(path);
        copy_as_owner(&from, &hg_dir.join(path)).map_err(|e| WriterError::io("copy", &from, e))?;
        progress.advance(1);
    }
    progress.finish();
    Ok(())
}

/// Creates the folders for all files, with their modes in the source: hg derives the modes of new files from them.
fn create_folders(source: &HgRepository, kept: &[PathBuf], threads: usize, hg_dir: &Path) -> Result<()> {
    let store = Path::new("store");
    let mut folders = BTreeSet::from([Path::new("").to_owned(), store.to_owned()]);
    // Neighbours mostly share their folder.
    let mut of_revlogs: Vec<_> = source.revlogs().iter().filter_map(|files| files.index.parent()).collect();
    of_revlogs.dedup();
    let of_revlogs = of_revlogs.into_iter().filter_map(|folder| folder.strip_prefix(source.hg_dir()).ok());
    let others = source.other_store_files().iter().map(|path| store.join(path));
    let of_others = kept.iter().cloned().chain(others).filter_map(|path| path.parent().map(Path::to_owned));
    for path in of_revlogs.map(Path::to_owned).chain(of_others) {
        for folder in path.ancestors() {
            // Then its parents are included too.
            if !folders.insert(folder.to_owned()) {
                break;
            }
        }
    }
    // Each folder comes after its parent.
    let mut by_depth = BTreeMap::<usize, Vec<PathBuf>>::new();
    for folder in folders {
        by_depth.entry(folder.components().count()).or_default().push(folder);
    }
    by_depth.values().try_for_each(|folders| {
        let threads = if folders.len() >= WORTH_THREADS { threads } else { 1 };
        let create = |folder| create_folder(&source.hg_dir().join(folder), &hg_dir.join(folder));
        threads::map(threads, folders, create).map(drop)
    })
}

fn create_folder(from: &Path, to: &Path) -> Result<()> {
    let mode = fs::metadata(from).map_err(|e| ReaderError::io("inspect", from, e))?.permissions().mode();
    fs::create_dir(to).map_err(|e| WriterError::io("create", to, e))?;
    fs::set_permissions(to, Permissions::from_mode(mode & 0o7777 | OWNER_MAY_ALL))
        .map_err(|e| WriterError::io("set the permissions of", to, e))
}

fn write_requirements(source: &HgRepository, encoding: &Encoding, hg_dir: &Path) -> Result<()> {
    let old = source.requirements();
    let new = old.with_compression(encoding.revlog_requirements());
    write_requirements_file(source, "requires", &old.work_tree, &new.work_tree, hg_dir)?;
    if old.is_share_safe() {
        write_requirements_file(source, "store/requires", &old.store, &new.store, hg_dir)?;
    }
    Ok(())
}

/// The content of a `requires` file.
pub(crate) fn requirement_lines(requirements: &BTreeSet<String>) -> Vec<u8> {
    requirements.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

fn write_requirements_file(
    source: &HgRepository,
    name: &str,
    old: &BTreeSet<String>,
    new: &BTreeSet<String>,
    hg_dir: &Path,
) -> Result<()> {
    let (from, to) = (source.hg_dir().join(name), hg_dir.join(name));
    let mode = fs::metadata(&from).map_err(|e| ReaderError::io("inspect", &from, e))?.permissions().mode();
    let content = match old == new {
        true => fs::read(&from).map_err(|e| ReaderError::io("read", &from, e))?,
        false => requirement_lines(new),
    };
    create_with_mode(&to, mode)?.write_all(&content).map_err(|e| WriterError::io("write", &to, e))
}
