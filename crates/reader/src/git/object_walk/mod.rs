//! Walks over all objects of a repository on several threads. Each object is decoded once and checked against its id.
//!
//! [`verify`](super::verify) lists what is damaged. [`whole`](super::whole) hands the objects to visitors and stops at
//! the first damage.

mod loose_walk;
mod pack_walk;

use std::{
    io::BufRead,
    iter,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use gix_hash::ObjectId;
use repackbench_codec::{ChunkDecoder, Dictionaries, ZlibReader};

pub(super) use self::{loose_walk::LooseWalk, pack_walk::PackWalk};
use crate::{ObjectKind, Place, ReaderError, memory::TurnTaker, threads};

/// An object whose content has been checked against its id.
pub struct WholeObject<'a> {
    /// Its id.
    pub id: ObjectId,
    /// Its kind.
    pub kind: ObjectKind,
    /// The file that it comes from.
    pub path: &'a Path,
    /// Its content.
    pub content: WholeContent<'a>,
}

/// The content of a whole object.
pub enum WholeContent<'a> {
    /// All of it.
    Held(&'a [u8]),
    /// The content is above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) and not held in memory.
    Large {
        /// The chunk that holds it, to be decoded once more.
        stored: &'a mut (dyn BufRead + Send),
        /// Length of the chunk's payload in bytes.
        payload_len: u64,
        /// Number of payload bytes before the content: the header of a loose object.
        header_len: usize,
    },
}

/// Receives whole objects.
pub trait WholeVisitor: Send {
    /// Receives an object. A break ends the walk on all threads.
    fn visit(&mut self, object: WholeObject<'_>) -> ControlFlow<()>;
}

/// The visitors of threads that only check objects.
pub(super) fn no_visitors<'v>(threads: usize) -> Vec<Option<&'v mut dyn WholeVisitor>> {
    iter::repeat_with(|| None).take(threads.max(1)).collect()
}

/// Calls `work` with one worker for each of `visitors`, on up to as many threads. Work that the workers share is done
/// by the first ones where fewer threads can be started. Returns the damage that they found, in the order of files
/// and offsets, so that the same input gives the same messages.
pub(super) fn run_workers(
    visitors: Vec<Option<&mut dyn WholeVisitor>>,
    dictionaries: &Dictionaries,
    work: impl Fn(&mut Worker<'_>) + Sync,
) -> Vec<ReaderError> {
    let damage = Mutex::new(Vec::new());
    let threads = visitors.len();
    let waiting = Mutex::new(visitors.into_iter());
    let next_visitor = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    threads::share(threads, || {
        while let Some(visitor) = next_visitor() {
            let mut worker = Worker::new(dictionaries, visitor);
            work(&mut worker);
            damage.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.damage);
        }
    });
    let mut damage = damage.into_inner().unwrap_or_else(PoisonError::into_inner);
    damage.sort_by_key(place_of_damage);
    damage
}

fn place_of_damage(error: &ReaderError) -> (PathBuf, u64) {
    match error {
        ReaderError::Corrupt { place: Place::Offset(offset), path, .. }
        | ReaderError::TooLarge { place: Place::Offset(offset), path, .. } => (path.clone(), *offset),
        ReaderError::Corrupt { path, .. } | ReaderError::TooLarge { path, .. } => (path.clone(), 0),
        _ => Default::default(),
    }
}

/// The decoder and buffers of one thread, and the damage that it found.
pub(super) struct Worker<'v> {
    pub(super) decoder: ChunkDecoder,
    delta_payload: Vec<u8>,
    /// The object that the last numbered one stands for.
    expanded: Vec<u8>,
    pub(super) turn: TurnTaker,
    spare: Vec<Vec<u8>>,
    pub(super) damage: Vec<ReaderError>,
    /// Receives the objects that are sound. With a visitor, the first damage ends the work.
    visitor: Option<&'v mut dyn WholeVisitor>,
}

impl<'v> Worker<'v> {
    /// A larger buffer is freed after use, not kept for reuse.
    const LARGEST_SPARE: usize = 4 << 20;

    fn new(dictionaries: &Dictionaries, visitor: Option<&'v mut dyn WholeVisitor>) -> Self {
        // No codec is timed here, so the fastest available reader decodes zlib streams.
        Worker {
            decoder: ChunkDecoder::new(ZlibReader::Libdeflate).with_dictionaries(dictionaries),
            delta_payload: Vec::new(),
            expanded: Vec::new(),
            turn: TurnTaker::default(),
            spare: Vec::new(),
            damage: Vec::new(),
            visitor,
        }
    }

    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    pub(super) fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= Self::LARGEST_SPARE {
            self.spare.push(buffer);
        }
    }

    /// Hands `object` to the visitor, if there is one.
    fn hand_over(&mut self, object: WholeObject<'_>) -> ControlFlow<()> {
        match &mut self.visitor {
            Some(visitor) => visitor.visit(object),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Fails unless the content at `place` of `path`, whose id is `found`, is that of the object `expected`.
pub(super) fn check_id(
    path: &Path,
    place: Place,
    expected: &gix_hash::oid,
    found: ObjectId,
) -> Result<(), ReaderError> {
    if *found == *expected {
        return Ok(());
    }
    let (expected, found) = (format!("the object {expected}"), format!("content whose id is {found}"));
    Err(ReaderError::corrupt(path, place, expected, found))
}
