//! `encode`: compress every payload of the variant again, from memory, under the variant's own spec. This is the
//! codec's part of a repack.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use repackbench_codec::{BLOCK_LEN, ChunkKind, CodecSpec, Decoders, ZlibReader};
use repackbench_reader::{BaseReader, Chunk, History, ReaderError, Repository};
use repackbench_records::WorkloadLabel;
use repackbench_writer::{PayloadEncoders, WriterError};

use super::{
    Counts, Observer, VariantPlace, Workload, WorkloadError,
    delta_bases::{BaseCollector, Collected, HeldBase, HeldContents, SAMPLED_CONTENT},
};

/// The approximate limit of payload bytes in memory, sampled evenly from the whole store.
const BUDGET: u64 = 256 << 20;

/// The codec that stock git writes, and hg by default.
pub(super) const PLAIN: &str = "zlib:6";

/// A payload.
#[derive(Debug)]
struct Payload {
    kind: ChunkKind,
    /// Whether it belongs to a loose object.
    is_loose: bool,
    len: usize,
    base: Option<HeldBase>,
}

/// Payloads in memory.
#[derive(Debug, Default)]
struct Sample {
    bytes: Vec<u8>,
    payloads: Vec<Payload>,
    /// The bases of deltas, if some variant uses them.
    contents: HeldContents,
    chunks_in_all: u64,
    bytes_in_all: u64,
}

impl Sample {
    /// Samples payloads of `source` evenly, at most about `budget` bytes. If `with_bases`, also takes the bases of
    /// deltas, at most `most_content` bytes.
    fn collect(source: &Repository, budget: u64, with_bases: bool, most_content: u64) -> Result<Self, ReaderError> {
        let mut sample = Sample::default();
        source.store().for_each_chunk(&mut |chunk| {
            sample.chunks_in_all += 1;
            sample.bytes_in_all = sample.bytes_in_all.saturating_add(chunk.payload_len);
            Ok(())
        })?;
        let share = Share { taken: budget, of: sample.bytes_in_all.max(budget).max(1) };
        // Nothing is timed here, so the fastest decoder reads zlib streams.
        let decoders = Decoders::from(ZlibReader::Libdeflate);
        let share = if with_bases { share.least(content_share(source, decoders, most_content)?) } else { share };
        let (mut number, mut bytes) = (0, 0u64);
        let mut wanted = |chunk: &Chunk<'_>| {
            number += 1;
            let is_wanted = share.takes(number)
                && chunk.payload_len <= BLOCK_LEN as u64
                && bytes.saturating_add(chunk.payload_len) <= budget;
            bytes += if is_wanted { chunk.payload_len } else { 0 };
            is_wanted
        };
        let is_git = matches!(source, Repository::Git(_));
        let reader = with_bases.then(|| BaseReader::new(source, decoders)).transpose()?;
        let mut bases = reader.map(|reader| BaseCollector::new(reader, most_content));
        source.for_each_payload_in_place::<ReaderError>(decoders, &mut wanted, &mut |chunk, place, payload| {
            let base = match &mut bases {
                Some(bases) if chunk.kind.is_delta => bases.add(chunk.file, place, payload)?,
                _ => Collected::Nothing,
            };
            let base = match base {
                Collected::Nothing => None,
                Collected::Held(base) => Some(base),
                Collected::TooMuch => return Ok(()),
            };
            sample.bytes.extend_from_slice(payload);
            let is_loose = is_git && chunk.header_len == 0;
            sample.payloads.push(Payload { kind: chunk.kind, is_loose, len: payload.len(), base });
            Ok(())
        })?;
        sample.contents = bases.map(BaseCollector::finish).unwrap_or_default();
        Ok(sample)
    }

    fn iter(&self) -> impl Iterator<Item = (&Payload, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.payloads.iter().map(move |payload| {
            let (bytes, after) = rest.split_at_checked(payload.len).unwrap_or_default();
            rest = after;
            (payload, bytes)
        })
    }
}

/// The share of the chunks of `source` whose bases and objects take at most about `most_content` bytes, if none is
/// shared.
fn content_share(source: &Repository, decoders: Decoders, most_content: u64) -> Result<Share, ReaderError> {
    let mut content = 0u64;
    let mut wanted = |chunk: &Chunk<'_>| chunk.kind.is_delta && chunk.payload_len <= BLOCK_LEN as u64;
    source.for_each_payload_in_place::<ReaderError>(decoders, &mut wanted, &mut |_, place, payload| {
        let (base, object) = place.content_lens(payload)?;
        content = content.saturating_add(base).saturating_add(object);
        Ok(())
    })?;
    Ok(Share { taken: most_content, of: content.max(most_content).max(1) })
}

/// An even sample: `taken` items of every `of`.
#[derive(Debug, Clone, Copy)]
struct Share {
    taken: u64,
    of: u64,
}

impl Share {
    /// The smaller of two samples.
    fn least(self, other: Share) -> Share {
        let cross = |one: Share, two: Share| u128::from(one.taken) * u128::from(two.of);
        if cross(other, self) < cross(self, other) { other } else { self }
    }

    /// Whether the item with this number, from 1, is in the sample.
    fn takes(self, number: u64) -> bool {
        let taken_up_to = |number: u64| u128::from(number) * u128::from(self.taken) / u128::from(self.of);
        taken_up_to(number) > taken_up_to(number.saturating_sub(1))
    }
}

/// Refuses a repository whose objects are numbered: its payloads are not those that git has, and compressing them is
/// not all that writing them takes.
pub(crate) fn refuse_numbers(repository: &Repository, workload: &str) -> Result<(), WorkloadError> {
    match repository {
        Repository::Git(git) if git.has_numbers() => {
            let why = format!("{}: {workload} does not measure repositories under ids=number", git.git_dir().display());
            Err(WorkloadError::Refused { why })
        }
        _ => Ok(()),
    }
}

/// The spec to compress payloads of `variant` with: its own if known, otherwise what stock git or hg would write.
pub(super) fn spec_of(variant: &VariantPlace, repository: &Repository) -> Result<CodecSpec, WorkloadError> {
    let default = match repository {
        Repository::Hg(hg) if hg.requirements().contains("revlog-compression-zstd") => "zstd:3",
        _ => PLAIN,
    };
    match &variant.spec {
        Some(spec) => Ok(spec.clone()),
        None => default.parse().map_err(|error| WorkloadError::Refused { why: format!("{default}: {error}") }),
    }
}

/// The encoders of all variants so far: contexts are made in the untimed pass and kept.
#[derive(Debug, Default)]
pub(super) struct EncodersByVariant {
    known: HashMap<PathBuf, PayloadEncoders>,
    current: PathBuf,
}

impl EncodersByVariant {
    /// Makes the encoders of `variant` the current ones, for `workload`. `open` is called if there are none yet.
    pub(super) fn select(
        &mut self,
        workload: &str,
        variant: &VariantPlace,
        open: impl Fn(&Repository, &CodecSpec) -> Result<PayloadEncoders, WriterError>,
    ) -> Result<(), WorkloadError> {
        if !self.known.contains_key(&variant.folder) {
            let repository = Repository::open(&variant.folder)?;
            refuse_numbers(&repository, workload)?;
            let spec = spec_of(variant, &repository)?;
            self.known.insert(variant.folder.clone(), open(&repository, &spec)?);
        }
        self.current.clone_from(&variant.folder);
        Ok(())
    }

    /// The current encoders.
    pub(super) fn get(&mut self) -> Result<&mut PayloadEncoders, WorkloadError> {
        self.known.get_mut(&self.current).ok_or_else(WorkloadError::not_prepared)
    }
}

#[derive(Debug, Default)]
pub(super) struct Encode {
    sample: Option<(PathBuf, Sample)>,
    /// Whether some variant compresses deltas with their bases. Then all variants encode the same payloads, of which
    /// there may be fewer.
    uses_bases: bool,
    encoders: EncodersByVariant,
    stored: Vec<u8>,
    stored_bytes: u64,
}

impl Workload for Encode {
    fn label(&self) -> WorkloadLabel {
        WorkloadLabel { name: "encode".into(), parameters: BTreeMap::new() }
    }

    fn announce(&mut self, variants: &[&VariantPlace]) {
        self.uses_bases = variants.iter().any(|variant| variant.uses_bases());
    }

    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        if variant.uses_bases() && !self.uses_bases {
            self.announce(&[variant]);
            self.sample = None;
        }
        if self.sample.as_ref().is_none_or(|(folder, _)| *folder != variant.payloads) {
            let source = Repository::open(&variant.payloads)?;
            refuse_numbers(&source, "encode")?;
            let sample = Sample::collect(&source, BUDGET, self.uses_bases, SAMPLED_CONTENT)?;
            self.sample = Some((variant.payloads.clone(), sample));
        }
        self.encoders.select("encode", variant, PayloadEncoders::of_variant)
    }

    fn run(&mut self, _history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let Some((_, sample)) = &self.sample else { return Err(WorkloadError::not_prepared()) };
        let encoders = self.encoders.get()?;
        let is_checked = observer.wants_written_files();
        let mut again = Vec::new();
        self.stored_bytes = 0;
        for (Payload { kind, is_loose, base, .. }, payload) in sample.iter() {
            self.stored.clear();
            let base = base.as_ref().and_then(|base| sample.contents.get(base));
            self.stored_bytes += encoders.encode(*kind, *is_loose, payload, base.as_ref(), &mut self.stored)? as u64;
            if is_checked && !encoders.is_faithful(&self.stored, payload, base.as_ref(), &mut again) {
                let why = format!("a {kind} of {} bytes decodes to other bytes after encoding", payload.len());
                return Err(WorkloadError::Refused { why });
            }
        }
        // All variants have the same chunks, except if hg recomputed deltas.
        observer.chunks(sample.chunks_in_all);
        Ok(())
    }

    fn extra(&self) -> Counts {
        let Some((_, sample)) = &self.sample else { return Counts::new() };
        let counts = [
            ("payloads encoded", sample.payloads.len() as u64),
            ("payload bytes encoded", sample.bytes.len() as u64),
            ("payload bytes in all", sample.bytes_in_all),
            ("stored bytes", self.stored_bytes),
            ("bytes of bases held", sample.contents.bytes()),
        ];
        counts.map(|(name, count)| (name.to_owned(), count)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_even() {
        let taken = |share: Share, of| (1..=of).filter(|number| share.takes(*number)).collect::<Vec<_>>();
        assert_eq!(taken(Share { taken: 7, of: 7 }, 5), [1, 2, 3, 4, 5]);
        assert_eq!(taken(Share { taken: 1, of: 3 }, 9), [3, 6, 9]);
        let many = taken(Share { taken: 256 << 20, of: 1 << 40 }, 40_960);
        assert_eq!(many.len(), 10, "{many:?}");
    }
}
