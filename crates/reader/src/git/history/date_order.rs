//! Commits, newest first by date, each read once. It does not matter how they are named.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    hash::{BuildHasher, Hash},
    ops::Range,
};

use super::commit::CommitFields;
use crate::{ReaderError, Result};

/// Where commits are read, and how they are named.
pub(super) trait CommitSource {
    /// The name of a commit or a tree.
    type Name: Copy + Eq + Hash;

    /// Reads the commit `name` and replaces `parents` by its parents; `None` if it is missing.
    fn read_commit(
        &mut self,
        name: Self::Name,
        parents: &mut Vec<Self::Name>,
    ) -> Result<Option<CommitFields<Self::Name>>>;

    /// The error for a history of more commits than can be held.
    fn too_many_commits(&self) -> ReaderError;
}

/// A commit's position in [`DateOrder::commits`].
type CommitAt = u32;

#[derive(Debug)]
struct ReadCommit<N> {
    name: N,
    tree: N,
    date: u64,
    /// Its range in [`DateOrder::parents`].
    parents: Range<usize>,
    /// Whether it is or was in the queue.
    queued: bool,
}

/// A commit that was reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reached<N> {
    pub(super) name: N,
    pub(super) tree: N,
    /// The tree of its first parent; `None` for a root.
    pub(super) parent_tree: Option<N>,
    /// The number of its parents.
    pub(super) parents: usize,
}

/// All commits read so far, and the queue of those to visit.
#[derive(Debug)]
pub(super) struct DateOrder<N, S> {
    commits: Vec<ReadCommit<N>>,
    parents: Vec<N>,
    by_name: HashMap<N, CommitAt, S>,
    /// Newest first. As in git, of commits with the same date the one that was queued first comes first.
    queue: BinaryHeap<(u64, Reverse<usize>, CommitAt)>,
    queued: usize,
    parent_names: Vec<N>,
}

impl<N, S: Default> Default for DateOrder<N, S> {
    fn default() -> Self {
        DateOrder {
            commits: Vec::new(),
            parents: Vec::new(),
            by_name: HashMap::default(),
            queue: BinaryHeap::new(),
            queued: 0,
            parent_names: Vec::new(),
        }
    }
}

impl<N: Copy + Eq + Hash, S: BuildHasher> DateOrder<N, S> {
    /// Queues the commit `tip`, unless it was queued before.
    pub(super) fn queue_tip(&mut self, source: &mut impl CommitSource<Name = N>, tip: N) -> Result<()> {
        if let Some(at) = self.load(source, tip)? {
            self.queue_commit(at);
        }
        Ok(())
    }

    /// The next commit. Its parents are read and queued before returning, since their dates decide what comes next.
    pub(super) fn next(&mut self, source: &mut impl CommitSource<Name = N>) -> Result<Option<Reached<N>>> {
        let Some((_, _, at)) = self.queue.pop() else { return Ok(None) };
        let Some((name, tree, parents)) =
            self.commits.get(at as usize).map(|commit| (commit.name, commit.tree, commit.parents.clone()))
        else {
            return Ok(None);
        };
        let mut parent_tree = None;
        for (nth, place) in parents.clone().enumerate() {
            let Some(parent) = self.parents.get(place).copied() else { continue };
            if let Some(parent) = self.load(source, parent)? {
                self.queue_commit(parent);
                if nth == 0 {
                    parent_tree = self.commits.get(parent as usize).map(|parent| parent.tree);
                }
            }
        }
        Ok(Some(Reached { name, tree, parent_tree, parents: parents.len() }))
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

    /// Reads the commit `name`, unless it was read before; `None` if it is missing.
    fn load(&mut self, source: &mut impl CommitSource<Name = N>, name: N) -> Result<Option<CommitAt>> {
        if let Some(at) = self.by_name.get(&name) {
            return Ok(Some(*at));
        }
        let Some(fields) = source.read_commit(name, &mut self.parent_names)? else { return Ok(None) };
        let start = self.parents.len();
        self.parents.extend_from_slice(&self.parent_names);
        let at = CommitAt::try_from(self.commits.len()).map_err(|_| source.too_many_commits())?;
        let parents = start..self.parents.len();
        self.commits.push(ReadCommit { name, tree: fields.tree, date: fields.date, parents, queued: false });
        self.by_name.insert(name, at);
        Ok(Some(at))
    }
}
