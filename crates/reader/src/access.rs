//! What is read of a repository's files, in order: the access trace.
//!
//! Recording is off unless [`History::record_accesses`](crate::History::record_accesses) asks for it; then a reader only tests,
//! for each look-up and each chunk, whether there is a log. The reader knows exactly what it asks for, where the page cache
//! would show what the kernel read ahead as well.

use std::{
    collections::HashMap,
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{ChunkKind, ObjectKind};

/// The most bytes of bases that a trace keeps. What needs more is counted in [`AccessTrace::bases_left_out`].
const MOST_BASE_BYTES: usize = 1 << 30;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileRole {
    /// A Git pack.
    Pack,
    /// The index of a Git pack.
    PackIndex,
    /// A B-tree in place of packs and loose objects.
    Btree,
    /// A loose object.
    LooseObject,
    /// The index of a revlog, with the chunks of an inline one.
    RevlogIndex,
    /// The chunks of a revlog that is not inline.
    RevlogData,
    /// Content that a revlog only points to.
    External,
}

impl FileRole {
    /// Whether it holds chunks or what finds them, and not single objects.
    pub fn is_store_file(self) -> bool {
        !matches!(self, FileRole::LooseObject | FileRole::External)
    }

    /// Whether a look-up goes through a memory map of it; otherwise it is read by calls.
    pub fn is_mapped(self) -> bool {
        matches!(self, FileRole::Pack | FileRole::PackIndex)
    }
}

/// A file that a trace names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its length in bytes.
    pub len: u64,
    /// What it holds.
    pub role: FileRole,
}

/// What part of a file was read, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessPart {
    /// What is read when the file is opened: head and end of a pack and its index, the meta pages of a B-tree.
    Opening,
    /// An id or an offset in a pack's index, or a page of a B-tree.
    LookUp,
    /// A delta's header in a pack, on the way to its base, or the head of a value in a B-tree.
    EntryHeader,
    /// A chunk, with the header of its entry where that was not read before.
    Chunk,
    /// What lies between chunks that are read in one go.
    Gap,
    /// All of a revlog's index.
    RevlogIndex,
}

/// One stretch of a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The file, by its place in [`AccessTrace::files`].
    pub file: u32,
    /// What part of it, and what for.
    pub part: AccessPart,
    /// The object that was read; `None` for what serves many.
    pub kind: Option<ChunkKind>,
    /// Where the stretch starts, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub len: u64,
}

/// One chunk that was decoded, in as much detail as it takes to decode it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedDecode {
    /// The file, by its place in [`AccessTrace::files`].
    pub file: u32,
    /// Where its stored bytes start.
    pub offset: u64,
    /// How many of them decoding consumed.
    pub stored_len: u64,
    /// The payload's length in a Git store; in a revlog the most that it may be.
    pub payload_limit: u64,
    /// What the chunk holds.
    pub kind: ChunkKind,
    /// The content of its base, by its place in [`AccessTrace::bases`]; `None` if the chunk was decoded without.
    pub base: Option<u32>,
}

/// Everything that was read while recording was on, in order.
#[derive(Debug, Clone, Default)]
pub struct AccessTrace {
    /// The files of the store, and others as they were first read.
    pub files: Vec<TracedFile>,
    /// What was read.
    pub accesses: Vec<Access>,
    /// What was decoded.
    pub decodes: Vec<TracedDecode>,
    /// The content of bases that chunks were decoded with, each once, if [`Recording::WithBases`] asked for it.
    pub bases: Vec<Vec<u8>>,
    /// How many decodes lack their base here, because all bases together took too much memory.
    pub bases_left_out: u64,
}

/// What to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Accesses and decodes.
    Accesses,
    /// The same, with the index of a pack searched as git does it, by its fan-out and then by halving, in place of how this reader
    /// searches it. What is found is the same.
    AccessesOfGit,
    /// Also the content of bases that chunks are decoded with, so that each can be decoded again by itself.
    WithBases,
    /// Accesses that reach a page of so many bytes that none before them did, and no decodes: all there is to know of a page cache
    /// that keeps everything, in memory that grows with the store's pages and not with what is read.
    NewPages(NonZeroU64),
}

/// A chunk that a trace names, with what it takes to decode it.
#[derive(Debug, Clone, Copy)]
pub struct ChunkInMemory<'a> {
    /// The file that it comes from, for messages.
    pub file: &'a Path,
    /// What the trace says of it.
    pub decode: &'a TracedDecode,
    /// Its stored bytes.
    pub stored: &'a [u8],
    /// The content of its base if it was decoded with that.
    pub base: Option<&'a [u8]>,
}

/// The trace that is being recorded. Shared by what reads the files of one repository, on one thread: the lock is never
/// contended.
#[derive(Debug)]
pub(crate) struct AccessLog {
    recording: Recording,
    inner: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    trace: AccessTrace,
    by_path: HashMap<PathBuf, u32>,
    by_base: HashMap<(u32, u64), u32>,
    base_bytes: usize,
    /// For each file a bit for each page that was reached, if only accesses to new ones are kept.
    reached: Vec<Vec<u64>>,
}

impl Recorded {
    /// Whether `access` reaches a page of its file that none before it did.
    fn reaches_new_page(&mut self, access: &Access, page_len: NonZeroU64) -> bool {
        let at = access.file as usize;
        let Some(file) = self.trace.files.get(at) else { return false };
        let end = access.offset.saturating_add(access.len).min(file.len);
        if access.offset >= end {
            return false;
        }
        if self.reached.len() <= at {
            self.reached.resize_with(at + 1, Vec::new);
        }
        let Some(reached) = self.reached.get_mut(at) else { return false };
        let mut is_new = false;
        for page in access.offset / page_len..=(end - 1) / page_len {
            let Ok(word) = usize::try_from(page / 64) else { break };
            if reached.len() <= word {
                reached.resize(word + 1, 0);
            }
            if let Some(bits) = reached.get_mut(word) {
                is_new |= *bits & 1 << (page % 64) == 0;
                *bits |= 1 << (page % 64);
            }
        }
        is_new
    }
}

impl AccessLog {
    pub(crate) fn new(recording: Recording) -> Arc<Self> {
        Arc::new(AccessLog { recording, inner: Mutex::new(Recorded::default()) })
    }

    /// Whether the index of a pack is to be searched as git does it.
    pub(crate) fn searches_as_git(&self) -> bool {
        self.recording == Recording::AccessesOfGit
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        // A panic while it was held leaves at worst a trace that ends early.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the file at `path`; the same at each call.
    pub(crate) fn file(&self, path: &Path, role: FileRole, len: u64) -> u32 {
        let mut recorded = self.lock();
        if let Some(number) = recorded.by_path.get(path) {
            return *number;
        }
        let number = u32::try_from(recorded.trace.files.len()).unwrap_or(u32::MAX);
        recorded.trace.files.push(TracedFile { path: path.to_owned(), len, role });
        recorded.by_path.insert(path.to_owned(), number);
        number
    }

    pub(crate) fn access(&self, access: Access) {
        let mut recorded = self.lock();
        if let Recording::NewPages(page_len) = self.recording
            && !recorded.reaches_new_page(&access, page_len)
        {
            return;
        }
        recorded.trace.accesses.push(access);
    }

    pub(crate) fn decode(&self, decode: TracedDecode) {
        if !matches!(self.recording, Recording::NewPages(_)) {
            self.lock().trace.decodes.push(decode);
        }
    }

    /// How many decodes there are so far.
    pub(crate) fn decodes(&self) -> usize {
        self.lock().trace.decodes.len()
    }

    /// Says what the last `count` headers of deltas belong to, which is known once the end of their chain was found.
    pub(crate) fn name_headers(&self, count: usize, object: ObjectKind) {
        // Where headers are left out, the last ones are others.
        if matches!(self.recording, Recording::NewPages(_)) {
            return;
        }
        let mut recorded = self.lock();
        let headers = recorded.trace.accesses.iter_mut().rev().filter(|access| access.part == AccessPart::EntryHeader);
        for header in headers.take(count) {
            header.kind = Some(ChunkKind { object, is_delta: true });
        }
    }

    /// The number of the base at `place` of `file`, whose content is `content`; `None` if bases are not kept.
    pub(crate) fn base(&self, file: u32, place: u64, content: &[u8]) -> Option<u32> {
        if self.recording != Recording::WithBases {
            return None;
        }
        let mut recorded = self.lock();
        let recorded = &mut *recorded;
        if let Some(number) = recorded.by_base.get(&(file, place)) {
            return Some(*number);
        }
        let number = u32::try_from(recorded.trace.bases.len()).ok();
        match number.filter(|_| recorded.base_bytes.saturating_add(content.len()) <= MOST_BASE_BYTES) {
            Some(number) => {
                recorded.base_bytes += content.len();
                recorded.trace.bases.push(content.to_vec());
                recorded.by_base.insert((file, place), number);
                Some(number)
            }
            None => {
                recorded.trace.bases_left_out += 1;
                None
            }
        }
    }

    /// What was recorded.
    pub(crate) fn take(&self) -> AccessTrace {
        std::mem::take(&mut *self.lock()).trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_bases_are_numbered_once() {
        let log = AccessLog::new(Recording::WithBases);
        let first = log.file(Path::new("a"), FileRole::Pack, 10);
        let second = log.file(Path::new("b"), FileRole::PackIndex, 20);
        assert_eq!((first, second, log.file(Path::new("a"), FileRole::Pack, 10)), (0, 1, 0));
        assert_eq!(log.base(first, 7, b"base"), Some(0));
        assert_eq!(log.base(first, 8, b"other"), Some(1));
        assert_eq!(log.base(first, 7, b"base"), Some(0));
        let trace = log.take();
        assert_eq!(trace.bases, [b"base".to_vec(), b"other".to_vec()]);
        assert_eq!(trace.files.len(), 2);
        assert_eq!(AccessLog::new(Recording::Accesses).base(0, 7, b"base"), None);
    }

    #[test]
    fn headers_get_the_kind_of_the_object_at_the_end_of_their_chain() {
        let log = AccessLog::new(Recording::Accesses);
        let access = |part, offset| Access { file: 0, part, kind: None, offset, len: 2 };
        log.access(access(AccessPart::EntryHeader, 1));
        log.access(access(AccessPart::EntryHeader, 2));
        log.access(access(AccessPart::LookUp, 3));
        log.access(access(AccessPart::EntryHeader, 4));
        log.name_headers(2, ObjectKind::Tree);
        let named: Vec<bool> = log.take().accesses.iter().map(|access| access.kind.is_some()).collect();
        assert_eq!(named, [false, true, false, true]);
    }

    #[test]
    fn of_accesses_to_pages_only_those_to_a_new_one_are_kept() {
        let log = AccessLog::new(Recording::NewPages(NonZeroU64::new(10).unwrap()));
        let pack = log.file(Path::new("a"), FileRole::Pack, 995);
        let index = log.file(Path::new("b"), FileRole::PackIndex, 20);
        let reads = [
            (pack, 0, 10, true),
            (pack, 3, 4, false),
            (pack, 9, 2, true),
            (pack, 0, 20, false),
            (index, 0, 20, true),
            (pack, 980, 100, true),
            (pack, 990, 5, false),
            (pack, 1000, 10, false),
            (pack, 30, 0, false),
            (7, 0, 1, false),
        ];
        for (file, offset, len, _) in reads {
            log.access(Access { file, part: AccessPart::Chunk, kind: None, offset, len });
        }
        let trace = log.take();
        let kept: Vec<_> = trace.accesses.iter().map(|access| (access.file, access.offset, access.len)).collect();
        let expected: Vec<_> =
            reads.iter().filter(|read| read.3).map(|(file, offset, len, _)| (*file, *offset, *len)).collect();
        assert_eq!(kept, expected);
    }
}
