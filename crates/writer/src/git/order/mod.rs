//! Decides the order in which the entries of packs are written, if it is not that of the source.
//!
//! History is walked once. For each pack, the place of every object in git's own listing is recorded: four bytes per
//! entry, or eight if paths count. From that, and from the delta structure of a pack, the order of its entries is
//! computed when the pack is converted.

mod bases_first;
mod ordered_pack;
mod positions;
mod recency;

use std::{collections::HashMap, ops::ControlFlow, path::PathBuf};

use gix_hash::ObjectId;
use repackbench_codec::ZlibReader;
use repackbench_reader::{
    History,
    git::{
        CheckoutListing, GitHistory, GitRepository, ListedObject, ObjectStore, PathTable,
        pack::{DeltaForest, EntryTable, PackFile},
    },
};

use self::{bases_first::bases_first, ordered_pack::OrderedPack, recency::recency};
use crate::{Layout, Order, Progress, ProgressUnit, Result, WriterError};

/// The number of objects that are listed between two checks for cancellation.
const STEP: u32 = 1 << 12;

/// An order for the entries of packs.
pub trait EntryOrder {
    /// The positions of the entries of `pack` in the wanted order. They may be incomplete or repeated: missing ones
    /// come last, and the first occurrence counts.
    fn wanted(&self, pack: &PackFile, table: &EntryTable, forest: &DeltaForest) -> Vec<u32>;

    /// Whether deltas may come before their bases, and name them by id.
    fn reference_deltas(&self) -> bool;
}

/// The order in which the entries of a pack are written, as positions in file order.
#[derive(Debug, Default)]
pub(crate) struct WriteOrder(Option<Vec<u32>>);

impl WriteOrder {
    /// Applies `order` to `pack`. Every entry comes once; those that `order` does not name come last. Bases come before
    /// their deltas, unless a delta may name its base by id and that id is unique in the pack.
    pub(crate) fn new(order: &dyn EntryOrder, pack: &PackFile, table: &EntryTable, forest: &DeltaForest) -> Self {
        let rest = (0..pack.entry_count()).take(table.len());
        let wanted = order.wanted(pack, table, forest).into_iter().chain(rest);
        let may_precede = |position: u32| order.reference_deltas() && is_named_by_id(pack, table, forest, position);
        WriteOrder(Some(bases_first(wanted, forest.bases(), may_precede)))
    }

    /// The entries at the given places of the write order.
    pub(crate) fn positions(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = usize> {
        places.map(|place| self.position(place))
    }

    /// The entry at `place`.
    pub(crate) fn position(&self, place: usize) -> usize {
        match &self.0 {
            None => place,
            Some(order) => order.get(place).map_or(usize::MAX, |position| *position as usize),
        }
    }
}

/// Whether only one entry has the id of the base of the entry at `position`. If an object is stored twice, its id could
/// lead to the copy that is a delta on this very entry.
fn is_named_by_id(pack: &PackFile, table: &EntryTable, forest: &DeltaForest, position: u32) -> bool {
    let base = forest.base(position as usize).and_then(|base| table.index_position(base));
    let Some(base) = base else { return false };
    let index = pack.index();
    let id = |at: u32| (at < index.num_objects()).then(|| index.oid_at_index(at));
    let is_same = |neighbour: Option<u32>| neighbour.and_then(id) == id(base);
    !is_same(base.checked_sub(1)) && !is_same(base.checked_add(1))
}

/// The order of a layout, for all packs of a repository.
#[derive(Debug)]
pub struct ObjectOrder {
    order: Order,
    reference_deltas: bool,
    packs: Vec<ListedPack>,
    /// The rank of each path number; empty unless paths count.
    path_ranks: Vec<u32>,
}

/// The places of a pack's objects in a walk over history. Positions are those of the pack's index.
#[derive(Debug)]
struct ListedPack {
    path: PathBuf,
    /// The place of each object in the listing, from 1 on; 0 for unreachable objects.
    places: Vec<u32>,
    /// The number of the path at which each object was found first; empty unless paths count.
    paths: Vec<u32>,
    tagged: Vec<u32>,
    head_trees: Vec<u32>,
    head_files: Vec<u32>,
}

impl ObjectOrder {
    /// Walks the history of `source` to find the order that `layout` wants. Also returns notes.
    ///
    /// If something is damaged or missing, the part that cannot be walked is not put in order, and a note says so.
    /// Whether the stored data is valid is checked by the conversion.
    ///
    /// # Errors
    /// The packs cannot be opened; [`WriterError::Interrupted`].
    pub fn new(source: &GitRepository, layout: Layout, progress: &dyn Progress) -> Result<(Self, Vec<String>)> {
        let mut history = GitHistory::new(source, ObjectStore::open(source, ZlibReader::Libdeflate)?)?;
        // git packs what is stored, whether or not it is replaced when read.
        history.objects().lock().set_replacements(HashMap::default());
        let by_path = layout.order == Order::Path;
        let packs = history.objects().lock().packs().iter().map(|pack| ListedPack::new(pack, by_path)).collect();
        let Layout { order, reference_deltas, .. } = layout;
        let mut this = ObjectOrder { order, reference_deltas, packs, path_ranks: Vec::new() };
        let mut notes = Vec::new();
        let mut incomplete = |what: &str, error: &dyn std::fmt::Display| {
            notes.push(format!(
                "{}: not everything is in the order {order}: {what}: {error}",
                source.git_dir().display()
            ));
        };
        let mut paths = if by_path { PathTable::default() } else { PathTable::of_folders() };
        if let Err(error) = this.list(&mut history, &mut paths, by_path, progress)? {
            incomplete("history cannot be walked to its end", &error);
        }
        if by_path {
            this.path_ranks = paths.ranks();
        }
        match history.tagged() {
            Ok(tagged) => this.note_positions(&history, &tagged, |pack| &mut pack.tagged),
            Err(error) => incomplete("a tag cannot be followed", &error),
        }
        if matches!(order, Order::Checkout | Order::TreesFirst) {
            let head = history.resolve("HEAD").and_then(|head| history.checkout_listing(&head));
            match head {
                Ok(CheckoutListing { trees, files }) => {
                    this.note_positions(&history, &trees, |pack| &mut pack.head_trees);
                    this.note_positions(&history, &files, |pack| &mut pack.head_files);
                }
                Err(error) => incomplete("HEAD cannot be read", &error),
            }
        }
        Ok((this, notes))
    }

    /// Records the place of each object in git's listing. The inner error is one of history.
    fn list(
        &mut self,
        history: &mut GitHistory,
        paths: &mut PathTable,
        by_path: bool,
        progress: &dyn Progress,
    ) -> Result<repackbench_reader::Result<()>> {
        let entries: usize = self.packs.iter().map(|pack| pack.places.len()).sum();
        progress.start("listing objects", entries as u64, ProgressUnit::Items);
        let mut place = 0u32;
        let listed = history.list(paths, &mut |store, object| {
            place = place.saturating_add(1);
            self.note_place(store, object, place, by_path);
            if place.is_multiple_of(STEP) {
                progress.advance(STEP.into());
                if progress.is_cancelled() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
        progress.finish();
        Ok(listed)
    }

    fn note_place(&mut self, store: &ObjectStore, object: &ListedObject<'_>, place: u32, by_path: bool) {
        for (number, (listed, pack)) in self.packs.iter_mut().zip(store.packs()).enumerate() {
            let position = match object.place {
                Some(known) if known.pack == number => Some(known.position),
                _ => pack.position(object.id),
            };
            let Some(position) = position.map(|position| position as usize) else { continue };
            if let Some(slot) = listed.places.get_mut(position) {
                *slot = place;
            }
            if let Some(slot) = listed.paths.get_mut(position).filter(|_| by_path) {
                *slot = object.path;
            }
        }
    }

    /// Records the index positions of `ids` in each pack, in the list that `list` chooses.
    fn note_positions(
        &mut self,
        history: &GitHistory,
        ids: &[ObjectId],
        list: impl Fn(&mut ListedPack) -> &mut Vec<u32>,
    ) {
        let objects = history.objects();
        let store = objects.lock();
        for (listed, pack) in self.packs.iter_mut().zip(store.packs()) {
            list(listed).extend(ids.iter().filter_map(|id| pack.position(id)));
        }
    }
}

impl ListedPack {
    fn new(pack: &PackFile, by_path: bool) -> Self {
        let entries = pack.entry_count() as usize;
        ListedPack {
            path: pack.path().to_owned(),
            places: vec![0; entries],
            paths: if by_path { vec![PathTable::ROOT; entries] } else { Vec::new() },
            tagged: Vec::new(),
            head_trees: Vec::new(),
            head_files: Vec::new(),
        }
    }

    /// The listed objects, as positions in file order, in the order of the listing.
    fn listed(&self, table: &EntryTable) -> Vec<u32> {
        let place = |at: &u32| self.places.get(*at as usize).copied().unwrap_or_default();
        let mut listed: Vec<(u32, u32)> =
            (0..).zip(table.index_positions()).map(|(position, at)| (place(at), position)).collect();
        listed.retain(|(place, _)| *place > 0);
        listed.sort_unstable();
        listed.into_iter().map(|(_, position)| position).collect()
    }
}

impl EntryOrder for ObjectOrder {
    fn wanted(&self, pack: &PackFile, table: &EntryTable, forest: &DeltaForest) -> Vec<u32> {
        let Some(listed) = self.packs.iter().find(|listed| listed.path == pack.path()) else { return Vec::new() };
        let in_file_order = in_file_order(table);
        let positions = |of_index: &[u32]| -> Vec<u32> {
            of_index.iter().filter_map(|at| in_file_order.get(*at as usize).copied()).collect()
        };
        let ordered = OrderedPack {
            bases: forest.bases(),
            kinds: forest.kinds(),
            listed: listed.listed(table),
            head_trees: positions(&listed.head_trees),
            head_files: positions(&listed.head_files),
        };
        let recency = || recency(&ordered.listed, forest.bases(), forest.kinds(), &positions(&listed.tagged));
        let rank = |position: u32| {
            let path = table.index_position(position as usize).and_then(|at| listed.paths.get(at as usize));
            path.and_then(|path| self.path_ranks.get(*path as usize)).copied().unwrap_or_default()
        };
        match self.order {
            Order::Source => Vec::new(),
            Order::Recency => recency(),
            Order::Kind => ordered.by_kind(),
            Order::Path => ordered.by_path(rank),
            Order::Checkout => ordered.checkout(&recency()),
            Order::TreesFirst => ordered.trees_first(&recency(), !self.reference_deltas),
        }
    }

    fn reference_deltas(&self) -> bool {
        self.reference_deltas
    }
}

/// The position in file order of each entry of the index.
fn in_file_order(table: &EntryTable) -> Vec<u32> {
    let mut positions = vec![0; table.len()];
    for (position, at) in (0..).zip(table.index_positions()) {
        if let Some(slot) = positions.get_mut(*at as usize) {
            *slot = position;
        }
    }
    positions
}
