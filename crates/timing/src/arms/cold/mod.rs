//! Cold page caches: copies of variants, and evicting them from memory.
//!
//! The place of a file on a disk changes cold times more than most codecs do. So every variant is read from several
//! physical copies, which are written in turns, and statistics treat copies as a level of their own.
//!
//! - [`ColdCopies`]: makes and evicts copies;
//! - [`check`]: the device model compared with cold reads;
//! - [`memory_check`]: the modelled page cache compared with a cgroup with a limit;
//! - [`touches`]: the time of the first touch of each page.

pub mod check;
pub mod memory_check;
mod readahead;
pub mod touches;

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use repackbench_pagecache::{Residency, evict, residency, sync_file_system};
use repackbench_writer::{Progress, ProgressUnit, leftovers::Leftover};
use tempfile::TempDir;
use walkdir::WalkDir;

/// The smallest number of copies that a cold benchmark reads.
pub const FEWEST_COPIES: usize = 4;

/// The number of bytes that are copied at a time.
const BUFFER: usize = 1 << 20;

/// Why a copy cannot be read cold.
#[derive(Debug, thiserror::Error)]
pub enum ColdError {
    /// A file could not be copied, evicted or inspected.
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
        "{}: {} of {} pages stay in the page cache: another process may map the file, or its file system is in memory; \
         a run on it would not be cold",
        path.display(), left.resident, left.pages
    )]
    NotCold {
        /// The first file with such pages.
        path: PathBuf,
        /// The pages of it that stay.
        left: Residency,
    },
    /// The user stopped the copying.
    #[error("interrupted while copying")]
    Interrupted,
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
    _leftover: Leftover,
    /// The copies of each repository.
    copies: Vec<Vec<PathBuf>>,
}

impl ColdCopies {
    /// Copies each of `repositories`, which are folders that depend on nothing outside, `count` times into a new folder
    /// in `place`: one copy of each, then another copy of each, each time beginning with another repository. Bytes are
    /// copied, never shared, and are on disk when this returns. `progress` first receives the number of bytes. If the
    /// user stops it, nothing is left.
    ///
    /// # Errors
    /// A file cannot be read or written, a repository borrows from elsewhere, or the user stops it.
    pub fn make(
        repositories: &[&Path],
        count: usize,
        place: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, ColdError> {
        for repository in repositories {
            for alternates in ["objects/info/alternates", ".git/objects/info/alternates"] {
                if repository.join(alternates).exists() {
                    let why = "it borrows objects from another repository";
                    return Err(ColdError::NotOneFolder { path: repository.to_path_buf(), why });
                }
            }
        }
        let folder = tempfile::Builder::new().prefix("cold-copies-").tempdir_in(place);
        let folder = folder.map_err(io_error("create a folder in", place))?;
        let leftover = Leftover::new(folder.path());
        let mut copies = vec![Vec::new(); repositories.len()];
        announce(repositories, count, place, progress)?;
        let mut copier = Copier { buffer: vec![0; BUFFER], progress };
        for number in 0..count {
            for step in 0..repositories.len() {
                let at = (number + step) % repositories.len();
                let (Some(repository), Some(copies)) = (repositories.get(at), copies.get_mut(at)) else { continue };
                // A Mercurial repository is recognised by the name of its folder.
                let copy =
                    folder.path().join(format!("{at}-{number}")).join(repository.file_name().unwrap_or_default());
                copier.copy_folder(repository, &copy)?;
                // Before the next copy is written: many file systems choose a place on the disk as late as possible.
                sync_file_system(&copy).map_err(io_error("write out", &copy))?;
                copies.push(copy);
            }
        }
        progress.finish();
        Ok(ColdCopies { _folder: folder, _leftover: leftover, copies })
    }

    /// The copies of the repository `at`, in the order of [`make`](ColdCopies::make).
    pub fn of(&self, at: usize) -> &[PathBuf] {
        self.copies.get(at).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Notes beforehand how many bytes will be written: many times the size of the repositories.
fn announce(repositories: &[&Path], count: usize, place: &Path, progress: &dyn Progress) -> Result<(), ColdError> {
    let mut bytes = 0_u64;
    for repository in repositories {
        for file in files_below(repository)? {
            bytes = bytes.saturating_add(fs::metadata(&file).map_err(io_error("look up", &file))?.len());
        }
    }
    let bytes = bytes.saturating_mul(count as u64);
    let repositories = match repositories.len() {
        1 => "the repository".to_owned(),
        rows => format!("each of {rows} rows"),
    };
    progress.note(&format!(
        "cold runs: writing {count} copies of {repositories} below {}, {:.1} MB in total; they are removed afterwards",
        place.display(),
        bytes as f64 / 1e6,
    ));
    progress.start("copying for cold runs", bytes, ProgressUnit::Bytes);
    Ok(())
}

/// A buffer, and the progress of copying.
struct Copier<'a> {
    buffer: Vec<u8>,
    progress: &'a dyn Progress,
}

impl Copier<'_> {
    /// Copies the files below `from` to `to`, which is made. Links are followed, as readers do.
    fn copy_folder(&mut self, from: &Path, to: &Path) -> Result<(), ColdError> {
        for entry in WalkDir::new(from).follow_links(true).sort_by_file_name() {
            let entry = entry.map_err(|error| io_error("list", from)(error.into()))?;
            let target = to.join(entry.path().strip_prefix(from).unwrap_or(Path::new("")));
            if entry.file_type().is_dir() {
                fs::create_dir_all(&target).map_err(io_error("create", &target))?;
            } else if entry.file_type().is_file() {
                self.copy_file(entry.path(), &target)?;
            }
        }
        Ok(())
    }

    /// Not [`fs::copy`], which lets some file systems share the bytes: then all copies would be in the same place.
    fn copy_file(&mut self, from: &Path, to: &Path) -> Result<(), ColdError> {
        let mut source = File::open(from).map_err(io_error("open", from))?;
        let mut target = File::create(to).map_err(io_error("create", to))?;
        loop {
            if self.progress.is_cancelled() {
                return Err(ColdError::Interrupted);
            }
            let len = source.read(&mut self.buffer).map_err(io_error("read", from))?;
            let Some(piece) = self.buffer.get(..len).filter(|piece| !piece.is_empty()) else { break };
            target.write_all(piece).map_err(io_error("write", to))?;
            self.progress.advance(len as u64);
        }
        Ok(())
    }
}

/// Evicts every file below `folder`, and returns their pages, none of which is resident. If a page stays, this is an
/// error that names its file. No process may map a file meanwhile, including this one: close every repository in
/// `folder` first.
///
/// # Errors
/// [`ColdError::NotCold`], or a file cannot be inspected.
pub fn make_cold(folder: &Path) -> Result<Residency, ColdError> {
    let files = files_below(folder)?;
    for file in &files {
        evict(file).map_err(io_error("evict", file))?;
    }
    // All files again: reading one may have brought in another.
    let mut all = Residency::default();
    for file in files {
        let left = residency(&file).map_err(io_error("inspect the pages of", &file))?;
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
    use std::sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    };

    use repackbench_writer::NoProgress;

    use super::*;

    /// On a disk: files in memory cannot be evicted.
    fn scratch() -> TempDir {
        crate::on_disk::folder()
    }

    fn repository(folder: &Path, name: &str) -> PathBuf {
        let repository = folder.join(name);
        fs::create_dir_all(repository.join("store/data")).unwrap();
        fs::write(repository.join("requires"), "store\n").unwrap();
        fs::write(repository.join("store/data/a.i"), vec![3; 50_000]).unwrap();
        repository
    }

    #[test]
    fn copies_are_complete_separate_and_written_in_turns() {
        let scratch = scratch();
        let (first, second) = (repository(scratch.path(), ".hg"), repository(scratch.path(), "second"));
        // The second repository is recognised by the length of its last file.
        fs::write(second.join("store/data/b.i"), [3; 7]).unwrap();
        let progress = StopsAt::default();
        let copies = ColdCopies::make(&[&first, &second], FEWEST_COPIES, scratch.path(), &progress).unwrap();
        let data = |copy: &PathBuf| copy.join("store/data/a.i");
        for at in 0..2 {
            assert_eq!(copies.of(at).len(), FEWEST_COPIES);
            assert!(copies.of(at).iter().all(|copy| fs::read(data(copy)).unwrap() == vec![3; 50_000]));
        }
        assert!(copies.of(0).iter().all(|copy| copy.file_name().unwrap() == ".hg"));
        let written = progress.pieces.into_inner().unwrap();
        let (one, other) = ([6, 50_000], [6, 50_000, 7]);
        let turns = [&one[..], &other, &other, &one].concat();
        assert_eq!(written, [turns.clone(), turns].concat(), "in turns");
        let folder = copies.of(0)[0].parent().unwrap().to_owned();
        drop(copies);
        assert!(!folder.exists());
    }

    /// Keeps notes, and stops once `limit` bytes are copied.
    #[derive(Default)]
    struct StopsAt {
        limit: Option<u64>,
        copied: AtomicU64,
        pieces: Mutex<Vec<u64>>,
        notes: Mutex<Vec<String>>,
    }

    impl Progress for StopsAt {
        fn start(&self, _step: &str, total: u64, _unit: ProgressUnit) {
            self.notes.lock().unwrap().push(format!("{total} bytes"));
        }

        fn advance(&self, amount: u64) {
            self.copied.fetch_add(amount, Ordering::Relaxed);
            self.pieces.lock().unwrap().push(amount);
        }

        fn finish(&self) {}

        fn note(&self, note: &str) {
            self.notes.lock().unwrap().push(note.to_owned());
        }

        fn is_cancelled(&self) -> bool {
            self.limit.is_some_and(|limit| self.copied.load(Ordering::Relaxed) >= limit)
        }
    }

    #[test]
    fn copying_is_announced_and_stopping_leaves_nothing() {
        let (scratch, place) = (scratch(), scratch());
        let repository = repository(scratch.path(), "one");
        let progress = StopsAt::default();
        let copies = ColdCopies::make(&[&repository, &repository], 4, place.path(), &progress).unwrap();
        let notes = progress.notes.into_inner().unwrap();
        let [note, total] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.contains("4 copies of each of 2 rows") && note.contains("0.4 MB in total"), "{note}");
        assert_eq!((total.as_str(), progress.copied.into_inner()), ("400048 bytes", 8 * 50_006));
        drop(copies);

        let progress = StopsAt { limit: Some(60_000), ..StopsAt::default() };
        let error = ColdCopies::make(&[&repository], 4, place.path(), &progress).unwrap_err();
        assert!(matches!(error, ColdError::Interrupted), "{error}");
        let copied = progress.copied.into_inner();
        assert!((60_000..4 * 50_006).contains(&copied), "{copied}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "copies are left");
    }

    #[test]
    fn copies_become_cold_and_reading_warms_them() {
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
    fn files_in_memory_are_never_cold() {
        // Every Linux has it, and a program may write there.
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let repository = repository(folder.path(), "one");
        let error = make_cold(&repository).unwrap_err();
        assert!(matches!(&error, ColdError::NotCold { left, .. } if left.resident > 0), "{error}");
        assert!(error.to_string().contains("would not be cold"), "{error}");
    }

    #[test]
    fn repositories_with_alternates_are_refused() {
        let scratch = scratch();
        let repository = repository(scratch.path(), "one");
        fs::create_dir_all(repository.join("objects/info")).unwrap();
        fs::write(repository.join("objects/info/alternates"), "/elsewhere\n").unwrap();
        let error = ColdCopies::make(&[&repository], 4, scratch.path(), &NoProgress).unwrap_err();
        assert!(error.to_string().contains("borrows objects"), "{error}");
    }
}
