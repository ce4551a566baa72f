//! Every object of a repository as a whole, each once, whatever deltas it is stored in.

use std::{
    io::BufRead,
    ops::ControlFlow,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::Dictionaries;

use super::{
    GitRepository,
    hash::GitHasher,
    loose::{self, LooseFile},
    pack::PackFile,
    repository::LooseObject,
    verify::{PackWalk, Worker, order_of_damage},
};
use crate::{ObjectKind, Place, ReaderError, Result, threads};

/// An object whose content has the id that it is named by.
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
    /// It is above [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN), and not held in memory.
    Large {
        /// The chunk that holds it, to be decoded once more.
        stored: &'a mut (dyn BufRead + Send),
        /// Length of the chunk's payload.
        payload_len: u64,
        /// How many bytes of the payload precede the content: the header of a loose object.
        header_len: usize,
    },
}

/// Is handed whole objects.
pub trait WholeVisitor: Send {
    /// Takes an object. A break ends the walk, on all threads.
    fn visit(&mut self, object: WholeObject<'_>) -> ControlFlow<()>;
}

/// Hands every object of packs and loose files to one of `visitors`, which work at the same time. What a break left out nobody
/// is told of.
///
/// # Errors
/// An object is damaged, or does not have the id that it is named by.
pub fn visit_whole_objects<V: WholeVisitor>(repository: &GitRepository, visitors: &mut [V]) -> Result<()> {
    let dictionaries = repository.dictionaries()?;
    let mut packs: Vec<PackFile> = Vec::with_capacity(repository.packs().len());
    for files in repository.packs() {
        let pack = PackFile::open(files, repository.object_hash())?;
        let walk = PackWalk::new(&pack)?.behind(&packs);
        on_each(visitors, &dictionaries, |worker| walk.run(worker))?;
        if walk.is_over() {
            return Ok(());
        }
        packs.push(pack);
    }
    let objects = repository.loose_objects()?;
    let next = AtomicUsize::new(0);
    on_each(visitors, &dictionaries, |worker| {
        let mut buffers = Buffers::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((object, path)) = objects.as_slice().get(at).zip(objects.path(at)) else { return };
            if packs.iter().any(|pack| pack.position(&object.id).is_some()) {
                continue;
            }
            let visited = buffers.visit_loose(worker, &path, object.id);
            worker.turn.end([&mut buffers.stored, &mut buffers.payload]);
            let flow = visited.unwrap_or_else(|error| {
                worker.damage.push(error);
                ControlFlow::Break(())
            });
            if flow.is_break() {
                next.store(objects.len(), Ordering::Relaxed);
            }
        }
    })
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

/// Does `work` with each of `visitors`, on as many threads as there are for them: work that is shared out is done by
/// the first ones. Of several failures the one that lies first counts, for the same input to give the same message.
fn on_each<V: WholeVisitor>(
    visitors: &mut [V],
    dictionaries: &Dictionaries,
    work: impl Fn(&mut Worker<'_>) + Sync,
) -> Result<()> {
    let damage = Mutex::new(Vec::new());
    let threads = visitors.len();
    let waiting = Mutex::new(visitors.iter_mut());
    let next_visitor = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    threads::share(threads, || {
        while let Some(visitor) = next_visitor() {
            let mut worker = Worker::new(dictionaries);
            worker.visitor = Some(visitor);
            work(&mut worker);
            damage.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.damage);
        }
    });
    let mut damage = damage.into_inner().unwrap_or_else(PoisonError::into_inner);
    damage.sort_by_key(order_of_damage);
    damage.into_iter().next().map_or(Ok(()), Err)
}

#[derive(Default)]
struct Buffers {
    stored: Vec<u8>,
    payload: Vec<u8>,
}

impl Buffers {
    /// Hands the loose object at `path`, which should have `id`, to the visitor of `worker`.
    fn visit_loose(&mut self, worker: &mut Worker<'_>, path: &Path, id: ObjectId) -> Result<ControlFlow<()>> {
        let Buffers { stored, payload } = self;
        let LooseFile { header, large, .. } = LooseFile::open(path, &mut worker.decoder, stored)?;
        let Some(mut large) = large else {
            worker.turn.expect(header.content_len);
            loose::decode_payload(path, &header, stored, &mut worker.decoder, payload)?;
            check_id(path, id, hash_of(payload, id.kind()))?;
            let content = WholeContent::Held(payload.get(header.len..).unwrap_or_default());
            return Ok(hand_over(worker, WholeObject { id, kind: header.kind, path, content }));
        };
        let found = worker.hash_loose(path, id.kind(), stored, payload)?;
        check_id(path, id, found)?;
        let (payload_len, header_len) = (large.payload_len(), header.len);
        let content = WholeContent::Large { stored: large.stored(), payload_len, header_len };
        Ok(hand_over(worker, WholeObject { id, kind: header.kind, path, content }))
    }
}

fn hand_over(worker: &mut Worker<'_>, object: WholeObject<'_>) -> ControlFlow<()> {
    match &mut worker.visitor {
        Some(visitor) => visitor.visit(object),
        None => ControlFlow::Continue(()),
    }
}

fn hash_of(payload: &[u8], hash: Kind) -> ObjectId {
    let mut hasher = GitHasher::new(hash);
    hasher.update(payload);
    hasher.finish()
}

fn check_id(path: &Path, expected: ObjectId, found: ObjectId) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (format!("the object {expected}"), format!("content whose id is {found}"));
    Err(ReaderError::corrupt(path, Place::Whole, expected, found))
}
