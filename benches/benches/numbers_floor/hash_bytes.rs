//! How many bytes of ids a pack stores: no codec shrinks them.

use std::{collections::BTreeMap, path::Path};

use repackbench_benches::{BenchError, Result};
use repackbench_reader::{ChunkKind, ObjectKind, Repository};
use repackbench_timing::sizes::ids::{self, StoredIds};

/// The ids of all trees and commits of a repository.
#[derive(Debug)]
pub(crate) struct HashBytes {
    ids: StoredIds,
    /// The number of chunks of each kind, and their stored bytes.
    chunks: BTreeMap<ChunkKind, (u64, u64)>,
    objects: u64,
}

/// A row of the table.
struct Row {
    name: &'static str,
    object: ObjectKind,
    /// Whether it is about deltas; `None` for deltas and whole objects.
    is_delta: Option<bool>,
    /// How many bytes of a payload a byte of an id takes.
    bytes_per_byte: u64,
}

const ROWS: [Row; 3] = [
    Row { name: "whole trees", object: ObjectKind::Tree, is_delta: Some(false), bytes_per_byte: 1 },
    Row { name: "tree deltas", object: ObjectKind::Tree, is_delta: Some(true), bytes_per_byte: 1 },
    Row { name: "commits", object: ObjectKind::Commit, is_delta: None, bytes_per_byte: 2 },
];

impl HashBytes {
    /// Counts those in the repository at `path`.
    ///
    /// # Errors
    /// An object is damaged.
    pub(crate) fn count(path: &Path) -> Result<Self> {
        let repository = Repository::open(path)?;
        let no_git = || BenchError::Setup("expected a Git repository".to_owned());
        let ids = ids::count(&repository)?.ok_or_else(no_git)?;
        let mut counted = HashBytes { ids, chunks: BTreeMap::new(), objects: 0 };
        repository.store().for_each_chunk(&mut |chunk| {
            let (chunks, stored) = counted.chunks.entry(chunk.kind).or_default();
            *chunks += 1;
            *stored += chunk.stored_len;
            counted.objects += 1;
            Ok(())
        })?;
        Ok(counted)
    }

    /// Prints them beside `pack_bytes`, the length of all packs.
    pub(crate) fn print(&self, pack_bytes: u64) {
        let number_bytes = (self.objects.max(2) as f64).log2() / 8.0;
        println!(
            "\n{:<14} {:>9} {:>9} {:>10} {:>10} {:>10}  saved at most, by numbers of {number_bytes:.2} bytes",
            "MB", "chunks", "stored", "ids", "their bytes", "of stored"
        );
        let saved: f64 = ROWS.iter().map(|row| self.print_row(row, number_bytes)).sum();
        println!(
            "together {:.3} MB, {:.1} % of {:.3} MB",
            saved / 1e6,
            100.0 * saved / pack_bytes as f64,
            pack_bytes as f64 / 1e6
        );
    }

    /// Prints a row and returns the bytes that numbers of `number_bytes` save at most.
    fn print_row(&self, row: &Row, number_bytes: f64) -> f64 {
        let (mut chunks, mut stored, mut names, mut payload) = (0, 0, 0, 0);
        for is_delta in [false, true].into_iter().filter(|is_delta| row.is_delta.is_none_or(|of| of == *is_delta)) {
            let kind = ChunkKind { object: row.object, is_delta };
            let (of_kind, stored_bytes) = self.chunks.get(&kind).copied().unwrap_or_default();
            let ids = self.ids.get(kind);
            (chunks, stored) = (chunks + of_kind, stored + stored_bytes);
            (names, payload) = (names + ids.references, payload + ids.payload_bytes);
        }
        let bytes = (payload / row.bytes_per_byte) as f64;
        let saved = (bytes - names as f64 * number_bytes).max(0.0);
        println!(
            "{:<14} {chunks:>9} {:>9.3} {names:>10} {:>10.3}  {:>9.3}  {:.3} MB",
            row.name,
            stored as f64 / 1e6,
            bytes / 1e6,
            bytes / stored.max(1) as f64,
            saved / 1e6
        );
        saved
    }
}
