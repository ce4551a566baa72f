//! The traversal of trees and commits in memory.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::numbered::{Entries, NumberedHistory, TREE_BIT};

/// What a walk does with the entries of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    /// Takes the number of each entry.
    Numbers,
    /// Takes the numbers of those that the delta base, if it was seen, does not have.
    NewNumbers,
    /// Looks the id of each up in the packs' indexes.
    Ids,
    /// Looks up the ids of those that the delta base, if it was seen, does not have.
    NewIds,
}

impl Arm {
    pub(crate) const ALL: [Arm; 4] = [Arm::Ids, Arm::NewIds, Arm::Numbers, Arm::NewNumbers];

    /// The name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Arm::Ids => "in memory, ids of all entries looked up",
            Arm::NewIds => "in memory, ids of new entries looked up",
            Arm::Numbers => "in memory, numbers of all entries",
            Arm::NewNumbers => "in memory, numbers of new entries",
        }
    }
}

/// A bit for each object.
#[derive(Debug)]
pub(crate) struct Seen(Vec<u64>);

impl Seen {
    pub(crate) fn new(objects: usize) -> Self {
        Seen(vec![0; objects.div_ceil(64)])
    }

    /// Clears all bits.
    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Sets the bit of `number`, and returns whether it was not set.
    pub(crate) fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (&mut self.0[number as usize / 64], 1 << (number % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.0[number as usize / 64] & (1 << (number % 64)) != 0
    }
}

/// The places of all commits that can be reached from `tips`, newest first: a commit follows once one of its children
/// has been listed. `count` is the number of commits.
pub(crate) fn newest_first<'a>(
    count: usize,
    tips: &[u32],
    date: impl Fn(u32) -> u64,
    parents: impl Fn(u32) -> &'a [u32],
) -> Vec<u32> {
    let mut queued = vec![false; count];
    let mut queue = BinaryHeap::new();
    let mut order = 0usize;
    let mut push = |queue: &mut BinaryHeap<_>, at: u32| {
        if !std::mem::replace(&mut queued[at as usize], true) {
            queue.push((date(at), Reverse(order), at));
            order += 1;
        }
    };
    tips.iter().for_each(|at| push(&mut queue, *at));
    let mut commits = Vec::with_capacity(count);
    while let Some((_, _, at)) = queue.pop() {
        commits.push(at);
        parents(at).iter().for_each(|parent| push(&mut queue, *parent));
    }
    commits
}

impl NumberedHistory {
    /// Visits commits from the newest to the oldest, then the trees and files of one after another, as the workload
    /// `traverse` does, and counts them.
    pub(crate) fn walk(&self, arm: Arm, seen: &mut Seen) -> u64 {
        seen.clear();
        let mut visited = self.others.len() as u64;
        self.others.iter().for_each(|number| {
            seen.insert(*number);
        });
        let date = |at: u32| self.commits[at as usize].date;
        let parents = |at: u32| &self.parents[self.commits[at as usize].parents.clone()];
        let commits = newest_first(self.commits(), &self.tips, date, parents);
        visited += commits.len() as u64;
        let roots = commits.into_iter().map(|at| self.commits[at as usize].tree);
        let mut pending = Vec::new();
        for root in roots {
            if seen.insert(root) {
                visited += 1;
                pending.push(root);
            }
            while let Some(tree) = pending.pop() {
                let at = self.tree_at[tree as usize] as usize;
                let is_new_enough = self.bases[at].is_some_and(|base| seen.contains(base));
                let entries = if is_new_enough && arm.takes_new() { &self.new } else { &self.all };
                self.visit_entries(arm, entries, at, &mut |number, is_tree| {
                    if seen.insert(number) {
                        visited += 1;
                        if is_tree {
                            pending.push(number);
                        }
                    }
                });
            }
        }
        visited
    }

    /// Hands over the numbers of the entries of the tree `at`, and whether they are trees.
    fn visit_entries(&self, arm: Arm, entries: &Entries, at: usize, visit: &mut impl FnMut(u32, bool)) {
        let range = entries.range(at);
        if arm.takes_numbers() {
            entries.numbers[range].iter().for_each(|entry| visit(entry & !TREE_BIT, entry & TREE_BIT != 0));
            return;
        }
        for place in range {
            if let Some(number) = self.number(entries.id(place)) {
                visit(number, entries.numbers[place] & TREE_BIT != 0);
            }
        }
    }
}

impl Arm {
    fn takes_new(self) -> bool {
        matches!(self, Arm::NewNumbers | Arm::NewIds)
    }

    fn takes_numbers(self) -> bool {
        matches!(self, Arm::Numbers | Arm::NewNumbers)
    }
}
