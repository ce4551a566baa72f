//! Walking commits, newest first by date, decoding each commit once.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

use gix_hash::ObjectId;
use gix_hashtable::HashMap;

use super::{commit::parse_commit, expect::damaged};
use crate::{ObjectKind, ReaderError, Result, Revision, git::ObjectStore};

/// Parents that replace those of a commit: those of grafts, and none at a shallow boundary.
pub(super) type ParentOverrides = HashMap<ObjectId, Vec<ObjectId>>;

/// A commit's position in [`CommitWalk::commits`].
type CommitAt = u32;

#[derive(Debug)]
struct WalkedCommit {
    id: ObjectId,
    tree: ObjectId,
    date: u64,
    /// Its range in [`CommitWalk::parents`].
    parents: Range<usize>,
    /// Whether it is or was in the queue.
    queued: bool,
}

/// The state of a walk: all commits read so far, and the queue of those to visit.
#[derive(Debug, Default)]
pub(super) struct CommitWalk {
    overrides: ParentOverrides,
    commits: Vec<WalkedCommit>,
    parents: Vec<ObjectId>,
    by_id: HashMap<ObjectId, CommitAt>,
    /// Newest first. As in git, of commits with the same date the one that was queued first comes first.
    queue: BinaryHeap<(u64, Reverse<usize>, CommitAt)>,
    queued: usize,
    content: Vec<u8>,
    parent_ids: Vec<ObjectId>,
}

impl CommitWalk {
    /// A walk without tips. `overrides` replaces the parents of some commits.
    pub(super) fn new(overrides: ParentOverrides) -> Self {
        CommitWalk { overrides, ..CommitWalk::default() }
    }

    /// Queues the commit `tip`, unless it was queued before.
    pub(super) fn queue_tip(&mut self, store: &mut ObjectStore, tip: ObjectId) -> Result<()> {
        if let Some(at) = self.load(store, tip)? {
            self.queue_commit(at);
        }
        Ok(())
    }

    /// The next commit. Its parents are read and queued before returning, since their dates decide what comes next.
    pub(super) fn next(&mut self, store: &mut ObjectStore) -> Result<Option<Revision>> {
        let Some((_, _, at)) = self.queue.pop() else { return Ok(None) };
        let Some((id, manifest, parents)) =
            self.commits.get(at as usize).map(|commit| (commit.id, commit.tree, commit.parents.clone()))
        else {
            return Ok(None);
        };
        let mut parent_manifest = None;
        for (nth, place) in parents.clone().enumerate() {
            let Some(parent) = self.parents.get(place).copied() else { continue };
            if let Some(parent) = self.load(store, parent)? {
                self.queue_commit(parent);
                if nth == 0 {
                    parent_manifest = self.commits.get(parent as usize).map(|parent| parent.tree);
                }
            }
        }
        Ok(Some(Revision { id, manifest, parent_manifest, is_compared: parents.len() < 2 }))
    }

    fn queue_commit(&mut self, at: CommitAt) {
        if let Some(commit) = self.commits.get_mut(at as usize)
            && !commit.queued
        {
            commit.queued = true;
            self.queue.push((commit.date, Reverse(self.queued), at));
            self.queued += 1;
        }
    }

    /// Reads the commit `id`, unless it was read before; `None` if it is missing.
    fn load(&mut self, store: &mut ObjectStore, id: ObjectId) -> Result<Option<CommitAt>> {
        if let Some(at) = self.by_id.get(&id) {
            return Ok(Some(*at));
        }
        match store.read(&id, &mut self.content)? {
            Some(ObjectKind::Commit) => {}
            Some(other) => return Err(damaged(store, id, "a commit", &format!("a {other}"))),
            None => {
                store.note_missing(&id)?;
                return Ok(None);
            }
        }
        let fields = parse_commit(&self.content, id.kind(), &mut self.parent_ids).ok_or_else(|| {
            damaged(store, id, "a commit with well-formed tree and parent lines", "another beginning")
        })?;
        let start = self.parents.len();
        let parents = self.overrides.get(&id).unwrap_or(&self.parent_ids);
        self.parents.extend_from_slice(parents);
        let at = CommitAt::try_from(self.commits.len())
            .map_err(|_| ReaderError::unsupported(store.object_dir(), "a history of more than 2^32 commits"))?;
        let parents = start..self.parents.len();
        self.commits.push(WalkedCommit { id, tree: fields.tree, date: fields.date, parents, queued: false });
        self.by_id.insert(id, at);
        Ok(Some(at))
    }
}
