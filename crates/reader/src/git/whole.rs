//! Every object of a repository as a whole, once each, whatever deltas it is stored in.

pub use super::object_walk::{WholeContent, WholeObject, WholeVisitor};
use super::{
    GitRepository,
    object_walk::{LooseWalk, PackWalk, Worker, run_workers},
    pack::PackFile,
    repository::LooseObject,
};
use crate::Result;

/// Hands every object of packs and loose files to one of `visitors`, which work at the same time. After a break the
/// remaining objects are skipped.
///
/// # Errors
/// An object is damaged, or its content does not have its id. Of several errors the one with the first path and offset
/// is returned.
pub fn visit_whole_objects<V: WholeVisitor>(repository: &GitRepository, visitors: &mut [V]) -> Result<()> {
    visit(repository, visitors, Copies::First)
}

/// As [`visit_whole_objects`], but hands over every copy of an object that is stored more than once.
///
/// # Errors
/// As [`visit_whole_objects`].
pub fn visit_stored_objects<V: WholeVisitor>(repository: &GitRepository, visitors: &mut [V]) -> Result<()> {
    visit(repository, visitors, Copies::All)
}

/// Which copies of an object that is stored more than once are visited.
#[derive(Clone, Copy, PartialEq)]
enum Copies {
    First,
    All,
}

fn visit<V: WholeVisitor>(repository: &GitRepository, visitors: &mut [V], copies: Copies) -> Result<()> {
    let dictionaries = repository.dictionaries()?;
    let mut run = |work: &(dyn Fn(&mut Worker<'_>) + Sync)| {
        let visitors = visitors.iter_mut().map(|visitor| Some(visitor as &mut dyn WholeVisitor)).collect();
        run_workers(visitors, &dictionaries, work).into_iter().next().map_or(Ok(()), Err)
    };
    let mut packs: Vec<PackFile> = Vec::with_capacity(repository.packs().len());
    for files in repository.packs() {
        let pack = PackFile::open(files, repository.object_hash())?;
        let walk = PackWalk::new(&pack)?.without(&packs);
        run(&|worker| walk.run(worker))?;
        if walk.is_over() {
            return Ok(());
        }
        if copies == Copies::First {
            packs.push(pack);
        }
    }
    let objects = repository.loose_objects()?;
    let walk = LooseWalk::new(&objects, &packs);
    run(&|worker| walk.run(worker))
}

/// How many different objects there are in packs and loose files: as many as [`visit_whole_objects`] hands over.
///
/// # Errors
/// An index cannot be read.
pub fn count_objects(repository: &GitRepository) -> Result<u64> {
    let mut count = 0;
    let mut packs: Vec<PackFile> = Vec::with_capacity(repository.packs().len());
    for files in repository.packs() {
        let pack = PackFile::open(files, repository.object_hash())?;
        let mut before = None;
        for entry in pack.index().iter() {
            let is_new = before != Some(entry.oid) && packs.iter().all(|pack| pack.position(&entry.oid).is_none());
            count += u64::from(is_new);
            before = Some(entry.oid);
        }
        packs.push(pack);
    }
    let objects = repository.loose_objects()?;
    let is_loose = |object: &&LooseObject| packs.iter().all(|pack| pack.position(&object.id).is_none());
    Ok(count + objects.as_slice().iter().filter(is_loose).count() as u64)
}

/// How many objects are stored in packs and loose files: as many as [`visit_stored_objects`] hands over.
///
/// # Errors
/// An index cannot be read.
pub fn count_stored_objects(repository: &GitRepository) -> Result<u64> {
    let mut count = repository.loose_objects()?.as_slice().len() as u64;
    for files in repository.packs() {
        count += u64::from(PackFile::open(files, repository.object_hash())?.index().num_objects());
    }
    Ok(count)
}
