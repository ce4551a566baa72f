//! Listing objects in the order of git, and in the order in which a checkout reads them.

use std::ops::ControlFlow;

use gix_hash::{ObjectId, oid};
use rustc_hash::FxHashSet;

use super::{
    GitHistory, PathNumber, PathTable, Target,
    expect::{MAX_TREE_DEPTH, malformed_tree, read_tree, target_of_tag, too_deep},
    last_trees::LastTrees,
    new_entries::{ByIds, WalkedTree, for_each_new_entry},
    seen_objects::{SeenObjects, Sighting},
    tree_diff::parse_entry,
    walk::CommitWalk,
};
use crate::{
    ObjectKind, Result,
    git::{ObjectStore, object_store::PackPlace},
    traits::FileMode,
};

/// An object in a listing.
#[derive(Debug, Clone, Copy)]
pub struct ListedObject<'a> {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its id.
    pub id: &'a oid,
    /// Its place, if the listing had to find it.
    pub place: Option<PackPlace>,
    /// The path at which it was first found. It is the root for objects without a path, and for files if the table does
    /// not number files.
    pub path: PathNumber,
}

/// Receives every object of a listing, once each, with its store. Returns whether to continue. A file may be missing
/// from the store.
pub type ListingVisitor<'a> = dyn FnMut(&ObjectStore, &ListedObject<'_>) -> ControlFlow<()> + 'a;

/// The objects that a checkout reads, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckoutListing {
    /// The commit and its trees, each tree before its contents.
    pub trees: Vec<ObjectId>,
    /// The files, sorted by path as in an index.
    pub files: Vec<ObjectId>,
}

/// A tree, file or tag that is still to be listed.
struct Pending {
    id: ObjectId,
    kind: ObjectKind,
    path: PathNumber,
}

impl Pending {
    /// An object without a path.
    fn at_root(kind: ObjectKind, id: ObjectId) -> Self {
        Pending { id, kind, path: PathTable::ROOT }
    }
}

impl GitHistory {
    /// Visits everything reachable from any reference in the order of `git rev-list --objects --all`. First commits,
    /// newest first; then other targets of references, mostly tags, and the objects that they lead to; then the trees
    /// and files of one commit after another, each tree before its contents, in the order of paths. `paths` numbers the
    /// paths. Files are not read.
    ///
    /// # Errors
    /// A commit, tag or tree is damaged, or missing although the repository is no partial clone.
    pub fn list(&mut self, paths: &mut PathTable, visit: &mut ListingVisitor<'_>) -> Result<()> {
        let mut store = self.store.lock();
        let mut walk = CommitWalk::new(self.overrides.clone());
        let mut tips = Tips::default();
        for tip in &self.tips {
            tips.follow(&mut store, *tip, &mut walk, &mut self.content)?;
        }
        let mut trees = Vec::new();
        while let Some(revision) = walk.next(&mut store)? {
            let commit =
                ListedObject { kind: ObjectKind::Commit, id: &revision.id, place: None, path: PathTable::ROOT };
            if visit(&store, &commit).is_break() {
                return Ok(());
            }
            trees.push(revision.manifest);
        }
        drop(walk);
        let trees = trees.into_iter().map(|tree| Pending::at_root(ObjectKind::Tree, tree));
        list_trees(&mut store, tips.others.into_iter().chain(trees), paths, visit)
    }

    /// The objects that a checkout of `commit` reads, once each. A missing tree is left out with its contents.
    ///
    /// # Errors
    /// The commit or a tree is damaged.
    pub fn checkout_listing(&self, commit: &oid) -> Result<CheckoutListing> {
        let root = self.tree_of(commit)?;
        let mut store = self.store.lock();
        let mut listing = CheckoutListing { trees: vec![commit.to_owned()], files: Vec::new() };
        let mut seen = FxHashSet::default();
        let mut open = Vec::new();
        let mut wanted = Some(root);
        loop {
            if let Some(id) = wanted.take().filter(|id| seen.insert(*id)) {
                let content = read_tree(&mut store, id, None)?;
                if content.is_some() && open.len() >= MAX_TREE_DEPTH {
                    return Err(too_deep(&store, id));
                }
                if let Some(content) = content {
                    listing.trees.push(id);
                    open.push((id, content, 0));
                }
            }
            let Some((id, content, at)) = open.last_mut() else { return Ok(listing) };
            let rest = content.get(*at..).unwrap_or_default();
            if rest.is_empty() {
                open.pop();
                continue;
            }
            let entry = parse_entry(rest, self.hash.len_in_bytes());
            let Some((entry, child)) = entry.and_then(|entry| Some((entry, ObjectId::try_from(entry.id).ok()?))) else {
                return Err(malformed_tree(&store, *id));
            };
            *at += entry.len;
            if entry.is_tree() {
                wanted = Some(child);
            } else if entry.mode != Some(FileMode::Gitlink) && seen.insert(child) {
                listing.files.push(child);
            }
        }
    }

    /// The targets of the references below `refs/tags/`, and the objects that the tags among them finally lead to.
    ///
    /// # Errors
    /// A tag is damaged.
    pub fn tagged(&mut self) -> Result<Vec<ObjectId>> {
        let mut store = self.store.lock();
        let mut tagged = Vec::new();
        for (name, target) in &self.references {
            let Target::Object(id) = target else { continue };
            if !name.starts_with(b"refs/tags/") {
                continue;
            }
            tagged.push(*id);
            let mut leads_to = *id;
            // Stops at a tag that names itself, which is possible in content that was never hashed.
            for _ in 0..MAX_TREE_DEPTH {
                if store.kind(&leads_to)? != Some(ObjectKind::Tag) {
                    break;
                }
                leads_to = target_of_tag(&mut store, leads_to, &mut self.content)?;
            }
            tagged.push(leads_to);
        }
        Ok(tagged)
    }
}

/// The objects other than commits that references lead to.
#[derive(Default)]
struct Tips {
    known: FxHashSet<ObjectId>,
    /// In the order of references. The target of a tag follows the tag, unless it is a commit.
    others: Vec<Pending>,
}

impl Tips {
    /// Adds `tip` and, while it is a tag, its target. Commits are queued in `walk`.
    fn follow(
        &mut self,
        store: &mut ObjectStore,
        tip: ObjectId,
        walk: &mut CommitWalk,
        content: &mut Vec<u8>,
    ) -> Result<()> {
        let mut id = tip;
        loop {
            match store.kind(&id)? {
                None => return store.note_missing(&id),
                Some(ObjectKind::Commit) => return walk.queue_tip(store, id),
                Some(ObjectKind::Tag) if self.known.insert(id) => {
                    self.others.push(Pending::at_root(ObjectKind::Tag, id));
                    id = target_of_tag(store, id, content)?;
                }
                Some(kind @ (ObjectKind::Tree | ObjectKind::Blob)) => {
                    self.others.push(Pending::at_root(kind, id));
                    return Ok(());
                }
                // A tag that was added before, or a kind that no Git store has.
                Some(_) => return Ok(()),
            }
        }
    }
}

/// Visits `roots` and everything in them, each object when it is first found.
fn list_trees(
    store: &mut ObjectStore,
    roots: impl Iterator<Item = Pending>,
    paths: &mut PathTable,
    visit: &mut ListingVisitor<'_>,
) -> Result<()> {
    let mut seen: Option<SeenObjects> = None;
    let mut last_trees = LastTrees::new();
    let mut starts = Vec::new();
    let mut pending: Vec<Pending> = Vec::new();
    for root in roots {
        let hash = root.id.kind();
        let seen = seen.get_or_insert_with(|| SeenObjects::new(hash, store));
        pending.push(root);
        while let Some(Pending { id, kind, path }) = pending.pop() {
            let Sighting::New(place) = seen.insert(store, &id) else { continue };
            if kind != ObjectKind::Tree {
                if visit(store, &ListedObject { kind, id: &id, place, path }).is_break() {
                    return Ok(());
                }
                continue;
            }
            let Some(content) = read_tree(store, id, place)? else {
                store.note_missing(&id)?;
                continue;
            };
            if visit(store, &ListedObject { kind, id: &id, place, path }).is_break() {
                return Ok(());
            }
            let first_child = pending.len();
            last_trees.add_folder(path as usize);
            let tree = WalkedTree { form: ByIds(id), folder: path as usize, content };
            for_each_new_entry(store, &mut last_trees, &mut starts, tree, |store, _, form, entry| {
                let child = form.child(store, &entry)?;
                if entry.mode != Some(FileMode::Gitlink) {
                    let (kind, path) = if entry.is_tree() {
                        (ObjectKind::Tree, paths.number(path, entry.name))
                    } else {
                        (ObjectKind::Blob, paths.file_number(path, entry.name))
                    };
                    pending.push(Pending { id: child.to_owned(), kind, path });
                }
                Ok(())
            })?;
            pending.get_mut(first_child..).unwrap_or_default().reverse();
        }
    }
    Ok(())
}
