//! The chunks of a sample in memory.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
};

use repackbench_codec::{CodecSpec, Decoders, ZlibReader};
use repackbench_reader::{BaseReader, Chunk, ChunkKind, ChunkPlace, Repository, memory::TurnTaker};
use repackbench_writer::{PayloadBase, Progress, git::numbers::PayloadTranslator};

use super::population::{Drawn, FIRST_PART};
use crate::{
    BenchError,
    byte_strings::ByteStrings,
    workloads::{
        WorkloadError,
        delta_bases::{BaseCollector, Collected, HeldBase, HeldContents, MOST_CONTENT, content_len},
    },
};

/// The approximate limit of bytes of bases, with the objects that deltas make of them, for the codecs that use bases.
/// Those are slow, and rarely have time for more of a sample.
const MOST_BASES: u64 = 32 << 20;

/// The limit of the cache of decoded bases where a sample of them is read, which rarely needs one twice.
const BASE_CACHE: u64 = 16 << 20;

/// The fewest deltas of a stratum whose bases are held, however long those are.
const FEWEST_WITH_BASES: usize = 2;

/// One chunk.
#[derive(Debug)]
pub(crate) struct HeldChunk {
    pub(crate) kind: ChunkKind,
    /// Whether it is a loose object.
    pub(super) is_loose: bool,
    /// Its stratum.
    pub(super) stratum: usize,
    /// The length of its payload.
    pub(crate) payload_len: usize,
    /// The number of its payload among all.
    payload: usize,
    /// The number of its payload with numbers in the place of ids among all such, if that is another one and was
    /// wanted.
    numbered: Option<usize>,
    /// The length of its stored bytes as found.
    pub(super) stored_len: usize,
    /// The number of its stored bytes, if it may be decoded.
    stored: Option<usize>,
    base: Base,
    /// Its number among all chunks in the order of the store.
    pub(super) number: u64,
    /// See [`Drawn::order`].
    order: f64,
}

/// The base of a chunk.
#[derive(Debug, Clone, Copy)]
enum Base {
    /// None that an encoder could use.
    None,
    /// One that is not held. It has this many bytes, with those of the object.
    Left(u64),
    /// One that is held.
    Held(HeldBase),
}

impl HeldChunk {
    /// Whether it may be decoded: its stored bytes are held.
    pub(super) fn is_decoded(&self) -> bool {
        self.stored.is_some()
    }

    /// Whether an encoder that uses bases has the one that it would have in a conversion.
    pub(crate) fn has_its_base(&self) -> bool {
        !matches!(self.base, Base::Left(_))
    }
}

/// The chunks of a sample, by [`Drawn::order`].
#[derive(Debug, Default)]
pub(crate) struct HeldChunks {
    pub(crate) chunks: Vec<HeldChunk>,
    payloads: ByteStrings,
    numbered: ByteStrings,
    stored: ByteStrings,
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
    /// Reads the chunks of `source` that are in `sample`, by [`Drawn::order`], in these `forms`. With bases, reads
    /// those of the first deltas, up to [`MOST_BASES`].
    ///
    /// # Errors
    /// A chunk is damaged, or the user stops the work.
    pub(crate) fn read(
        source: &Repository,
        sample: &HashMap<u64, Drawn>,
        forms: Forms,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        let mut held = HeldChunks::default();
        for_each_held(source, &Wanted::Sample(sample), forms, progress, &mut |all| {
            held = all;
            Ok(())
        })?;
        held.chunks.sort_by(|a, b| a.order.total_cmp(&b.order));
        held.read_bases(source, progress)?;
        Ok(held)
    }

    /// Reads the bases of the first deltas. Nothing is timed here.
    fn read_bases(&mut self, source: &Repository, progress: &dyn Progress) -> Result<(), BenchError> {
        let chosen = self.first_with_bases();
        if chosen.is_empty() {
            return Ok(());
        }
        let mut bases = collector(source, Some(BASE_CACHE))?;
        let mut numbers = 0..;
        let at = Cell::new(None);
        let mut is_wanted = |_: &Chunk<'_>| {
            at.set(numbers.next().and_then(|number: u64| chosen.get(&number)));
            at.get().is_some()
        };
        source.for_each_payload_in_place::<BenchError>(READERS, &mut is_wanted, &mut |chunk, place, payload| {
            if progress.is_cancelled() {
                return Err(BenchError::Interrupted);
            }
            let Some(held) = at.get().and_then(|at| self.chunks.get_mut(*at)) else { return Ok(()) };
            if let Collected::Held(base) = bases.add(chunk.file, place, payload).map_err(WorkloadError::from)? {
                held.base = Base::Held(base);
            }
            Ok(())
        })?;
        self.contents = bases.finish();
        Ok(())
    }

    /// The places of the first deltas, as many as [`MOST_BASES`] allows, by their numbers in the order of the store.
    fn first_with_bases(&self) -> HashMap<u64, usize> {
        let (mut chosen, mut by_stratum, mut bytes) = (HashMap::new(), BTreeMap::new(), 0u64);
        for (at, chunk) in self.chunks.iter().enumerate() {
            let Base::Left(len) = chunk.base else { continue };
            // Once there is too much, short ones are not taken either: they would stand for long ones.
            bytes = bytes.saturating_add(len);
            let of_stratum: &mut usize = by_stratum.entry(chunk.stratum).or_default();
            if bytes <= MOST_BASES || *of_stratum < FEWEST_WITH_BASES {
                *of_stratum += 1;
                chosen.insert(chunk.number, at);
            }
        }
        chosen
    }

    /// The number of chunks that come first: see [`FIRST_PART`].
    pub(super) fn first(&self) -> usize {
        self.chunks.partition_point(|chunk| chunk.order < FIRST_PART)
    }

    /// The bytes of all payloads as found.
    pub(super) fn payload_bytes(&self) -> usize {
        self.payloads.total_len()
    }

    /// The payload of a chunk.
    pub(crate) fn payload(&self, chunk: &HeldChunk) -> &[u8] {
        self.payloads.get(chunk.payload).unwrap_or_default()
    }

    /// The payload that a chunk has under `spec`.
    pub(super) fn payload_under(&self, spec: &CodecSpec, chunk: &HeldChunk) -> &[u8] {
        match chunk.numbered.filter(|_| spec.uses_numbers()) {
            Some(number) => self.numbered.get(number).unwrap_or_default(),
            None => self.payload(chunk),
        }
    }

    /// The stored bytes of a chunk as found, if it may be decoded.
    pub(super) fn stored(&self, chunk: &HeldChunk) -> Option<&[u8]> {
        self.stored.get(chunk.stored?)
    }

    /// The base of a delta, if it is held.
    pub(crate) fn base(&self, chunk: &HeldChunk) -> Option<PayloadBase<'_>> {
        match &chunk.base {
            Base::Held(base) => self.contents.get(base),
            Base::None | Base::Left(_) => None,
        }
    }
}

/// What reads payloads and bases where nothing is timed.
const READERS: ZlibReader = ZlibReader::Libdeflate;

fn collector(source: &Repository, cache_limit: Option<u64>) -> Result<BaseCollector, BenchError> {
    let mut reader = BaseReader::new(source, Decoders::from(READERS)).map_err(WorkloadError::from)?;
    if cache_limit.is_some() {
        reader.set_cache_limit(cache_limit);
    }
    Ok(BaseCollector::new(reader, MOST_CONTENT))
}

/// What is held of a chunk beside its payload.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Forms {
    /// The base of a delta.
    pub(crate) bases: bool,
    /// The payload with numbers in the place of ids.
    pub(crate) numbered: bool,
}

impl Forms {
    /// What codecs with these specs need.
    pub(super) fn of<'a>(specs: impl Iterator<Item = &'a CodecSpec>) -> Self {
        specs.fold(Forms::default(), |forms, spec| Forms {
            bases: forms.bases || spec.uses_bases(),
            numbered: forms.numbered || spec.uses_numbers(),
        })
    }
}

/// Reads the chunks of `source` that are `wanted` in these `forms`, and hands them to `visit`. Bases are read where all
/// chunks are wanted; in a sample only their lengths are found out.
///
/// # Errors
/// Errors of `visit`, a chunk is damaged, or the user stops the work.
pub(super) fn for_each_held(
    source: &Repository,
    wanted: &Wanted<'_>,
    forms: Forms,
    progress: &dyn Progress,
    visit: &mut VisitHeld<'_>,
) -> Result<(), BenchError> {
    let most = match wanted {
        Wanted::Sample(_) => usize::MAX,
        Wanted::Every(most) => *most,
    };
    let bases = match wanted {
        _ if !forms.bases => Bases::None,
        Wanted::Sample(_) => Bases::Lengths,
        Wanted::Every(_) => Bases::All(collector(source, None)?),
    };
    let translator = if forms.numbered {
        PayloadTranslator::for_repository(source, true).map_err(WorkloadError::from)?
    } else {
        None
    };
    let mut holder = Holder { source, bases, translator, turn: TurnTaker::default(), held: HeldChunks::default() };
    let mut number = 0;
    // What the first closure finds out about a chunk, for the second.
    let drawn = Cell::new(None);
    let mut is_wanted = |_: &Chunk<'_>| {
        let of_chunk = match wanted {
            Wanted::Sample(sample) => sample.get(&number).copied(),
            Wanted::Every(_) => Some(Drawn::default()),
        };
        drawn.set(of_chunk.map(|drawn| (number, drawn)));
        number += 1;
        drawn.get().is_some()
    };
    source.for_each_payload_in_place::<BenchError>(READERS, &mut is_wanted, &mut |chunk, place, payload| {
        if progress.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        if let Some((number, drawn)) = drawn.get() {
            holder.add(chunk, place, payload, (number, drawn))?;
        }
        if holder.held.payload_bytes().saturating_add(holder.held.numbered.total_len()) >= most {
            visit(holder.take()?)
        } else {
            Ok(())
        }
    })?;
    visit(holder.take()?)
}

/// Holds chunks until they are taken.
struct Holder<'a> {
    source: &'a Repository,
    bases: Bases,
    /// Puts numbers in the place of ids.
    translator: Option<PayloadTranslator>,
    turn: TurnTaker,
    held: HeldChunks,
}

/// What is read of bases together with the chunks.
enum Bases {
    None,
    Lengths,
    All(BaseCollector),
}

impl Holder<'_> {
    fn add(
        &mut self,
        chunk: &Chunk<'_>,
        place: ChunkPlace<'_>,
        payload: &[u8],
        (number, Drawn { stratum, order, is_decoded }): (u64, Drawn),
    ) -> Result<(), BenchError> {
        let base = match &mut self.bases {
            Bases::Lengths if chunk.kind.is_delta => {
                content_len(place, payload).map_err(WorkloadError::from)?.map_or(Base::None, Base::Left)
            }
            Bases::All(bases) if chunk.kind.is_delta => {
                match bases.add(chunk.file, place, payload).map_err(WorkloadError::from)? {
                    // There is room for a gigabyte of bases. A delta beyond it is encoded without.
                    Collected::Nothing | Collected::TooMuch => Base::None,
                    Collected::Held(base) => Base::Held(base),
                }
            }
            _ => Base::None,
        };
        let numbered = match self.translator.as_mut().zip(place.in_pack()) {
            Some((translator, entry)) => {
                let numbered = translator.translate(entry, payload, &mut self.turn).map_err(WorkloadError::from)?;
                let numbered = numbered.map(|numbered| self.held.numbered.push(numbered));
                translator.finish(&mut self.turn);
                numbered
            }
            None => None,
        };
        let stored_len = usize::try_from(chunk.stored_len).unwrap_or(usize::MAX);
        let stored = chunk.stored.get(..stored_len).unwrap_or(chunk.stored);
        self.held.chunks.push(HeldChunk {
            kind: chunk.kind,
            is_loose: matches!(self.source, Repository::Git(_)) && chunk.header_len == 0,
            stratum,
            payload_len: payload.len(),
            payload: self.held.payloads.push(payload),
            numbered,
            stored_len: stored.len(),
            stored: is_decoded.then(|| self.held.stored.push(stored)),
            base,
            number,
            order,
        });
        Ok(())
    }

    /// The chunks so far. Those that follow are held anew.
    fn take(&mut self) -> Result<HeldChunks, BenchError> {
        let mut held = std::mem::take(&mut self.held);
        if let Bases::All(bases) = &mut self.bases {
            held.contents = std::mem::replace(bases, collector(self.source, None)?).finish();
        }
        Ok(held)
    }
}
