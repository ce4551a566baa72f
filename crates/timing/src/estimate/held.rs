//! The chunks of a sample in memory.

use std::{cell::Cell, collections::HashMap};

use repackbench_codec::{Decoders, ZlibReader};
use repackbench_reader::{BaseReader, Chunk, ChunkKind, ChunkPlace, Repository};
use repackbench_writer::{PayloadBase, Progress};

use super::population::{Drawn, FIRST_PART};
use crate::{
    BenchError,
    workloads::{
        WorkloadError,
        delta_bases::{BaseCollector, Collected, HeldBase, HeldContents, MOST_CONTENT},
    },
};

/// One chunk.
#[derive(Debug)]
pub(crate) struct HeldChunk {
    pub(crate) kind: ChunkKind,
    /// Whether it is a loose object.
    pub(super) is_loose: bool,
    /// Its stratum.
    pub(super) stratum: usize,
    /// Its stored bytes as found.
    pub(super) stored: Vec<u8>,
    /// Its payload.
    pub(crate) payload: Vec<u8>,
    base: Option<HeldBase>,
    /// Its place among the chunks of the sample in the order of the store.
    pub(super) place: usize,
    /// See [`Drawn::order`].
    order: f64,
}

/// The chunks of a sample, by [`Drawn::order`].
#[derive(Debug, Default)]
pub(crate) struct HeldChunks {
    pub(crate) chunks: Vec<HeldChunk>,
    contents: HeldContents,
}

/// Which chunks to hold.
pub(super) enum Wanted<'a> {
    /// Those of a sample, by their numbers in the order of the store.
    Sample(&'a HashMap<u64, Drawn>),
    /// All of them, at most about this many payload bytes at once.
    Every(usize),
}

/// Receives chunks, all at once or some after the other.
type VisitHeld<'a> = dyn FnMut(HeldChunks) -> Result<(), BenchError> + 'a;

impl HeldChunks {
    /// Reads the chunks of `source` that are in `sample`, by [`Drawn::order`]. With `with_bases`, also reads the bases of
    /// deltas.
    ///
    /// # Errors
    /// A chunk is damaged, or the user stops the work.
    pub(crate) fn read(
        source: &Repository,
        sample: &HashMap<u64, Drawn>,
        with_bases: bool,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        let mut held = HeldChunks::default();
        for_each_held(source, &Wanted::Sample(sample), with_bases, progress, &mut |all| {
            held = all;
            Ok(())
        })?;
        held.chunks.sort_by(|a, b| a.order.total_cmp(&b.order));
        Ok(held)
    }

    /// The number of chunks that come first: see [`FIRST_PART`].
    pub(super) fn first(&self) -> usize {
        self.chunks.partition_point(|chunk| chunk.order < FIRST_PART)
    }

    /// The bytes of all payloads.
    pub(super) fn payload_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.payload.len()).sum()
    }

    /// The base of a delta, if bases are held.
    pub(crate) fn base(&self, chunk: &HeldChunk) -> Option<PayloadBase<'_>> {
        self.contents.get(chunk.base.as_ref()?)
    }
}

/// Reads the chunks of `source` that are `wanted` and hands them to `visit`.
///
/// # Errors
/// Errors of `visit`, a chunk is damaged, or the user stops the work.
pub(super) fn for_each_held(
    source: &Repository,
    wanted: &Wanted<'_>,
    with_bases: bool,
    progress: &dyn Progress,
    visit: &mut VisitHeld<'_>,
) -> Result<(), BenchError> {
    // Nothing is timed here.
    let decoders = Decoders::from(ZlibReader::Libdeflate);
    let mut holder = Holder { source, decoders, bases: None, held: HeldChunks::default(), bytes: 0 };
    if with_bases {
        holder.bases = Some(holder.collector()?);
    }
    let most = match wanted {
        Wanted::Sample(_) => usize::MAX,
        Wanted::Every(most) => *most,
    };
    let mut number = 0;
    // What the first closure finds out about a chunk, for the second.
    let drawn = Cell::new(None);
    let mut is_wanted = |_: &Chunk<'_>| {
        drawn.set(match wanted {
            Wanted::Sample(sample) => sample.get(&number).copied(),
            Wanted::Every(_) => Some(Drawn::default()),
        });
        number += 1;
        drawn.get().is_some()
    };
    source.for_each_payload_in_place::<BenchError>(decoders, &mut is_wanted, &mut |chunk, place, payload| {
        if progress.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        if let Some(drawn) = drawn.get() {
            holder.add(chunk, place, payload, drawn)?;
        }
        if holder.bytes >= most { visit(holder.take()?) } else { Ok(()) }
    })?;
    visit(holder.take()?)
}

/// Holds chunks until they are taken.
struct Holder<'a> {
    source: &'a Repository,
    decoders: Decoders,
    bases: Option<BaseCollector>,
    held: HeldChunks,
    /// Their payload bytes.
    bytes: usize,
}

impl Holder<'_> {
    fn collector(&self) -> Result<BaseCollector, BenchError> {
        let reader = BaseReader::new(self.source, self.decoders).map_err(WorkloadError::from)?;
        Ok(BaseCollector::new(reader, MOST_CONTENT))
    }

    fn add(
        &mut self,
        chunk: &Chunk<'_>,
        place: ChunkPlace<'_>,
        payload: &[u8],
        Drawn { stratum, order }: Drawn,
    ) -> Result<(), BenchError> {
        let collected = match &mut self.bases {
            Some(bases) if chunk.kind.is_delta => bases.add(chunk.file, place, payload).map_err(WorkloadError::from)?,
            _ => Collected::Nothing,
        };
        let base = match collected {
            // There is room for a gigabyte of bases. A delta beyond it is encoded without.
            Collected::Nothing | Collected::TooMuch => None,
            Collected::Held(base) => Some(base),
        };
        let stored_len = usize::try_from(chunk.stored_len).unwrap_or(usize::MAX);
        self.held.chunks.push(HeldChunk {
            kind: chunk.kind,
            is_loose: matches!(self.source, Repository::Git(_)) && chunk.header_len == 0,
            stratum,
            stored: chunk.stored.get(..stored_len).unwrap_or(chunk.stored).to_vec(),
            payload: payload.to_vec(),
            base,
            place: self.held.chunks.len(),
            order,
        });
        self.bytes = self.bytes.saturating_add(payload.len());
        Ok(())
    }

    /// The chunks so far. Those that follow are held anew.
    fn take(&mut self) -> Result<HeldChunks, BenchError> {
        let mut held = std::mem::take(&mut self.held);
        self.bytes = 0;
        if let Some(bases) = self.bases.take() {
            held.contents = bases.finish();
            self.bases = Some(self.collector()?);
        }
        Ok(held)
    }
}
