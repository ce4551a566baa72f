//! The entries of a pack, and where each comes from.

use gix_hash::{ObjectId, oid};
use repackbench_reader::{
    History, ObjectKind, ReaderError,
    git::{
        ObjectStore,
        btree::BtreePlace,
        held_before, introduced_by,
        object_store::ObjectPlace,
        pack::{EntryKind, EntryTable, PackFile},
    },
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Scope;
use crate::workloads::{WorkloadError, ingest::last_commits};

/// An object that is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedEntry {
    pub(super) kind: ObjectKind,
    pub(super) place: ObjectPlace,
    /// The place of its value, if it is in a B-tree.
    pub(super) btree: Option<BtreePlace>,
    /// The number of the store that it is taken from.
    pub(super) store: usize,
    /// The length of the entry's header, and of its chunk, in bytes.
    pub(super) header_len: u64,
    pub(super) chunk_len: u64,
    pub(super) payload_len: u64,
    pub(super) base: Base,
}

/// The base of the stored delta of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// It is no delta.
    None,
    /// The entry with this number, which is sent before it.
    Earlier(usize),
    /// An object that is sent later or that the client has.
    Named(ObjectId),
    /// An object that the client will not have.
    Lacking,
}

/// The entries of one pack, in the order in which they are stored.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) entries: Vec<PlannedEntry>,
    /// Wanted objects that are missing, as in a partial clone.
    pub(super) missing: u64,
}

impl Plan {
    /// Plans the objects of `scope` from `store`, whose history is `history`.
    pub(super) fn new(history: &mut dyn History, store: &ObjectStore, scope: &Scope) -> Result<Self, WorkloadError> {
        let (mut sent, mut had) = (Vec::new(), FxHashSet::default());
        match (scope, history.git_objects()) {
            (Scope::Fetch(range), Some(objects)) => {
                let commits = last_commits(history, range)?;
                let mut objects = objects.lock();
                introduced_by(&mut objects, &commits, &mut |kind, id| sent.push((kind, id.to_owned())))?;
                held_before(&mut objects, &commits, &mut |_, id| {
                    had.insert(id.to_owned());
                })?;
            }
            _ => history.traverse(&mut |kind, id| sent.push((kind, id.to_owned())))?,
        }
        let mut plan = Plan { entries: Vec::with_capacity(sent.len()), missing: history.missing() };
        plan.locate(store, sent)?;
        plan.find_bases(store, &had)?;
        Ok(plan)
    }

    /// Finds the objects of `sent`, and puts them in the order in which they are stored.
    fn locate(&mut self, store: &ObjectStore, sent: Vec<(ObjectKind, ObjectId)>) -> Result<(), ReaderError> {
        for (kind, id) in sent {
            let Some(place) = store.place(&id)? else {
                // The empty tree exists everywhere without being stored.
                if id != ObjectId::empty_tree(id.kind()) {
                    return Err(store.missing(&id));
                }
                continue;
            };
            let (header_len, chunk_len, payload_len) = (0, 0, 0);
            self.entries.push(PlannedEntry {
                kind,
                place,
                btree: btree_place(store, &place)?,
                store: 0,
                header_len,
                chunk_len,
                payload_len,
                base: Base::None,
            });
        }
        // Loose objects and the keys of a B-tree are stored by id.
        self.entries
            .sort_by_key(|entry| (entry.place.in_pack().map_or((usize::MAX, 0), |place| place), entry.place.id));
        Ok(())
    }

    /// Reads the headers of all entries. The client has the sent objects and those in `had`.
    fn find_bases(&mut self, store: &ObjectStore, had: &FxHashSet<ObjectId>) -> Result<(), ReaderError> {
        let numbers: FxHashMap<ObjectId, usize> = self.entries.iter().map(|entry| entry.place.id).zip(0..).collect();
        let mut open: Option<(usize, EntryTable)> = None;
        for (number, entry) in self.entries.iter_mut().enumerate() {
            let Some((at, offset)) = entry.place.in_pack() else { continue };
            let Some(pack) = store.packs().get(at) else { continue };
            let table = match &mut open {
                Some((open, table)) if *open == at => table,
                other => &mut other.insert((at, EntryTable::new(pack)?)).1,
            };
            let base = entry.examine(pack, table, offset)?;
            entry.base = match base {
                None => Base::None,
                Some(base) => match numbers.get(&base) {
                    Some(earlier) if *earlier < number => Base::Earlier(*earlier),
                    Some(_) => Base::Named(base),
                    None if had.contains(&base) => Base::Named(base),
                    None => Base::Lacking,
                },
            };
        }
        Ok(())
    }

    /// Takes every second entry from `other` instead, the store number `number`, which holds the same deltas under
    /// another codec.
    pub(super) fn mix(&mut self, other: &ObjectStore, number: usize) -> Result<(), ReaderError> {
        let mut open: Option<(usize, EntryTable)> = None;
        for entry in self.entries.iter_mut().step_by(2) {
            let Some(place) = other.place(&entry.place.id)? else { return Err(other.missing(&entry.place.id)) };
            (entry.place, entry.btree, entry.store) = (place, btree_place(other, &place)?, number);
            let Some((at, offset)) = place.in_pack() else { continue };
            let Some(pack) = other.packs().get(at) else { continue };
            let table = match &mut open {
                Some((open, table)) if *open == at => table,
                another => &mut another.insert((at, EntryTable::new(pack)?)).1,
            };
            entry.examine(pack, table, offset)?;
        }
        Ok(())
    }
}

/// The place of the value of the object at `place` in the B-tree of `store`, if it is there. Finding it is not part of
/// serving, as for entries of packs.
fn btree_place(store: &ObjectStore, place: &ObjectPlace) -> Result<Option<BtreePlace>, ReaderError> {
    place.is_in_btree().then(|| store.expect_in_btree(&place.id)).transpose()
}

impl PlannedEntry {
    /// Stores the length of the entry at `offset` of `pack`, and returns its base.
    fn examine(&mut self, pack: &PackFile, table: &EntryTable, offset: u64) -> Result<Option<ObjectId>, ReaderError> {
        let (header, _) = pack.entry(offset)?;
        let end = table.position_of(offset).and_then(|position| table.extent(position)).map_or(offset, |(_, end)| end);
        self.header_len = header.header_len as u64;
        self.chunk_len = end.saturating_sub(offset).saturating_sub(self.header_len);
        self.payload_len = header.payload_len;
        Ok(match header.kind {
            EntryKind::Whole(_) => None,
            EntryKind::RefDelta { base } => Some(base),
            EntryKind::OffsetDelta { distance } => {
                let base = pack.base_offset(offset, distance)?;
                let at = table.position_of(base).and_then(|position| table.index_position(position));
                let id = at.map(|at| -> &oid { pack.index().oid_at_index(at) });
                let found = || format!("no entry starts at {base}");
                Some(
                    id.ok_or_else(|| pack.corrupt(offset, "a base that is an entry of this pack", found()))?.to_owned(),
                )
            }
        })
    }
}
