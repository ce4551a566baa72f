//! A Git repository as revisions and content.

mod commit;
mod count;
mod date_order;
mod expect;
mod finder;
mod introduced;
mod last_trees;
mod listing;
mod new_entries;
mod path_change;
mod path_table;
mod revision_name;
mod seen_objects;
mod tree_diff;
mod walk;

use std::collections::HashMap;

use gix_hash::{Kind, ObjectId, oid};
use repackbench_codec::DecodeMemo;

use self::{
    expect::{damaged, read_tree, target_of_tag},
    last_trees::LastTrees,
    new_entries::{ByIds, WalkedTree, for_each_new_entry},
    path_change::change_of_path,
    seen_objects::{SeenObjects, Sighting},
    tree_diff::TreeDiff,
    walk::{CommitWalk, ParentOverrides},
};
pub use self::{
    finder::SharedObjectStore,
    introduced::{held_before, introduced_by},
    listing::{CheckoutListing, ListedObject, ListingVisitor},
    path_table::{PathNumber, PathTable},
};
use super::{ObjectStore, repository::GitRepository, repository::Target};
use crate::{
    AccessTrace, CacheLookups, Changes, ChunkInMemory, ContentVisitor, CountVisitor, FileVersion, History, ObjectKind,
    Recording, Result, Revision, SizeVisitor, TraverseVisitor, traits::FileMode,
};

/// The history of a Git repository. As in git, grafts, the shallow boundary and replacements apply.
pub struct GitHistory {
    store: SharedObjectStore,
    hash: Kind,
    references: HashMap<Vec<u8>, Target>,
    tips: Vec<ObjectId>,
    overrides: ParentOverrides,
    log: CommitWalk,
    tree_diff: TreeDiff,
    content: Vec<u8>,
}

/// The commits and trees that references lead to, in their order.
#[derive(Default)]
struct TipObjects {
    commits: Vec<ObjectId>,
    trees: Vec<ObjectId>,
}

impl std::fmt::Debug for GitHistory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHistory").field("store", &self.store).finish_non_exhaustive()
    }
}

impl GitHistory {
    /// The history of `repository`, whose object store is `store`.
    pub fn new(repository: &GitRepository, mut store: ObjectStore) -> Result<Self> {
        let mut overrides = ParentOverrides::default();
        overrides.extend(repository.grafts().iter().map(|(id, parents)| (*id, parents.clone())));
        overrides.extend(repository.shallow().iter().map(|id| (*id, Vec::new())));
        store.set_replacements(repository.replacements()?);
        let references = repository.references()?;
        let tips = references
            .iter()
            .filter_map(|reference| match &reference.target {
                Target::Object(id) => Some(*id),
                Target::Symbolic(_) => None,
            })
            .collect();
        Ok(GitHistory {
            store: SharedObjectStore::new(store),
            hash: repository.object_hash(),
            references: references.into_iter().map(|r| (r.name.into(), r.target)).collect(),
            tips,
            log: CommitWalk::new(overrides.clone()),
            overrides,
            tree_diff: TreeDiff::new(repository.object_hash()),
            content: Vec::new(),
        })
    }

    /// A handle to the object store, for libraries that read from it.
    pub fn objects(&self) -> SharedObjectStore {
        self.store.clone()
    }

    /// The hash that names objects.
    pub fn object_hash(&self) -> Kind {
        self.hash
    }

    /// The tree of the commit `id`.
    pub fn tree_of(&self, id: &oid) -> Result<ObjectId> {
        let mut content = Vec::new();
        let mut store = self.store.lock();
        store.read_expected(id, ObjectKind::Commit, &mut content)?;
        commit::parse_commit(&content, self.hash, &mut Vec::new())
            .map(|fields| fields.tree)
            .ok_or_else(|| damaged(&store, id.to_owned(), "a commit with a tree line", "a commit without one"))
    }

    /// Visits what references lead to, except commits and trees, which are returned: tags, their targets while these
    /// are tags, and blobs.
    fn visit_tips(&mut self, seen: &mut SeenObjects, visit: &mut TraverseVisitor<'_>) -> Result<TipObjects> {
        let mut found = TipObjects::default();
        let mut store = self.store.lock();
        for tip in &self.tips {
            let mut id = *tip;
            loop {
                match store.kind(&id)? {
                    None => store.note_missing(&id)?,
                    Some(ObjectKind::Commit) => found.commits.push(id),
                    Some(ObjectKind::Tree) => found.trees.push(id),
                    Some(ObjectKind::Blob) => {
                        if seen.insert(&store, &id) != Sighting::Seen {
                            visit(ObjectKind::Blob, &id);
                        }
                    }
                    Some(ObjectKind::Tag) if seen.insert(&store, &id) != Sighting::Seen => {
                        visit(ObjectKind::Tag, &id);
                        id = target_of_tag(&mut store, id, &mut self.content)?;
                        continue;
                    }
                    // A tag that was visited, or a kind that no Git store has.
                    Some(_) => {}
                }
                break;
            }
        }
        Ok(found)
    }

    /// Visits every tree and blob below `roots` that was not visited before, depth first.
    fn visit_trees(
        &mut self,
        roots: &[ObjectId],
        seen: &mut SeenObjects,
        visit: &mut TraverseVisitor<'_>,
    ) -> Result<()> {
        let mut last_trees = LastTrees::new();
        let mut pending = Vec::new();
        let mut starts = Vec::new();
        let mut store = self.store.lock();
        for root in roots {
            if let Sighting::New(place) = seen.insert(&store, root) {
                pending.push((*root, LastTrees::ROOT, place));
            }
            while let Some((id, folder, place)) = pending.pop() {
                let Some(content) = read_tree(&mut store, id, place)? else {
                    store.note_missing(&id)?;
                    continue;
                };
                visit(ObjectKind::Tree, &id);
                let first_child = pending.len();
                let tree = WalkedTree { form: ByIds(id), folder, content };
                for_each_new_entry(
                    &mut store,
                    &mut last_trees,
                    &mut starts,
                    tree,
                    |store, last_trees, form, entry| {
                        let child = form.child(store, &entry)?;
                        if entry.mode == Some(FileMode::Gitlink) {
                            return Ok(());
                        }
                        let Sighting::New(place) = seen.insert(store, child) else { return Ok(()) };
                        if entry.is_tree() {
                            pending.push((child.to_owned(), last_trees.folder(folder, entry.name), place));
                        } else if place.is_some() || store.contains(child)? {
                            visit(ObjectKind::Blob, child);
                        } else {
                            store.note_missing(child)?;
                        }
                        Ok(())
                    },
                )?;
                pending.get_mut(first_child..).unwrap_or_default().reverse();
            }
        }
        Ok(())
    }
}

impl History for GitHistory {
    fn resolve(&mut self, name: &str) -> Result<ObjectId> {
        self.revision_by_name(name)
    }

    fn traverse_newest(&mut self, commits: u64, visit: &mut TraverseVisitor<'_>) -> Result<()> {
        let mut walk = CommitWalk::new(self.overrides.clone());
        let mut seen = SeenObjects::new(self.hash, &self.store.lock());
        let mut tips = self.visit_tips(&mut seen, visit)?;
        for commit in tips.commits {
            walk.queue_tip(&mut self.store.lock(), commit)?;
        }
        let mut trees = Vec::new();
        let mut left = commits;
        while left > 0 {
            let Some(revision) = walk.next(&mut self.store.lock())? else { break };
            left -= 1;
            visit(ObjectKind::Commit, &revision.id);
            trees.push(revision.manifest);
        }
        drop(walk);
        trees.append(&mut tips.trees);
        self.visit_trees(&trees, &mut seen, visit)
    }

    fn count_newest(&mut self, commits: u64, count: &mut CountVisitor<'_>) -> Result<()> {
        if self.is_numbered() {
            return self.count_by_number(commits, count);
        }
        self.traverse_newest(commits, &mut |kind, _| count(kind))
    }

    fn sizes(&mut self, visit: &mut SizeVisitor<'_>) -> Result<()> {
        let mut store = self.store.lock();
        for place in store.every_object()? {
            let (kind, size) = store.kind_and_size(&place)?;
            visit(kind, &place.id, size);
        }
        Ok(())
    }

    fn contents(&mut self, visit: &mut ContentVisitor<'_>) -> Result<()> {
        let mut store = self.store.lock();
        for place in store.every_object_in_file_order()? {
            store.visit_content(&place, &mut self.content, &mut |kind, content| visit(kind, &place.id, content))?;
        }
        Ok(())
    }

    fn start_log(&mut self, from: ObjectId) -> Result<()> {
        self.log = CommitWalk::new(self.overrides.clone());
        self.log.queue_tip(&mut self.store.lock(), from)
    }

    fn next_revision(&mut self) -> Result<Option<Revision>> {
        self.log.next(&mut self.store.lock())
    }

    fn changes(&mut self, revision: &Revision, changes: &mut Changes) -> Result<()> {
        changes.clear();
        self.tree_diff.run(&mut self.store.lock(), revision.parent_manifest, Some(revision.manifest), changes)
    }

    fn change_of_path(&mut self, revision: &Revision, path: &[u8], changes: &mut Changes) -> Result<()> {
        changes.clear();
        let (old, new) = (revision.parent_manifest, Some(revision.manifest));
        change_of_path(&mut self.store.lock(), self.hash, old, new, path, changes)
    }

    fn manifest(&mut self, id: &oid, files: &mut Changes) -> Result<()> {
        let tree = self.tree_of(id)?;
        files.clear();
        self.tree_diff.run(&mut self.store.lock(), None, Some(tree), files)
    }

    fn file_at(&mut self, id: &oid, path: &[u8], file: &mut Changes) -> Result<()> {
        let tree = self.tree_of(id)?;
        file.clear();
        change_of_path(&mut self.store.lock(), self.hash, None, Some(tree), path, file)
    }

    fn content(&mut self, _path: &[u8], file: &FileVersion, content: &mut Vec<u8>) -> Result<bool> {
        let mut store = self.store.lock();
        match store.read(&file.id, content)? {
            Some(ObjectKind::Blob) => Ok(true),
            Some(other) => Err(damaged(&store, file.id, "a blob", &format!("a {other}"))),
            None => {
                store.note_missing(&file.id)?;
                Ok(false)
            }
        }
    }

    fn clear_caches(&mut self) {
        self.store.lock().clear_caches();
        self.log = CommitWalk::new(self.overrides.clone());
    }

    fn set_delta_cache(&mut self, limit_bytes: Option<u64>) {
        self.store.lock().set_cache_limit(limit_bytes);
    }

    fn delta_cache_lookups(&self) -> CacheLookups {
        self.store.lock().cache_lookups()
    }

    fn missing(&self) -> u64 {
        self.store.lock().missing_objects().len() as u64
    }

    fn record_accesses(&mut self, recording: Recording) {
        self.store.lock().record_accesses(recording);
    }

    fn take_accesses(&mut self) -> AccessTrace {
        self.store.lock().take_accesses()
    }

    fn decode_again(&mut self, chunk: &ChunkInMemory<'_>, payload: &mut Vec<u8>) -> Result<()> {
        self.store.lock().decode_again(chunk, payload)
    }

    fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        self.store.lock().set_memo(memo)
    }
}
