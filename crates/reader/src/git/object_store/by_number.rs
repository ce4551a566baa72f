//! Objects of a pack whose objects are numbered, as they are in the pack.

use std::sync::Arc;

use super::{ObjectStore, PackPlace};
use crate::{
    ObjectKind, ReaderError, Result,
    git::{numbered::NumberError, pack::PackFile},
};

impl ObjectStore {
    /// Replaces `content` by the numbered object at `place` and returns its kind.
    ///
    /// # Errors
    /// It, or an entry that it is based on, is damaged.
    pub(in crate::git) fn read_numbered(&mut self, place: PackPlace, content: &mut Vec<u8>) -> Result<ObjectKind> {
        let (pack, offset) = numbered_entry(&self.packs, place).ok_or_else(|| self.no_pack())?;
        self.packed.read_numbered(pack, place.pack, offset, content)
    }

    /// The same for a caller that does not change the object.
    pub(in crate::git) fn read_numbered_shared(&mut self, place: PackPlace) -> Result<(ObjectKind, Arc<Vec<u8>>)> {
        let (pack, offset) = numbered_entry(&self.packs, place).ok_or_else(|| self.no_pack())?;
        self.packed.read_numbered_shared(pack, place.pack, offset)
    }

    /// The error for the object of `kind` at `place` whose numbers are wrong.
    pub(in crate::git) fn bad_numbers(&self, place: PackPlace, kind: ObjectKind, error: NumberError) -> ReaderError {
        match numbered_entry(&self.packs, place) {
            Some((pack, offset)) => pack.bad_numbers(offset, kind, error),
            None => self.no_pack(),
        }
    }
}

/// The pack and the offset of an entry.
fn numbered_entry(packs: &[PackFile], place: PackPlace) -> Option<(&PackFile, u64)> {
    let pack = packs.get(place.pack)?;
    Some((pack, pack.offset_at(place.position)?))
}
