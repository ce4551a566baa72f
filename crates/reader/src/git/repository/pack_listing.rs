//! The packs of all object directories.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use crate::error::{ReaderError, Result};

/// The files of one pack, all in the folder `pack/` of one object directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackFiles {
    /// The entries: `.pack`.
    pub pack: PathBuf,
    /// Object ids and offsets: `.idx`.
    pub index: PathBuf,
    /// Index positions in pack order: `.rev`.
    pub reverse_index: Option<PathBuf>,
    /// The mark that the pack must not be repacked: `.keep`, possibly with a reason in it.
    pub keep: Option<PathBuf>,
    /// The mark of a pack that came from a promisor remote: `.promisor`.
    pub promisor: Option<PathBuf>,
    /// The mark of a cruft pack, with the times of its objects: `.mtimes`.
    pub mtimes: Option<PathBuf>,
    /// The mark of a pack whose objects name others of it by number: `.numbers`.
    pub numbers: Option<PathBuf>,
    /// The position of its directory in [`super::GitRepository::object_dirs`].
    pub object_dir: usize,
}

impl PackFiles {
    /// All existing files of the pack.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let side_files = [&self.reverse_index, &self.keep, &self.promisor, &self.mtimes, &self.numbers];
        [&self.pack, &self.index].into_iter().chain(side_files.into_iter().flatten()).map(PathBuf::as_path)
    }
}

/// Lists the packs of `object_dirs`, ordered by directory and file name. A pack without an index, or an index without a
/// pack, is noted and ignored, as in git.
pub(super) fn list(object_dirs: &[PathBuf], notes: &mut Vec<String>) -> Result<Vec<PackFiles>> {
    let mut packs = Vec::new();
    for (object_dir, path) in object_dirs.iter().enumerate() {
        let folder = path.join("pack");
        let names = names_in(&folder)?;
        for name in &names {
            let file = Path::new(name);
            let sibling = |extension: &str| -> Option<PathBuf> {
                let name = file.with_extension(extension).into_os_string();
                names.contains(&name).then(|| folder.join(name))
            };
            let extension = file.extension().and_then(OsStr::to_str);
            match (extension, sibling("pack"), sibling("idx")) {
                (Some("idx"), None, _) => {
                    notes.push(format!("{}: ignored: an index without its pack", folder.join(name).display()));
                }
                (Some("pack"), _, None) => {
                    notes.push(format!("{}: ignored: a pack without its index", folder.join(name).display()));
                }
                (Some("idx"), Some(pack), Some(index)) => packs.push(PackFiles {
                    pack,
                    index,
                    reverse_index: sibling("rev"),
                    keep: sibling("keep"),
                    promisor: sibling("promisor"),
                    mtimes: sibling("mtimes"),
                    numbers: sibling("numbers"),
                    object_dir,
                }),
                _ => {}
            }
        }
    }
    Ok(packs)
}

/// The names of the files in `folder` that belong to packs, sorted. Empty if the folder does not exist.
pub(super) fn names_in(folder: &Path) -> Result<BTreeSet<OsString>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(ReaderError::io("list", folder, error)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry.map_err(|error| ReaderError::io("list", folder, error))?.file_name();
        let extension = Path::new(&name).extension().and_then(OsStr::to_str);
        if matches!(extension, Some("pack" | "idx" | "rev" | "keep" | "promisor" | "mtimes" | "numbers")) {
            names.insert(name);
        }
    }
    Ok(names)
}
