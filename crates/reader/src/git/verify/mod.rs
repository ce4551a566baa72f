//! Reads every object of a repository and recomputes its id.
//!
//! Each entry is decoded once: the deltas of a pack form a forest, and each tree of it is walked from its whole entry
//! down, so that a base is at hand when its deltas' turn comes.

mod btree;
mod compare;
mod pack_walk;

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use gix_hash::ObjectId;
use repackbench_codec::{ChunkDecoder, Dictionaries, ZlibReader};

pub use self::compare::{Difference, compare};
pub(in crate::git) use self::pack_walk::PackWalk;
use super::{
    GitRepository,
    hash::GitHasher,
    loose::{self, LooseFile},
    pack::PackFile,
    whole::WholeVisitor,
};
use crate::{Place, ReaderError, Result, memory::TurnTaker, threads};

/// What reading a whole repository found.
#[derive(Debug, Default)]
pub struct Verification {
    /// The ids of all entries, values and loose objects, ascending. One stored twice is listed twice.
    pub ids: Vec<ObjectId>,
    /// Every object that cannot be read or whose content does not have its id.
    pub damage: Vec<ReaderError>,
}

impl Verification {
    /// Adds what a walk found.
    ///
    /// # Errors
    /// An object is too large for the memory that there is, so that nothing can be said of it.
    fn add_damage(&mut self, mut damage: Vec<ReaderError>) -> Result<()> {
        damage.sort_by_key(order_of_damage);
        let is_too_large = |error: &ReaderError| matches!(error, ReaderError::TooLarge { .. });
        if let Some(at) = damage.iter().position(is_too_large) {
            return Err(damage.swap_remove(at));
        }
        self.damage.append(&mut damage);
        Ok(())
    }
}

/// Sorts what several threads found, for the same input to give the same messages.
pub(in crate::git) fn order_of_damage(error: &ReaderError) -> (PathBuf, u64) {
    match error {
        ReaderError::Corrupt { place: Place::Offset(offset), path, .. }
        | ReaderError::TooLarge { place: Place::Offset(offset), path, .. } => (path.clone(), *offset),
        ReaderError::Corrupt { path, .. } | ReaderError::TooLarge { path, .. } => (path.clone(), 0),
        _ => Default::default(),
    }
}

/// Reads every object of `repository` on `threads` threads.
///
/// # Errors
/// Only what prevents looking at objects one by one: an unreadable file, an index that does not fit its pack, a damaged
/// delta structure, an object that is too large for the memory that there is. Damaged objects are listed in the result.
pub fn verify_objects(repository: &GitRepository, threads: usize) -> Result<Verification> {
    let mut found = Verification::default();
    let dictionaries = repository.dictionaries()?;
    for files in repository.packs() {
        let pack = PackFile::open(files, repository.object_hash())?;
        pack.check_pack_checksum()?;
        pack.check_index_checksum()?;
        let walk = PackWalk::new(&pack)?;
        found.add_damage(in_parallel(threads, &dictionaries, |worker| walk.run(worker)))?;
        found.ids.extend(pack.index().iter().map(|entry| entry.oid));
    }
    btree::verify(repository, threads, &dictionaries, &mut found)?;
    let objects = repository.loose_objects()?;
    let next = AtomicUsize::new(0);
    found.add_damage(in_parallel(threads, &dictionaries, |worker| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((object, path)) = objects.as_slice().get(at).zip(objects.path(at)) else { return };
            if let Err(error) = worker.verify_loose(&path, object.id) {
                worker.damage.push(error);
            }
        }
    }))?;
    found.ids.extend(objects.as_slice().iter().map(|object| object.id));
    found.ids.sort_unstable();
    Ok(found)
}

/// Runs `work` on up to as many threads, each with buffers of its own, and gathers the damage they find.
fn in_parallel(threads: usize, dictionaries: &Dictionaries, work: impl Fn(&mut Worker<'_>) + Sync) -> Vec<ReaderError> {
    let damage = Mutex::new(Vec::new());
    threads::share(threads, || {
        let mut worker = Worker::new(dictionaries);
        work(&mut worker);
        damage.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.damage);
    });
    damage.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// One thread's decoder and buffers, and the damage it found.
pub(in crate::git) struct Worker<'v> {
    pub(in crate::git) decoder: ChunkDecoder,
    delta_payload: Vec<u8>,
    pub(in crate::git) turn: TurnTaker,
    spare: Vec<Vec<u8>>,
    pub(in crate::git) damage: Vec<ReaderError>,
    /// Who is handed the objects that were found sound; then the first damage ends the work.
    pub(in crate::git) visitor: Option<&'v mut dyn WholeVisitor>,
}

impl Worker<'_> {
    /// A buffer larger than this is given back to the allocator when it is done with.
    const LARGEST_SPARE: usize = 4 << 20;

    pub(in crate::git) fn new(dictionaries: &Dictionaries) -> Self {
        // No codec is being timed here, so zlib streams are read by the fastest reader at hand.
        Worker {
            decoder: ChunkDecoder::new(ZlibReader::Libdeflate).with_dictionaries(dictionaries),
            delta_payload: Vec::new(),
            turn: TurnTaker::default(),
            spare: Vec::new(),
            damage: Vec::new(),
            visitor: None,
        }
    }

    fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    fn recycle(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= Self::LARGEST_SPARE {
            self.spare.push(buffer);
        }
    }

    fn verify_loose(&mut self, path: &Path, id: ObjectId) -> Result<()> {
        let mut stored = self.buffer();
        let mut payload = self.buffer();
        let result = self.hash_loose(path, id.kind(), &mut stored, &mut payload);
        self.turn.end([&mut stored, &mut payload]);
        self.recycle(stored);
        self.recycle(payload);
        match result? {
            found if found == id => Ok(()),
            found => Err(ReaderError::corrupt(
                path,
                Place::Whole,
                format!("the object {id}"),
                format!("content whose id is {found}"),
            )),
        }
    }

    /// The id of the loose object at `path`, by its content.
    pub(in crate::git) fn hash_loose(
        &mut self,
        path: &Path,
        hash: gix_hash::Kind,
        stored: &mut Vec<u8>,
        payload: &mut Vec<u8>,
    ) -> Result<ObjectId> {
        // The payload of a loose object is just what its id is the hash of.
        let mut hasher = GitHasher::new(hash);
        let LooseFile { header, large, .. } = LooseFile::open(path, &mut self.decoder, stored)?;
        match large {
            Some(large) => large.decode(path, &mut self.decoder, |piece| hasher.update(piece))?,
            None => {
                self.turn.expect(header.content_len);
                loose::decode_payload(path, &header, stored, &mut self.decoder, payload)?;
                hasher.update(payload);
            }
        }
        Ok(hasher.finish())
    }
}
