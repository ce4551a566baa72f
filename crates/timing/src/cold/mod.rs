//! Cold page caches: copies of variants to read, and getting them out of memory.
//!
//! Where a file happens to lie on a disk moves cold times more than most codecs do, so every variant is read from several
//! physical copies, written in turns, and copies count as a level of their own in statistics.
//!
//! - [`ColdCopies`]: makes and evicts copies;
//! - [`check`]: the device model held against cold reads.

pub mod check;
mod readahead;

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use repackbench_pagecache::{Residency, evict, residency, sync_file_system};
use tempfile::TempDir;
use walkdir::WalkDir;

/// The fewest copies that a cold benchmark reads.
pub const FEWEST_COPIES: usize = 4;

/// How much is copied at a time.
const BUFFER: usize = 1 << 20;

/// Why something cannot be read cold.
#[derive(Debug, thiserror::Error)]
pub enum ColdError {
    /// A file could not be copied, evicted or looked at.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// What was tried, as an infinitive.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Pages stay in memory.
    #[error(
        "{}: {} of {} pages stay in the page cache: another process may map the file, or its file system lies in memory; \
         a run on it would not be cold",
        path.display(), left.resident, left.pages
    )]
    NotCold {
        /// The first file that does.
        path: PathBuf,
        /// What stays of it.
        left: Residency,
    },
    /// The repository is not one folder that can be copied.
    #[error("{}: cannot be copied for cold runs: {why}", path.display())]
    NotOneFolder {
        /// The repository.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ColdError {
    let path = path.to_owned();
    move |source| ColdError::Io { action, path, source }
}

/// Physical copies of repositories, which are removed with this value.
#[derive(Debug)]
pub struct ColdCopies {
    _folder: TempDir,
    /// For each repository its copies.
    copies: Vec<Vec<PathBuf>>,
}

impl ColdCopies {
    /// Copies each of `repositories`, folders that depend on nothing outside, `count` times into a new folder in `place`: one copy
    /// of each, then another of each, each time beginning with another one. Bytes are written anew, never shared, and are on
    /// disk when this returns.
    ///
    /// # Errors
    /// A file cannot be read or written, or a repository borrows from elsewhere.
    pub fn make(repositories: &[&Path], count: usize, place: &Path) -> Result<Self, ColdError> {
        for repository in repositories {
            for alternates in ["objects/info/alternates", ".git/objects/info/alternates"] {
                if repository.join(alternates).exists() {
                    let why = "it borrows objects from another repository";
                    return Err(ColdError::NotOneFolder { path: repository.to_path_buf(), why });
                }
            }
        }
        let folder = tempfile::Builder::new().prefix("cold-copies-").tempdir_in(place);
        let folder = folder.map_err(io_error("make a folder in", place))?;
        let mut copies = vec![Vec::new(); repositories.len()];
        let mut buffer = vec![0; BUFFER];
        for number in 0..count {
            for step in 0..repositories.len() {
                let at = (number + step) % repositories.len();
                let (Some(repository), Some(copies)) = (repositories.get(at), copies.get_mut(at)) else { continue };
                // A Mercurial repository is known by the name of its folder.
                let copy =
                    folder.path().join(format!("{at}-{number}")).join(repository.file_name().unwrap_or_default());
                copy_folder(repository, &copy, &mut buffer)?;
                // Before the next one is written: many file systems choose a place only when they have to.
                sync_file_system(&copy).map_err(io_error("write out", &copy))?;
                copies.push(copy);
            }
        }
        Ok(ColdCopies { _folder: folder, copies })
    }

    /// The copies of the repository `at`, in the order of [`make`](ColdCopies::make).
    pub fn of(&self, at: usize) -> &[PathBuf] {
        self.copies.get(at).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Copies the files below `from` to `to`, which is made. Links are followed, as readers do.
fn copy_folder(from: &Path, to: &Path, buffer: &mut [u8]) -> Result<(), ColdError> {
    for entry in WalkDir::new(from).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|error| io_error("list", from)(error.into()))?;
        let target = to.join(entry.path().strip_prefix(from).unwrap_or(Path::new("")));
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).map_err(io_error("make", &target))?;
        } else if entry.file_type().is_file() {
            copy_file(entry.path(), &target, buffer)?;
        }
    }
    Ok(())
}

/// Not [`fs::copy`], which lets some file systems share the bytes: then all copies would lie in the same place.
fn copy_file(from: &Path, to: &Path, buffer: &mut [u8]) -> Result<(), ColdError> {
    let mut source = File::open(from).map_err(io_error("open", from))?;
    let mut target = File::create(to).map_err(io_error("make", to))?;
    loop {
        let len = source.read(buffer).map_err(io_error("read", from))?;
        let Some(piece) = buffer.get(..len).filter(|piece| !piece.is_empty()) else { break };
        target.write_all(piece).map_err(io_error("write", to))?;
    }
    Ok(())
}

/// Evicts every file below `folder`, and says what stays: nothing, or this is an error that names the first file of which
/// something does. No process may map a file meanwhile, this one included: close every repository in it first.
///
/// # Errors
/// [`ColdError::NotCold`], or a file cannot be looked at.
pub fn make_cold(folder: &Path) -> Result<Residency, ColdError> {
    let files = files_below(folder)?;
    for file in &files {
        evict(file).map_err(io_error("evict", file))?;
    }
    // All of them again: reading one may have brought in another.
    let mut all = Residency::default();
    for file in files {
        let left = residency(&file).map_err(io_error("look up the pages of", &file))?;
        if !left.is_cold() {
            return Err(ColdError::NotCold { path: file, left });
        }
        all += left;
    }
    Ok(all)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>, ColdError> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).follow_links(true).sort_by_file_name() {
        let entry = entry.map_err(|error| io_error("list", folder)(error.into()))?;
        if entry.file_type().is_file() {
            files.push(entry.into_path());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// On a disk: what lies in memory has nothing to be evicted to.
    fn scratch() -> TempDir {
        tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
    }

    fn repository(folder: &Path, name: &str) -> PathBuf {
        let repository = folder.join(name);
        fs::create_dir_all(repository.join("store/data")).unwrap();
        fs::write(repository.join("requires"), "store\n").unwrap();
        fs::write(repository.join("store/data/a.i"), vec![3; 50_000]).unwrap();
        repository
    }

    #[test]
    fn copies_are_whole_separate_and_written_in_turns() {
        let scratch = scratch();
        let (first, second) = (repository(scratch.path(), ".hg"), repository(scratch.path(), "second"));
        let copies = ColdCopies::make(&[&first, &second], FEWEST_COPIES, scratch.path()).unwrap();
        let data = |copy: &PathBuf| copy.join("store/data/a.i");
        for at in 0..2 {
            assert_eq!(copies.of(at).len(), FEWEST_COPIES);
            assert!(copies.of(at).iter().all(|copy| fs::read(data(copy)).unwrap() == vec![3; 50_000]));
        }
        assert!(copies.of(0).iter().all(|copy| copy.file_name().unwrap() == ".hg"));
        let made = |copy: &PathBuf| {
            let metadata = fs::metadata(data(copy)).unwrap();
            (metadata.mtime(), metadata.mtime_nsec())
        };
        let (of_first, of_second) = (copies.of(0), copies.of(1));
        assert!(made(&of_first[0]) <= made(&of_second[0]) && made(&of_second[1]) <= made(&of_first[1]), "in turns");
        let folder = of_first[0].parent().unwrap().to_owned();
        drop(copies);
        assert!(!folder.exists());
    }

    #[test]
    fn a_copy_becomes_cold_and_reading_warms_it() {
        let scratch = scratch();
        let repository = repository(scratch.path(), "one");
        let cold = make_cold(&repository).unwrap();
        assert_eq!(cold, Residency { pages: 13 + 1, resident: 0 });
        let touched = fs::read(repository.join("requires")).unwrap();
        assert_eq!(touched, b"store\n");
        assert_eq!(residency(&repository.join("requires")).unwrap().resident, 1);
        assert_eq!(make_cold(&repository).unwrap().resident, 0);
    }

    #[test]
    fn what_lies_in_memory_is_never_called_cold() {
        // Every Linux has it, and a program may write there.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let repository = repository(folder.path(), "one");
        let error = make_cold(&repository).unwrap_err();
        assert!(matches!(&error, ColdError::NotCold { left, .. } if left.resident > 0), "{error}");
        assert!(error.to_string().contains("would not be cold"), "{error}");
    }

    #[test]
    fn what_borrows_from_elsewhere_is_refused() {
        let scratch = scratch();
        let repository = repository(scratch.path(), "one");
        fs::create_dir_all(repository.join("objects/info")).unwrap();
        fs::write(repository.join("objects/info/alternates"), "/elsewhere\n").unwrap();
        let error = ColdCopies::make(&[&repository], 4, scratch.path()).unwrap_err();
        assert!(error.to_string().contains("borrows objects"), "{error}");
    }
}
