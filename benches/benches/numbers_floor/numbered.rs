//! Trees and commits in memory. An object's number is its place in the index of its pack, after those of earlier packs.

use std::{collections::HashSet, ops::Range};

use gix_hash::{ObjectId, oid};
use repackbench_benches::{BenchError, Result, Subject};
use repackbench_codec::ZlibReader;
use repackbench_reader::{
    History, ObjectKind,
    git::{
        GitHistory, GitRepository, ObjectStore,
        pack::{DeltaForest, EntryTable},
    },
};

/// Marks the number of a tree among the entries of a tree.
pub(crate) const TREE_BIT: u32 = 1 << 31;

/// A commit with its tree by number.
#[derive(Debug)]
pub(crate) struct NumberedCommit {
    pub(crate) date: u64,
    pub(crate) tree: u32,
    /// The range of its parents in [`NumberedHistory::parents`].
    pub(crate) parents: Range<usize>,
}

/// Entries of all trees, one tree after another.
#[derive(Debug)]
pub(crate) struct Entries {
    /// Their numbers, see [`TREE_BIT`].
    pub(crate) numbers: Vec<u32>,
    ids: Vec<u8>,
    id_len: usize,
    ends: Vec<usize>,
}

/// Everything that a traversal reads.
#[derive(Debug)]
pub(crate) struct NumberedHistory {
    store: ObjectStore,
    /// The number of the first object of each pack.
    firsts: Vec<u32>,
    objects: usize,
    pub(crate) commits: Vec<NumberedCommit>,
    /// Parents as places in `commits`.
    pub(crate) parents: Vec<u32>,
    /// The commits that are nobody's parents, as places in `commits`.
    pub(crate) tips: Vec<u32>,
    /// Tags, and files that only they name.
    pub(crate) others: Vec<u32>,
    /// The place of each tree among the trees, by its number.
    pub(crate) tree_at: Vec<u32>,
    /// The number of the base of each tree's delta.
    pub(crate) bases: Vec<Option<u32>>,
    /// The entries of each tree.
    pub(crate) all: Entries,
    /// Those that the base of its delta does not have.
    pub(crate) new: Entries,
}

impl Entries {
    fn new(id_len: usize) -> Self {
        Entries { numbers: Vec::new(), ids: Vec::new(), id_len, ends: Vec::new() }
    }

    fn push(&mut self, number: u32, id: &[u8]) {
        self.numbers.push(number);
        self.ids.extend_from_slice(id);
    }

    /// The range of the entries of the tree `at`.
    pub(crate) fn range(&self, at: usize) -> Range<usize> {
        at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]
    }

    /// The id of the entry at `place`.
    pub(crate) fn id(&self, place: usize) -> &oid {
        oid::from_bytes_unchecked(&self.ids[place * self.id_len..][..self.id_len])
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
}

/// An entry of a tree: whether it is a tree, and the bytes of its id. Links to commits are left out.
fn entries(tree: &[u8], id_len: usize) -> impl Iterator<Item = (bool, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = tree.get(at..).filter(|rest| !rest.is_empty())?;
            let name_end = rest.iter().position(|byte| *byte == 0)?;
            let id_at = at + name_end + 1;
            // Some old programs wrote modes with leading zeros.
            let zeros = rest.iter().take_while(|byte| **byte == b'0').count();
            let mode = rest.get(zeros..).unwrap_or_default();
            let (is_tree, is_link) = (mode.starts_with(b"40000 "), mode.starts_with(b"160000 "));
            at = id_at + id_len;
            if !is_link {
                return Some((is_tree, id_at));
            }
        }
    })
}

/// The ids in the lines `tree` and `parent` of a commit, in order, and its date.
fn fields(commit: &[u8]) -> (Vec<ObjectId>, u64) {
    let mut ids = Vec::new();
    for line in commit.split(|byte| *byte == b'\n') {
        let id = line.strip_prefix(b"tree ").or_else(|| line.strip_prefix(b"parent "));
        if let Some(id) = id {
            ids.extend(ObjectId::from_hex(id));
        } else if line.starts_with(b"committer ") {
            let mut words = line.rsplit(|byte| *byte == b' ');
            let date = words.nth(1).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
            return (ids, date.unwrap_or_default());
        }
    }
    (ids, 0)
}

impl NumberedHistory {
    /// Reads what is reachable in `repository`.
    ///
    /// # Errors
    /// An object is damaged or in no pack.
    pub(crate) fn load(repository: &GitRepository, subject: &Subject) -> Result<Self> {
        let store = || ObjectStore::open(repository, ZlibReader::Libdeflate);
        let mut reachable: [Vec<ObjectId>; 3] = Default::default();
        GitHistory::new(repository, store()?)?.traverse(&mut |kind, id| match kind {
            ObjectKind::Commit => reachable[0].push(id.to_owned()),
            ObjectKind::Tree => reachable[1].push(id.to_owned()),
            ObjectKind::Tag => reachable[2].push(id.to_owned()),
            // What tags name comes before all trees.
            ObjectKind::Blob if reachable[1].is_empty() => reachable[2].push(id.to_owned()),
            _ => {}
        })?;
        let id_len = repository.object_hash().len_in_bytes();
        let mut loaded = NumberedHistory {
            store: store()?,
            firsts: Vec::new(),
            objects: 0,
            commits: Vec::new(),
            parents: Vec::new(),
            tips: Vec::new(),
            others: Vec::new(),
            tree_at: Vec::new(),
            bases: Vec::new(),
            all: Entries::new(id_len),
            new: Entries::new(id_len),
        };
        for pack in loaded.store.packs() {
            loaded.firsts.push(u32::try_from(loaded.objects).unwrap_or(u32::MAX));
            loaded.objects += pack.entry_count() as usize;
        }
        if loaded.objects >= TREE_BIT as usize {
            return Err(BenchError::Setup(format!("{} objects are too many to number", loaded.objects)));
        }
        let [commits, trees, others] = reachable;
        let mut reader = store()?;
        loaded.read_commits(&commits, &mut reader, subject)?;
        loaded.others = others.iter().map(|other| loaded.expect(other, subject)).collect::<Result<_>>()?;
        loaded.read_trees(&trees, &mut reader, subject)?;
        loaded.find_new()?;
        Ok(loaded)
    }

    /// The number of the object `id`.
    pub(crate) fn number(&self, id: &oid) -> Option<u32> {
        let mut packs = self.store.packs().iter().zip(&self.firsts);
        packs.find_map(|(pack, first)| Some(first + pack.position(id)?))
    }

    /// The id of the object `number`.
    pub(crate) fn id(&self, number: u32) -> Option<&oid> {
        let at = self.firsts.partition_point(|first| *first <= number).checked_sub(1)?;
        let (pack, first) = (self.store.packs().get(at)?, self.firsts.get(at)?);
        (number - first < pack.entry_count()).then(|| pack.index().oid_at_index(number - first))
    }

    fn expect(&self, id: &oid, subject: &Subject) -> Result<u32> {
        let unpacked = || BenchError::Setup(format!("{}: {id} is in no pack; repack it first", subject.name()));
        self.number(id).ok_or_else(unpacked)
    }

    /// The number of objects in packs.
    pub(crate) fn objects(&self) -> usize {
        self.objects
    }

    /// The number of reachable commits.
    pub(crate) fn commits(&self) -> usize {
        self.commits.len()
    }

    /// The number of reachable trees.
    pub(crate) fn trees(&self) -> usize {
        self.bases.len()
    }

    fn read_commits(&mut self, ids: &[ObjectId], reader: &mut ObjectStore, subject: &Subject) -> Result<()> {
        let mut commit_at = vec![u32::MAX; self.objects];
        for (at, id) in ids.iter().enumerate() {
            commit_at[self.expect(id, subject)? as usize] = u32::try_from(at).unwrap_or(u32::MAX);
        }
        let mut has_child = vec![false; ids.len()];
        let mut content = Vec::new();
        for id in ids {
            reader.read(id, &mut content)?;
            let (named, date) = fields(&content);
            let start = self.parents.len();
            for parent in named.iter().skip(1) {
                let at = self.number(parent).map_or(u32::MAX, |number| commit_at[number as usize]);
                if let Some(has_child) = has_child.get_mut(at as usize) {
                    *has_child = true;
                    self.parents.push(at);
                }
            }
            let tree = named.first().map_or_else(|| Err(BenchError::Setup(format!("{id} has no tree"))), Ok)?;
            let parents = start..self.parents.len();
            self.commits.push(NumberedCommit { date, tree: self.expect(tree, subject)?, parents });
        }
        let tips = has_child.iter().enumerate().filter(|(_, has_child)| !**has_child);
        self.tips = tips.map(|(at, _)| u32::try_from(at).unwrap_or(u32::MAX)).collect();
        Ok(())
    }

    fn read_trees(&mut self, ids: &[ObjectId], reader: &mut ObjectStore, subject: &Subject) -> Result<()> {
        self.tree_at = vec![u32::MAX; self.objects];
        let bases = self.delta_bases()?;
        let id_len = self.all.id_len;
        let mut content = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            let number = self.expect(id, subject)?;
            self.tree_at[number as usize] = u32::try_from(at).unwrap_or(u32::MAX);
            self.bases.push(bases[number as usize]);
            reader.read(id, &mut content)?;
            for (is_tree, id_at) in entries(&content, id_len) {
                let id = content.get(id_at..id_at + id_len).unwrap_or_default();
                // Missing objects have no number, and a traversal leaves them out.
                let Some(number) = oid::try_from_bytes(id).ok().and_then(|id| self.number(id)) else { continue };
                self.all.push(if is_tree { number | TREE_BIT } else { number }, id);
            }
            self.all.ends.push(self.all.len());
        }
        Ok(())
    }

    /// The number of the base of each object's delta, by the number of the object.
    fn delta_bases(&self) -> Result<Vec<Option<u32>>> {
        let mut bases = vec![None; self.objects];
        for (pack, first) in self.store.packs().iter().zip(&self.firsts) {
            let table = EntryTable::new(pack)?;
            let forest = DeltaForest::new(pack, &table)?;
            for position in 0..table.len() {
                let base = forest.base(position).and_then(|base| table.index_position(base));
                if let Some(object) = table.index_position(position) {
                    bases[(first + object) as usize] = base.map(|base| first + base);
                }
            }
        }
        Ok(bases)
    }

    /// Finds the entries that the delta base of each tree does not have.
    fn find_new(&mut self) -> Result<()> {
        let mut of_base: HashSet<u32> = HashSet::new();
        for at in 0..self.bases.len() {
            of_base.clear();
            let base = self.bases[at].and_then(|base| self.tree_at.get(base as usize));
            if let Some(base) = base.filter(|base| **base != u32::MAX) {
                of_base.extend(&self.all.numbers[self.all.range(*base as usize)]);
            }
            for place in self.all.range(at) {
                let number = self.all.numbers[place];
                if !of_base.contains(&number) {
                    let id = &self.all.ids[place * self.all.id_len..][..self.all.id_len];
                    self.new.numbers.push(number);
                    self.new.ids.extend_from_slice(id);
                }
            }
            self.new.ends.push(self.new.numbers.len());
        }
        Ok(())
    }
}
