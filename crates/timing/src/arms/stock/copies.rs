//! Copies of repositories that commands may write to.
//!
//! Packs and objects, which git replaces or removes but never modifies, are hard links: they take no space, and share
//! the page cache with the original.

use std::{
    collections::BTreeMap,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use repackbench_writer::copy_as_owner;
use walkdir::WalkDir;

use super::StockError;

/// The files of packs, which git never modifies.
const PACK_FILES: [&str; 3] = ["pack", "idx", "rev"];

/// Copies the git directory or `.hg` folder `from` to `to`, which is created. If its objects are a link to those of another
/// repository, the copy borrows them.
///
/// # Errors
/// [`StockError::Files`]: a file cannot be read or written.
pub fn copy_repository(from: &Path, to: &Path) -> Result<(), StockError> {
    for entry in WalkDir::new(from) {
        let entry = entry.map_err(|error| StockError::files("read", from, error))?;
        let inside = entry.path().strip_prefix(from).unwrap_or(entry.path());
        let place = to.join(inside);
        let made = if entry.file_type().is_dir() {
            fs::create_dir(&place)
        } else if entry.path_is_symlink() && inside == Path::new("objects") {
            borrow_objects(entry.path(), &place)
        } else if is_immutable(inside) {
            // Hard links cannot cross file systems.
            fs::hard_link(entry.path(), &place).or_else(|_| fs::copy(entry.path(), &place).map(drop))
        } else {
            copy_as_owner(entry.path(), &place)
        };
        made.map_err(|error| StockError::files("copy to", &place, error))?;
    }
    Ok(())
}

/// Makes an object directory whose alternate is `objects`. See gitrepository-layout(5).
fn borrow_objects(objects: &Path, place: &Path) -> io::Result<()> {
    let objects = fs::canonicalize(objects)?;
    let path = objects.as_os_str().as_bytes();
    if path.contains(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path of the objects has a line break"));
    }
    fs::create_dir_all(place.join("pack"))?;
    fs::create_dir_all(place.join("info"))?;
    fs::write(place.join("info").join("alternates"), [path, b"\n"].concat())
}

/// The sum of the lengths of all files below `folder`.
pub(in crate::arms) fn bytes_of(folder: &Path) -> Result<u64, StockError> {
    let mut bytes = 0_u64;
    for entry in WalkDir::new(folder) {
        let found = entry.and_then(|entry| entry.metadata());
        let found = found.map_err(|error| StockError::files("measure", folder, error))?;
        bytes = bytes.saturating_add(if found.is_file() { found.len() } else { 0 });
    }
    Ok(bytes)
}

/// The length of each file below `folder`, by its number on the file system: a file that is written anew has another one.
pub(super) fn lengths_of(folder: &Path) -> Result<BTreeMap<u64, u64>, StockError> {
    let mut lengths = BTreeMap::new();
    for entry in WalkDir::new(folder) {
        let found = entry.and_then(|entry| entry.metadata());
        let found = found.map_err(|error| StockError::files("measure", folder, error))?;
        if found.is_file() {
            lengths.insert(found.ino(), found.len());
        }
    }
    Ok(lengths)
}

/// Whether a file of a git directory belongs to a pack or is a loose object.
fn is_immutable(inside: &Path) -> bool {
    let mut parts = inside.iter().filter_map(|part| part.to_str());
    if parts.next() != Some("objects") {
        return false;
    }
    let is_pack = inside.extension().and_then(|found| found.to_str()).is_some_and(|found| PACK_FILES.contains(&found));
    let is_fan_out = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_pack || parts.next().is_some_and(is_fan_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_objects_are_linked_others_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let files =
            ["objects/pack/pack-1.pack", "objects/ab/cd", "objects/info/commit-graph", "HEAD", "refs/heads/ab/x.pack"];
        for file in files {
            let path = from.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        copy_repository(&from, &to).unwrap();
        let is_linked = files.map(|file| {
            assert_eq!(fs::read_to_string(to.join(file)).unwrap(), file);
            fs::metadata(to.join(file)).unwrap().ino() == fs::metadata(from.join(file)).unwrap().ino()
        });
        assert_eq!(is_linked, [true, true, false, false, false]);
        let isolated = folder.path().join("isolated");
        fs::create_dir(&isolated).unwrap();
        std::os::unix::fs::symlink(from.join("objects"), isolated.join("objects")).unwrap();
        let borrowing = folder.path().join("borrowing");
        copy_repository(&isolated, &borrowing).unwrap();
        let alternates = fs::read_to_string(borrowing.join("objects/info/alternates")).unwrap();
        let objects = fs::canonicalize(from.join("objects")).unwrap();
        assert_eq!(Path::new(alternates.trim_end()), objects);
        assert!(copy_repository(&folder.path().join("none"), &folder.path().join("other")).is_err());
    }
}
