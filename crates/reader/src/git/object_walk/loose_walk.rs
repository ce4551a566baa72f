//! All loose objects of a repository.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use gix_hash::ObjectId;

use super::{WholeContent, WholeObject, Worker, check_id};
use crate::{
    Place, Result,
    git::{
        loose::{self, LooseFile},
        pack::PackFile,
        repository::LooseObjects,
    },
    hash::IdHasher,
};

/// The loose objects, shared by the threads that walk them.
pub(in crate::git) struct LooseWalk<'a> {
    objects: &'a LooseObjects,
    /// Objects of these packs are left out.
    packs: &'a [PackFile],
    next: AtomicUsize,
}

impl<'a> LooseWalk<'a> {
    /// A walk over `objects` without those that are in one of `packs`.
    pub(in crate::git) fn new(objects: &'a LooseObjects, packs: &'a [PackFile]) -> Self {
        LooseWalk { objects, packs, next: AtomicUsize::new(0) }
    }

    /// Checks objects with `worker` until none is left.
    pub(in crate::git) fn run(&self, worker: &mut Worker<'_>) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((object, path)) = self.objects.as_slice().get(at).zip(self.objects.path(at)) else { return };
            if self.packs.iter().any(|pack| pack.position(&object.id).is_some()) {
                continue;
            }
            let is_over = match worker.visit_loose(&path, object.id) {
                Ok(flow) => flow.is_break(),
                Err(error) => {
                    worker.damage.push(error);
                    worker.visitor.is_some()
                }
            };
            if is_over {
                self.next.store(self.objects.len(), Ordering::Relaxed);
            }
        }
    }
}

impl Worker<'_> {
    /// Checks the loose object at `path` against `id` and hands it to the visitor, if there is one.
    fn visit_loose(&mut self, path: &Path, id: ObjectId) -> Result<ControlFlow<()>> {
        let (mut stored, mut payload) = (self.buffer(), self.buffer());
        let visited = self.visit_loose_with(path, id, &mut stored, &mut payload);
        self.turn.finish([&mut stored, &mut payload]);
        self.recycle(stored);
        self.recycle(payload);
        visited
    }

    fn visit_loose_with(
        &mut self,
        path: &Path,
        id: ObjectId,
        stored: &mut Vec<u8>,
        payload: &mut Vec<u8>,
    ) -> Result<ControlFlow<()>> {
        // The id of a loose object is the hash of its payload.
        let mut hasher = IdHasher::new(id.kind());
        let LooseFile { header, large, .. } = LooseFile::open(path, &mut self.decoder, stored)?;
        let kind = header.kind;
        let Some(large) = large else {
            self.turn.reserve(header.content_len);
            loose::decode_payload(path, &header, stored, &mut self.decoder, payload)?;
            hasher.update(payload);
            check_id(path, Place::Whole, &id, hasher.finish())?;
            let content = WholeContent::Held(payload.get(header.len..).unwrap_or_default());
            return Ok(self.hand_over(WholeObject { id, kind, path, content }));
        };
        large.decode(path, &mut self.decoder, |piece| hasher.update(piece))?;
        check_id(path, Place::Whole, &id, hasher.finish())?;
        if self.visitor.is_none() {
            return Ok(ControlFlow::Continue(()));
        }
        // Decoding has read the file to its end.
        let LooseFile { header, large, .. } = LooseFile::open(path, &mut self.decoder, stored)?;
        let mut large = large.ok_or_else(|| crate::ReaderError::Changed { path: path.to_owned() })?;
        let (payload_len, header_len) = (large.payload_len(), header.len);
        let content = WholeContent::Large { stored: large.stored(), payload_len, header_len };
        Ok(self.hand_over(WholeObject { id, kind, path, content }))
    }
}
