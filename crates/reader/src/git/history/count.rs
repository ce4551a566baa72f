//! Counting what is reachable by the numbers of a pack. Ids are read once, to find objects that an index lists twice.
//!
//! The objects of the largest pack are named by their position in its index, all others by id. So an object has one
//! name, whichever pack refers to it. If an index lists an object twice, its name is the position that a search finds.

use gix_hash::{Kind, ObjectId, oid};
use rustc_hash::FxBuildHasher;

use super::{
    GitHistory,
    commit::{CommitFields, committer_date, parse_commit},
    date_order::{CommitSource, DateOrder},
    expect::{contains_itself, damaged, malformed_commit, read_tree},
    last_trees::{Folder, LastTrees},
    new_entries::{ByIds, TreeForm, WalkedTree, for_each_new_entry},
    seen_objects::{SeenObjects, Sighting, largest_pack},
    tree_diff::{TreeEntry, parse_numbered_entry},
    walk::ParentOverrides,
};
use crate::{
    CountVisitor, ObjectKind, ReaderError, Result,
    git::{
        ObjectStore,
        numbered::{NumberError, PARENT_WORD, PackNumbers, Reference, VERBATIM},
        object_store::PackPlace,
        pack::{PackFile, RepeatedIds},
    },
    traits::FileMode,
};

/// The name of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    /// The position in the index of the largest pack.
    Here(u32),
    /// An object that this pack does not hold.
    Elsewhere(ObjectId),
}

impl GitHistory {
    /// Whether objects can be counted by number. Replacements name objects by id.
    pub(super) fn is_numbered(&self) -> bool {
        let store = self.store.lock();
        numbered_pack(&store, largest_pack(&store)).is_some() && !store.has_replacements()
    }

    /// Counts the newest `commits` commits that are reachable from any reference, with everything that they hold.
    pub(super) fn count_by_number(&mut self, commits: u64, count: &mut CountVisitor<'_>) -> Result<()> {
        let mut seen = SeenObjects::new(self.hash, &self.store.lock());
        let tips = self.visit_tips(&mut seen, &mut |kind, _| count(kind))?;
        let mut store = self.store.lock();
        let pack = largest_pack(&store);
        let Some(numbers) = NumberNames::of(&store, pack) else { return Ok(()) };
        let mut objects = NumberedObjects {
            store: &mut store,
            hash: self.hash,
            pack,
            numbers: &numbers,
            overrides: &self.overrides,
            content: Vec::new(),
        };
        let mut order = DateOrder::<Name, FxBuildHasher>::default();
        for tip in tips.commits {
            let name = objects.name(&tip);
            order.queue_tip(&mut objects, name)?;
        }
        let mut trees = Vec::new();
        let mut left = commits;
        while left > 0 {
            let Some(commit) = order.next(&mut objects)? else { break };
            left -= 1;
            count(ObjectKind::Commit);
            trees.push(commit.tree);
        }
        drop(order);
        trees.extend(tips.trees.iter().map(|tree| objects.name(tree)));
        objects.count_trees(&trees, seen, count)
    }
}

/// The numbers of the pack number `pack`, if its objects are numbered.
fn numbered_pack(store: &ObjectStore, pack: usize) -> Option<PackNumbers> {
    store.packs().get(pack).and_then(PackFile::numbers).copied()
}

/// The numbers of a pack, which become names.
struct NumberNames {
    numbers: PackNumbers,
    repeated: RepeatedIds,
}

impl NumberNames {
    /// Those of the pack number `pack`, if its objects are numbered.
    fn of(store: &ObjectStore, pack: usize) -> Option<Self> {
        let numbers = numbered_pack(store, pack)?;
        let repeated = store.packs().get(pack)?.repeated_ids().clone();
        Some(NumberNames { numbers, repeated })
    }

    /// Takes a reference from the start of `bytes`. All numbers of an object give the same position.
    #[inline]
    fn take<'a>(&self, bytes: &mut &'a [u8]) -> std::result::Result<Reference<'a>, NumberError> {
        Ok(match self.numbers.take(bytes)? {
            Reference::Position(position) => Reference::Position(self.repeated.found(position)),
            id @ Reference::Id(_) => id,
        })
    }
}

/// The objects of a store whose largest pack is numbered.
struct NumberedObjects<'a> {
    store: &'a mut ObjectStore,
    hash: Kind,
    pack: usize,
    numbers: &'a NumberNames,
    overrides: &'a ParentOverrides,
    content: Vec<u8>,
}

impl NumberedObjects<'_> {
    fn name(&self, id: &oid) -> Name {
        self.store.position_in(self.pack, id).map_or_else(|| Name::Elsewhere(id.to_owned()), Name::Here)
    }

    fn place(&self, position: u32) -> PackPlace {
        PackPlace { pack: self.pack, position }
    }

    /// The id of the object at `position`, which is not past the end.
    fn id(&self, position: u32) -> ObjectId {
        let pack = self.store.packs().get(self.pack).filter(|pack| position < pack.entry_count());
        pack.map_or_else(|| self.hash.null(), |pack| pack.index().oid_at_index(position).to_owned())
    }

    /// The error for another object at `position` than one of kind `expected`.
    fn not_a(&self, expected: ObjectKind, position: u32, found: ObjectKind) -> ReaderError {
        damaged(self.store, self.id(position), &format!("a {expected}"), &format!("a {found}"))
    }

    /// Reads the commit at `position` of the pack.
    fn numbered_commit(&mut self, position: u32, parents: &mut Vec<Name>) -> Result<CommitFields<Name>> {
        let place = self.place(position);
        match self.store.read_numbered(place, &mut self.content)? {
            ObjectKind::Commit => {}
            other => return Err(self.not_a(ObjectKind::Commit, position, other)),
        }
        let bad = |error| self.store.bad_numbers(place, ObjectKind::Commit, error);
        parents.clear();
        let (references, mut rest) = match self.content.split_first() {
            Some((&VERBATIM, commit)) => return self.commit_by_id(&self.id(position), commit, parents),
            Some((references, rest)) => (*references, rest),
            None => return Err(bad(NumberError::Truncated)),
        };
        let mut tree = None;
        for _ in 0..references {
            let name = match self.numbers.take(&mut rest).map_err(bad)? {
                Reference::Position(position) => Name::Here(position),
                Reference::Id(id) => self.name(id),
            };
            match tree {
                None => tree = Some(name),
                Some(_) => parents.push(name),
            }
        }
        if rest.starts_with(PARENT_WORD.as_bytes()) {
            // No writer leaves a parent to the text, but git would read it.
            let id = self.id(position);
            self.store.read_expected(&id, ObjectKind::Commit, &mut self.content)?;
            return self.commit_by_id(&id, &self.content, parents);
        }
        let tree = tree.ok_or_else(|| bad(NumberError::Truncated))?;
        Ok(CommitFields { tree, date: committer_date(rest) })
    }

    /// Parses `commit`, which names others by id.
    fn commit_by_id(&self, id: &oid, commit: &[u8], parents: &mut Vec<Name>) -> Result<CommitFields<Name>> {
        let mut ids = Vec::new();
        let fields =
            parse_commit(commit, id.kind(), &mut ids).ok_or_else(|| malformed_commit(self.store, id.to_owned()))?;
        parents.clear();
        parents.extend(ids.iter().map(|parent| self.name(parent)));
        Ok(CommitFields { tree: self.name(&fields.tree), date: fields.date })
    }

    /// Counts every tree and blob below `roots` that was not seen before, depth first.
    fn count_trees(&mut self, roots: &[Name], seen: SeenObjects, count: &mut CountVisitor<'_>) -> Result<()> {
        let (mut last_trees, mut starts) = (LastTrees::new(), Vec::new());
        let mut found = Found { seen, pending: Vec::new(), count: &mut |kind| count(kind) };
        for root in roots {
            let sighting = match root {
                Name::Here(position) => found.seen.insert_at(*position),
                Name::Elsewhere(id) => found.seen.insert(self.store, id),
            };
            if sighting != Sighting::Seen {
                found.pending.push((*root, LastTrees::ROOT));
            }
            while let Some((tree, folder)) = found.pending.pop() {
                let first_child = found.pending.len();
                match tree {
                    Name::Here(position) => {
                        self.count_numbered_tree((position, folder), &mut last_trees, &mut starts, &mut found)?;
                    }
                    Name::Elsewhere(id) => match read_tree(self.store, id, None)? {
                        Some(content) => self.count_tree_by_id((id, folder), &content, &mut last_trees, &mut found)?,
                        None => self.store.note_missing(&id)?,
                    },
                }
                found.pending.get_mut(first_child..).unwrap_or_default().reverse();
            }
        }
        Ok(())
    }

    /// Counts the tree at `position` of the pack, which was found in `folder`, and the new objects in it.
    fn count_numbered_tree(
        &mut self,
        (position, folder): (u32, Folder),
        last_trees: &mut LastTrees,
        starts: &mut Vec<u32>,
        found: &mut Found<'_>,
    ) -> Result<()> {
        let place = self.place(position);
        let (kind, content) = self.store.read_numbered_shared(place)?;
        if kind != ObjectKind::Tree {
            return Err(self.not_a(ObjectKind::Tree, position, kind));
        }
        if let Some((&VERBATIM, tree)) = content.split_first() {
            return self.count_tree_by_id((self.id(position), folder), tree, last_trees, found);
        }
        (found.count)(ObjectKind::Tree);
        let hash = self.hash;
        let tree = WalkedTree { form: ByNumbers { numbers: self.numbers, place }, folder, content };
        for_each_new_entry(self.store, last_trees, starts, tree, |store, last_trees, form, entry| {
            let child = form.numbers.take(&mut { entry.id });
            let child = child.map_err(|error| store.bad_numbers(place, ObjectKind::Tree, error))?;
            if child == Reference::Position(position) {
                let id = store.packs().get(place.pack).map(|pack| pack.index().oid_at_index(position).to_owned());
                return Err(contains_itself(store, id.unwrap_or_else(|| hash.null())));
            }
            found.add(store, last_trees, (folder, &entry), child)
        })
    }

    /// The same for the content of the tree `id`, whose entries name others by id.
    fn count_tree_by_id(
        &mut self,
        (id, folder): (ObjectId, Folder),
        tree: &[u8],
        last_trees: &mut LastTrees,
        found: &mut Found<'_>,
    ) -> Result<()> {
        (found.count)(ObjectKind::Tree);
        let form = ByIds(id);
        let mut rest = tree;
        while !rest.is_empty() {
            let entry = form.parse(rest).ok_or_else(|| form.malformed(self.store))?;
            rest = rest.get(entry.len..).unwrap_or_default();
            let child = form.child(self.store, &entry)?;
            found.add(self.store, last_trees, (folder, &entry), Reference::Id(child))?;
        }
        Ok(())
    }
}

/// A numbered tree at `place`.
struct ByNumbers<'a> {
    numbers: &'a NumberNames,
    place: PackPlace,
}

impl TreeForm for ByNumbers<'_> {
    #[inline]
    fn parse<'a>(&self, bytes: &'a [u8]) -> Option<TreeEntry<'a>> {
        parse_numbered_entry(bytes, &self.numbers.numbers)
    }

    fn malformed(&self, store: &ObjectStore) -> ReaderError {
        store.bad_numbers(self.place, ObjectKind::Tree, NumberError::Truncated)
    }
}

/// What a walk of trees has found.
struct Found<'c> {
    seen: SeenObjects,
    /// The trees that are still to be read, and where they were found.
    pending: Vec<(Name, Folder)>,
    count: &'c mut dyn FnMut(ObjectKind),
}

impl Found<'_> {
    /// Adds the object that `entry` of a tree in `folder` names.
    #[inline]
    fn add(
        &mut self,
        store: &mut ObjectStore,
        last_trees: &mut LastTrees,
        (folder, entry): (Folder, &TreeEntry<'_>),
        child: Reference<'_>,
    ) -> Result<()> {
        if entry.mode == Some(FileMode::Gitlink) {
            return Ok(());
        }
        let sighting = match child {
            Reference::Position(position) => self.seen.insert_at(position),
            Reference::Id(id) => self.seen.insert(store, id),
        };
        let name = match (sighting, child) {
            (Sighting::Seen, _) => return Ok(()),
            (Sighting::New(Some(place)), _) => Name::Here(place.position),
            (Sighting::New(None), Reference::Position(position)) => Name::Here(position),
            (Sighting::New(None), Reference::Id(id)) => Name::Elsewhere(id.to_owned()),
        };
        match name {
            _ if entry.is_tree() => self.pending.push((name, last_trees.folder(folder, entry.name))),
            Name::Elsewhere(id) if !store.contains(&id)? => store.note_missing(&id)?,
            _ => (self.count)(ObjectKind::Blob),
        }
        Ok(())
    }
}

impl CommitSource for NumberedObjects<'_> {
    type Name = Name;

    fn read_commit(&mut self, name: Name, parents: &mut Vec<Name>) -> Result<Option<CommitFields<Name>>> {
        let fields = match name {
            Name::Here(position) => self.numbered_commit(position, parents)?,
            Name::Elsewhere(id) => match self.store.read(&id, &mut self.content)? {
                Some(ObjectKind::Commit) => self.commit_by_id(&id, &self.content, parents)?,
                Some(other) => return Err(damaged(self.store, id, "a commit", &format!("a {other}"))),
                None => return self.store.note_missing(&id).map(|()| None),
            },
        };
        if !self.overrides.is_empty() {
            let id = match name {
                Name::Here(position) => self.id(position),
                Name::Elsewhere(id) => id,
            };
            if let Some(others) = self.overrides.get(&id) {
                parents.clear();
                parents.extend(others.iter().map(|parent| self.name(parent)));
            }
        }
        Ok(Some(fields))
    }

    fn too_many_commits(&self) -> ReaderError {
        ReaderError::unsupported(self.store.object_dir(), "a history of more than 2^32 commits")
    }
}
