//! Comparing files other than revlogs: requirements, names, phases, and content that is stored elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsStr,
    fs::{self, File},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;

use super::HgDifference;
use crate::{
    ObjectKind, Place, ReaderError, Result,
    hash::IdHasher,
    hg::{
        HgRepository,
        copied_files::{FNCACHE, PHASES, read_fncache},
        file_index, read_or_empty,
        revlog::{Revlog, RevlogFiles},
    },
};

/// Files below `.hg` that belong to the history.
const COMPARED_FILES: [&str; 6] =
    ["bookmarks", "localtags", "sparse", "store/bookmarks", "store/obsstore", "store/narrowspec"];

/// The prefix of requirements that only concern a work tree. No variant has them.
const WORK_TREE_PREFIX: &str = "dirstate-";

/// Compares two repositories. `empty` are the empty revlogs of each.
pub(super) fn compare(
    repositories: [&HgRepository; 2],
    empty: [&HashSet<PathBuf>; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) -> Result<()> {
    compare_requirements(repositories, on_difference);
    for path in COMPARED_FILES {
        let [first, second] = repositories.map(|repository| read_or_empty(&repository.hg_dir().join(path)));
        if let Some(what) = different_content(&first?, &second?) {
            on_difference(HgDifference::File { path: path.to_owned(), what });
        }
    }
    let [first, second] = repositories.map(|repository| read_or_empty(&repository.hg_dir().join(PHASES)));
    let (first, second) = (first?, second?);
    only_in_one(&[lines(&first), lines(&second)], |which, line| entry_of(PHASES, which, line), on_difference);
    compare_names(repositories, empty, on_difference);
    compare_external_content(repositories, on_difference)
}

/// A description of the difference between two contents, by length and offset since the files may be binary.
fn different_content(first: &[u8], second: &[u8]) -> Option<String> {
    if first == second {
        return None;
    }
    let [one, other] = [first, second].map(|content| match content.len() {
        0 => "nothing".to_owned(),
        len => format!("{len} bytes"),
    });
    let same = first.iter().zip(second).take_while(|(one, other)| one == other).count();
    Some(format!("{one} in A, {other} in B, the same up to offset {same}"))
}

/// The difference for a line of the file `path`, or the entry it represents, that only one repository has.
fn entry_of(path: &str, which: char, entry: &[u8]) -> HgDifference {
    HgDifference::File { path: path.to_owned(), what: format!("'{}' only in {which}", entry.escape_ascii()) }
}

fn lines(content: &[u8]) -> BTreeSet<&[u8]> {
    content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

/// Calls `on_difference` for everything that only one of two sets has.
fn only_in_one<T: Ord>(
    sets: &[BTreeSet<T>; 2],
    difference: impl Fn(char, &T) -> HgDifference,
    on_difference: &mut dyn FnMut(HgDifference),
) {
    let [first, second] = sets;
    for (which, one, other) in [('A', first, second), ('B', second, first)] {
        one.difference(other).for_each(|only| on_difference(difference(which, only)));
    }
}

/// Compares requirements other than those on the codec, by file.
fn compare_requirements(repositories: [&HgRepository; 2], on_difference: &mut dyn FnMut(HgDifference)) {
    let requirements = repositories.map(|repository| repository.requirements().with_compression(None));
    let of_store = requirements.each_ref().map(|requirements| requirements.store.clone());
    let of_work_tree = requirements.map(|mut requirements| {
        requirements.work_tree.retain(|name| !name.starts_with(WORK_TREE_PREFIX));
        requirements.work_tree
    });
    for (path, sets) in [("requires", of_work_tree), ("store/requires", of_store)] {
        only_in_one(
            &sets,
            |which, name| HgDifference::OnlyIn { which, name: format!("the requirement {name} in {path}") },
            on_difference,
        );
    }
}

/// Compares the lists of names that clones and upgrades use.
fn compare_names(
    repositories: [&HgRepository; 2],
    empty: [&HashSet<PathBuf>; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) {
    let [first, second] = repositories;
    let [empty_in_first, empty_in_second] = empty;
    let mut list = |which, repository, empty| {
        ListedNames::read(repository, empty).map_err(|error| on_difference(HgDifference::Damaged { which, error })).ok()
    };
    let (one, other) = (list('A', first, empty_in_first), list('B', second, empty_in_second));
    let (Some(one), Some(other)) = (one, other) else { return };
    let has_file_index = repositories.iter().any(|repository| repository.requirements().contains("fileindex-v1"));
    let path = if has_file_index { "store/fileindex" } else { FNCACHE };
    only_in_one(&[one.indexes, other.indexes], |which, name| entry_of(path, which, name), on_difference);
    let unlisted = |which, name: &Vec<u8>| {
        let what = format!("'{}' exists but is not listed in {which}", name.escape_ascii());
        HgDifference::File { path: path.to_owned(), what }
    };
    only_in_one(&[one.unlisted_data, other.unlisted_data], unlisted, on_difference);
}

/// The names of revlogs that a store lists.
struct ListedNames {
    /// The names of indexes, such as `data/Dir/A.txt.i`, without those of empty revlogs.
    indexes: BTreeSet<Vec<u8>>,
    /// Existing data files that are not listed: a clone that copies files would lack them. Listed data files are not
    /// compared, because their existence depends on the length of the chunks.
    unlisted_data: BTreeSet<Vec<u8>>,
}

impl ListedNames {
    fn read(repository: &HgRepository, empty: &HashSet<PathBuf>) -> Result<Self> {
        let store = repository.store_dir();
        let (mut indexes, mut unlisted_data) = (BTreeSet::new(), BTreeSet::new());
        if repository.requirements().contains("fncache") {
            let mut listed = read_fncache(&store.join("fncache"))?;
            unlisted_data = unlisted_data_files(repository, &listed);
            listed.retain(|name| name.ends_with(b".i"));
            indexes.append(&mut listed);
        }
        if repository.requirements().contains("fileindex-v1") {
            let listed = file_index::listed_paths(&store)?;
            let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
            indexes.extend(paths.map(|path| [b"data/", path, b".i"].concat()));
        }
        let encoding = repository.requirements().name_encoding();
        let holds_nothing = |name: &[u8]| empty.contains(&store.join(OsStr::from_bytes(&encoding.encode(name))));
        indexes.retain(|name| empty.is_empty() || !holds_nothing(name));
        Ok(ListedNames { indexes, unlisted_data })
    }
}

/// The names of existing data files of revlogs that are not in `listed`.
fn unlisted_data_files(repository: &HgRepository, listed: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    let mut unlisted = BTreeSet::new();
    for files in repository.revlogs().iter().filter(|files| files.has_data) {
        let path = files.path.as_slice();
        let name = match files.kind {
            ObjectKind::Filelog => [b"data/", path, b".d"].concat(),
            ObjectKind::Manifest if !path.is_empty() => [b"meta/", path, b"00manifest.d"].concat(),
            // Every store has these, so hg does not list them.
            _ => continue,
        };
        // hg ignores a data file beside an inline revlog.
        if !listed.contains(&name) && is_split(files) {
            unlisted.insert(name);
        }
    }
    unlisted
}

/// Whether the chunks of a revlog are in its data file. `false` for a damaged revlog: the damage is reported when its
/// revisions are read.
fn is_split(files: &RevlogFiles) -> bool {
    Revlog::open(files).is_ok_and(|revlog| revlog.header().is_some_and(|header| !header.is_inline()))
}

/// The index files of revlogs without revisions, which stripping leaves.
pub(super) fn empty_revlogs(repository: &HgRepository) -> HashSet<PathBuf> {
    let is_empty = |files: &&RevlogFiles| fs::metadata(&files.index).is_ok_and(|metadata| metadata.len() == 0);
    repository.revlogs().iter().filter(is_empty).map(|files| files.index.clone()).collect()
}

/// Compares the files that the extensions `lfs` and `largefiles` keep outside of revlogs. They are named by their hash,
/// so files with the same name have the same content if each matches its name.
fn compare_external_content(
    repositories: [&HgRepository; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) -> Result<()> {
    let [first, second] = repositories.map(external_content);
    let sides = [('A', first?), ('B', second?)];
    let names = sides.each_ref().map(|(_, files)| files.keys().cloned().collect::<BTreeSet<_>>());
    let only = |which, path: &PathBuf| HgDifference::OnlyIn { which, name: path.display().to_string() };
    only_in_one(&names, only, on_difference);
    for (which, files) in sides {
        for (path, expected) in files.into_values() {
            let found = hash(&path, expected.kind())?;
            if found != expected {
                let expected = format!("content that hashes to its name {expected}");
                let error = ReaderError::corrupt(&path, Place::Whole, expected, found.to_string());
                on_difference(HgDifference::Damaged { which, error });
            }
        }
    }
    Ok(())
}

/// Files that are named by their hash, by path below `.hg`.
type ExternalContent = BTreeMap<PathBuf, (PathBuf, ObjectId)>;

/// The external files of a repository and their hashes.
///
/// Source: `hg help -e lfs` and `-e largefiles`, and the paths that hg uses: `store/lfs/objects/12/3456...` with a
/// SHA-256, whose first byte is the name of the folder, and `largefiles/123456...` with a SHA-1.
fn external_content(repository: &HgRepository) -> Result<ExternalContent> {
    let mut found = ExternalContent::new();
    for (file, _) in repository.files()? {
        let Ok(path) = file.strip_prefix(repository.hg_dir()) else { continue };
        let digits = if let Ok(below) = path.strip_prefix("store/lfs/objects") {
            below.iter().map(OsStr::as_bytes).collect::<Vec<_>>().concat()
        } else if let Ok(below) = path.strip_prefix("largefiles") {
            below.as_os_str().as_bytes().to_vec()
        } else {
            continue;
        };
        // Other files there belong to a work tree or to an unfinished transfer.
        if let Ok(id) = ObjectId::from_hex(&digits) {
            found.insert(path.to_owned(), (file, id));
        }
    }
    Ok(found)
}

fn hash(path: &Path, kind: gix_hash::Kind) -> Result<ObjectId> {
    let mut hasher = IdHasher::new(kind);
    let hashed = File::open(path).and_then(|mut file| hasher.update_from(&mut file));
    hashed.map_err(|error| ReaderError::io("read", path, error))?;
    Ok(hasher.finish())
}

/// The revlogs of a repository that are not empty, by what they belong to.
pub(super) fn by_subject<'a>(
    repository: &'a HgRepository,
    empty: &'a HashSet<PathBuf>,
) -> impl Iterator<Item = ((ObjectKind, &'a [u8]), &'a RevlogFiles)> {
    let full = repository.revlogs().iter().filter(|files| !empty.contains(&files.index));
    full.map(|files| ((files.kind, files.path.as_slice()), files))
}
