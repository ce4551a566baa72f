//! Tracks where in memory the content of packs and loose objects is, and which store it belongs to.
//!
//! A program that decodes a chunk passes only the chunk's address; the address has to lead to the store with its
//! dictionaries. Only files of stores with dictionaries are tracked, so other stores cost no time.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicBool, AtomicPtr, Ordering},
};

use libc::c_int;

use super::{
    path::{ObjectFile, is_lock_of_tables},
    stores::{self, DictionarySet, ObjectStore},
};
use crate::{complain_once, git_command};

/// Descriptors of this number and above are not tracked.
const DESCRIPTORS: usize = 4096;

/// How many buffers of `read` are remembered: more than there are threads that read at the same time.
const BUFFERS: usize = 64;

/// The store of each open file, by descriptor, if that store has dictionaries.
static FILES: [AtomicPtr<ObjectStore>; DESCRIPTORS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; DESCRIPTORS];

/// The store in which this process last made an object file; null if it has gone on to the tables of refs, whose
/// reflogs are compressed too.
static WRITTEN: AtomicPtr<ObjectStore> = AtomicPtr::new(std::ptr::null_mut());

/// Whether any file of a store with dictionaries was ever opened.
static HAS_FILES: AtomicBool = AtomicBool::new(false);

/// A range of memory that holds content of a file.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    store: &'static ObjectStore,
}

/// Mapped files and buffers of `read`, each with the latest last.
#[derive(Default)]
struct Spans {
    mapped: Vec<Span>,
    buffers: Vec<Span>,
}

static SPANS: RwLock<Spans> = RwLock::new(Spans { mapped: Vec::new(), buffers: Vec::new() });

/// Records that the file at `path` was opened.
pub(crate) fn opened(descriptor: c_int, path: &[u8]) {
    let Some(slot) = usize::try_from(descriptor).ok().and_then(|number| FILES.get(number)) else { return };
    let file = ObjectFile::at(path);
    let store = file.map(|file| ObjectStore::at(file.store));
    if let (Some(store), Some(ObjectFile { is_new: true, .. })) = (store, file) {
        WRITTEN.store(std::ptr::from_ref(store).cast_mut(), Ordering::Release);
    }
    if is_lock_of_tables(path) {
        WRITTEN.store(std::ptr::null_mut(), Ordering::Release);
    }
    match store.filter(|store| store.has_dictionaries()) {
        Some(store) => {
            slot.store(std::ptr::from_ref(store).cast_mut(), Ordering::Release);
            HAS_FILES.store(true, Ordering::Release);
        }
        // The number may have belonged to a file of a store before.
        None if HAS_FILES.load(Ordering::Relaxed) => slot.store(std::ptr::null_mut(), Ordering::Release),
        None => {}
    }
}

/// The store in which this process last made a pack or a loose object, unless it now writes refs.
pub(crate) fn written() -> Option<&'static ObjectStore> {
    // SAFETY: null, or a store, which is never freed.
    unsafe { WRITTEN.load(Ordering::Acquire).as_ref() }
}

/// The store that an open file belongs to.
fn store_of(descriptor: c_int) -> Option<&'static ObjectStore> {
    if !HAS_FILES.load(Ordering::Relaxed) {
        return None;
    }
    let slot = usize::try_from(descriptor).ok().and_then(|number| FILES.get(number))?;
    // SAFETY: null, or a store, which is never freed.
    unsafe { slot.load(Ordering::Acquire).as_ref() }
}

/// Records that a file was mapped.
pub(crate) fn mapped(descriptor: c_int, start: usize, len: usize) {
    if let Some(store) = store_of(descriptor) {
        let mut spans = SPANS.write().unwrap_or_else(PoisonError::into_inner);
        spans.remove_overlapping(start, len);
        spans.mapped.push(Span { start, end: start.saturating_add(len), store });
    }
}

/// Records that a range of memory is about to be unmapped.
pub(crate) fn unmapped(start: usize, len: usize) {
    if HAS_FILES.load(Ordering::Relaxed) {
        SPANS.write().unwrap_or_else(PoisonError::into_inner).remove_overlapping(start, len);
    }
}

/// Records that a part of a file was read into memory.
pub(crate) fn read(descriptor: c_int, start: usize, len: usize) {
    if let Some(store) = store_of(descriptor) {
        let mut spans = SPANS.write().unwrap_or_else(PoisonError::into_inner);
        spans.remove_overlapping(start, len);
        if spans.buffers.len() == BUFFERS {
            spans.buffers.remove(0);
        }
        spans.buffers.push(Span { start, end: start.saturating_add(len), store });
    }
}

impl Spans {
    /// Removes every span that overlaps this range of memory.
    fn remove_overlapping(&mut self, start: usize, len: usize) {
        let end = start.saturating_add(len);
        let is_elsewhere = |span: &Span| span.end <= start || end <= span.start;
        self.mapped.retain(is_elsewhere);
        self.buffers.retain(is_elsewhere);
    }
}

/// The dictionaries for a chunk at this address.
///
/// `None` where two stores are possible. That is an error for a chunk that needs a dictionary, because with the
/// dictionary of the wrong store the chunk might decode to something else.
pub(crate) fn dictionaries_for(chunk: *const u8) -> Option<DictionarySet> {
    let address = chunk as usize;
    let holds = |span: &&Span| (span.start..span.end).contains(&address);
    let (mapped, buffer) = {
        let spans = SPANS.read().unwrap_or_else(PoisonError::into_inner);
        let store = |spans: &[Span]| spans.iter().rev().find(holds).map(|span| span.store);
        (store(&spans.mapped), store(&spans.buffers))
    };
    // git decodes from the buffer that it read into. Other programs may have copied something else there since.
    let read = buffer.filter(|_| git_command::is_git());
    let found = mapped.or(read).or_else(stores::only_one_with_dictionaries);
    if found.is_none() && HAS_FILES.load(Ordering::Relaxed) {
        static HAS_COMPLAINED: AtomicBool = AtomicBool::new(false);
        complain_once(
            &HAS_COMPLAINED,
            "a chunk needs a dictionary, but it is not clear of which of several repositories",
        );
    }
    found.map(ObjectStore::dictionary_set)
}
