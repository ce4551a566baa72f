//! The files of a store, found by walking it. An `fncache` may list too much or too little.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

use crate::{
    ObjectKind, ReaderError, Result,
    bounds::Bounds,
    dictionaries::DICTIONARY_FOLDER,
    hg::{
        file_index, read_or_empty,
        revlog::RevlogFiles,
        store_names::{self, NameEncoding},
    },
};

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) revlogs: Vec<RevlogFiles>,
    pub(super) other_files: Vec<PathBuf>,
    pub(super) dictionary_files: Vec<PathBuf>,
    pub(super) notes: Vec<String>,
}

/// The folders in which every `.i` file is a revlog.
const REVLOG_FOLDERS: [&str; 3] = ["data", "dh", "meta"];

/// The revlogs directly in the store.
const ROOT_REVLOGS: [(&str, ObjectKind); 2] =
    [("00changelog", ObjectKind::Changelog), ("00manifest", ObjectKind::Manifest)];

/// Whether the file at `path` below the store is not copied. These are files directly in the store: locks, `requires`,
/// which is written again, and those that undo the last transaction.
fn is_left_out(path: &OsStr) -> bool {
    let name = path.as_bytes();
    let by_name = name == b"requires" || name == b"lock" || name.starts_with(b"undo") || name.starts_with(b"journal");
    by_name && !name.contains(&b'/')
}

/// Walks `store`, which belongs to a repository with these `bounds`.
pub(super) fn list(store: &Path, bounds: Bounds<'_>, encoding: NameEncoding) -> Result<Listing> {
    let mut paths = Vec::new();
    walk(store, bounds, Found { path: PathBuf::new(), is_directory: true, is_link: false }, &mut paths)?;
    let mut tracked = TrackedPaths { store, encoding, hashed: None };
    let (mut listing, mut data_files) = (Listing::default(), HashMap::new());
    for path in paths {
        if let Some(kind) = kind_of(&path) {
            let (index, data) = (store.join(&path), tracked.data_file(&path)?);
            let files =
                RevlogFiles { index, data: store.join(&data), has_data: false, kind, path: tracked.of(&path, kind)? };
            data_files.insert(data, listing.revlogs.len());
            listing.revlogs.push(files);
        } else if path.starts_with(DICTIONARY_FOLDER) {
            listing.dictionary_files.push(path);
        } else if !is_left_out(path.as_os_str()) {
            listing.other_files.push(path);
        }
    }
    listing.other_files.retain(|path| {
        let revlog = data_files.get(path).and_then(|number| listing.revlogs.get_mut(*number));
        revlog.map(|files| files.has_data = true).is_none()
    });
    listing.revlogs.sort_by_key(|files| files.kind);
    for path in &listing.other_files {
        if path.extension().is_some_and(|extension| extension == "d") && in_revlog_folder(path) {
            listing
                .notes
                .push(format!("{}: copied unchanged: a data file without an index", store.join(path).display()));
        }
    }
    Ok(listing)
}

struct Found {
    /// Its path below the store.
    path: PathBuf,
    is_directory: bool,
    is_link: bool,
}

fn list_folder(store: &Path, bounds: Bounds<'_>, folder: &Path) -> Result<Vec<Found>> {
    let absolute = store.join(folder);
    let failed = |e| ReaderError::io("list", &absolute, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(&absolute).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let path = folder.join(entry.file_name());
        // The lock of a store is a dangling link.
        let target = bounds.check_listed(&entry.path(), kind)?;
        let is_directory = target.is_some_and(|kind| kind.is_dir());
        found.push(Found { path, is_directory, is_link: kind.is_symlink() });
    }
    Ok(found)
}

/// Appends the files below `folder` to `paths`, sorted.
fn walk(store: &Path, bounds: Bounds<'_>, folder: Found, paths: &mut Vec<PathBuf>) -> Result<()> {
    let (mut rest, mut linked) = (vec![folder], HashSet::new());
    while let Some(found) = rest.pop() {
        if !found.is_directory {
            paths.push(found.path);
            continue;
        }
        if found.is_link {
            let path = store.join(&found.path);
            let target = fs::metadata(&path).map_err(|e| ReaderError::io("inspect", &path, e))?;
            if !linked.insert((target.dev(), target.ino())) {
                return Err(ReaderError::unsupported(&path, "a second symbolic link to the same folder"));
            }
        }
        let mut entries = list_folder(store, bounds, &found.path)?;
        // The next one is taken from the end. Sorting the names in one folder is cheaper than sorting whole paths.
        entries.sort_unstable_by(|left, right| right.path.as_os_str().cmp(left.path.as_os_str()));
        rest.append(&mut entries);
    }
    Ok(())
}

/// Appends the file `name` in `folder`, or the sorted files below it, to `files` as paths below `folder`. Appends
/// nothing if it does not exist.
pub(super) fn files_at(folder: &Path, bounds: Bounds<'_>, name: &str, files: &mut Vec<PathBuf>) -> Result<()> {
    let path = folder.join(name);
    let Some(kind) = bounds.check(&path)? else { return Ok(()) };
    let found = Found { path: name.into(), is_directory: kind.is_dir(), is_link: path.is_symlink() };
    walk(folder, bounds, found, files)
}

fn in_revlog_folder(path: &Path) -> bool {
    path.iter().next().is_some_and(|first| REVLOG_FOLDERS.iter().any(|folder| first == *folder))
}

/// The kind of the revlog with the index `path`; `None` if it is no index of a revlog.
fn kind_of(path: &Path) -> Option<ObjectKind> {
    let stem = path.file_stem()?;
    path.extension().filter(|extension| *extension == "i")?;
    if path.parent().is_some_and(|parent| parent.as_os_str().is_empty()) {
        return ROOT_REVLOGS.into_iter().find(|(name, _)| stem == *name).map(|(_, kind)| kind);
    }
    if !in_revlog_folder(path) {
        return None;
    }
    // A directory's manifest has this name. A hashed name starts with it.
    let is_manifest = path.starts_with("meta")
        || path.starts_with("dh") && stem.as_bytes().starts_with(b"00manifest.i") && stem.len() > 40;
    Some(if is_manifest { ObjectKind::Manifest } else { ObjectKind::Filelog })
}

fn is_hashed(name: &[u8]) -> bool {
    name.starts_with(b"dh/")
}

/// Finds the tracked files for names in the store.
struct TrackedPaths<'a> {
    store: &'a Path,
    encoding: NameEncoding,
    /// Built when the first hashed name is found.
    hashed: Option<HashMap<Vec<u8>, Vec<u8>>>,
}

impl TrackedPaths<'_> {
    /// The tracked path of the revlog with the index `path` below the store. If it is unknown, as for a hashed name
    /// without an fncache, it is the name on disk.
    fn of(&mut self, path: &Path, kind: ObjectKind) -> Result<Vec<u8>> {
        let name = path.as_os_str().as_bytes();
        let decoded = if is_hashed(name) { self.hashed()?.get(name).cloned() } else { store_names::decode(name) };
        let full = decoded.unwrap_or_else(|| name.to_vec());
        let stem = full.strip_suffix(b".i").unwrap_or(&full);
        let below = stem.strip_prefix(b"data/").or_else(|| stem.strip_prefix(b"meta/")).unwrap_or(stem);
        Ok(match kind {
            ObjectKind::Changelog => Vec::new(),
            ObjectKind::Manifest => below.strip_suffix(b"00manifest").unwrap_or(below).to_vec(),
            _ => below.to_vec(),
        })
    }

    /// The data file of the revlog with the index `path`, if it is not inline. A hash covers the ending of a name, so a
    /// hashed index does not have the same stem as its data file.
    fn data_file(&mut self, path: &Path) -> Result<PathBuf> {
        let (name, encoding) = (path.as_os_str().as_bytes(), self.encoding);
        if is_hashed(name)
            && let Some(stem) = self.hashed()?.get(name).and_then(|full| full.strip_suffix(b".i"))
        {
            return Ok(OsString::from_vec(encoding.encode(&[stem, b".d"].concat())).into());
        }
        Ok(path.with_extension("d"))
    }

    fn hashed(&mut self) -> Result<&HashMap<Vec<u8>, Vec<u8>>> {
        if self.hashed.is_none() {
            let mut names = store_names::hashed_names(&read_or_empty(&self.store.join("fncache"))?, self.encoding);
            names.extend(store_names::hashed_tracked_paths(&file_index::listed_paths(self.store)?, self.encoding));
            self.hashed = Some(names);
        }
        Ok(self.hashed.get_or_insert_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_in_order_of_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path();
        let names = [
            "00changelog.i",
            "00manifest.d",
            "00manifest.i",
            "data/a/b.i",
            "data/a-b/c.d",
            "data/a-b/c.i",
            "data/a.i",
            "data/orphan.d",
            "lock",
            "phaseroots",
            "repackbench/dictionaries",
            "requires",
            "undo.bookmarks",
        ];
        for name in names {
            fs::create_dir_all(store.join(name).parent().unwrap()).unwrap();
            fs::write(store.join(name), "").unwrap();
        }
        let listing = list(store, Bounds::of(store), NameEncoding::Plain).unwrap();
        let revlogs: Vec<_> = listing.revlogs.iter().map(|files| (files.index.as_path(), files.has_data)).collect();
        let mut expected = ["data/a/b.i", "data/a-b/c.i", "data/a.i"].map(|name| store.join(name));
        expected.sort();
        assert_eq!(revlogs[2..].iter().map(|(index, _)| *index).collect::<Vec<_>>(), expected);
        let split: Vec<_> = revlogs.iter().filter(|(_, has_data)| *has_data).map(|(index, _)| *index).collect();
        assert_eq!(split, [store.join("00manifest.i"), store.join("data/a-b/c.i")]);
        assert_eq!(listing.other_files, ["data/orphan.d", "phaseroots"].map(PathBuf::from));
        assert_eq!(listing.dictionary_files, ["repackbench/dictionaries"].map(PathBuf::from));
        assert_eq!(listing.notes.len(), 1, "{:?}", listing.notes);
    }

    #[test]
    fn only_files_directly_in_store_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let nested = Path::new("undo.kept/file");
        fs::create_dir(folder.path().join("undo.kept")).unwrap();
        fs::write(folder.path().join(nested), "").unwrap();
        assert_eq!(list(folder.path(), Bounds::of(folder.path()), NameEncoding::Plain).unwrap().other_files, [nested]);
    }
}
