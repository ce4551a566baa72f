//! The change of one path by a commit. Only the trees on the way to the path are read.

use gix_hash::{Kind, ObjectId};

use super::{
    expect::{malformed_tree, read_tree_or_empty},
    tree_diff::{TreeEntry, parse_entry},
};
use crate::{Changes, Result, git::ObjectStore};

/// Adds the change of `path` between the trees `old` and `new` to `changes`, if there is one. No tree counts as an
/// empty one, and so does a missing one, which the store notes.
pub(super) fn change_of_path(
    store: &mut ObjectStore,
    hash: Kind,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    path: &[u8],
    changes: &mut Changes,
) -> Result<()> {
    let (mut old, mut new) = (old, new);
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        if old == new {
            return Ok(());
        }
        let old_tree = read_tree_or_empty(store, old)?;
        let new_tree = read_tree_or_empty(store, new)?;
        let old_entry = find_entry(store, hash, old, &old_tree, name)?;
        let new_entry = find_entry(store, hash, new, &new_tree, name)?;
        if names.peek().is_none() {
            let old_file = old_entry.and_then(|entry| entry.file_version());
            let new_file = new_entry.and_then(|entry| entry.file_version());
            if old_file != new_file {
                changes.push(path, old_file, new_file);
            }
            return Ok(());
        }
        (old, new) = (old_entry.and_then(|entry| entry.tree_id()), new_entry.and_then(|entry| entry.tree_id()));
    }
    Ok(())
}

/// The entry of `tree`, which has this `id`, with this name.
fn find_entry<'a>(
    store: &ObjectStore,
    hash: Kind,
    id: Option<ObjectId>,
    tree: &'a [u8],
    name: &[u8],
) -> Result<Option<TreeEntry<'a>>> {
    entry_named(tree, hash, name).map_err(|Malformed| malformed_tree(store, id.unwrap_or_else(|| hash.null())))
}

/// The content is no tree.
#[derive(Debug, PartialEq, Eq)]
struct Malformed;

fn entry_named<'a>(tree: &'a [u8], hash: Kind, name: &[u8]) -> std::result::Result<Option<TreeEntry<'a>>, Malformed> {
    let mut rest = tree;
    while !rest.is_empty() {
        let entry = parse_entry(rest, hash.len_in_bytes()).ok_or(Malformed)?;
        if entry.name == name {
            return Ok(Some(entry));
        }
        rest = rest.get(entry.len..).unwrap_or_default();
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_entry_by_its_whole_name() {
        let mut tree = Vec::new();
        for (name, id) in [("ab", 1), ("abc", 2), ("b", 3)] {
            tree.extend_from_slice(format!("100644 {name}\0").as_bytes());
            tree.extend_from_slice(&[id; 20]);
        }
        let id =
            |name: &str| entry_named(&tree, Kind::Sha1, name.as_bytes()).map(|entry| entry.map(|entry| entry.id[0]));
        assert_eq!([id("ab"), id("abc"), id("b")], [Ok(Some(1)), Ok(Some(2)), Ok(Some(3))]);
        assert_eq!([id("a"), id("abcd"), id("")], [Ok(None), Ok(None), Ok(None)]);
        tree.truncate(tree.len() - 1);
        let cut = |name: &str| entry_named(&tree, Kind::Sha1, name.as_bytes()).map(|entry| entry.is_some());
        assert_eq!([cut("abc"), cut("b")], [Ok(true), Err(Malformed)]);
    }
}
