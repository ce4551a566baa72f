//! Reads every object of a repository and recomputes its id.

mod btree;
mod compare;

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use gix_hash::ObjectId;
use repackbench_codec::Dictionaries;

pub use self::compare::{Difference, compare};
use super::{
    GitRepository,
    object_walk::{LooseWalk, PackWalk, no_visitors, run_workers},
    pack::PackFile,
    whole::{WholeVisitor, visit_stored_objects},
};
use crate::{ReaderError, Result};

/// The result of reading a whole repository.
#[derive(Debug, Default)]
pub struct Verification {
    /// The ids of all entries, values and loose objects, ascending. An object that is stored twice is listed twice.
    pub ids: Vec<ObjectId>,
    /// One error for each object that cannot be read or whose content does not have its id.
    pub damage: Vec<ReaderError>,
}

impl Verification {
    /// Adds the damage that a walk found.
    ///
    /// # Errors
    /// An object is too large for the memory ceiling, so that it could not be verified.
    fn add_damage(&mut self, mut damage: Vec<ReaderError>) -> Result<()> {
        let is_too_large = |error: &ReaderError| matches!(error, ReaderError::TooLarge { .. });
        if let Some(at) = damage.iter().position(is_too_large) {
            return Err(damage.swap_remove(at));
        }
        self.damage.append(&mut damage);
        Ok(())
    }
}

/// Reads every object of `repository` on `threads` threads.
///
/// # Errors
/// Objects cannot be verified one by one: a file is unreadable, an index does not fit its pack, a delta structure is
/// damaged, or an object is too large for the memory ceiling. Damaged objects are listed in the result.
pub fn verify_objects(repository: &GitRepository, threads: usize) -> Result<Verification> {
    let mut found = Verification::default();
    let dictionaries = repository.dictionaries()?;
    for files in repository.packs() {
        let pack = PackFile::open(files, repository.object_hash())?;
        found.add_damage(verify_pack(&pack, threads, &dictionaries)?)?;
        found.ids.extend(pack.index().iter().map(|entry| entry.oid));
    }
    btree::verify(repository, threads, &dictionaries, &mut found)?;
    let objects = repository.loose_objects()?;
    let walk = LooseWalk::new(&objects, &[]);
    found.add_damage(run_workers(no_visitors(threads), &dictionaries, |worker| walk.run(worker)))?;
    found.ids.extend(objects.as_slice().iter().map(|object| object.id));
    found.ids.sort_unstable();
    Ok(found)
}

/// Hands every object of `repository` whose content has its id to one of `visitors`, which work at the same time, and
/// stops at the first damage. Values of a B-tree are checked first, and not handed over. After a break the remaining
/// objects are skipped.
///
/// # Errors
/// An object is damaged, or its content does not have its id. Of several errors the one with the first path and offset
/// is returned.
pub fn check_objects<V: WholeVisitor>(repository: &GitRepository, visitors: &mut [V]) -> Result<()> {
    let mut found = Verification::default();
    btree::verify(repository, visitors.len(), &repository.dictionaries()?, &mut found)?;
    match found.damage.into_iter().next() {
        Some(damage) => Err(damage),
        None => visit_stored_objects(repository, visitors),
    }
}

/// Reads every object of `pack` and returns the damage. The first thread compares the pack with its checksum before it
/// joins the others: that is one stream of bytes, which threads cannot share.
fn verify_pack(pack: &PackFile, threads: usize, dictionaries: &Dictionaries) -> Result<Vec<ReaderError>> {
    let walk = match pack.check_index_checksum().and_then(|()| PackWalk::new(pack)) {
        Ok(walk) => walk,
        // A wrong checksum of the pack explains whatever else is wrong.
        Err(error) => return pack.check_pack_checksum().and(Err(error)),
    };
    let is_first = AtomicBool::new(true);
    let checksum = Mutex::new(Ok(()));
    let damage = run_workers(no_visitors(threads), dictionaries, |worker| {
        if is_first.swap(false, Ordering::Relaxed)
            && let Err(error) = pack.check_pack_checksum()
        {
            walk.stop();
            *checksum.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
        }
        walk.run(worker);
    });
    checksum.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    Ok(damage)
}
