//! Objects that are in no pack: loose objects and values of the B-tree. They are cached like packed objects, so that
//! the same cache serves every store.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use gix_hash::{ObjectId, Prefix, oid};

use super::ObjectStore;
use crate::{
    ChunkKind, ObjectKind, Result,
    access::{Access, AccessPart, FileRole, TracedDecode},
    delta_base_cache::Key,
    git::{
        btree::{BtreePlace, ValueHead},
        loose::{self, LooseFile},
    },
};

/// Numbers in place of a pack's in the keys of the cache.
const LOOSE: usize = usize::MAX;
const BTREE: usize = usize::MAX - 1;

/// The place of an object that is in no pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unpacked {
    /// A value of the B-tree.
    Btree(BtreePlace),
    /// The loose object with this number.
    Loose(usize),
}

impl Unpacked {
    /// Its key in the cache of decoded objects.
    pub(super) fn key(self) -> Key {
        match self {
            Unpacked::Btree(place) => (BTREE, place.offset),
            Unpacked::Loose(at) => (LOOSE, at as u64),
        }
    }
}

impl ObjectStore {
    /// Opens the loose object number `at` and reads it into `self.loose_stored`, unless it is large.
    pub(super) fn load_loose(&mut self, at: usize) -> Result<(PathBuf, LooseFile)> {
        let path = self.loose.path(at).unwrap_or_default();
        let loaded = LooseFile::open(&path, self.packed.decoder(), &mut self.loose_stored)?;
        if let Some(log) = &self.log {
            let len = loaded.stored_len;
            let file = log.file(&path, FileRole::LooseObject, len);
            log.access(Access { file, part: AccessPart::Chunk, kind: None, offset: 0, len });
        }
        Ok((path, loaded))
    }

    /// Reads the object at `place` into `content`, through the cache.
    pub(super) fn read_unpacked(&mut self, place: Unpacked, content: &mut Vec<u8>) -> Result<ObjectKind> {
        if let Some(kind) = self.packed.copy_cached(place.key(), content) {
            return Ok(kind);
        }
        let kind = self.decode_unpacked(place, content)?;
        self.packed.cache_copy(place.key(), kind, content);
        Ok(kind)
    }

    /// The object at `place`, for a caller that does not change its content.
    pub(super) fn read_unpacked_shared(&mut self, place: Unpacked) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        if let Some(found) = self.packed.cached(place.key()) {
            return Ok(found);
        }
        let mut content = Vec::new();
        let kind = self.decode_unpacked(place, &mut content)?;
        let content = Arc::new(content);
        self.packed.cache_shared(place.key(), kind, &content);
        Ok((kind, content))
    }

    fn decode_unpacked(&mut self, place: Unpacked, content: &mut Vec<u8>) -> Result<ObjectKind> {
        match place {
            Unpacked::Btree(place) => self.decode_btree(&place, content),
            Unpacked::Loose(at) => {
                let (path, file) = self.load_loose(at)?;
                self.decode_loaded(&path, file, content)
            }
        }
    }

    /// Decodes the loose object that was opened last, `file` at `path`, into `content`.
    pub(super) fn decode_loaded(
        &mut self,
        path: &Path,
        mut file: LooseFile,
        content: &mut Vec<u8>,
    ) -> Result<ObjectKind> {
        let header = file.header;
        match &mut file.large {
            None => loose::decode_payload(path, &header, &self.loose_stored, self.packed.decoder(), content)?,
            Some(large) => large.decode_to_vec(path, &header, self.packed.decoder(), content)?,
        }
        self.log_loose(path, &file);
        content.drain(..header.len.min(content.len()));
        Ok(header.kind)
    }

    /// Records that the loose object `file` at `path` was decoded.
    pub(super) fn log_loose(&self, path: &Path, file: &LooseFile) {
        let Some(log) = &self.log else { return };
        log.decode(TracedDecode {
            file: log.file(path, FileRole::LooseObject, file.stored_len),
            offset: 0,
            stored_len: file.stored_len,
            payload_limit: file.header.payload_len(),
            kind: ChunkKind { object: file.header.kind, is_delta: false },
            base: None,
        });
    }

    pub(super) fn decode_btree(&mut self, place: &BtreePlace, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let Some(btree) = &self.btree else { return Err(self.no_pack()) };
        btree.read(place, self.packed.decoder(), &mut self.btree_value, content)
    }

    pub(super) fn find_in_btree(&self, id: &oid) -> Result<Option<BtreePlace>> {
        self.btree.as_ref().map_or(Ok(None), |btree| btree.find(id))
    }

    /// The place of the value of `id`, which was in the B-tree before.
    ///
    /// # Errors
    /// It is no longer there, or the B-tree is damaged.
    pub fn expect_in_btree(&self, id: &oid) -> Result<BtreePlace> {
        self.find_in_btree(id)?.ok_or_else(|| self.missing(id))
    }

    pub(super) fn btree_kind_and_size(&self, place: &BtreePlace) -> Result<(ObjectKind, u64)> {
        let Some(btree) = &self.btree else { return Err(self.no_pack()) };
        btree.head(place).map(|head| (head.kind, head.payload_len))
    }

    /// Adds up to two ids that begin with `prefix` to `found`. More would not change the outcome.
    pub(super) fn find_abbreviated_in_btree(&self, prefix: Prefix, found: &mut Vec<ObjectId>) -> Result<()> {
        let Some(btree) = &self.btree else { return Ok(()) };
        let mut left = 2;
        btree.walk(prefix.as_oid().as_bytes(), &mut |id, _| {
            if prefix.cmp_oid(&id).is_ne() {
                return Ok(ControlFlow::Break(()));
            }
            found.push(id);
            left -= 1;
            Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    }

    /// Replaces `value` by the value at `place` of the B-tree. Returns its head, and the length of the chunk at the end
    /// of `value`.
    ///
    /// # Errors
    /// The value cannot be read, or is not valid.
    pub fn load_btree_value(&self, place: &BtreePlace, value: &mut Vec<u8>) -> Result<(ValueHead, usize)> {
        let Some(btree) = &self.btree else { return Err(self.no_pack()) };
        btree.load(place, value).map(|(head, chunk)| (head, chunk.len()))
    }

    /// Decodes `chunk`, which was loaded with `head` from `place` of the B-tree, and replaces `payload`.
    ///
    /// # Errors
    /// The chunk is damaged.
    pub fn decode_btree_chunk(
        &mut self,
        place: &BtreePlace,
        head: &ValueHead,
        chunk: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(btree) = &self.btree else { return Err(self.no_pack()) };
        btree.decode(place, head, chunk, self.packed.decoder(), payload)
    }
}
