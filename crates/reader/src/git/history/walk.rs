//! Walking commits by id, newest first by date.

use gix_hash::ObjectId;
use gix_hashtable::HashMap;

use super::{
    commit::{CommitFields, parse_commit},
    date_order::{CommitSource, DateOrder},
    expect::{damaged, malformed_commit},
};
use crate::{ObjectKind, ReaderError, Result, Revision, git::ObjectStore};

/// Parents that replace those of a commit: those of grafts, and none at a shallow boundary.
pub(super) type ParentOverrides = HashMap<ObjectId, Vec<ObjectId>>;

/// A walk from tips. A missing commit is noted in the store and left out.
#[derive(Default)]
pub(super) struct CommitWalk {
    overrides: ParentOverrides,
    order: DateOrder<ObjectId, gix_hashtable::hash::Builder>,
    content: Vec<u8>,
}

impl CommitWalk {
    /// A walk without tips. `overrides` replaces the parents of some commits.
    pub(super) fn new(overrides: ParentOverrides) -> Self {
        CommitWalk { overrides, ..CommitWalk::default() }
    }

    /// Queues the commit `tip`, unless it was queued before.
    pub(super) fn queue_tip(&mut self, store: &mut ObjectStore, tip: ObjectId) -> Result<()> {
        let CommitWalk { overrides, order, content } = self;
        order.queue_tip(&mut CommitsById { store, overrides, content }, tip)
    }

    /// The next commit. Its parents are read and queued before returning, since their dates decide what comes next.
    pub(super) fn next(&mut self, store: &mut ObjectStore) -> Result<Option<Revision>> {
        let CommitWalk { overrides, order, content } = self;
        let reached = order.next(&mut CommitsById { store, overrides, content })?;
        Ok(reached.map(|commit| Revision {
            id: commit.name,
            manifest: commit.tree,
            parent_manifest: commit.parent_tree,
            is_compared: commit.parents < 2,
        }))
    }
}

/// The commits of a store.
struct CommitsById<'a> {
    store: &'a mut ObjectStore,
    overrides: &'a ParentOverrides,
    content: &'a mut Vec<u8>,
}

impl CommitSource for CommitsById<'_> {
    type Name = ObjectId;

    fn read_commit(&mut self, id: ObjectId, parents: &mut Vec<ObjectId>) -> Result<Option<CommitFields>> {
        match self.store.read(&id, self.content)? {
            Some(ObjectKind::Commit) => {}
            Some(other) => return Err(damaged(self.store, id, "a commit", &format!("a {other}"))),
            None => {
                self.store.note_missing(&id)?;
                return Ok(None);
            }
        }
        let fields = parse_commit(self.content, id.kind(), parents).ok_or_else(|| malformed_commit(self.store, id))?;
        if let Some(others) = self.overrides.get(&id) {
            parents.clone_from(others);
        }
        Ok(Some(fields))
    }

    fn too_many_commits(&self) -> ReaderError {
        ReaderError::unsupported(self.store.object_dir(), "a history of more than 2^32 commits")
    }
}
