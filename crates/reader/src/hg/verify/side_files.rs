//! What repositories hold besides revlogs: requirements, names, phases, and content that is stored elsewhere.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;

use super::HgDifference;
use crate::{
    ObjectKind, Place, ReaderError, Result,
    git::hash::GitHasher,
    hg::{HgRepository, file_index, read_if_there, revlog::RevlogFiles, store_names},
};

/// Files that say something of the history, below `.hg`.
const COMPARED_FILES: [&str; 5] = ["bookmarks", "localtags", "store/bookmarks", "store/obsstore", "store/narrowspec"];

/// A file of which only the lines count, in whatever order.
const PHASES: &str = "store/phaseroots";

/// Requirements of a work tree, which no variant has.
const OF_WORK_TREE: &str = "dirstate-";

/// Compares two repositories; `empty` are the revlogs of each that hold nothing.
pub(super) fn compare(
    repositories: [&HgRepository; 2],
    empty: [&HashSet<PathBuf>; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) -> Result<()> {
    let requirements = repositories.map(requirements);
    only_in_one(&requirements, |name| format!("the requirement {name}"), on_difference);
    for path in COMPARED_FILES {
        let [first, second] = repositories.map(|repository| read_if_there(&repository.hg_dir().join(path)));
        if first? != second? {
            on_difference(HgDifference::File { path: path.to_owned() });
        }
    }
    let [first, second] = repositories.map(|repository| read_if_there(&repository.hg_dir().join(PHASES)));
    if lines(&first?) != lines(&second?) {
        on_difference(HgDifference::File { path: PHASES.to_owned() });
    }
    compare_names(repositories, empty, on_difference);
    compare_outside_content(repositories, on_difference)
}

fn lines(content: &[u8]) -> BTreeSet<&[u8]> {
    content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

/// What only one of two sets has.
fn only_in_one<T: Ord>(
    sets: &[BTreeSet<T>; 2],
    name: impl Fn(&T) -> String,
    on_difference: &mut dyn FnMut(HgDifference),
) {
    let [first, second] = sets;
    for (which, one, other) in [('A', first, second), ('B', second, first)] {
        one.difference(other).for_each(|only| on_difference(HgDifference::OnlyIn { which, name: name(only) }));
    }
}

/// What a program has to know, but for the codec.
fn requirements(repository: &HgRepository) -> BTreeSet<String> {
    let requirements = repository.requirements().with_compression(None);
    let all = requirements.work_tree.into_iter().chain(requirements.store);
    all.filter(|name| !name.starts_with(OF_WORK_TREE)).collect()
}

/// Compares the lists of names that clones and upgrades go by.
fn compare_names(
    repositories: [&HgRepository; 2],
    empty: [&HashSet<PathBuf>; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) {
    let [first, second] = repositories;
    let [empty_in_first, empty_in_second] = empty;
    let mut list = |which, repository, empty| {
        listed_names(repository, empty).map_err(|error| on_difference(HgDifference::Damaged { which, error })).ok()
    };
    if let (Some(one), Some(other)) = (list('A', first, empty_in_first), list('B', second, empty_in_second))
        && one != other
    {
        let has_file_index = repositories.iter().any(|repository| repository.requirements().contains("fileindex-v1"));
        let path = if has_file_index { "store/fileindex" } else { "store/fncache" };
        on_difference(HgDifference::File { path: path.to_owned() });
    }
}

/// The names of revlogs that the store lists, such as `data/Dir/A.txt.i`, without those that hold nothing. Data files are
/// left out: whether there is one depends on how long the chunks are.
fn listed_names(repository: &HgRepository, empty: &HashSet<PathBuf>) -> Result<BTreeSet<Vec<u8>>> {
    let store = repository.store_dir();
    let mut names = BTreeSet::new();
    if repository.requirements().contains("fncache") {
        let listed = read_if_there(&store.join("fncache"))?;
        let indexes = lines(&listed).into_iter().filter(|name| name.ends_with(b".i"));
        names.extend(indexes.map(store_names::unmark_directories));
    }
    if repository.requirements().contains("fileindex-v1") {
        let listed = file_index::listed_paths(&store)?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        names.extend(paths.map(|path| [b"data/", path, b".i"].concat()));
    }
    let encoding = repository.requirements().name_encoding();
    let holds_nothing = |name: &[u8]| empty.contains(&store.join(OsStr::from_bytes(&encoding.encode(name))));
    names.retain(|name| empty.is_empty() || !holds_nothing(name));
    Ok(names)
}

/// The index files of revlogs without a revision, as stripping leaves them behind.
pub(super) fn empty_revlogs(repository: &HgRepository) -> HashSet<PathBuf> {
    let is_empty = |files: &&RevlogFiles| fs::metadata(&files.index).is_ok_and(|metadata| metadata.len() == 0);
    repository.revlogs().iter().filter(is_empty).map(|files| files.index.clone()).collect()
}

/// Compares what the extensions `lfs` and `largefiles` keep beside the store: files that are named by their hash, which
/// therefore have the same content if they are what their name says.
fn compare_outside_content(
    repositories: [&HgRepository; 2],
    on_difference: &mut dyn FnMut(HgDifference),
) -> Result<()> {
    let [first, second] = repositories.map(outside_content);
    let sides = [('A', first?), ('B', second?)];
    let names = sides.each_ref().map(|(_, files)| files.keys().cloned().collect::<BTreeSet<_>>());
    only_in_one(&names, |path| path.display().to_string(), on_difference);
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

/// Files that are named by their hash, by their paths below `.hg`.
type OutsideContent = BTreeMap<PathBuf, (PathBuf, ObjectId)>;

/// Source: `hg help -e lfs` and `-e largefiles`, and where hg puts them: `store/lfs/objects/12/3456...` by SHA-256, of which the
/// folder's name is the first byte, and `largefiles/123456...` by SHA-1.
fn outside_content(repository: &HgRepository) -> Result<OutsideContent> {
    let mut found = OutsideContent::new();
    for (file, _) in repository.files()? {
        let Ok(path) = file.strip_prefix(repository.hg_dir()) else { continue };
        let digits = if let Ok(below) = path.strip_prefix("store/lfs/objects") {
            below.iter().map(OsStr::as_bytes).collect::<Vec<_>>().concat()
        } else if let Ok(below) = path.strip_prefix("largefiles") {
            below.as_os_str().as_bytes().to_vec()
        } else {
            continue;
        };
        // Other files there serve a work tree, or a transfer under way.
        if let Ok(id) = ObjectId::from_hex(&digits) {
            found.insert(path.to_owned(), (file, id));
        }
    }
    Ok(found)
}

fn hash(path: &Path, kind: gix_hash::Kind) -> Result<ObjectId> {
    const STEP: usize = 64 << 10;
    let failed = |e| ReaderError::io("read", path, e);
    let (mut file, mut hasher) = (File::open(path).map_err(failed)?, GitHasher::new(kind));
    let mut buffer = vec![0; STEP];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(hasher.finish()),
            len => hasher.update(buffer.get(..len).unwrap_or_default()),
        }
    }
}

/// The revlogs of a repository that hold something, by what they belong to.
pub(super) fn by_subject<'a>(
    repository: &'a HgRepository,
    empty: &'a HashSet<PathBuf>,
) -> impl Iterator<Item = ((ObjectKind, &'a [u8]), &'a RevlogFiles)> {
    let full = repository.revlogs().iter().filter(|files| !empty.contains(&files.index));
    full.map(|files| ((files.kind, files.path.as_slice()), files))
}
