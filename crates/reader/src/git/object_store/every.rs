//! All objects of a store, once each.

use std::{cmp::Ordering, fs::File, io::BufReader};

use gix_hash::{ObjectId, oid};
use repackbench_codec::{BaseUse, ChunkDecoder};

use super::{ObjectStore, Unpacked};
use crate::{
    ChunkKind, ObjectKind, Place, ReaderError, Result,
    git::{
        chunk::decode_delta_to_vec,
        delta::DeltaSizes,
        loose,
        pack::{DecodedChunk, EntryKind, PackFile},
    },
};

/// Numbers in place of a pack's, for objects that are in no pack.
const LOOSE: u32 = u32::MAX;
const BTREE: u32 = u32::MAX - 1;

/// git decodes this many bytes of a delta to get the length of its result: two lengths of at most ten bytes each.
const DELTA_HEAD: usize = 20;

/// The place of an object. If it is stored several times, the place in the first pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectPlace {
    /// The object.
    pub id: ObjectId,
    pack: u32,
    /// The offset of its entry, its position among the loose objects, or its position among the keys of the B-tree.
    at: u64,
}

impl ObjectPlace {
    /// The pack's position in [`ObjectStore::packs`] and the entry's offset; `None` for an object that is in no pack.
    pub fn in_pack(&self) -> Option<(usize, u64)> {
        (self.pack < BTREE).then_some((self.pack as usize, self.at))
    }

    /// Its position among the loose objects; `None` for an object that is not loose.
    pub(super) fn loose_position(&self) -> Option<usize> {
        usize::try_from(self.at).ok().filter(|_| self.pack == LOOSE)
    }

    /// Whether it is a value of the B-tree.
    pub fn is_in_btree(&self) -> bool {
        self.pack == BTREE
    }
}

/// Orders packs by their contents, which a conversion keeps, and not by their names, which it changes. So the same copy
/// of an object is found in every variant.
pub(super) fn by_content(first: &PackFile, second: &PackFile) -> Ordering {
    fn ids(pack: &PackFile) -> impl Iterator<Item = &oid> {
        (0..pack.entry_count()).map(|at| pack.index().oid_at_index(at))
    }
    first.entry_count().cmp(&second.entry_count()).reverse().then_with(|| ids(first).cmp(ids(second)))
}

impl ObjectStore {
    /// Every object, sorted by id: what `git cat-file --batch-all-objects` lists. Replacements do not apply.
    ///
    /// # Errors
    /// The B-tree is damaged.
    pub fn every_object(&self) -> Result<Vec<ObjectPlace>> {
        // The number of values is an unchecked claim.
        let mut places = Vec::with_capacity(self.len().min(1 << 20));
        for (pack, number) in self.packs.iter().zip(0..BTREE) {
            if let Some(log) = pack.log() {
                log.tables();
            }
            places.extend(pack.index().iter().map(|entry| ObjectPlace {
                id: entry.oid,
                pack: number,
                at: entry.pack_offset,
            }));
        }
        if let Some(btree) = &self.btree {
            let mut at = 0;
            btree.for_each(&mut |id, _| {
                places.push(ObjectPlace { id, pack: BTREE, at });
                at += 1;
                Ok(())
            })?;
        }
        let loose = self.loose.as_slice().iter().zip(0..);
        places.extend(loose.map(|(object, at)| ObjectPlace { id: object.id, pack: LOOSE, at }));
        // Those of one pack are already sorted, which the sort exploits.
        places.sort_by(|first, second| first.id.cmp(&second.id).then(first.pack.cmp(&second.pack)));
        places.dedup_by_key(|place| place.id);
        Ok(places)
    }

    /// Every object in its order on disk: loose objects, then pack after pack by offset, as
    /// `git cat-file --batch-all-objects --unordered` reads them, then the B-tree by key.
    ///
    /// # Errors
    /// As for [`every_object`](ObjectStore::every_object).
    pub fn every_object_in_file_order(&self) -> Result<Vec<ObjectPlace>> {
        let mut places = self.every_object()?;
        places.sort_unstable_by_key(|place| (place.pack.wrapping_add(1), place.at));
        Ok(places)
    }

    /// The place of the object `id`; `None` if it is not here.
    ///
    /// # Errors
    /// The B-tree is damaged.
    pub fn place(&self, id: &oid) -> Result<Option<ObjectPlace>> {
        let at = |pack, at| Ok(Some(ObjectPlace { id: id.to_owned(), pack, at }));
        if let Some((number, offset)) =
            self.packs.iter().zip(0..BTREE).find_map(|(pack, number)| Some((number, pack.find(id)?)))
        {
            return at(number, offset);
        }
        if self.find_in_btree(id)?.is_some() {
            return at(BTREE, 0);
        }
        self.loose.position(id).map_or(Ok(None), |position| at(LOOSE, position as u64))
    }

    /// The kind and size of the object at `place`. Decodes no more than needed: nothing of a whole entry, the first
    /// bytes of a delta or a loose object. A delta that was compressed with its base's content, and an object that
    /// names others by number, have to be decoded as a whole.
    ///
    /// # Errors
    /// The object, or one that it is based on, is damaged.
    pub fn kind_and_size(&mut self, place: &ObjectPlace) -> Result<(ObjectKind, u64)> {
        if place.is_in_btree() {
            let place = self.expect_in_btree(&place.id)?;
            return self.btree_kind_and_size(&place);
        }
        let Some((number, offset)) = place.in_pack() else { return self.loose_kind_and_size(place) };
        let Some(pack) = self.packs.get(number) else { return Err(self.no_pack()) };
        if pack.numbers().is_some() {
            // The lengths of entries are those of numbered objects.
            let kind = self.kinds.kind_of(pack, number, offset)?;
            if pack.is_numbered(kind) {
                self.packed.read(pack, number, offset, &mut self.scratch)?;
                return Ok((kind, self.scratch.len() as u64));
            }
        }
        let (header, stored) = pack.entry(offset)?;
        let base = match header.kind {
            EntryKind::Whole(kind) => return Ok((kind, header.payload_len)),
            EntryKind::OffsetDelta { distance } => pack.base_offset(offset, distance)?,
            EntryKind::RefDelta { base } => pack.base_offset_of_id(offset, &base)?,
        };
        let size = match ChunkDecoder::base_use(stored) {
            // The entry holds the object instead of its delta and records its length.
            BaseUse::Patch => header.payload_len,
            BaseUse::Prefix => {
                let kind = self.packed.read(pack, number, offset, &mut self.scratch)?;
                return Ok((kind, self.scratch.len() as u64));
            }
            BaseUse::None => {
                let mut head = [0; DELTA_HEAD];
                let filled = self.packed.decoder().decode_prefix(stored, &mut head);
                let filled = filled.map_err(|e| pack.corrupt(offset, "the head of a delta", e.to_string()))?;
                let sizes = DeltaSizes::parse(head.get(..filled).unwrap_or_default());
                sizes.map_err(|e| pack.corrupt(offset, "the head of a delta", e.to_string()))?.result
            }
        };
        Ok((self.kinds.kind_of(pack, number, base)?, size))
    }

    fn loose_kind_and_size(&mut self, place: &ObjectPlace) -> Result<(ObjectKind, u64)> {
        let path = usize::try_from(place.at).ok().and_then(|at| self.loose.path(at)).ok_or_else(|| self.no_pack())?;
        let file = File::open(&path).map_err(|e| ReaderError::io("open", &path, e))?;
        let header = loose::read_header_from(&path, &mut BufReader::new(file), self.packed.decoder())?;
        Ok((header.kind, header.content_len))
    }

    /// Replaces `content` by that of the object at `place`.
    ///
    /// # Errors
    /// The object, or one that it is based on, is damaged.
    pub fn read_place(&mut self, place: &ObjectPlace, content: &mut Vec<u8>) -> Result<ObjectKind> {
        if place.is_in_btree() {
            let place = self.expect_in_btree(&place.id)?;
            return self.read_unpacked(Unpacked::Btree(place), content);
        }
        match (place.in_pack(), usize::try_from(place.at)) {
            (Some((pack, offset)), _) => self.read_packed(pack, offset, content),
            (None, Ok(at)) => self.read_unpacked(Unpacked::Loose(at), content),
            (None, Err(_)) => {
                let place = Place::Object(place.id);
                Err(ReaderError::corrupt(&self.object_dir, place, "a loose object", "none"))
            }
        }
    }

    /// Replaces `payload` by that of the entry at `offset` of the pack number `pack`. A delta stays a delta. If the
    /// chunk was compressed with the content of its base, the base is read first. A numbered object stays numbered.
    ///
    /// # Errors
    /// The entry or a required base is damaged, or the entry holds an object instead of its delta.
    pub fn entry_payload(&mut self, pack: usize, offset: u64, payload: &mut Vec<u8>) -> Result<()> {
        let number = pack;
        let Some(pack) = self.packs.get(number) else { return Err(self.no_pack()) };
        let (header, stored) = pack.entry(offset)?;
        let base = match (ChunkDecoder::base_use(stored), header.kind) {
            (BaseUse::None, _) => None,
            (BaseUse::Prefix, EntryKind::OffsetDelta { distance }) => Some(pack.base_offset(offset, distance)?),
            (BaseUse::Prefix, EntryKind::RefDelta { base }) => Some(pack.base_offset_of_id(offset, &base)?),
            (BaseUse::Prefix | BaseUse::Patch, _) => {
                return Err(pack.corrupt(offset, "a delta", "an object instead of it"));
            }
        };
        pack.check_size(offset, header.payload_len)?;
        let content = match base {
            Some(base) => {
                self.packed.read(pack, number, base, &mut self.scratch)?;
                Some(self.scratch.as_slice())
            }
            None => None,
        };
        let consumed = decode_delta_to_vec(self.packed.decoder(), stored, content, header.payload_len, payload)
            .map_err(|e| {
                pack.corrupt(offset, format!("a chunk of {} payload bytes", header.payload_len), e.to_string())
            })?;
        if let Some(log) = pack.log() {
            // The object's real kind would have to be looked up, and does not matter for decoding.
            let kind = ChunkKind { object: ObjectKind::Blob, is_delta: !matches!(header.kind, EntryKind::Whole(_)) };
            log.chunk(&DecodedChunk {
                start: offset,
                chunk: offset + header.header_len as u64,
                consumed,
                payload_len: header.payload_len,
                kind,
                base: base.zip(content),
            });
        }
        Ok(())
    }
}
