//! A stored repository of either version-control system. Its path decides which one it is.

use std::{any::Any, path::Path};

use repackbench_codec::{ChunkKind, CodecSpec, Decoders, ObjectKind, SharedFormat, StoredForm};

use crate::{
    Chunk, History, ReaderError, Result, Store,
    git::{GitHistory, GitRepository, GitStore, ObjectStore, SharedObjectStore, repository::SourceSnapshot},
    hg::{HgHistory, HgRepository, HgStore, repository::HgSnapshot},
};

/// An open repository.
#[derive(Debug)]
pub enum Repository {
    /// A Git repository.
    Git(Box<GitRepository>),
    /// A Mercurial repository.
    Hg(Box<HgRepository>),
}

/// The state of every file that a conversion reads, at one point in time.
#[derive(Debug, Clone)]
pub enum Snapshot {
    /// The state of a Git repository.
    Git(SourceSnapshot),
    /// The state of a Mercurial repository.
    Hg(HgSnapshot),
}

impl Repository {
    /// Opens the repository at `path`: the root of a work tree, a git directory, or `.hg`.
    ///
    /// # Errors
    /// [`ReaderError::NotARepository`], also for a work tree of both systems. For others see [`GitRepository::open`]
    /// and [`HgRepository::open`].
    pub fn open(path: &Path) -> Result<Self> {
        if HgRepository::locate(path).is_none() {
            return GitRepository::open(path).map(|git| Repository::Git(Box::new(git)));
        }
        if path.join(".git").exists() {
            let why = "it is both a Git and a Mercurial repository: name its .git or .hg folder".to_owned();
            return Err(ReaderError::NotARepository { path: path.to_owned(), why });
        }
        HgRepository::open(path).map(|hg| Repository::Hg(Box::new(hg)))
    }

    /// What was found and not used, one sentence each, for the summary.
    pub fn notes(&self) -> &[String] {
        match self {
            Repository::Git(git) => git.notes(),
            Repository::Hg(hg) => hg.notes(),
        }
    }

    /// The folder that identifies it: the common git directory, or `.hg`.
    pub fn folder(&self) -> &Path {
        match self {
            Repository::Git(git) => git.common_dir(),
            Repository::Hg(hg) => hg.hg_dir(),
        }
    }

    /// The folder to reopen it from. For a linked work tree it is its own git directory, which has its own HEAD.
    pub fn own_folder(&self) -> &Path {
        match self {
            Repository::Git(git) => git.git_dir(),
            Repository::Hg(hg) => hg.hg_dir(),
        }
    }

    /// The default revision: `HEAD`, or `tip`.
    pub fn default_revision(&self) -> &'static str {
        match self {
            Repository::Git(_) => "HEAD",
            Repository::Hg(_) => "tip",
        }
    }

    /// The spec that it was converted with, if the repository records it. A Git variant that stock git cannot read
    /// does.
    pub fn recorded_spec(&self) -> Option<CodecSpec> {
        match self {
            Repository::Git(git) => git.extension_spec().and_then(|spec| spec.parse().ok()),
            Repository::Hg(_) => None,
        }
    }

    /// Its history. `decoders` names the implementations that decode chunks; [`Decoders::for_spec`] gives those that
    /// wrote them.
    ///
    /// # Errors
    /// The indexes cannot be read.
    pub fn history(&self, decoders: impl Into<Decoders>) -> Result<Box<dyn History>> {
        match self {
            Repository::Git(git) => Ok(Box::new(GitHistory::new(git, ObjectStore::open(git, decoders)?)?)),
            Repository::Hg(hg) => Ok(Box::new(HgHistory::new(hg, decoders)?)),
        }
    }

    /// The format of one of its chunks, if several implementations can read that format.
    pub fn shared_format(&self, chunk: &Chunk<'_>) -> Option<SharedFormat> {
        match self {
            Repository::Git(_) => SharedFormat::of_chunk(chunk.stored),
            Repository::Hg(_) => SharedFormat::of_revlog_chunk(chunk.stored),
        }
    }

    /// How one of its chunks stores its payload; `None` if it is not a valid chunk.
    pub fn stored_form(&self, chunk: &Chunk<'_>) -> Option<StoredForm> {
        match self {
            Repository::Git(_) => StoredForm::of_chunk(chunk.stored),
            Repository::Hg(_) => StoredForm::of_revlog_chunk(chunk.stored),
        }
    }

    /// All kinds of chunks that a repository of its version-control system can have.
    pub fn chunk_kinds(&self) -> impl Iterator<Item = ChunkKind> + use<> {
        let objects: &'static [ObjectKind] = match self {
            Repository::Git(_) => &ObjectKind::GIT,
            Repository::Hg(_) => &ObjectKind::HG,
        };
        objects.iter().flat_map(|object| [false, true].map(|is_delta| ChunkKind { object: *object, is_delta }))
    }

    /// Its chunks.
    pub fn store(&self) -> Box<dyn Store + '_> {
        match self {
            Repository::Git(git) => Box::new(GitStore::new(git)),
            Repository::Hg(hg) => Box::new(HgStore::new(hg)),
        }
    }

    /// Records the state of every file that a conversion reads. Take a snapshot before reading and check it afterwards.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] if the repository has already changed since it was opened, [`ReaderError::Io`] if a
    /// folder cannot be listed.
    pub fn snapshot(&self) -> Result<Snapshot> {
        match self {
            Repository::Git(git) => git.snapshot().map(Snapshot::Git),
            Repository::Hg(hg) => hg.snapshot().map(Snapshot::Hg),
        }
    }
}

impl dyn History {
    /// The object store of a Git repository, for what only Git has: attributes of paths, which are in files of the
    /// revision, and ids of content in patches. `None` for any other system.
    pub fn git_objects(&self) -> Option<SharedObjectStore> {
        (self as &dyn Any).downcast_ref::<GitHistory>().map(GitHistory::objects)
    }
}

impl Snapshot {
    /// Fails if a file has changed since the snapshot.
    ///
    /// # Errors
    /// [`ReaderError::Changed`] names the first file that changed. [`ReaderError::Io`] if a folder cannot be listed.
    pub fn check(&self) -> Result<()> {
        match self {
            Snapshot::Git(snapshot) => snapshot.check(),
            Snapshot::Hg(snapshot) => snapshot.check(),
        }
    }
}
