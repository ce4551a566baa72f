//! The objects that commits introduced: those that a client with all older commits lacks.

use gix_hash::{ObjectId, oid};
use rustc_hash::FxHashSet;

use super::{
    commit::parse_commit,
    expect::{damaged, malformed_tree},
    tree_diff::parse_entry,
};
use crate::{ObjectKind, Result, TraverseVisitor, git::ObjectStore, traits::FileMode};

/// Visits `commits`, and the trees and blobs in them that are not in their parents outside of `commits`. As in
/// `git rev-list --objects`, objects that are only in older ancestors are visited too.
///
/// Grafts and replacements do not apply, because objects are sent as stored. A missing parent counts as empty.
///
/// # Errors
/// An object is damaged, or missing although the repository is no partial clone.
pub fn introduced_by(store: &mut ObjectStore, commits: &[ObjectId], visit: &mut TraverseVisitor<'_>) -> Result<()> {
    let mut walk = Walk { seen: FxHashSet::default(), pending: Vec::new(), content: Vec::new() };
    let within: FxHashSet<ObjectId> = commits.iter().copied().collect();
    let mut parents = Vec::new();
    let mut trees = Vec::with_capacity(commits.len());
    let mut outside = Vec::new();
    for commit in commits {
        trees.push(walk.tree_of(store, commit, &mut parents)?);
        outside.extend(parents.iter().copied().filter(|parent| !within.contains(parent)));
    }
    for parent in outside {
        if store.contains(&parent)? {
            let tree = walk.tree_of(store, &parent, &mut parents)?;
            walk.below(store, tree, &mut |_, _| {})?;
        }
    }
    for (commit, tree) in commits.iter().zip(trees) {
        visit(ObjectKind::Commit, commit);
        walk.below(store, tree, visit)?;
    }
    Ok(())
}

/// Visits the objects of a client that has the parents of `commits` outside of `commits`, and all their ancestors:
/// commits, trees and blobs.
///
/// # Errors
/// As for [`introduced_by`].
pub fn held_before(store: &mut ObjectStore, commits: &[ObjectId], visit: &mut TraverseVisitor<'_>) -> Result<()> {
    let mut walk = Walk { seen: FxHashSet::default(), pending: Vec::new(), content: Vec::new() };
    let mut known: FxHashSet<ObjectId> = commits.iter().copied().collect();
    let mut parents = Vec::new();
    let mut left = Vec::new();
    for commit in commits {
        walk.tree_of(store, commit, &mut parents)?;
        left.extend(parents.iter().copied().filter(|parent| known.insert(*parent)));
    }
    while let Some(commit) = left.pop() {
        if store.contains(&commit)? {
            let tree = walk.tree_of(store, &commit, &mut parents)?;
            left.extend(parents.iter().copied().filter(|parent| known.insert(*parent)));
            visit(ObjectKind::Commit, &commit);
            walk.below(store, tree, visit)?;
        }
    }
    Ok(())
}

struct Walk {
    seen: FxHashSet<ObjectId>,
    pending: Vec<ObjectId>,
    content: Vec<u8>,
}

impl Walk {
    /// Reads the object `id` as stored; `None` if it is not here.
    fn read(&mut self, store: &mut ObjectStore, id: &oid) -> Result<Option<ObjectKind>> {
        match store.place(id)? {
            Some(place) => store.read_place(&place, &mut self.content).map(Some),
            None => Ok(None),
        }
    }

    /// The tree of `commit`. Replaces `parents` by its parents.
    fn tree_of(&mut self, store: &mut ObjectStore, commit: &oid, parents: &mut Vec<ObjectId>) -> Result<ObjectId> {
        let kind = self.read(store, commit)?;
        let fields = parse_commit(&self.content, commit.kind(), parents).filter(|_| kind == Some(ObjectKind::Commit));
        match (kind, fields) {
            (_, Some(fields)) => Ok(fields.tree),
            (None, None) => Err(store.missing(commit)),
            _ => Err(damaged(
                store,
                commit.to_owned(),
                "a commit with a tree line",
                "another object, or a commit without one",
            )),
        }
    }

    /// Visits the tree `root` and all objects below it that were not visited before.
    fn below(&mut self, store: &mut ObjectStore, root: ObjectId, visit: &mut TraverseVisitor<'_>) -> Result<()> {
        if self.seen.insert(root) {
            self.pending.push(root);
        }
        while let Some(id) = self.pending.pop() {
            if id == ObjectId::empty_tree(id.kind()) && store.place(&id)?.is_none() {
                continue;
            }
            match self.read(store, &id)? {
                None => {
                    store.note_missing(&id)?;
                    continue;
                }
                Some(ObjectKind::Tree) => visit(ObjectKind::Tree, &id),
                Some(other) => return Err(damaged(store, id, "a tree", &format!("a {other}"))),
            }
            let mut rest = self.content.as_slice();
            while !rest.is_empty() {
                let malformed = || malformed_tree(store, id);
                let entry = parse_entry(rest, id.kind().len_in_bytes()).ok_or_else(malformed)?;
                let child = ObjectId::try_from(entry.id).map_err(|_| malformed())?;
                rest = rest.get(entry.len..).unwrap_or_default();
                if entry.mode == Some(FileMode::Gitlink) || !self.seen.insert(child) {
                    continue;
                }
                if entry.is_tree() {
                    self.pending.push(child);
                } else if store.contains(&child)? {
                    visit(ObjectKind::Blob, &child);
                } else {
                    store.note_missing(&child)?;
                }
            }
        }
        Ok(())
    }
}
