//! The access trace: what is read of a repository's files, in order.
//!
//! Recording is off until [`History::record_accesses`](crate::History::record_accesses) turns it on. While it is off, a
//! reader only checks on each look-up and each chunk whether there is a log. The reader knows exactly which bytes it
//! requests; the page cache would also show what the kernel read ahead.

use std::{
    collections::HashMap,
    num::NonZeroU64,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{ChunkKind, ObjectKind};

/// Limit on the bytes of bases that a trace keeps. Bases beyond it are counted in [`AccessTrace::bases_left_out`].
const MAX_BASE_BYTES: usize = 1 << 30;

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileRole {
    /// A Git pack.
    Pack,
    /// The index of a Git pack.
    PackIndex,
    /// A B-tree that replaces packs and loose objects.
    Btree,
    /// A loose object.
    LooseObject,
    /// The index of a revlog. In an inline revlog it also holds the chunks.
    RevlogIndex,
    /// The chunks of a revlog that is not inline.
    RevlogData,
    /// Content outside of the revlogs, to which a revlog only points.
    External,
}

impl FileRole {
    /// Whether it holds chunks of many objects, or finds them.
    pub fn is_store_file(self) -> bool {
        !matches!(self, FileRole::LooseObject | FileRole::External)
    }

    /// Whether the file is memory-mapped. Other files are read with system calls.
    pub fn is_mapped(self) -> bool {
        matches!(self, FileRole::Pack | FileRole::PackIndex)
    }
}

/// A file in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedFile {
    /// Its path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub len: u64,
    /// Its contents.
    pub role: FileRole,
}

/// Which part of a file was read, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessPart {
    /// The part that is read on opening: start and end of a pack and its index, the meta pages of a B-tree.
    Opening,
    /// An id or an offset in a pack's index, or a page of a B-tree.
    LookUp,
    /// The header of a delta in a pack, on the way to its base, or the head of a value in a B-tree.
    EntryHeader,
    /// A chunk, with the header of its entry unless that was read before.
    Chunk,
    /// Bytes between chunks that are read in one call.
    Gap,
    /// The whole index of a revlog.
    RevlogIndex,
}

/// One range of a file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The file, as a position in [`AccessTrace::files`].
    pub file: u32,
    /// Which part of it, and for what.
    pub part: AccessPart,
    /// The kind of the object that was read; `None` for parts that serve many objects.
    pub kind: Option<ChunkKind>,
    /// Where the range starts, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// One chunk that was decoded, with the details that are needed to decode it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedDecode {
    /// The file, as a position in [`AccessTrace::files`].
    pub file: u32,
    /// Where its stored bytes start.
    pub offset: u64,
    /// Number of stored bytes that decoding consumed.
    pub stored_len: u64,
    /// The length of the payload in a Git store; its upper bound in a revlog.
    pub payload_limit: u64,
    /// The kind of the chunk.
    pub kind: ChunkKind,
    /// The content of its base, as a position in [`AccessTrace::bases`]; `None` if the chunk was decoded without a
    /// base.
    pub base: Option<u32>,
}

/// Everything that was read while recording was on, in order.
#[derive(Debug, Clone, Default)]
pub struct AccessTrace {
    /// The files of the store, and other files in the order in which they were first read.
    pub files: Vec<TracedFile>,
    /// The ranges that were read.
    pub accesses: Vec<Access>,
    /// The chunks that were decoded.
    pub decodes: Vec<TracedDecode>,
    /// The content of the bases that chunks were decoded with, once each. Only recorded with [`Recording::WithBases`].
    pub bases: Vec<Vec<u8>>,
    /// Number of decodes whose base was left out because all bases together would take too much memory.
    pub bases_left_out: u64,
}

/// What to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Accesses and decodes.
    Accesses,
    /// Accesses and decodes, with pack indexes searched as git searches them: by the fan-out, then by halving. This
    /// reader searches in another way and finds the same.
    AccessesOfGit,
    /// Accesses, decodes and the content of bases, so that each chunk can be decoded again on its own.
    WithBases,
    /// Only decodes, without bases.
    Decodes,
    /// Only accesses that reach a page of this many bytes for the first time, and no decodes. This is all that a page
    /// cache that evicts nothing can show. Memory grows with the number of pages in the store, not with the number of
    /// accesses.
    NewPages(NonZeroU64),
}

/// A chunk from a trace, with everything that is needed to decode it.
#[derive(Debug, Clone, Copy)]
pub struct ChunkInMemory<'a> {
    /// The file that it comes from, for messages.
    pub file: &'a Path,
    /// Its record in the trace.
    pub decode: &'a TracedDecode,
    /// Its stored bytes.
    pub stored: &'a [u8],
    /// The content of its base, if it was decoded with one.
    pub base: Option<&'a [u8]>,
}

/// The trace that is being recorded. All readers of one repository share it on one thread, so the lock is never
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
    /// One bit per page of each file: whether the page was reached. Only used with [`Recording::NewPages`].
    reached: Vec<Vec<u64>>,
}

impl Recorded {
    /// Whether `access` is the first one to reach some page of its file.
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

    /// Whether to search pack indexes as git does.
    pub(crate) fn searches_as_git(&self) -> bool {
        self.recording == Recording::AccessesOfGit
    }

    fn lock(&self) -> MutexGuard<'_, Recorded> {
        // A panic while the lock was held can only leave a trace that ends early.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the file at `path`, which is the same on each call.
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
        if self.recording == Recording::Decodes {
            return;
        }
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

    /// Number of decodes recorded so far.
    pub(crate) fn decodes(&self) -> usize {
        self.lock().trace.decodes.len()
    }

    /// Sets the kind of the last `count` delta headers to `object`. It is known once the end of their chain is found.
    pub(crate) fn name_headers(&self, count: usize, object: ObjectKind) {
        // Some headers are not recorded, so the last recorded ones may belong to other objects.
        if matches!(self.recording, Recording::NewPages(_) | Recording::Decodes) {
            return;
        }
        let mut recorded = self.lock();
        let headers = recorded.trace.accesses.iter_mut().rev().filter(|access| access.part == AccessPart::EntryHeader);
        for header in headers.take(count) {
            header.kind = Some(ChunkKind { object, is_delta: true });
        }
    }

    /// The number of the base at `place` of `file`, whose content is `content`; `None` if bases are not recorded.
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
        match number.filter(|_| recorded.base_bytes.saturating_add(content.len()) <= MAX_BASE_BYTES) {
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

    /// Takes the recorded trace.
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
    fn headers_get_kind_from_end_of_chain() {
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
    fn new_pages_keeps_only_first_access_to_a_page() {
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
