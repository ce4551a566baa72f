//! Where in memory the content of packs and loose objects lies, and of which store it is: whoever decodes a chunk says no more than
//! where it begins.
//!
//! Only stores with dictionaries are of interest, and only they take any time.

use std::sync::{
    PoisonError, RwLock,
    atomic::{AtomicBool, AtomicPtr, Ordering},
};

use libc::c_int;

use super::{
    path::ObjectFile,
    stores::{self, DictionarySet, ObjectStore},
};
use crate::{complain_once, git_command};

/// Descriptors from this one on are not followed.
const DESCRIPTORS: usize = 4096;

/// How many buffers that were read into are remembered: more than threads that read at once.
const BUFFERS: usize = 64;

/// The store that each open file is of, if that store has dictionaries.
static FILES: [AtomicPtr<ObjectStore>; DESCRIPTORS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; DESCRIPTORS];

/// The store in which a file was made last.
static WRITTEN: AtomicPtr<ObjectStore> = AtomicPtr::new(std::ptr::null_mut());

/// Whether any file was ever of such a store.
static HAS_FILES: AtomicBool = AtomicBool::new(false);

/// A part of memory with what is in a file.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
    store: &'static ObjectStore,
}

/// What was mapped, and what was read into, the latest last.
#[derive(Default)]
struct Spans {
    mapped: Vec<Span>,
    buffers: Vec<Span>,
}

static SPANS: RwLock<Spans> = RwLock::new(Spans { mapped: Vec::new(), buffers: Vec::new() });

/// Remembers what the file is that was opened at `path`.
pub(crate) fn opened(descriptor: c_int, path: &[u8]) {
    let Some(slot) = usize::try_from(descriptor).ok().and_then(|number| FILES.get(number)) else { return };
    let file = ObjectFile::at(path);
    let store = file.map(|file| ObjectStore::at(file.store));
    if let (Some(store), Some(ObjectFile { is_new: true, .. })) = (store, file) {
        WRITTEN.store(std::ptr::from_ref(store).cast_mut(), Ordering::Release);
    }
    match store.filter(|store| store.has_dictionaries()) {
        Some(store) => {
            slot.store(std::ptr::from_ref(store).cast_mut(), Ordering::Release);
            HAS_FILES.store(true, Ordering::Release);
        }
        // The number may have been another file's.
        None if HAS_FILES.load(Ordering::Relaxed) => slot.store(std::ptr::null_mut(), Ordering::Release),
        None => {}
    }
}

/// The store in which this process made a pack or a loose object last.
pub(crate) fn written() -> Option<&'static ObjectStore> {
    // SAFETY: null, or one that lasts.
    unsafe { WRITTEN.load(Ordering::Acquire).as_ref() }
}

/// The store that an open file is of.
fn store_of(descriptor: c_int) -> Option<&'static ObjectStore> {
    if !HAS_FILES.load(Ordering::Relaxed) {
        return None;
    }
    let slot = usize::try_from(descriptor).ok().and_then(|number| FILES.get(number))?;
    // SAFETY: null, or one that lasts.
    unsafe { slot.load(Ordering::Acquire).as_ref() }
}

/// A file was mapped.
pub(crate) fn mapped(descriptor: c_int, start: usize, len: usize) {
    if let Some(store) = store_of(descriptor) {
        let mut spans = SPANS.write().unwrap_or_else(PoisonError::into_inner);
        spans.remove_overlapping(start, len);
        spans.mapped.push(Span { start, end: start.saturating_add(len), store });
    }
}

/// A mapping is to go, of whatever file.
pub(crate) fn unmapped(start: usize, len: usize) {
    if HAS_FILES.load(Ordering::Relaxed) {
        SPANS.write().unwrap_or_else(PoisonError::into_inner).remove_overlapping(start, len);
    }
}

/// A part of a file was read into memory.
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
    /// Forgets all that lies in this part of memory, if only in part.
    fn remove_overlapping(&mut self, start: usize, len: usize) {
        let end = start.saturating_add(len);
        let is_elsewhere = |span: &Span| span.end <= start || end <= span.start;
        self.mapped.retain(is_elsewhere);
        self.buffers.retain(is_elsewhere);
    }
}

/// The dictionaries for a chunk at this place in memory. Where two stores are possible there are none, which is an error for a chunk
/// that needs one: with another's it might decode to something else.
pub(crate) fn tables_for(place: *const u8) -> Option<DictionarySet> {
    let place = place as usize;
    let holds = |span: &&Span| (span.start..span.end).contains(&place);
    let (mapped, buffer) = {
        let spans = SPANS.read().unwrap_or_else(PoisonError::into_inner);
        let store = |spans: &[Span]| spans.iter().rev().find(holds).map(|span| span.store);
        (store(&spans.mapped), store(&spans.buffers))
    };
    // git decodes where it has read to; others may have copied something else there since.
    let read = buffer.filter(|_| git_command::is_git());
    let found = mapped.or(read).or_else(stores::only_one_with_dictionaries);
    if found.is_none() && HAS_FILES.load(Ordering::Relaxed) {
        static HAS_COMPLAINED: AtomicBool = AtomicBool::new(false);
        complain_once(
            &HAS_COMPLAINED,
            "a chunk needs a dictionary, and it cannot be told of which of several repositories",
        );
    }
    found.map(ObjectStore::tables)
}
