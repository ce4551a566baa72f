//! What the rest of the program sees of a stored repository, whichever version-control system wrote it.

use std::{any::Any, ops::Range, path::Path};

use gix_hash::{ObjectId, oid};
use repackbench_codec::{ChunkKind, ObjectKind};

use crate::{AccessTrace, CacheLookups, ChunkInMemory, Recording, Result};

/// One chunk as it lies on disk.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// The file that holds it.
    pub file: &'a Path,
    /// Where in that file its entry starts, in bytes.
    pub offset: u64,
    /// Bytes of framing before the stored bytes: a pack entry's header, or that of a B-tree's value; 0 for a loose object.
    pub header_len: u64,
    /// What it holds.
    pub kind: ChunkKind,
    /// The offset of its base's entry in the same file, for a delta.
    pub base: Option<u64>,
    /// Length in bytes before compression, as recorded.
    pub payload_len: u64,
    /// Length of the stored bytes.
    pub stored_len: u64,
    /// The stored bytes. Empty for a loose object, or a value of a B-tree, whose payload is above
    /// [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN), which nobody should need to hold in memory: they lie in `file` behind the header.
    pub stored: &'a [u8],
}

/// Payloads that were wanted and not decoded: those above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN), which nobody should
/// need to hold in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many.
    pub payloads: u64,
    /// Their length in bytes, as recorded.
    pub bytes: u64,
}

impl LeftOut {
    pub(crate) fn add(&mut self, payload_len: u64) {
        self.payloads += 1;
        self.bytes = self.bytes.saturating_add(payload_len);
    }
}

/// Says whether a chunk's payload is wanted.
pub type WantedPayloads<'a> = dyn FnMut(&Chunk<'_>) -> bool + 'a;

/// A delta, its base and its result, as numbers of contents in one pack or revlog. The same content always has the same
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaLinks {
    /// The base.
    pub base: u64,
    /// The object or text that the delta results in.
    pub object: u64,
    /// Number of deltas from a whole object to the result, this one included.
    pub chain_len: u32,
}

/// A repository as chunks in file order.
pub trait Store {
    /// Calls `visit` on every chunk: packs in their order, entries by offset, then values of a B-tree and loose
    /// objects by id.
    ///
    /// # Errors
    /// What `visit` returns, and any damage found in the framing. Payloads are not decoded.
    fn for_each_chunk(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()>;
}

/// What a path in a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileMode {
    /// A file.
    Regular,
    /// A file with the executable bit.
    Executable,
    /// A symbolic link; its content is the target.
    Symlink,
    /// A commit of another repository (a submodule).
    Gitlink,
}

impl FileMode {
    /// The mode as Git writes it into a tree.
    pub fn bits(self) -> u32 {
        match self {
            FileMode::Regular => 0o100_644,
            FileMode::Executable => 0o100_755,
            FileMode::Symlink => 0o120_000,
            FileMode::Gitlink => 0o160_000,
        }
    }
}

/// One version of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileVersion {
    /// The id of its content.
    pub id: ObjectId,
    /// What it is.
    pub mode: FileMode,
}

/// A path that two revisions hold differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    path: Range<usize>,
    /// The version in the older revision; `None` if the path was added.
    pub old: Option<FileVersion>,
    /// The version in the newer revision; `None` if the path was deleted.
    pub new: Option<FileVersion>,
}

/// The changes between two revisions. Clearing keeps the memory, so that one value serves a whole walk.
#[derive(Debug, Default)]
pub struct Changes {
    paths: Vec<u8>,
    changes: Vec<Change>,
}

impl Changes {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        self.paths.clear();
        self.changes.clear();
    }

    /// Adds a change of `path`.
    pub fn push(&mut self, path: &[u8], old: Option<FileVersion>, new: Option<FileVersion>) {
        let start = self.paths.len();
        self.paths.extend_from_slice(path);
        self.changes.push(Change { path: start..self.paths.len(), old, new });
    }

    /// Number of changed paths.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes with their paths, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Change)> {
        self.changes.iter().map(|change| (self.paths.get(change.path.clone()).unwrap_or_default(), change))
    }
}

/// A revision that a log lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// Its id.
    pub id: ObjectId,
    /// The id of its manifest: a Git tree.
    pub manifest: ObjectId,
    /// The manifest of its first parent; `None` for a root.
    pub parent_manifest: Option<ObjectId>,
    /// Whether the log compares it with its first parent, or with nothing if it has none. Git's log leaves merges out,
    /// Mercurial's does not.
    pub is_compared: bool,
}

/// Told of every object that a traversal visits, once each.
pub type TraverseVisitor<'a> = dyn FnMut(ObjectKind, &oid) + 'a;

/// Told of kind and size of an object.
pub type SizeVisitor<'a> = dyn FnMut(ObjectKind, &oid, u64) + 'a;

/// The content of an object, or a part of it.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It is above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) and never held: so many bytes follow in pieces.
    Start(u64),
    /// The next piece.
    Piece(&'a [u8]),
    /// That was the last piece.
    End,
}

/// Told of kind and content of an object.
pub type ContentVisitor<'a> = dyn FnMut(ObjectKind, &oid, Content<'_>) + 'a;

/// A repository as revisions and content: what workloads read.
///
/// Objects that a partial clone lacks are left out and counted in [`missing`](History::missing), never an error.
///
/// A history is one thread's at a time, and may be handed to another.
pub trait History: Any + Send {
    /// The id of the revision that `name` stands for, as the version-control system would resolve it.
    fn resolve(&mut self, name: &str) -> Result<ObjectId>;

    /// Visits everything reachable from every reference, and counts what `git rev-list --objects --all` counts. Trees
    /// are parsed, blobs are not decoded.
    fn traverse(&mut self, visit: &mut TraverseVisitor<'_>) -> Result<()>;

    /// Tells kind and size of every stored object, reachable or not, with no more decoded than that takes. Git's are sorted by
    /// id, each once; Mercurial's come revlog after revlog, and their sizes are in the index.
    fn sizes(&mut self, visit: &mut SizeVisitor<'_>) -> Result<()>;

    /// Tells kind and content of every stored object, reachable or not, each once, in the order in which they lie on disk. A large
    /// one that is no delta is told in pieces.
    fn contents(&mut self, visit: &mut ContentVisitor<'_>) -> Result<()>;

    /// Starts a log at `from`; the revisions come from [`next_revision`](History::next_revision).
    fn start_log(&mut self, from: ObjectId) -> Result<()>;

    /// The next revision of the log, newest first by date.
    fn next_revision(&mut self) -> Result<Option<Revision>>;

    /// Puts what `revision` changed against its first parent, or against nothing for a root, into `changes`.
    fn changes(&mut self, revision: &Revision, changes: &mut Changes) -> Result<()>;

    /// Puts what `revision` changed at `path` into `changes`, one change or none, as [`changes`](History::changes) would have it. Git's
    /// reads the trees on the way there alone, of Mercurial's manifests all is read.
    fn change_of_path(&mut self, revision: &Revision, path: &[u8], changes: &mut Changes) -> Result<()> {
        let mut all = Changes::default();
        self.changes(revision, &mut all)?;
        changes.clear();
        for (_, change) in all.iter().filter(|(found, _)| *found == path) {
            changes.push(path, change.old, change.new);
        }
        Ok(())
    }

    /// Lists every file of the revision `id`, as changes against nothing.
    fn manifest(&mut self, id: &oid, files: &mut Changes) -> Result<()>;

    /// Puts the content of `file`, found at `path`, into `content`; `false` if it is missing here.
    fn content(&mut self, path: &[u8], file: &FileVersion, content: &mut Vec<u8>) -> Result<bool>;

    /// Empties every cache and starts the count of missing objects anew, so that the next run starts as the first did.
    fn forget(&mut self);

    /// Empties the cache of decoded objects, bases of deltas above all, and lets it hold at most so many bytes from now on; `None`
    /// for as many as the [ceiling of memory](crate::memory) leaves for it. Without this call it is [`DEFAULT_DELTA_CACHE`].
    fn set_delta_cache(&mut self, limit_bytes: Option<u64>) {
        let _ = limit_bytes;
    }

    /// How often that cache was asked since it was last emptied. None were asked where there is none.
    fn delta_cache_lookups(&self) -> CacheLookups {
        CacheLookups::default()
    }

    /// How many different objects were asked for and are missing.
    fn missing(&self) -> u64;

    /// Records from now on what is read. Caches should be empty, or the trace lacks what they hold.
    fn record_accesses(&mut self, recording: Recording);

    /// What was read since [`record_accesses`](History::record_accesses), and ends the recording.
    fn take_accesses(&mut self) -> AccessTrace;

    /// Decodes one chunk that a trace names into `payload`, with the contexts that reading uses, and does nothing else: no
    /// base is looked up, and nothing is cached.
    ///
    /// # Errors
    /// The chunk does not decode as it did.
    fn decode_again(&mut self, chunk: &ChunkInMemory<'_>, payload: &mut Vec<u8>) -> Result<()>;
}
