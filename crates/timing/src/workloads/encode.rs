//! `encode`: compress every payload of the variant again, from memory, under the variant's own spec. What a repack pays for the
//! codec.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
};

use repackbench_codec::{BLOCK_LEN, ChunkKind, CodecSpec, Decoders, ZlibReader};
use repackbench_reader::{Chunk, History, ReaderError, Repository};
use repackbench_records::WorkloadLabel;
use repackbench_writer::{PayloadEncoders, WriterError};

use super::{Counts, Observer, VariantPlace, Workload, WorkloadError};

/// At most about so many payload bytes are held, evenly taken from the whole store.
const BUDGET: u64 = 256 << 20;

/// What stock git writes, and hg where nothing says otherwise.
pub(super) const PLAIN: &str = "zlib:6";

/// Payloads in memory.
#[derive(Debug, Default)]
struct Sample {
    bytes: Vec<u8>,
    /// What each is, whether it is a loose object's, and its length.
    payloads: Vec<(ChunkKind, bool, usize)>,
    chunks_in_all: u64,
    bytes_in_all: u64,
}

impl Sample {
    /// Takes payloads of `source` evenly, at most about `budget` bytes.
    fn collect(source: &Repository, budget: u64) -> Result<Self, ReaderError> {
        let mut sample = Sample::default();
        source.store().for_each_chunk(&mut |chunk| {
            sample.chunks_in_all += 1;
            sample.bytes_in_all = sample.bytes_in_all.saturating_add(chunk.payload_len);
            Ok(())
        })?;
        let share = Share { taken: budget, of: sample.bytes_in_all.max(budget).max(1) };
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
        // Nothing is being timed here, so zlib streams are read by the fastest reader.
        let decoders = Decoders::from(ZlibReader::Libdeflate);
        source.for_each_payload::<ReaderError>(decoders, &mut wanted, &mut |chunk, payload| {
            sample.bytes.extend_from_slice(payload);
            sample.payloads.push((chunk.kind, is_git && chunk.header_len == 0, payload.len()));
            Ok(())
        })?;
        Ok(sample)
    }

    fn iter(&self) -> impl Iterator<Item = (ChunkKind, bool, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.payloads.iter().map(move |(kind, is_loose, len)| {
            let (payload, after) = rest.split_at_checked(*len).unwrap_or_default();
            rest = after;
            (*kind, *is_loose, payload)
        })
    }
}

/// An even choice: `taken` of every `of`.
#[derive(Debug, Clone, Copy)]
struct Share {
    taken: u64,
    of: u64,
}

impl Share {
    /// Whether the item with this number, from 1 upwards, is one of those taken.
    fn takes(self, number: u64) -> bool {
        let taken_up_to = |number: u64| u128::from(number) * u128::from(self.taken) / u128::from(self.of);
        taken_up_to(number) > taken_up_to(number.saturating_sub(1))
    }
}

/// The spec that payloads of `variant` are compressed under: its own where it is known, else what stock git or hg would write
/// into it.
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

/// The encoders of every variant so far: contexts are made in the pass that is not timed, and stay.
#[derive(Debug, Default)]
pub(super) struct EncodersByVariant {
    known: HashMap<PathBuf, PayloadEncoders>,
    current: PathBuf,
}

impl EncodersByVariant {
    /// Makes the encoders of `variant` the current ones. `open` is called if there are none yet.
    pub(super) fn select(
        &mut self,
        variant: &VariantPlace,
        open: impl Fn(&Repository, &CodecSpec) -> Result<PayloadEncoders, WriterError>,
    ) -> Result<(), WorkloadError> {
        if !self.known.contains_key(&variant.folder) {
            let repository = Repository::open(&variant.folder)?;
            let spec = spec_of(variant, &repository)?;
            self.known.insert(variant.folder.clone(), open(&repository, &spec)?);
        }
        self.current.clone_from(&variant.folder);
        Ok(())
    }

    /// The current ones.
    pub(super) fn get(&mut self) -> Result<&mut PayloadEncoders, WorkloadError> {
        self.known.get_mut(&self.current).ok_or_else(WorkloadError::not_prepared)
    }
}

#[derive(Debug, Default)]
pub(super) struct Encode {
    sample: Option<(PathBuf, Sample)>,
    encoders: EncodersByVariant,
    stored: Vec<u8>,
    stored_bytes: u64,
}

impl Workload for Encode {
    fn label(&self) -> WorkloadLabel {
        WorkloadLabel { name: "encode".into(), parameters: BTreeMap::new() }
    }

    fn prepare(&mut self, variant: &VariantPlace) -> Result<(), WorkloadError> {
        if self.sample.as_ref().is_none_or(|(folder, _)| *folder != variant.payloads) {
            let sample = Sample::collect(&Repository::open(&variant.payloads)?, BUDGET)?;
            self.sample = Some((variant.payloads.clone(), sample));
        }
        self.encoders.select(variant, PayloadEncoders::for_deltas)
    }

    fn run(&mut self, _history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let Some((_, sample)) = &self.sample else { return Err(WorkloadError::not_prepared()) };
        let encoders = self.encoders.get()?;
        let is_checked = observer.wants_written_files();
        let mut again = Vec::new();
        self.stored_bytes = 0;
        for (kind, is_loose, payload) in sample.iter() {
            self.stored.clear();
            self.stored_bytes += encoders.encode(kind, is_loose, payload, &mut self.stored)? as u64;
            if is_checked && !encoders.is_faithful(&self.stored, payload, &mut again) {
                let why = format!("a {kind} of {} bytes was encoded into what decodes to other bytes", payload.len());
                return Err(WorkloadError::Refused { why });
            }
        }
        // How the store is cut into chunks holds for every variant; their payloads do not where hg chose deltas again.
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
        ];
        counts.map(|(name, count)| (name.to_owned(), count)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_evenly_and_all_is_all() {
        let taken = |share: Share, of| (1..=of).filter(|number| share.takes(*number)).collect::<Vec<_>>();
        assert_eq!(taken(Share { taken: 7, of: 7 }, 5), [1, 2, 3, 4, 5]);
        assert_eq!(taken(Share { taken: 1, of: 3 }, 9), [3, 6, 9]);
        let many = taken(Share { taken: 256 << 20, of: 1 << 40 }, 40_960);
        assert_eq!(many.len(), 10, "{many:?}");
    }
}
