//! Kinds of objects at the ends of delta chains.
//!
//! The kind of a delta's object is that of the whole entry at the start of its chain. git's own chains are short and
//! are walked each time. On a long chain, the kinds of some entries are stored as landmarks, so that the time for all
//! of its objects is linear in their number.

use rustc_hash::FxHashMap;

use crate::{
    ObjectKind, Result,
    git::{
        pack::{EntryKind, PackFile},
        packed_objects::check_chain,
    },
};

/// Number of deltas that are walked before landmarks are looked up, and largest number of deltas between landmarks.
const STRIDE: usize = 64;

/// Landmarks on long chains.
#[derive(Debug, Default)]
pub(super) struct ChainKinds {
    /// By pack and offset.
    landmarks: FxHashMap<(usize, u64), ObjectKind>,
    /// Offsets of the new landmarks on the current walk.
    passed: Vec<u64>,
}

impl ChainKinds {
    /// Removes all landmarks.
    pub(super) fn clear(&mut self) {
        *self = ChainKinds::default();
    }

    /// The kind of the object whose entry starts at `offset` of `pack`, the pack with this `number`.
    ///
    /// # Errors
    /// The entry, or one that it is based on, is damaged.
    pub(super) fn kind_of(&mut self, pack: &PackFile, number: usize, offset: u64) -> Result<ObjectKind> {
        self.passed.clear();
        let mut at = offset;
        let mut links = 0;
        let kind = loop {
            if links >= STRIDE {
                if let Some(kind) = self.landmarks.get(&(number, at)) {
                    break *kind;
                }
                if links.is_multiple_of(STRIDE) {
                    self.passed.push(at);
                }
            }
            let (header, _) = pack.entry(at)?;
            at = match header.kind {
                EntryKind::Whole(kind) => break kind,
                EntryKind::OffsetDelta { distance } => pack.base_offset(at, distance)?,
                EntryKind::RefDelta { base } => pack.base_offset_of_id(at, &base)?,
            };
            links += 1;
            check_chain(pack, at, links)?;
        };
        self.landmarks.extend(self.passed.drain(..).map(|offset| ((number, offset), kind)));
        Ok(kind)
    }
}
