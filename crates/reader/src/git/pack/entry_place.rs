//! An entry by its place among the entries of its pack, for callers that need its base.

use super::{DeltaForest, EntryTable, PackFile};
use crate::{
    DeltaLinks, ReaderError, Result,
    git::delta::{self, DeltaError, DeltaSizes},
};

/// An entry of a pack, by its position in file order.
#[derive(Debug, Clone, Copy)]
pub struct EntryPlace<'a> {
    /// The pack.
    pub pack: &'a PackFile,
    /// Its entries.
    pub table: &'a EntryTable,
    /// Their bases.
    pub forest: &'a DeltaForest,
    /// The position of the entry.
    pub position: usize,
}

impl EntryPlace<'_> {
    /// The offsets of the entry and its base; `None` if the entry is no delta.
    pub(crate) fn links(&self) -> Option<DeltaLinks> {
        let offset = |position| self.table.extent(position).map(|(offset, _)| offset);
        let base = self.forest.base(self.position).and_then(offset)?;
        let chain_len = self.forest.chain_lengths().get(self.position).copied().unwrap_or_default();
        Some(DeltaLinks { base, object: offset(self.position)?, chain_len })
    }

    /// The lengths in bytes of the base and of the object, as the delta `payload` claims them.
    ///
    /// # Errors
    /// The delta is damaged.
    pub(crate) fn content_lens(&self, payload: &[u8]) -> Result<(u64, u64)> {
        let sizes = DeltaSizes::parse(payload).map_err(|error| self.bad_delta(error))?;
        Ok((sizes.base, sizes.result))
    }

    /// Applies the delta `payload` to `base` and replaces `object` by the result.
    ///
    /// # Errors
    /// The delta does not fit its base.
    pub(crate) fn apply(&self, base: &[u8], payload: &[u8], object: &mut Vec<u8>) -> Result<()> {
        delta::apply(base, payload, object).map_err(|error| self.bad_delta(error))
    }

    fn bad_delta(&self, error: DeltaError) -> ReaderError {
        self.pack.bad_delta(self.table.extent(self.position).map_or(0, |(offset, _)| offset), error)
    }
}
