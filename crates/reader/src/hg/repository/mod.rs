//! A Mercurial repository on disk: its store, its requirements and its revlogs.

mod listing;
mod requirements;
mod share;
mod snapshot;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use self::{requirements::Requirements, snapshot::HgSnapshot};
use repackbench_codec::{Decoders, Dictionaries, RevlogDecoder};

use super::revlog::RevlogFiles;
use crate::{
    ReaderError, Result,
    bounds::Bounds,
    dictionaries::{DICTIONARY_FOLDER, read_dictionaries},
};

/// Names directly in `.hg` that a bare copy keeps. All others serve the work tree, are derived, belong to another
/// program, or are configuration. Configuration can name programs that hg runs, and hg trusts that of the user's own
/// copy more than that of a stranger's repository.
pub const KEPT_IN_HG_DIR: [&str; 7] =
    ["00changelog.i", "bookmarks", "largefiles", "localtags", "narrowspec.dirstate", "remotenames", "sparse"];

/// Names directly in `.hg` that may hold somebody's work but are not copied, so that they are noted.
const NOTED_NAMES: [(&str, &str); 7] = [
    ("git", "hg-git's copy in Git's format"),
    ("git-mapfile", "hg-git's pairs of changesets and commits"),
    ("hgrc", "configuration, which can name programs that hg runs"),
    ("hgrc-not-shared", "configuration, which can name programs that hg runs"),
    ("patches", "patch queues"),
    ("shelved", "shelved changes"),
    ("strip-backup", "backups of stripped changesets"),
];

/// An open Mercurial repository.
#[derive(Debug)]
pub struct HgRepository {
    hg_dir: PathBuf,
    requirements: Requirements,
    kept_files: Vec<PathBuf>,
    revlogs: Vec<RevlogFiles>,
    other_files: Vec<PathBuf>,
    dictionary_files: Vec<PathBuf>,
    notes: Vec<String>,
}

impl HgRepository {
    /// The `.hg` folder for `path`, which is the root of a work tree or `.hg` itself; `None` if there is no Mercurial
    /// repository.
    pub fn locate(path: &Path) -> Option<PathBuf> {
        // The oldest repositories have no requirements and no store.
        let is_hg_dir = |path: &Path| {
            path.join("requires").is_file() || path.join("store").is_dir() || path.join("00changelog.i").is_file()
        };
        let below = path.join(".hg");
        if is_hg_dir(&below) {
            return Some(below);
        }
        let is_named = path.file_name().is_some_and(|name| name == ".hg");
        (is_named && is_hg_dir(path)).then(|| path.to_owned())
    }

    /// The `.hg` whose store the share at `hg_dir` uses; `None` if `hg_dir` has a store of its own.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if a share names no repository, [`ReaderError::Unsupported`] for a share of a share.
    pub fn source_of_share(hg_dir: &Path) -> Result<Option<PathBuf>> {
        share::source_of(hg_dir)
    }

    /// Opens the repository at `path`: a work tree's root, or its `.hg`. A share is opened as the repository with its
    /// store.
    ///
    /// # Errors
    /// [`ReaderError::NotARepository`], [`ReaderError::Unsupported`] with the name of an unsupported feature,
    /// [`ReaderError::Locked`] while another program is writing to it, [`ReaderError::Io`].
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_as(path, Holder::Another)
    }

    /// Opens the repository at `path`, whose locks the caller holds.
    ///
    /// # Errors
    /// As for [`open`](HgRepository::open).
    pub fn open_locked(path: &Path) -> Result<Self> {
        Self::open_as(path, Holder::Caller)
    }

    fn open_as(path: &Path, holder: Holder) -> Result<Self> {
        let Some(hg_dir) = Self::locate(path) else {
            let why = "it has no .hg folder".to_owned();
            return Err(ReaderError::NotARepository { path: path.to_owned(), why });
        };
        Bounds::of(&hg_dir).check(&hg_dir.join("requires"))?;
        let (hg_dir, note) = match Self::source_of_share(&hg_dir)? {
            Some(source) => {
                let share = hg_dir.display();
                let note =
                    format!("{share}: a share: read as {}, with the bookmarks and local tags there", source.display());
                (source, Some(note))
            }
            None => (hg_dir, None),
        };
        let bounds = Bounds::of(&hg_dir);
        for name in ["requires", "store", "store/requires"] {
            bounds.check(&hg_dir.join(name))?;
        }
        let requirements = Requirements::read(&hg_dir)?;
        if holder == Holder::Another {
            check_not_locked(&hg_dir)?;
        }
        check_no_journal(&hg_dir)?;
        let listing = listing::list(&hg_dir.join("store"), bounds, requirements.name_encoding())?;
        let mut kept_files = Vec::new();
        for name in KEPT_IN_HG_DIR {
            listing::files_at(&hg_dir, bounds, name, &mut kept_files)?;
        }
        let mut notes: Vec<String> = note.into_iter().chain(listing.notes).collect();
        for (name, what) in NOTED_NAMES {
            let path = hg_dir.join(name);
            if path.exists() {
                notes.push(format!("{}: ignored: {what}", path.display()));
            }
        }
        if listing.revlogs.iter().any(|files| files.path == b".hgsub") {
            notes.push(format!("{}: ignored: subrepositories, which .hgsub names", hg_dir.display()));
        }
        if fs::metadata(hg_dir.join("store/obsstore")).is_ok_and(|markers| markers.len() > 1) {
            notes.push(format!(
                "{}: changesets that hg hides are included; the tip may be one of them",
                hg_dir.join("store/obsstore").display()
            ));
        }
        Ok(HgRepository {
            hg_dir,
            requirements,
            kept_files,
            revlogs: listing.revlogs,
            other_files: listing.other_files,
            dictionary_files: listing.dictionary_files,
            notes,
        })
    }

    /// Its `.hg` folder.
    pub fn hg_dir(&self) -> &Path {
        &self.hg_dir
    }

    /// The folder with its revlogs.
    pub fn store_dir(&self) -> PathBuf {
        self.hg_dir.join("store")
    }

    /// Its requirements.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Its revlogs: the changelog, the manifests, then the filelogs, each group sorted by file name.
    pub fn revlogs(&self) -> &[RevlogFiles] {
        &self.revlogs
    }

    /// The files outside of the store that a bare copy keeps, as paths below [`hg_dir`](HgRepository::hg_dir): those
    /// that [`KEPT_IN_HG_DIR`] names, and those in folders that it names.
    pub fn kept_files(&self) -> &[PathBuf] {
        &self.kept_files
    }

    /// Every other file of the store as a path below [`store_dir`](HgRepository::store_dir), sorted. Files of finished
    /// transactions (`undo*`), `requires`, locks and dictionaries are left out.
    pub fn other_store_files(&self) -> &[PathBuf] {
        &self.other_files
    }

    /// The files of its dictionaries, as paths below [`store_dir`](HgRepository::store_dir), sorted. They belong to its
    /// chunks and are useless in any other variant.
    pub fn dictionary_files(&self) -> &[PathBuf] {
        &self.dictionary_files
    }

    /// The dictionaries that its chunks may use.
    ///
    /// # Errors
    /// See [`read_dictionaries`].
    pub fn dictionaries(&self) -> Result<Dictionaries> {
        read_dictionaries(&self.store_dir().join(DICTIONARY_FOLDER))
    }

    /// A decoder for its chunks.
    ///
    /// # Errors
    /// As for [`dictionaries`](HgRepository::dictionaries).
    pub fn decoder(&self, decoders: impl Into<Decoders>) -> Result<RevlogDecoder> {
        Ok(RevlogDecoder::new(decoders).with_dictionaries(&self.dictionaries()?))
    }

    /// Every file that a copy of the repository has, including `requires`, with its length in bytes.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if a file cannot be inspected.
    pub fn files(&self) -> Result<Vec<(PathBuf, u64)>> {
        let store = self.store_dir();
        let mut files = vec![self.hg_dir.join("requires"), store.join("requires")];
        files.extend(self.revlogs.iter().flat_map(|revlog| [revlog.index.clone(), revlog.data.clone()]));
        files.extend(self.other_files.iter().chain(&self.dictionary_files).map(|path| store.join(path)));
        files.extend(self.kept_files.iter().map(|path| self.hg_dir.join(path)));
        let mut found = Vec::with_capacity(files.len());
        for file in files {
            match fs::metadata(&file) {
                Ok(metadata) if metadata.is_file() => found.push((file, metadata.len())),
                // Not every repository has each file, such as the data file of an inline revlog.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ReaderError::io("inspect", file, error)),
            }
        }
        Ok(found)
    }

    /// What was found and not used, one sentence each, for the summary.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Records the state of every file that a conversion reads. Take a snapshot before reading and check it afterwards.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if a file cannot be inspected.
    pub fn snapshot(&self) -> Result<HgSnapshot> {
        HgSnapshot::take(self)
    }
}

/// Who holds the locks, if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    /// The caller.
    Caller,
    /// Another program.
    Another,
}

/// Fails if another program is writing to the repository, or if a transaction was interrupted.
fn check_not_writing(hg_dir: &Path) -> Result<()> {
    check_not_locked(hg_dir)?;
    check_no_journal(hg_dir)
}

fn check_not_locked(hg_dir: &Path) -> Result<()> {
    for lock in ["store/lock", "wlock"] {
        let path = hg_dir.join(lock);
        // A lock is a dangling symbolic link. Its target names host and process.
        match fs::symlink_metadata(&path) {
            Ok(_) => return Err(ReaderError::Locked { path }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(ReaderError::io("inspect", path, error)),
        }
    }
    Ok(())
}

fn check_no_journal(hg_dir: &Path) -> Result<()> {
    let store = hg_dir.join("store");
    let entries = match fs::read_dir(&store) {
        Ok(entries) => entries,
        Err(error) => return Err(ReaderError::io("list", store, error)),
    };
    for entry in entries {
        let entry = entry.map_err(|e| ReaderError::io("list", &store, e))?;
        let name = entry.file_name();
        if name == "journal" {
            return Err(ReaderError::unsupported(
                &entry.path(),
                "a repository with an interrupted transaction (run hg recover)",
            ));
        }
    }
    Ok(())
}
