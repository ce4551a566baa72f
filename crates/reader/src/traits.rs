//! What the rest of the program sees of a stored repository of either version-control system.

use std::{any::Any, ops::Range, path::Path};

use gix_hash::{ObjectId, oid};
use repackbench_codec::{ChunkKind, DecodeMemo, ObjectKind};

use crate::{AccessTrace, CacheLookups, ChunkInMemory, Recording, Result};

/// One chunk as stored on disk.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// The file that holds it.
    pub file: &'a Path,
    /// Where its entry starts in that file, in bytes.
    pub offset: u64,
    /// Number of framing bytes before the stored bytes: the header of a pack entry or of a value in a B-tree; 0 for a
    /// loose object.
    pub header_len: u64,
    /// Its kind.
    pub kind: ChunkKind,
    /// For a delta, the offset of its base's entry in the same file.
    pub base: Option<u64>,
    /// Length in bytes before compression, as recorded.
    pub payload_len: u64,
    /// Length of the stored bytes.
    pub stored_len: u64,
    /// The stored bytes. Empty for a loose object or a value of a B-tree whose payload is above
    /// [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN), so that it need not be held in memory. Then the stored bytes follow
    /// the header in `file`.
    pub stored: &'a [u8],
}

/// Payloads that were wanted but not decoded: those above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN), so that they
/// need not be held in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Number of payloads.
    pub payloads: u64,
    /// Their total recorded length in bytes.
    pub bytes: u64,
}

impl LeftOut {
    pub(crate) fn add(&mut self, payload_len: u64) {
        self.payloads += 1;
        self.bytes = self.bytes.saturating_add(payload_len);
    }
}

/// Decides whether a chunk's payload is wanted.
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
    /// objects by id. Payloads are not decoded.
    ///
    /// # Errors
    /// Errors of `visit`, and any damage found in the framing.
    fn for_each_chunk(&self, visit: &mut dyn FnMut(&Chunk<'_>) -> Result<()>) -> Result<()>;
}

/// The type of a path in a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileMode {
    /// A file.
    Regular,
    /// A file with the executable bit.
    Executable,
    /// A symbolic link. Its content is the target.
    Symlink,
    /// A commit of another repository (a submodule).
    Gitlink,
}

impl FileMode {
    /// The mode as stored in a Git tree.
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
    /// Its type.
    pub mode: FileMode,
}

/// A path that differs between two revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    path: Range<usize>,
    /// The version in the older revision; `None` if the path was added.
    pub old: Option<FileVersion>,
    /// The version in the newer revision; `None` if the path was deleted.
    pub new: Option<FileVersion>,
}

/// The changes between two revisions. Clearing keeps the memory, so that one value can be reused for a whole walk.
#[derive(Debug, Default)]
pub struct Changes {
    paths: Vec<u8>,
    changes: Vec<Change>,
}

impl Changes {
    /// Removes all changes.
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

    /// The bytes of all paths and changes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.paths.len() + self.changes.len() * size_of::<Change>()) as u64
    }

    /// Number of changed paths.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes with their paths, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &Change)> {
        self.changes.iter().map(|change| (self.paths.get(change.path.clone()).unwrap_or_default(), change))
    }
}

/// A revision in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision {
    /// Its id.
    pub id: ObjectId,
    /// The id of its manifest: a Git tree.
    pub manifest: ObjectId,
    /// The manifest of its first parent; `None` for a root.
    pub parent_manifest: Option<ObjectId>,
    /// Whether the log compares it with its first parent, or with nothing if it has none. Git's log does not compare
    /// merges, Mercurial's does.
    pub is_compared: bool,
}

/// Receives every object that a traversal visits, once each.
pub type TraverseVisitor<'a> = dyn FnMut(ObjectKind, &oid) + 'a;

/// Receives the kind of every object that is counted, once each.
pub type CountVisitor<'a> = dyn FnMut(ObjectKind) + 'a;

/// Receives the kind, id and size of an object.
pub type SizeVisitor<'a> = dyn FnMut(ObjectKind, &oid, u64) + 'a;

/// The content of an object, or a part of it.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// It is above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) and never held as a whole. This many bytes follow in
    /// pieces.
    Start(u64),
    /// The next piece.
    Piece(&'a [u8]),
    /// The last piece has been received.
    End,
}

/// Receives the kind, id and content of an object.
pub type ContentVisitor<'a> = dyn FnMut(ObjectKind, &oid, Content<'_>) + 'a;

/// A repository as revisions and content: what workloads read.
///
/// Objects that a partial clone lacks are no error. They are left out and counted in [`missing`](History::missing).
///
/// A history can move between threads, but only one thread uses it at a time.
pub trait History: Any + Send {
    /// The id of the revision `name`, resolved as the version-control system resolves it.
    fn resolve(&mut self, name: &str) -> Result<ObjectId>;

    /// Visits everything reachable from any reference, exactly what `git rev-list --objects --all` counts. Trees are
    /// parsed, blobs are not decoded.
    fn traverse(&mut self, visit: &mut TraverseVisitor<'_>) -> Result<()> {
        self.traverse_newest(u64::MAX, visit)
    }

    /// Visits the newest `commits` commits that are reachable from any reference, with everything that they hold: what
    /// `git rev-list --objects --all -n COMMITS` counts. In Mercurial these are the last changesets by number, with the
    /// revisions that they introduced.
    fn traverse_newest(&mut self, commits: u64, visit: &mut TraverseVisitor<'_>) -> Result<()>;

    /// Counts what [`traverse_newest`](History::traverse_newest) visits. Ids are not needed, so a pack whose objects
    /// are numbered is walked by number.
    fn count_newest(&mut self, commits: u64, count: &mut CountVisitor<'_>) -> Result<()> {
        self.traverse_newest(commits, &mut |kind, _| count(kind))
    }

    /// Visits the kind and size of every stored object, reachable or not, and decodes no more than needed. Git's
    /// objects are sorted by id, once each. Mercurial's come revlog after revlog; their sizes are in the index.
    fn sizes(&mut self, visit: &mut SizeVisitor<'_>) -> Result<()>;

    /// Visits the kind and content of every stored object, reachable or not, once each, in their order on disk. The
    /// content of a large object that is no delta comes in pieces.
    fn contents(&mut self, visit: &mut ContentVisitor<'_>) -> Result<()>;

    /// Starts a log at `from`. [`next_revision`](History::next_revision) returns its revisions.
    fn start_log(&mut self, from: ObjectId) -> Result<()>;

    /// The next revision of the log, newest first by date.
    fn next_revision(&mut self) -> Result<Option<Revision>>;

    /// Replaces `changes` by what `revision` changed relative to its first parent, or to nothing for a root.
    fn changes(&mut self, revision: &Revision, changes: &mut Changes) -> Result<()>;

    /// Replaces `changes` by what `revision` changed at `path`: the change that [`changes`](History::changes) would
    /// find, or none. Git reads only the trees on the way to the path. Mercurial reads whole manifests.
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

    /// Replaces `file` by the file at `path` in the revision `id`, as a change against nothing; by nothing if there is
    /// none. Git reads only the trees on the way to the path. Mercurial reads the whole manifest.
    fn file_at(&mut self, id: &oid, path: &[u8], file: &mut Changes) -> Result<()> {
        let mut all = Changes::default();
        self.manifest(id, &mut all)?;
        file.clear();
        for (_, change) in all.iter().filter(|(found, _)| *found == path) {
            file.push(path, change.old, change.new);
        }
        Ok(())
    }

    /// Replaces `content` by the content of `file`, which is at `path`; `false` if it is missing here.
    fn content(&mut self, path: &[u8], file: &FileVersion, content: &mut Vec<u8>) -> Result<bool>;

    /// Clears every cache and the count of missing objects, so that the next run starts like the first.
    fn clear_caches(&mut self);

    /// Clears the cache of decoded objects, most of them bases of deltas, and sets its limit; `None` for as much as the
    /// [memory ceiling](crate::memory) allows. The default limit is
    /// [`DEFAULT_DELTA_CACHE`](crate::DEFAULT_DELTA_CACHE).
    fn set_delta_cache(&mut self, limit_bytes: Option<u64>) {
        let _ = limit_bytes;
    }

    /// The look-ups in that cache since it was last cleared; zeros if there is no cache.
    fn delta_cache_lookups(&self) -> CacheLookups {
        CacheLookups::default()
    }

    /// Number of different objects that were requested and are missing.
    fn missing(&self) -> u64;

    /// Starts recording what is read. Caches should be empty, or the trace lacks what they hold.
    fn record_accesses(&mut self, recording: Recording);

    /// Ends the recording and returns what was read since [`record_accesses`](History::record_accesses).
    fn take_accesses(&mut self) -> AccessTrace;

    /// Decodes one chunk of a trace into `payload`, with the contexts that reading uses, and does nothing else: it
    /// looks up no base and caches nothing.
    ///
    /// # Errors
    /// The chunk does not decode as it did before.
    fn decode_again(&mut self, chunk: &ChunkInMemory<'_>, payload: &mut Vec<u8>) -> Result<()>;

    /// Sets the memo of decoded payloads, or takes it away, and returns the one before: see [`DecodeMemo`].
    fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>>;
}
