//! Cuts a pack into batches of entries.

use repackbench_codec::BLOCK_LEN;
use repackbench_reader::git::pack::{EntryKind, EntryTable, PackFile, StoredEntry};

use crate::{Result, WriterError, git::order::WriteOrder};

/// The approximate number of stored bytes in a batch: enough to make the hand-over cheap, few enough to keep buffers
/// small.
const BATCH_STORED_BYTES: u64 = 256 << 10;

/// The most entries in a batch. A pack of deltas has many entries in few bytes.
const BATCH_ENTRIES: usize = 4096;

/// The approximate number of payload bytes in a batch.
const BATCH_PAYLOAD_BYTES: u64 = 4 << 20;

/// Entries of a pack that are written one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Batch {
    /// Entries that a thread converts in memory: a range of the write order, and the approximate size of their new
    /// chunks in bytes.
    InMemory { places: std::ops::Range<usize>, cost: u64 },
    /// One entry that is streamed, as a position in file order.
    Streamed(usize),
}

impl Batch {
    /// The approximate number of bytes that wait for their turn once the batch is converted.
    pub(super) fn cost(&self) -> u64 {
        match self {
            Batch::InMemory { cost, .. } => cost.saturating_add(BATCH_STORED_BYTES),
            Batch::Streamed(_) => 0,
        }
    }
}

/// The batches of a pack.
#[derive(Debug)]
pub(super) struct PackBatches {
    pub(super) batches: Vec<Batch>,
    /// Whether some entry names its base by id.
    pub(super) has_ref_deltas: bool,
}

/// Cuts a pack, whose entries are written in `order`, into batches. A long payload is streamed, unless the entry at its
/// position `needs_memory`.
pub(super) fn cut_into_batches(
    pack: &PackFile,
    table: &EntryTable,
    order: &WriteOrder,
    needs_memory: impl Fn(usize) -> bool,
) -> Result<PackBatches> {
    let mut batches = Vec::new();
    let mut has_ref_deltas = false;
    let mut start = 0;
    let (mut stored, mut payload) = (0, 0_u64);
    for place in 0..table.len() {
        let position = order.position(place);
        let Some((offset, end)) = table.extent(position) else { break };
        let (header, _) = pack.entry(offset)?;
        has_ref_deltas |= matches!(header.kind, EntryKind::RefDelta { .. });
        if header.payload_len > BLOCK_LEN as u64 && !needs_memory(position) {
            if start < place {
                batches.push(Batch::InMemory { places: start..place, cost: payload });
            }
            batches.push(Batch::Streamed(position));
            (start, stored, payload) = (place + 1, 0, 0);
            continue;
        }
        stored += end - offset;
        payload = payload.saturating_add(header.payload_len);
        if stored >= BATCH_STORED_BYTES || payload >= BATCH_PAYLOAD_BYTES || place + 1 - start >= BATCH_ENTRIES {
            batches.push(Batch::InMemory { places: start..place + 1, cost: payload });
            (start, stored, payload) = (place + 1, 0, 0);
        }
    }
    if start < table.len() {
        batches.push(Batch::InMemory { places: start..table.len(), cost: payload });
    }
    Ok(PackBatches { batches, has_ref_deltas })
}

/// The error for an entry whose new chunk does not decode to its payload.
pub(super) fn unfaithful(pack: &PackFile, entry: &StoredEntry<'_>, detail: String) -> WriterError {
    WriterError::Unfaithful { path: pack.path().to_owned(), what: format!("entry at offset {}", entry.offset), detail }
}
