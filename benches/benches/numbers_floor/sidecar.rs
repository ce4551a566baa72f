//! A file beside untouched packs that holds what a traversal reads: commits and trees with numbers in the place of ids.
//!
//! A number is the place of an object in the index of its pack, so that the index leads back to its id. A tree is kept as
//! the entries that an earlier tree, its base, does not have, and as the ranges that it shares with that. A walk that has
//! seen the base reads the new entries alone; any other can rebuild the tree. The layout, in which `v` is a variable-length
//! number of seven bits a byte and `z` is one with a sign (zigzag):
//!
//! - the places of the commits that are nobody's parents, and the numbers of objects that only tags name, of four bytes each;
//! - each commit, from the newest on: `z` date less that of the commit before; `z` place of its tree less that of the
//!   commit before; `v` count of parents; `v` the place of each less its own place, or 0 and then its place;
//! - for each tree, by place: its number and the offset of its record, of four bytes each;
//! - each record: `v` distance to the place of the base, or 0; `v` count of new entries; each entry as `v`: a file's number
//!   times two, or 1 plus twice the `z` of a tree's place less that of the record; with a base also `v` count of ranges, and
//!   for each `v` new entries before it, `v` entries of the base that are passed over, `v` entries that are copied.
//!
//! Places of trees are in the order in which a walk over everything sees them first.

use std::collections::HashMap;

use repackbench_benches::{
    BenchError, Result,
    varint::{VarintReader, put, put_signed, signed, zigzag},
};

use crate::{
    numbered::{NumberedHistory, TREE_BIT},
    walk::{Seen, newest_first},
};

/// The most trees in a chain of bases, as in packs.
const DEPTH: u32 = 50;

/// The file in memory.
#[derive(Debug)]
pub(crate) struct Sidecar {
    commits: Vec<u8>,
    commit_count: usize,
    tips: Vec<u32>,
    /// Objects that only tags name.
    others: Vec<u32>,
    /// The number of each tree, and the offset of its record.
    table: Vec<[u32; 2]>,
    records: Vec<u8>,
}

/// What a walk knows of a commit.
#[derive(Debug, Clone, Copy)]
struct Commit {
    date: u64,
    tree: u32,
    /// Where its parents begin, and how many there are.
    parents: (u32, u32),
}

/// An entry of a tree: a file by its number, or a tree by its place with [`TREE_BIT`].
type Entry = u32;

/// Puts trees in the order of a walk, each with a base.
struct Writer<'a> {
    history: &'a NumberedHistory,
    /// The place of each tree of the history, once it is seen.
    place: Vec<u32>,
    /// The tree of the history at each place, the place of its base, and the length of its chain of bases.
    trees: Vec<(usize, Option<u32>, u32)>,
}

impl Writer<'_> {
    fn entries(&self, tree: usize) -> &[u32] {
        &self.history.all.numbers[self.history.all.range(tree)]
    }

    /// Gives the tree `number` and all below it places, unless they have some. `base` is the tree that it is compared with.
    fn visit(&mut self, number: u32, base: Option<usize>) {
        let mut pending = vec![(number, base)];
        while let Some((number, base)) = pending.pop() {
            let tree = self.history.tree_at[number as usize] as usize;
            if self.place.get(tree).is_none_or(|place| *place != u32::MAX) {
                continue;
            }
            self.place[tree] = self.trees.len() as u32;
            let base_place = base.and_then(|base| self.place.get(base).copied()).filter(|place| *place != u32::MAX);
            let depth = base_place.map_or(0, |place| self.trees[place as usize].2 + 1);
            match depth > DEPTH {
                true => self.trees.push((tree, None, 0)),
                false => self.trees.push((tree, base_place, depth)),
            }
            // A tree whose name is the same in the base is nearly always at the same turn among those that differ.
            let of_base: Vec<u32> = base_place.and(base).map(|base| self.entries(base).to_vec()).unwrap_or_default();
            let is_tree = |entry: &&u32| **entry & TREE_BIT != 0;
            let own = self.entries(tree);
            let mut replaced = of_base.iter().filter(is_tree).filter(|entry| !own.contains(entry));
            let new = own.iter().filter(is_tree).filter(|entry| !of_base.contains(entry));
            let mut below: Vec<(u32, Option<usize>)> = new
                .map(|entry| {
                    let base = replaced.next().map(|entry| self.history.tree_at[(entry & !TREE_BIT) as usize] as usize);
                    (entry & !TREE_BIT, base)
                })
                .collect();
            below.reverse();
            pending.append(&mut below);
        }
    }

    /// The entries of a tree by place.
    fn placed(&self, tree: usize) -> Vec<Entry> {
        let placed = |entry: &u32| match entry & TREE_BIT {
            0 => *entry,
            _ => self.place[self.history.tree_at[(entry & !TREE_BIT) as usize] as usize] | TREE_BIT,
        };
        self.entries(tree).iter().map(placed).collect()
    }

    fn put_record(&self, place: u32, records: &mut Vec<u8>) {
        let (tree, base, _) = self.trees[place as usize];
        let entries = self.placed(tree);
        let of_base = base.map(|base| self.placed(self.trees[base as usize].0)).unwrap_or_default();
        let at_base: HashMap<Entry, usize> = of_base.iter().enumerate().map(|(at, entry)| (*entry, at)).collect();
        let (mut new, mut ranges) = (Vec::new(), Vec::new());
        let (mut next, mut before) = (0, 0);
        for entry in entries {
            match at_base.get(&entry).filter(|at| **at >= next) {
                Some(at) => {
                    match ranges.last_mut() {
                        Some((_, _, copied)) if *at == next && before == 0 => *copied += 1,
                        _ => ranges.push((std::mem::take(&mut before), *at - next, 1u64)),
                    }
                    next = at + 1;
                }
                None => {
                    new.push(entry);
                    before += 1;
                }
            }
        }
        put(records, base.map_or(0, |base| u64::from(place - base)));
        put(records, new.len() as u64);
        for entry in new {
            let value = match entry & TREE_BIT {
                0 => u64::from(entry) << 1,
                _ => zigzag(i64::from(entry & !TREE_BIT) - i64::from(place)) << 1 | 1,
            };
            put(records, value);
        }
        if base.is_some() {
            put(records, ranges.len() as u64);
            for (before, passed, copied) in ranges {
                put(records, before);
                put(records, passed as u64);
                put(records, copied);
            }
        }
    }
}

impl Sidecar {
    /// Writes the file for `history`.
    pub(crate) fn new(history: &NumberedHistory) -> Self {
        let mut writer =
            Writer { history, place: vec![u32::MAX; history.trees()], trees: Vec::with_capacity(history.trees()) };
        let mut base = None;
        for commit in &history.commits {
            writer.visit(commit.tree, base);
            base = Some(history.tree_at[commit.tree as usize] as usize);
        }
        let (mut number_of, mut table, mut records) = (vec![0; history.trees()], Vec::new(), Vec::new());
        for (number, tree) in history.tree_at.iter().enumerate().filter(|(_, tree)| **tree != u32::MAX) {
            number_of[*tree as usize] = number as u32;
        }
        for place in 0..writer.trees.len() as u32 {
            table.push([number_of[writer.trees[place as usize].0], records.len() as u32]);
            writer.put_record(place, &mut records);
        }
        let (mut commits, mut date, mut tree) = (Vec::new(), 0, 0);
        for (at, commit) in history.commits.iter().enumerate() {
            let place = i64::from(writer.place[history.tree_at[commit.tree as usize] as usize]);
            put_signed(&mut commits, commit.date as i64 - date);
            put_signed(&mut commits, place - tree);
            (date, tree) = (commit.date as i64, place);
            put(&mut commits, commit.parents.len() as u64);
            for parent in &history.parents[commit.parents.clone()] {
                match (*parent as usize).checked_sub(at).filter(|distance| *distance > 0) {
                    Some(distance) => put(&mut commits, distance as u64),
                    None => {
                        put(&mut commits, 0);
                        put(&mut commits, u64::from(*parent));
                    }
                }
            }
        }
        let (tips, others) = (history.tips.clone(), history.others.clone());
        Sidecar { commits, commit_count: history.commits.len(), tips, others, table, records }
    }

    /// The bytes of commits and what comes before them, of the table of trees, and of their records.
    pub(crate) fn lengths(&self) -> [usize; 3] {
        [self.commits.len() + 4 * (self.tips.len() + self.others.len()), self.table.len() * 8, self.records.len()]
    }

    /// Rebuilds every tree, and compares it with that of `history`.
    ///
    /// # Errors
    /// One differs.
    pub(crate) fn check(&self, history: &NumberedHistory) -> Result<()> {
        for (place, [number, _]) in self.table.iter().enumerate() {
            let mut entries = Vec::new();
            self.rebuild(place as u32, &mut entries);
            let tree = history.tree_at[*number as usize] as usize;
            let found = entries.iter().map(|entry| match entry & TREE_BIT {
                0 => *entry,
                _ => self.table[(entry & !TREE_BIT) as usize][0] | TREE_BIT,
            });
            if !found.eq(history.all.numbers[history.all.range(tree)].iter().copied()) {
                return Err(BenchError::Setup(format!("tree {place} of the sidecar differs from that in the pack")));
            }
        }
        Ok(())
    }

    fn record(&self, place: u32) -> VarintReader<'_> {
        VarintReader(&self.records[self.table[place as usize][1] as usize..])
    }

    /// Replaces `entries` by all entries of the tree at `place`.
    fn rebuild(&self, place: u32, entries: &mut Vec<Entry>) {
        entries.clear();
        let mut record = self.record(place);
        let distance = record.take() as u32;
        let new: Vec<Entry> = (0..record.take()).map(|_| entry(record.take(), place)).collect();
        if distance == 0 {
            entries.extend(new);
            return;
        }
        let mut of_base = Vec::new();
        self.rebuild(place - distance, &mut of_base);
        let (mut new, mut at) = (new.into_iter(), 0);
        for _ in 0..record.take() {
            entries.extend(new.by_ref().take(record.take() as usize));
            at += record.take() as usize;
            let end = at + record.take() as usize;
            entries.extend_from_slice(&of_base[at..end]);
            at = end;
        }
        entries.extend(new);
    }

    fn read_commits(&self) -> (Vec<Commit>, Vec<u32>) {
        let (mut commits, mut parents) = (Vec::with_capacity(self.commit_count), Vec::new());
        let mut numbers = VarintReader(&self.commits);
        let (mut date, mut tree) = (0, 0);
        for at in 0..self.commit_count as u32 {
            date += numbers.take_signed();
            tree += numbers.take_signed();
            let (start, count) = (parents.len() as u32, numbers.take() as u32);
            for _ in 0..count {
                let parent = match numbers.take() as u32 {
                    0 => numbers.take() as u32,
                    distance => at + distance,
                };
                parents.push(parent);
            }
            commits.push(Commit { date: date as u64, tree: tree as u32, parents: (start, count) });
        }
        (commits, parents)
    }

    /// Visits what [`NumberedHistory::walk`] visits, in the same order of commits, and counts it. Hands each tree and file
    /// to `visit`, by number.
    pub(crate) fn walk(&self, seen: &mut Seen, visit: &mut impl FnMut(u32)) -> u64 {
        seen.clear();
        let mut visited = self.others.len() as u64;
        self.others.iter().for_each(|number| {
            seen.insert(*number);
        });
        let (commits, parents) = self.read_commits();
        let date = |at: u32| commits[at as usize].date;
        let parents_of = |at: u32| {
            let (start, count) = commits[at as usize].parents;
            &parents[start as usize..][..count as usize]
        };
        let order = newest_first(commits.len(), &self.tips, date, parents_of);
        visited += order.len() as u64;
        let roots = order.into_iter().map(|at| commits[at as usize].tree);
        let mut seen_trees = Seen::new(self.table.len());
        let (mut pending, mut rebuilt) = (Vec::new(), Vec::new());
        for root in roots {
            if seen_trees.insert(root) {
                pending.push(root);
            }
            while let Some(place) = pending.pop() {
                visited += 1;
                visit(self.table[place as usize][0]);
                let mut record = self.record(place);
                let distance = record.take() as u32;
                let takes_new = distance == 0 || seen_trees.contains(place - distance);
                let mut see = |entry: Entry| {
                    if entry & TREE_BIT != 0 {
                        let place = entry & !TREE_BIT;
                        if seen_trees.insert(place) {
                            pending.push(place);
                        }
                    } else if seen.insert(entry) {
                        visited += 1;
                        visit(entry);
                    }
                };
                if takes_new {
                    (0..record.take()).for_each(|_| see(entry(record.take(), place)));
                } else {
                    self.rebuild(place, &mut rebuilt);
                    rebuilt.iter().for_each(|entry| see(*entry));
                }
            }
        }
        visited
    }
}

/// The entry that `value` stands for in the record of the tree at `place`.
fn entry(value: u64, place: u32) -> Entry {
    match value & 1 {
        0 => (value >> 1) as u32,
        _ => (i64::from(place) + signed(value >> 1)) as u32 | TREE_BIT,
    }
}
