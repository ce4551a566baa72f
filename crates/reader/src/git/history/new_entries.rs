//! The entries of a tree that a walk has not yet visited at its path.

use gix_hash::{ObjectId, oid};

use super::{
    expect::{TreeContent, contains_itself, malformed_tree},
    last_trees::{Folder, LastTrees},
    tree_diff::{TreeEntry, parse_entry},
};
use crate::{ReaderError, Result, git::ObjectStore};

/// A tree on a walk.
pub(super) struct WalkedTree<F> {
    pub(super) form: F,
    /// The folder in which it was found.
    pub(super) folder: Folder,
    pub(super) content: TreeContent,
}

/// How a tree names objects. Trees of different forms are not kept together.
pub(super) trait TreeForm {
    /// The entry at the start of `bytes`.
    fn parse<'a>(&self, bytes: &'a [u8]) -> Option<TreeEntry<'a>>;

    /// The error for a tree that is no list of entries.
    fn malformed(&self, store: &ObjectStore) -> ReaderError;
}

/// A tree as git has it, with this id.
pub(super) struct ByIds(pub(super) ObjectId);

impl ByIds {
    /// The object that `entry` names.
    ///
    /// # Errors
    /// It is the tree itself, or the id is cut.
    #[inline]
    pub(super) fn child<'a>(&self, store: &ObjectStore, entry: &TreeEntry<'a>) -> Result<&'a oid> {
        match oid::try_from_bytes(entry.id) {
            Ok(child) if *child == *self.0 => Err(contains_itself(store, self.0)),
            Ok(child) => Ok(child),
            Err(_) => Err(self.malformed(store)),
        }
    }
}

impl TreeForm for ByIds {
    #[inline]
    fn parse<'a>(&self, bytes: &'a [u8]) -> Option<TreeEntry<'a>> {
        parse_entry(bytes, self.0.kind().len_in_bytes())
    }

    fn malformed(&self, store: &ObjectStore) -> ReaderError {
        malformed_tree(store, self.0)
    }
}

/// Calls `visit` with the entries of `tree` that were in no earlier tree at its path, and possibly some others, in
/// their order. Keeps the tree in `last_trees`. `starts` is a buffer.
///
/// # Errors
/// The tree is no list of entries. Errors of `visit`.
#[inline]
pub(super) fn for_each_new_entry<F: TreeForm>(
    store: &mut ObjectStore,
    last_trees: &mut LastTrees,
    starts: &mut Vec<u32>,
    tree: WalkedTree<F>,
    mut visit: impl FnMut(&mut ObjectStore, &mut LastTrees, &F, TreeEntry<'_>) -> Result<()>,
) -> Result<()> {
    let WalkedTree { form, folder, content } = tree;
    let mut new = last_trees.new_entries(folder, &content);
    let mut at = new.start;
    starts.clear();
    while at < content.len() && !new.ends_at(at) {
        let known_to = last_trees.skip_known(folder, &mut new, &content, at, starts);
        if known_to > at {
            at = known_to;
            continue;
        }
        let Some(entry) = form.parse(content.get(at..).unwrap_or_default()) else { return Err(form.malformed(store)) };
        let is_before = |last: &[u8]| form.parse(last).is_some_and(|last| last.order(&entry).is_lt());
        if last_trees.advance(folder, &mut new, is_before) {
            let known_to = last_trees.skip_known(folder, &mut new, &content, at, starts);
            if known_to > at {
                at = known_to;
                continue;
            }
        }
        starts.extend(u32::try_from(at));
        new.count_unknown();
        at += entry.len;
        visit(store, last_trees, &form, entry)?;
    }
    last_trees.keep(folder, content, &new, starts, at);
    Ok(())
}
