//! Verifying every value of a B-tree.

use std::sync::atomic::{AtomicUsize, Ordering};

use gix_hash::ObjectId;
use repackbench_codec::{BLOCK_LEN, Dictionaries};

use super::Verification;
use crate::{
    Place, Result,
    git::{
        GitRepository,
        btree::{BtreeFile, BtreePlace},
        hash::{object_hasher, object_id},
        object_walk::{Worker, check_id, no_visitors, run_workers},
    },
};

/// Reads every value of the B-tree of `repository`, if it has one, on `threads` threads.
pub(super) fn verify(
    repository: &GitRepository,
    threads: usize,
    dictionaries: &Dictionaries,
    found: &mut Verification,
) -> Result<()> {
    let Some(path) = repository.btree() else { return Ok(()) };
    let hash = repository.object_hash();
    let mut places: Vec<(ObjectId, BtreePlace)> = Vec::new();
    BtreeFile::open(path, hash)?.for_each(&mut |id, place| {
        places.push((id, place));
        Ok(())
    })?;
    let next = AtomicUsize::new(0);
    found.add_damage(run_workers(no_visitors(threads), dictionaries, |worker| {
        let btree = match BtreeFile::open(path, hash) {
            Ok(btree) => btree,
            Err(error) => return worker.damage.push(error),
        };
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((id, place)) = places.get(at) else { return };
            if let Err(error) = worker.verify_value(&btree, id, place) {
                worker.damage.push(error);
            }
        }
    }))?;
    found.ids.extend(places.iter().map(|(id, _)| *id));
    Ok(())
}

impl Worker<'_> {
    fn verify_value(&mut self, btree: &BtreeFile, id: &ObjectId, place: &BtreePlace) -> Result<()> {
        let head = btree.head(place)?;
        let hash = id.kind();
        let found = if head.payload_len > BLOCK_LEN as u64 {
            let mut hasher = object_hasher(hash, head.kind, head.payload_len);
            let mut stored = btree.chunk_reader(place, &head)?;
            let result = self.decoder.decode_stream_from(&mut stored, head.payload_len, &mut |piece| {
                hasher.update(piece);
                Ok(())
            });
            btree.check_consumed(place, &head, result)?;
            hasher.finish()
        } else {
            let (mut value, mut content) = (self.buffer(), self.buffer());
            self.turn.reserve(head.payload_len);
            let kind = btree.read(place, &mut self.decoder, &mut value, &mut content);
            let found = kind.map(|kind| object_id(hash, kind, &content));
            self.turn.finish([&mut value, &mut content]);
            self.recycle(value);
            self.recycle(content);
            found?
        };
        check_id(btree.path(), Place::Offset(place.offset), id, found)
    }
}
