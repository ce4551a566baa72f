//! Reading objects that have to be of a certain kind, because of their place in history.

use std::sync::Arc;

use gix_hash::ObjectId;

use super::commit::parse_tag_target;
use crate::{
    ObjectKind, Place, ReaderError, Result,
    git::{ObjectStore, object_store::PackPlace},
};

/// The content of a tree.
pub(super) type TreeContent = Arc<Vec<u8>>;

/// The tree `id`; `None` if it is missing. It is not searched for if `place` says where it is.
///
/// # Errors
/// The object is damaged or no tree.
#[inline]
pub(super) fn read_tree(
    store: &mut ObjectStore,
    id: ObjectId,
    place: Option<PackPlace>,
) -> Result<Option<TreeContent>> {
    match store.read_shared(&id, place)? {
        Some((ObjectKind::Tree, content)) => Ok(Some(content)),
        Some((other, _)) => Err(damaged(store, id, "a tree", &format!("a {other}"))),
        None => Ok(None),
    }
}

/// The tree `id`. No tree is read as an empty one, and so is a missing one, which the store notes.
///
/// # Errors
/// The object is damaged or no tree, or missing although the repository is no partial clone.
pub(super) fn read_tree_or_empty(store: &mut ObjectStore, id: Option<ObjectId>) -> Result<TreeContent> {
    let Some(id) = id else { return Ok(Arc::default()) };
    match read_tree(store, id, None)? {
        Some(content) => Ok(content),
        None => store.note_missing(&id).map(|()| Arc::default()),
    }
}

/// The object that the tag `id` names. `content` is a buffer.
///
/// # Errors
/// The object is missing, damaged or no tag.
pub(super) fn target_of_tag(store: &mut ObjectStore, id: ObjectId, content: &mut Vec<u8>) -> Result<ObjectId> {
    store.read_expected(&id, ObjectKind::Tag, content)?;
    tag_target(store, id, content)
}

/// The object that the tag `id` with this content names.
///
/// # Errors
/// The tag has no object line.
pub(super) fn tag_target(store: &ObjectStore, id: ObjectId, content: &[u8]) -> Result<ObjectId> {
    parse_tag_target(content, id.kind())
        .ok_or_else(|| damaged(store, id, "a tag with an object line", "a tag without one"))
}

/// The error for a tree whose content cannot be parsed.
pub(super) fn malformed_tree(store: &ObjectStore, id: ObjectId) -> ReaderError {
    damaged(store, id, "a tree", "a malformed entry")
}

/// The error for a tree that is in itself. Content that was never hashed may be so.
pub(super) fn contains_itself(store: &ObjectStore, id: ObjectId) -> ReaderError {
    damaged(store, id, "a tree", "one that contains itself")
}

/// The error for the tree `id`, in which there may be no more folders.
pub(super) fn too_deep(store: &ObjectStore, id: ObjectId) -> ReaderError {
    damaged(store, id, &format!("at most {MAX_TREE_DEPTH} nested folders"), "more")
}

/// The error for a commit whose beginning cannot be parsed.
pub(super) fn malformed_commit(store: &ObjectStore, id: ObjectId) -> ReaderError {
    damaged(store, id, "a commit with well-formed tree and parent lines", "another beginning")
}

/// git's default for `core.maxTreeDepth`.
pub(super) const MAX_TREE_DEPTH: usize = 2048;

/// The error for an object that is not what its place in history requires.
pub(super) fn damaged(store: &ObjectStore, id: ObjectId, expected: &str, found: &str) -> ReaderError {
    ReaderError::corrupt(store.object_dir(), Place::Object(id), expected, found)
}
