//! The entries of a pack in file order.

use std::sync::OnceLock;

use super::{PACK_HEADER_LEN, entry::EntryKind, file::PackFile};
use crate::{ObjectKind, Place, ReaderError, Result};

/// The base of an entry's payload, as a position in file order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaBase {
    /// The payload is the object.
    None,
    /// The payload is a delta against the entry at this position.
    Position(u32),
}

/// The entries of one pack sorted by offset. Takes 12 bytes per entry.
#[derive(Debug)]
pub struct EntryTable {
    offsets: Vec<u64>,
    index_positions: Vec<u32>,
    end: u64,
}

impl EntryTable {
    /// Sorts the index of `pack` by offset and checks that the entries tile the pack: the first starts after the
    /// header, no two start at the same offset, none starts in the trailer. Also checks that the index is sorted by id.
    pub fn new(pack: &PackFile) -> Result<Self> {
        let index = pack.index();
        let mut order: Vec<(u64, u32)> = Vec::with_capacity(index.num_objects() as usize);
        let mut previous: Option<gix_hash::ObjectId> = None;
        for (position, entry) in (0..index.num_objects()).zip(index.iter()) {
            if previous.is_some_and(|p| p > entry.oid) {
                return Err(ReaderError::corrupt(
                    pack.index_path(),
                    Place::Object(entry.oid),
                    "ids in ascending order",
                    "a smaller id after a larger one",
                ));
            }
            previous = Some(entry.oid);
            order.push((entry.pack_offset, position));
        }
        order.sort_unstable();
        check_tiling(pack, &order)?;
        let (offsets, index_positions) = order.into_iter().unzip();
        Ok(EntryTable { offsets, index_positions, end: pack.end() })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Start and end offset of the entry at `position`; `None` past the last one.
    pub fn extent(&self, position: usize) -> Option<(u64, u64)> {
        let start = *self.offsets.get(position)?;
        Some((start, self.offsets.get(position + 1).copied().unwrap_or(self.end)))
    }

    /// The index position of the entry at `position`. The index is sorted by id.
    pub fn index_position(&self, position: usize) -> Option<u32> {
        self.index_positions.get(position).copied()
    }

    /// The position of the entry that starts at `offset`.
    pub fn position_of(&self, offset: u64) -> Option<usize> {
        self.offsets.binary_search(&offset).ok()
    }

    /// Start offsets, in file order.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Index positions, in file order.
    pub fn index_positions(&self) -> &[u32] {
        &self.index_positions
    }

    /// The base of an entry of `kind` at `offset`, as a position in file order.
    ///
    /// # Errors
    /// The base is not an entry of this pack.
    pub fn base_of(&self, pack: &PackFile, offset: u64, kind: EntryKind) -> Result<DeltaBase> {
        let base_offset = match kind {
            EntryKind::Whole(_) => return Ok(DeltaBase::None),
            EntryKind::OffsetDelta { distance } => pack.base_offset(offset, distance)?,
            EntryKind::RefDelta { base } => pack.base_offset_of_id(offset, &base)?,
        };
        let position = self.position_of(base_offset).and_then(|p| u32::try_from(p).ok());
        position.map(DeltaBase::Position).ok_or_else(|| {
            pack.corrupt(offset, "a base that is an entry of this pack", format!("no entry at offset {base_offset}"))
        })
    }
}

/// The delta structure of a pack: bases and object kinds by position in file order. Takes 5 bytes per entry, and 4 more
/// once chain lengths are computed.
#[derive(Debug)]
pub struct DeltaForest {
    /// The position of each entry's base. For a whole entry it is its own.
    bases: Vec<u32>,
    kinds: Vec<ObjectKind>,
    /// Computed on first use.
    chain_lengths: OnceLock<Vec<u32>>,
}

impl DeltaForest {
    /// Reads the header of every entry of `pack`, which has this `table`.
    ///
    /// # Errors
    /// A header is damaged, a base is not an entry of this pack, or a chain is a cycle.
    pub fn new(pack: &PackFile, table: &EntryTable) -> Result<Self> {
        let mut bases = Vec::with_capacity(table.len());
        let mut kinds = vec![None; table.len()];
        for (position, (kind_slot, offset)) in (0u32..).zip(kinds.iter_mut().zip(table.offsets())) {
            let (header, _) = pack.entry(*offset)?;
            match table.base_of(pack, *offset, header.kind)? {
                DeltaBase::Position(base) => bases.push(base),
                DeltaBase::None => bases.push(position),
            }
            if let EntryKind::Whole(kind) = header.kind {
                *kind_slot = Some(kind);
            }
        }
        let kinds = resolve_kinds(pack, table, &bases, kinds)?;
        Ok(DeltaForest { bases, kinds, chain_lengths: OnceLock::new() })
    }

    /// The kind of the object at `position`, which is that of the whole entry of its chain.
    pub fn kind(&self, position: usize) -> Option<ObjectKind> {
        self.kinds.get(position).copied()
    }

    /// The kind of every object, by position.
    pub fn kinds(&self) -> &[ObjectKind] {
        &self.kinds
    }

    /// The base of the entry at `position`; `None` for a whole one.
    pub fn base(&self, position: usize) -> Option<usize> {
        self.bases.get(position).map(|base| *base as usize).filter(|base| *base != position)
    }

    /// Number of deltas from the whole entry of the chain to the object at each position, including its own.
    pub fn chain_lengths(&self) -> &[u32] {
        self.chain_lengths.get_or_init(|| self.count_chain_lengths())
    }

    fn count_chain_lengths(&self) -> Vec<u32> {
        let mut lengths = vec![None; self.bases.len()];
        let mut chain = Vec::new();
        for start in 0..self.bases.len() {
            let mut at = start;
            let mut length = loop {
                if let Some(length) = lengths.get(at).copied().flatten() {
                    break length;
                }
                match self.base(at) {
                    Some(base) => {
                        chain.push(at);
                        at = base;
                    }
                    None => break 0,
                }
            };
            if let Some(slot) = lengths.get_mut(at) {
                *slot = Some(length);
            }
            for at in chain.drain(..).rev() {
                length += 1;
                if let Some(slot) = lengths.get_mut(at) {
                    *slot = Some(length);
                }
            }
        }
        lengths.into_iter().map(Option::unwrap_or_default).collect()
    }

    /// The position of the base of every position. A whole entry is its own base.
    pub fn bases(&self) -> &[u32] {
        &self.bases
    }
}

/// Propagates the kinds of whole entries along the chains.
fn resolve_kinds(
    pack: &PackFile,
    table: &EntryTable,
    bases: &[u32],
    mut kinds: Vec<Option<ObjectKind>>,
) -> Result<Vec<ObjectKind>> {
    let mut chain = Vec::new();
    for start in 0..bases.len() {
        let mut at = start;
        let kind = loop {
            if let Some(kind) = kinds.get(at).copied().flatten() {
                break kind;
            }
            chain.push(at);
            let base = bases.get(at).map_or(at, |base| *base as usize);
            if base == at || chain.len() > bases.len() {
                let offset = table.extent(start).map_or(0, |(offset, _)| offset);
                return Err(pack.corrupt(
                    offset,
                    "a delta chain that ends in a whole object",
                    "one that leads back to itself",
                ));
            }
            at = base;
        };
        for at in chain.drain(..) {
            if let Some(slot) = kinds.get_mut(at) {
                *slot = Some(kind);
            }
        }
    }
    Ok(kinds.into_iter().flatten().collect())
}

fn check_tiling(pack: &PackFile, order: &[(u64, u32)]) -> Result<()> {
    let found = |offset: u64, expected: String, found: String| {
        Err(ReaderError::corrupt(pack.index_path(), Place::Whole, expected, format!("{found} {offset}")))
    };
    match order.first() {
        Some((first, _)) if *first != PACK_HEADER_LEN => {
            return found(*first, format!("the first entry at offset {PACK_HEADER_LEN}"), "it at".into());
        }
        None if pack.end() != PACK_HEADER_LEN => {
            return found(pack.end(), "an empty pack".into(), "one with entries up to offset".into());
        }
        _ => {}
    }
    for pair in order.windows(2) {
        if let [(a, _), (b, _)] = pair
            && a == b
        {
            return found(*a, "one entry per offset".into(), "two at".into());
        }
    }
    match order.last() {
        Some((last, _)) if *last >= pack.end() => {
            found(*last, format!("offsets below {}, the pack's trailer", pack.end()), "one at".into())
        }
        _ => Ok(()),
    }
}
