//! The entries of a tree that a walk has not yet visited at its path.

use gix_hash::{Kind, ObjectId, oid};

use super::{
    expect::{TreeContent, malformed_tree},
    last_trees::{Folder, LastTrees},
    tree_diff::{TreeEntry, parse_entry},
};
use crate::{Result, git::ObjectStore};

/// A tree on a walk.
pub(super) struct WalkedTree {
    pub(super) id: ObjectId,
    /// The folder in which it was found.
    pub(super) folder: Folder,
    pub(super) content: TreeContent,
}

/// Calls `visit` with the entries of `tree` that were in no earlier tree at its path, and possibly some others, in
/// their order. Keeps the tree in `last_trees`. `starts` is a buffer.
///
/// # Errors
/// The tree is no list of entries. Errors of `visit`.
#[inline]
pub(super) fn for_each_new_entry(
    store: &mut ObjectStore,
    last_trees: &mut LastTrees,
    starts: &mut Vec<u32>,
    tree: WalkedTree,
    hash: Kind,
    mut visit: impl FnMut(&mut ObjectStore, &mut LastTrees, TreeEntry<'_>, &oid) -> Result<()>,
) -> Result<()> {
    let WalkedTree { id, folder, content } = tree;
    let mut new = last_trees.new_entries(folder, &content);
    let mut at = new.start;
    starts.clear();
    while at < content.len() && !new.ends_at(at) {
        let known_to = last_trees.skip_known(folder, &mut new, &content, at, starts);
        if known_to > at {
            at = known_to;
            continue;
        }
        let rest = content.get(at..).unwrap_or_default();
        let Some(entry) = parse_entry(rest, hash.len_in_bytes()) else { return Err(malformed_tree(store, id)) };
        let Ok(child) = oid::try_from_bytes(entry.id) else { return Err(malformed_tree(store, id)) };
        if last_trees.advance(folder, &mut new, |last| entry.comes_after(last, hash)) {
            let known_to = last_trees.skip_known(folder, &mut new, &content, at, starts);
            if known_to > at {
                at = known_to;
                continue;
            }
        }
        starts.extend(u32::try_from(at));
        new.count_unknown();
        at += entry.len;
        visit(store, last_trees, entry, child)?;
    }
    last_trees.keep(folder, content, &new, starts, at);
    Ok(())
}
