//! How many bytes of ids a pack stores: no codec shrinks them.

use repackbench_benches::{BenchError, Result};
use repackbench_codec::{Decoders, ZlibReader};
use repackbench_reader::{
    ObjectKind,
    git::{
        GitRepository, ObjectStore,
        delta::DeltaSizes,
        pack::{DeltaForest, EntryTable},
    },
};

use crate::numbered::entries;

/// The ids of one kind of chunk.
#[derive(Debug, Clone, Copy, Default)]
struct Ids {
    chunks: u64,
    stored: u64,
    ids: u64,
    /// The bytes of these ids that the payloads hold themselves. Those of commits are hexadecimal, and count by half.
    bytes: u64,
}

/// The ids of all trees and commits of a repository.
#[derive(Debug, Default)]
pub(crate) struct HashBytes {
    whole_trees: Ids,
    tree_deltas: Ids,
    commits: Ids,
    objects: u64,
}

impl HashBytes {
    /// Counts those in the packs of `repository`.
    ///
    /// # Errors
    /// An object is damaged.
    pub(crate) fn count(repository: &GitRepository) -> Result<Self> {
        let mut counted = HashBytes::default();
        let mut store = ObjectStore::open(repository, ZlibReader::Libdeflate)?;
        let mut decoder = repository.decoder(Decoders::default())?;
        let id_len = repository.object_hash().len_in_bytes();
        let (mut payload, mut content) = (Vec::new(), Vec::new());
        for pack in 0..store.packs().len() {
            let Some((table, forest)) = tables(&store, pack)? else { continue };
            counted.objects += table.len() as u64;
            for position in 0..table.len() {
                let kind = forest.kind(position);
                if !matches!(kind, Some(ObjectKind::Tree | ObjectKind::Commit)) {
                    continue;
                }
                let file = &store.packs()[pack];
                let entry = table.entry(file, position)?;
                entry.decode(file, &mut decoder, &mut payload)?;
                let stored = entry.stored.len() as u64;
                let is_delta = forest.base(position).is_some();
                let id = table.index_position(position).map(|at| file.index().oid_at_index(at).to_owned());
                if let Some(id) = id.filter(|_| is_delta && kind == Some(ObjectKind::Tree)) {
                    store.read(&id, &mut content)?;
                    let places: Vec<usize> = entries(&content, id_len).map(|(_, at)| at).collect();
                    let (ids, bytes) = inserted_ids(&payload, &places, id_len)
                        .ok_or_else(|| BenchError::Setup(format!("the delta of {id} is damaged")))?;
                    counted.tree_deltas.add(stored, ids, bytes);
                } else if kind == Some(ObjectKind::Tree) {
                    let ids = entries(&payload, id_len).count() as u64;
                    counted.whole_trees.add(stored, ids, ids * id_len as u64);
                } else {
                    let lines = payload.split(|byte| *byte == b'\n');
                    let is_named = |line: &&[u8]| line.starts_with(b"tree ") || line.starts_with(b"parent ");
                    let ids = lines.take_while(is_named).count() as u64;
                    counted.commits.add(stored, ids, ids * id_len as u64);
                }
            }
        }
        Ok(counted)
    }

    /// Prints them beside `pack_bytes`, the length of all packs.
    pub(crate) fn print(&self, pack_bytes: u64) {
        let number_bytes = (self.objects.max(2) as f64).log2() / 8.0;
        println!(
            "\n{:<14} {:>9} {:>9} {:>10} {:>10} {:>10}  saved at most, by numbers of {number_bytes:.2} bytes",
            "MB", "chunks", "stored", "ids", "their bytes", "of stored"
        );
        let mut all = 0.0;
        for (name, ids) in
            [("whole trees", self.whole_trees), ("tree deltas", self.tree_deltas), ("commits", self.commits)]
        {
            let saved = (ids.bytes as f64 - ids.ids as f64 * number_bytes).max(0.0);
            all += saved;
            println!(
                "{name:<14} {:>9} {:>9.3} {:>10} {:>10.3}  {:>9.3}  {:.3} MB",
                ids.chunks,
                ids.stored as f64 / 1e6,
                ids.ids,
                ids.bytes as f64 / 1e6,
                ids.bytes as f64 / ids.stored.max(1) as f64,
                saved / 1e6
            );
        }
        println!(
            "together {:.3} MB, {:.1} % of {:.3} MB",
            all / 1e6,
            100.0 * all / pack_bytes as f64,
            pack_bytes as f64 / 1e6
        );
    }
}

impl Ids {
    fn add(&mut self, stored: u64, ids: u64, bytes: u64) {
        self.chunks += 1;
        self.stored += stored;
        self.ids += ids;
        self.bytes += bytes;
    }
}

fn tables(store: &ObjectStore, pack: usize) -> Result<Option<(EntryTable, DeltaForest)>> {
    let Some(pack) = store.packs().get(pack) else { return Ok(None) };
    let table = EntryTable::new(pack)?;
    let forest = DeltaForest::new(pack, &table)?;
    Ok(Some((table, forest)))
}

/// How many of the ids at `places` of a delta's result the delta inserts, whole or in part, and how many of their bytes.
/// `None` if it is damaged. The format is in the documentation of `repackbench_reader::git::delta`.
fn inserted_ids(delta: &[u8], places: &[usize], id_len: usize) -> Option<(u64, u64)> {
    let mut at = DeltaSizes::parse(delta).ok()?.len;
    let (mut result, mut place) = (0usize, 0usize);
    let (mut ids, mut bytes) = (0, 0);
    // The last id that was counted, since an id can be inserted in pieces.
    let mut counted = None;
    while let Some(instruction) = delta.get(at) {
        at += 1;
        if instruction & 0x80 != 0 {
            let arguments = (instruction & 0x7f).count_ones() as usize;
            let size_bits = instruction >> 4 & 0b111;
            let mut size_at = at + (instruction & 0b1111).count_ones() as usize;
            let mut size = 0usize;
            for bit in 0..3 {
                if size_bits & 1 << bit != 0 {
                    size |= usize::from(*delta.get(size_at)?) << (8 * bit);
                    size_at += 1;
                }
            }
            at += arguments;
            result += if size == 0 { 0x10000 } else { size };
            continue;
        }
        let end = result + usize::from(*instruction);
        while places.get(place).is_some_and(|id_at| id_at + id_len <= result) {
            place += 1;
        }
        for id_at in places.iter().skip(place).take_while(|id_at| **id_at < end) {
            let overlap = (id_at + id_len).min(end).saturating_sub((*id_at).max(result));
            bytes += overlap as u64;
            if overlap > 0 && counted.replace(*id_at) != Some(*id_at) {
                ids += 1;
            }
        }
        at += usize::from(*instruction);
        result = end;
    }
    Some((ids, bytes))
}
