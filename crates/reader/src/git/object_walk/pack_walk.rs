//! All entries of one pack, each decoded once.
//!
//! The deltas of a pack form a forest. Each tree of it is walked from its whole entry down, so that a base is available
//! when the deltas on it are applied.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gix_hash::ObjectId;
use repackbench_codec::{BLOCK_LEN, BaseUse};

use super::{WholeContent, WholeObject, Worker, check_id};
use crate::{
    ObjectKind, Place, ReaderError, Result,
    git::{
        delta::{self, DeltaSizes},
        hash::{object_hasher, object_id},
        pack::{DeltaForest, EntryKind, EntryTable, PackFile, StoredEntry},
    },
    memory,
};

/// Number of roots that a thread takes at once: enough to keep contention on the counter low, few enough to balance the
/// load.
const ROOTS_AT_A_TIME: usize = 32;

/// The delta forest of one pack with each entry's children, shared by the threads that walk it.
pub(in crate::git) struct PackWalk<'a> {
    pack: &'a PackFile,
    /// Packs whose objects visitors have already received.
    earlier: &'a [PackFile],
    table: EntryTable,
    forest: DeltaForest,
    roots: Vec<u32>,
    /// `children[first_child[p]..first_child[p + 1]]` are the positions of the deltas against position p.
    first_child: Vec<u32>,
    children: Vec<u32>,
    next_root: AtomicUsize,
    /// Whether the walk has ended early: a visitor broke, a visitor must not continue after damage, or an object was
    /// too large.
    is_over: AtomicBool,
}

impl<'a> PackWalk<'a> {
    pub(in crate::git) fn new(pack: &'a PackFile) -> Result<Self> {
        let table = EntryTable::new(pack)?;
        let forest = DeltaForest::new(pack, &table)?;
        let (roots, first_child, children) = group_by_base(forest.bases());
        let (next_root, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(PackWalk { pack, earlier: &[], table, forest, roots, first_child, children, next_root, is_over })
    }

    /// The same walk, with the objects in `earlier` packs kept from visitors.
    pub(in crate::git) fn without(mut self, earlier: &'a [PackFile]) -> Self {
        self.earlier = earlier;
        self
    }

    /// Whether the walk has ended early.
    pub(in crate::git) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends the walk early, on all threads.
    pub(in crate::git) fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn children_of(&self, position: u32) -> &[u32] {
        let at = position as usize;
        let range = self.first_child.get(at).zip(self.first_child.get(at + 1));
        range.and_then(|(start, end)| self.children.get(*start as usize..*end as usize)).unwrap_or_default()
    }

    pub(in crate::git) fn run(&self, worker: &mut Worker<'_>) {
        while !self.is_over() {
            let start = self.next_root.fetch_add(ROOTS_AT_A_TIME, Ordering::Relaxed);
            let Some(rest) = self.roots.get(start..) else { return };
            for root in rest.iter().take(ROOTS_AT_A_TIME) {
                self.walk_tree(worker, *root);
                worker.turn.finish([&mut worker.delta_payload, &mut worker.expanded]);
            }
        }
    }

    /// Checks the whole entry `root` and every delta that is based on it, directly or indirectly.
    fn walk_tree(&self, worker: &mut Worker<'_>, root: u32) {
        let mut content = worker.buffer();
        let read = self.read_root(worker, root, &mut content).and_then(|()| self.hand_over(worker, root, &content));
        if let Err(error) = read {
            worker.recycle(content);
            return self.note_unreadable(worker, root, error);
        }
        // The bases that are available. Each is dropped with its last delta, so that a chain holds only two objects.
        let mut held = content.len() as u64;
        let mut open = vec![OpenBase { content, position: root, done: 0 }];
        while !self.is_over()
            && let Some(base) = open.last_mut()
        {
            let Some(child) = self.children_of(base.position).get(base.done).copied() else {
                if let Some(base) = open.pop() {
                    held -= base.content.len() as u64;
                    worker.recycle(base.content);
                }
                continue;
            };
            base.done += 1;
            let mut content = worker.buffer();
            let read = self.read_delta(worker, child, &base.content, &mut content);
            let read = read.and_then(|()| self.hand_over(worker, child, &content));
            let is_last = base.done == self.children_of(base.position).len();
            if is_last && let Some(base) = open.pop() {
                held -= base.content.len() as u64;
                worker.recycle(base.content);
            }
            let is_base = !self.children_of(child).is_empty();
            match read.and_then(|()| if is_base { self.hold(worker, child, &mut held, &content) } else { Ok(()) }) {
                Ok(()) if is_base => {
                    open.push(OpenBase { content, position: child, done: 0 });
                }
                Ok(()) => worker.recycle(content),
                Err(error) => {
                    worker.recycle(content);
                    self.note_unreadable(worker, child, error);
                }
            }
        }
    }

    /// Adds the length of `content`, the object at `position` that deltas need, to `held`, the bytes of all such
    /// objects.
    fn hold(&self, worker: &mut Worker<'_>, position: u32, held: &mut u64, content: &[u8]) -> Result<()> {
        let all = held.saturating_add(content.len() as u64);
        memory::check_bases(all).map_err(|excess| {
            let offset = self.table.extent(position as usize).map_or(0, |(offset, _)| offset);
            self.pack.too_large(offset, "a delta chain with bases", excess)
        })?;
        // A thread's own share has room for two large objects.
        worker.turn.reserve(all / 2);
        *held = all;
        Ok(())
    }

    /// Records the damage at `position`. The deltas based on it cannot be read either, but are not damaged themselves.
    fn note_unreadable(&self, worker: &mut Worker<'_>, position: u32, error: ReaderError) {
        if worker.visitor.is_some() || matches!(error, ReaderError::TooLarge { .. }) {
            self.is_over.store(true, Ordering::Relaxed);
            return worker.damage.push(error);
        }
        let mut below = 0u64;
        let mut pending = vec![position];
        while let Some(at) = pending.pop() {
            let children = self.children_of(at);
            below += children.len() as u64;
            pending.extend_from_slice(children);
        }
        worker.damage.push(error);
        if below > 0 {
            let offset = self.table.extent(position as usize).map_or(0, |(offset, _)| offset);
            worker.damage.push(self.pack.corrupt(
                offset,
                "a base",
                format!("damage that makes {below} deltas based on it unreadable"),
            ));
        }
    }

    /// Hands the object at `position`, which has just been checked, to the visitor, if there is one.
    fn hand_over(&self, worker: &mut Worker<'_>, position: u32, content: &[u8]) -> Result<()> {
        if worker.visitor.is_none() {
            return Ok(());
        }
        let is_numbered = self.forest.kind(position as usize).is_some_and(|kind| self.pack.is_numbered(kind));
        if !is_numbered {
            return self.hand_over_content(worker, position, content);
        }
        let expanded = std::mem::take(&mut worker.expanded);
        let handed = self.hand_over_content(worker, position, &expanded);
        worker.expanded = expanded;
        handed
    }

    fn hand_over_content(&self, worker: &mut Worker<'_>, position: u32, content: &[u8]) -> Result<()> {
        let entry = self.table.entry(self.pack, position as usize)?;
        let Some(kind) = self.forest.kind(position as usize) else { return Ok(()) };
        let id = self.pack.index().oid_at_index(entry.index_position);
        // An index may list an object twice, and two packs may hold the same object.
        let before = entry.index_position.checked_sub(1).map(|at| self.pack.index().oid_at_index(at));
        if before == Some(id) || self.earlier.iter().any(|pack| pack.position(id).is_some()) {
            return Ok(());
        }
        let mut stored = entry.stored;
        let content = match self.is_streamed(&entry, position) {
            true => WholeContent::Large { stored: &mut stored, payload_len: entry.header.payload_len, header_len: 0 },
            false => WholeContent::Held(content),
        };
        let object = WholeObject { id: id.to_owned(), kind, path: self.pack.path(), content };
        if worker.hand_over(object).is_break() {
            self.is_over.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether the entry is too large to be held and no delta needs it.
    fn is_streamed(&self, entry: &StoredEntry<'_>, position: u32) -> bool {
        let is_whole = matches!(entry.header.kind, EntryKind::Whole(kind) if !self.pack.is_numbered(kind));
        is_whole && entry.header.payload_len > BLOCK_LEN as u64 && self.children_of(position).is_empty()
    }

    fn read_root(&self, worker: &mut Worker<'_>, root: u32, content: &mut Vec<u8>) -> Result<()> {
        let (entry, kind) = self.entry(root)?;
        let hash = self.pack.hash_kind();
        if self.is_streamed(&entry, root) {
            let mut hasher = object_hasher(hash, kind, entry.header.payload_len);
            let result = worker.decoder.decode_stream(entry.stored, entry.header.payload_len, &mut |piece| {
                hasher.update(piece);
                Ok(())
            });
            entry.check_consumed(self.pack, result)?;
            return self.check_id(&entry, hasher.finish());
        }
        worker.turn.reserve(entry.header.payload_len);
        entry.decode(self.pack, &mut worker.decoder, content)?;
        self.check_content(worker, &entry, kind, content)
    }

    /// Checks that the content of `entry`, an object of `kind`, has its id. A numbered object is expanded into the
    /// worker's buffer.
    fn check_content(
        &self,
        worker: &mut Worker<'_>,
        entry: &StoredEntry<'_>,
        kind: ObjectKind,
        content: &[u8],
    ) -> Result<()> {
        let hash = self.pack.hash_kind();
        let Some(numbers) = self.pack.numbers().filter(|_| self.pack.is_numbered(kind)) else {
            return self.check_id(entry, object_id(hash, kind, content));
        };
        worker.turn.reserve(numbers.most_expanded(content.len() as u64));
        self.pack.expand(entry.offset, kind, content, &mut worker.expanded)?;
        self.check_id(entry, object_id(hash, kind, &worker.expanded))
    }

    fn read_delta(&self, worker: &mut Worker<'_>, position: u32, base: &[u8], content: &mut Vec<u8>) -> Result<()> {
        let (entry, kind) = self.entry(position)?;
        worker.turn.reserve(entry.header.payload_len);
        match entry.decode_on_base(self.pack, &mut worker.decoder, base, &mut worker.delta_payload)? {
            BaseUse::Patch => std::mem::swap(content, &mut worker.delta_payload),
            BaseUse::None | BaseUse::Prefix => {
                let bad_delta = |error| self.pack.bad_delta(entry.offset, error);
                worker.turn.reserve(DeltaSizes::parse(&worker.delta_payload).map_err(bad_delta)?.result);
                delta::apply(base, &worker.delta_payload, content).map_err(bad_delta)?;
            }
        }
        self.check_content(worker, &entry, kind, content)
    }

    /// The entry at `position`, after checking its CRC-32, and the kind of its object.
    fn entry(&self, position: u32) -> Result<(StoredEntry<'_>, ObjectKind)> {
        let at = position as usize;
        let entry = self.table.entry(self.pack, at)?;
        entry.check_crc(self.pack)?;
        let kind = self.forest.kind(at).ok_or_else(|| {
            self.pack.corrupt(entry.offset, "an object of a known kind", format!("none at position {position}"))
        })?;
        Ok((entry, kind))
    }

    fn check_id(&self, entry: &StoredEntry<'_>, found: ObjectId) -> Result<()> {
        let expected = self.pack.index().oid_at_index(entry.index_position);
        check_id(self.pack.path(), Place::Offset(entry.offset), expected, found)
    }
}

/// A base whose deltas are being read.
struct OpenBase {
    content: Vec<u8>,
    position: u32,
    done: usize,
}

/// Groups positions by their base. Returns the roots, the start of each position's children in the last list, and the
/// children.
fn group_by_base(bases: &[u32]) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut roots = Vec::new();
    let mut first_child = vec![0u32; bases.len() + 1];
    for (position, base) in (0u32..).zip(bases) {
        if *base == position {
            roots.push(position);
        } else if let Some(count) = first_child.get_mut(*base as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for count in &mut first_child {
        sum += *count;
        *count = sum;
    }
    let mut filled = first_child.clone();
    let mut children = vec![0u32; bases.len() - roots.len()];
    for (position, base) in (0u32..).zip(bases) {
        if *base != position
            && let Some(at) = filled.get_mut(*base as usize)
        {
            if let Some(slot) = children.get_mut(*at as usize) {
                *slot = position;
            }
            *at += 1;
        }
    }
    sort_by_descendants(&roots, &first_child, &mut children);
    (roots, first_child, children)
}

/// Puts the children with the fewest descendants first. A walk drops a base with its last child. So for each base that
/// it still holds, it is below a child with at most half of the descendants: it never holds more objects than the entry
/// count of the pack has bits.
fn sort_by_descendants(roots: &[u32], first_child: &[u32], children: &mut [u32]) {
    let range_of = |position: u32| {
        let at = position as usize;
        let bounds = first_child.get(at).zip(first_child.get(at + 1));
        bounds.map_or(0..0, |(start, end)| *start as usize..*end as usize)
    };
    // Each position comes after its base.
    let mut order = roots.to_vec();
    let mut next = 0;
    while let Some(position) = order.get(next).copied() {
        order.extend_from_slice(children.get(range_of(position)).unwrap_or_default());
        next += 1;
    }
    let mut descendants = vec![0u32; first_child.len()];
    for position in order.into_iter().rev() {
        let group = children.get_mut(range_of(position)).unwrap_or_default();
        let of = |child: &u32| descendants.get(*child as usize).copied().unwrap_or(0);
        group.sort_by_key(of);
        let sum = group.iter().map(|child| of(child) + 1).sum();
        if let Some(slot) = descendants.get_mut(position as usize) {
            *slot = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_grouped_by_base() {
        let (roots, first_child, children) = group_by_base(&[0, 0, 2, 0, 1, 2]);
        assert_eq!(roots, [0, 2]);
        let of = |p: usize| &children[first_child[p] as usize..first_child[p + 1] as usize];
        // Position 1 has a delta of its own, so it comes after 3.
        assert_eq!([of(0), of(1), of(2), of(3), of(4), of(5)], [&[3, 1][..], &[4], &[5], &[], &[], &[]]);
    }
}
