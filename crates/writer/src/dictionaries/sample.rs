//! Samples the payloads of a repository: every n-th of each class, in store order.

use repackbench_codec::{MAX_SAMPLE_LEN, TrainingSamples, ZlibReader};
use repackbench_reader::{Chunk, ChunkPlace, Repository, memory::TurnTaker};

use super::WantedDictionary;
use crate::{Progress, ProgressUnit, Result, WriterError, git::numbers::PayloadTranslator};

/// The greatest size of a sample, as a multiple of the size of the dictionary. A larger sample hardly improves it.
const BYTES_PER_DICTIONARY_BYTE: u64 = 100;

/// The greatest size of a sample in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Some payloads of one class, and the size of the class.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// The number of payloads of the class.
    pub payloads: u64,
    /// Their length in bytes.
    pub payload_bytes: u64,
    /// The sample, each payload cut to [`MAX_SAMPLE_LEN`].
    pub samples: TrainingSamples,
    /// The bytes of the class, where each payload counts for as much as a sample may hold of it.
    countable_bytes: u64,
}

/// The number of bytes of a payload that a sample holds.
fn countable(chunk: &Chunk<'_>) -> u64 {
    chunk.payload_len.min(MAX_SAMPLE_LEN as u64)
}

impl Sample {
    /// The sample of `payloads`, which are all of the class, for a dictionary of `capacity` bytes.
    pub(super) fn of<'a>(payloads: impl Iterator<Item = &'a [u8]> + Clone, capacity: usize) -> Self {
        let mut sample = Sample::default();
        for payload in payloads.clone() {
            sample.payloads += 1;
            sample.payload_bytes += payload.len() as u64;
            sample.countable_bytes += payload.len().min(MAX_SAMPLE_LEN) as u64;
        }
        let stride = sample.stride(capacity, 100);
        let sampled = (1..).zip(payloads).filter(|(nth, _)| is_sampled(*nth, stride));
        sampled.for_each(|(_, payload)| sample.samples.push(payload));
        sample
    }

    /// Whether all payloads of the class are in the sample.
    pub(super) fn is_whole(&self) -> bool {
        self.samples.len() as u64 == self.payloads
    }

    /// Every `stride`-th payload is taken for a dictionary of `capacity` bytes, if `percent` % of the largest sample
    /// are wanted.
    fn stride(&self, capacity: usize, percent: u64) -> u64 {
        let most = (capacity as u64).saturating_mul(BYTES_PER_DICTIONARY_BYTE).min(MAX_BYTES);
        self.countable_bytes.div_ceil((most.saturating_mul(percent) / 100).max(1)).max(1)
    }
}

/// Whether the `nth` payload of a class, counted from 1, is one of every `stride` that are taken: the one in the
/// middle, so that a class with one payload less than a stride is sampled too.
fn is_sampled(nth: u64, stride: u64) -> bool {
    nth % stride == stride.div_ceil(2) % stride
}

/// The position in `wanted` of the dictionary that a chunk counts for.
fn class_of(wanted: &[WantedDictionary], chunk: &Chunk<'_>) -> Option<usize> {
    wanted.iter().position(|wanted| wanted.kinds.contains(&chunk.kind))
}

/// How the sampled objects name others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampledForm {
    /// As they are stored.
    AsFound,
    /// As a spec says, with numbers or without.
    Translated { becomes_numbered: bool },
}

/// Samples `repositories` for each of `wanted`, with `percent` % of the largest samples: one pass counts, a second one
/// decodes the sampled payloads, and translates them to `form`. Lengths are counted as they are stored.
///
/// # Errors
/// A repository is damaged, or the user stops the work.
pub(super) fn collect(
    repositories: &[&Repository],
    wanted: &[WantedDictionary],
    percent: u64,
    form: SampledForm,
    progress: &dyn Progress,
) -> Result<Vec<Sample>> {
    let mut classes = vec![Sample::default(); wanted.len()];
    let mut chunks = 0;
    for repository in repositories {
        repository.store().for_each_chunk(&mut |chunk| {
            chunks += 1;
            if let Some(class) = class_of(wanted, chunk).and_then(|class| classes.get_mut(class)) {
                class.payloads += 1;
                class.payload_bytes = class.payload_bytes.saturating_add(chunk.payload_len);
                class.countable_bytes = class.countable_bytes.saturating_add(countable(chunk));
            }
            Ok(())
        })?;
        if progress.is_cancelled() {
            return Err(WriterError::Interrupted);
        }
    }
    progress.start("sampling payloads", chunks, ProgressUnit::Items);
    let strides: Vec<u64> =
        classes.iter().zip(wanted).map(|(class, wanted)| class.stride(wanted.capacity, percent)).collect();
    let mut met = vec![0u64; classes.len()];
    for repository in repositories {
        let mut is_taken = |chunk: &Chunk<'_>| {
            progress.advance(1);
            let Some(class) = class_of(wanted, chunk) else { return false };
            let (Some(met), Some(stride)) = (met.get_mut(class), strides.get(class)) else { return false };
            *met += 1;
            is_sampled(*met, *stride)
        };
        let mut translator = match form {
            SampledForm::AsFound => None,
            SampledForm::Translated { becomes_numbered } => {
                PayloadTranslator::for_repository(repository, becomes_numbered)?
            }
        };
        let mut turn = TurnTaker::default();
        let mut take = |chunk: &Chunk<'_>, place: ChunkPlace<'_>, payload: &[u8]| {
            if let Some(class) = class_of(wanted, chunk).and_then(|class| classes.get_mut(class)) {
                let translated = match translator.as_mut().zip(place.in_pack()) {
                    Some((translator, entry)) => translator.translate(entry, payload, &mut turn)?,
                    None => None,
                };
                class.samples.push(translated.unwrap_or(payload));
            }
            translator.iter_mut().for_each(|translator| translator.finish(&mut turn));
            if progress.is_cancelled() { Err(WriterError::Interrupted) } else { Ok(()) }
        };
        repository.for_each_payload_in_place(ZlibReader::Libdeflate, &mut is_taken, &mut take)?;
    }
    progress.finish();
    Ok(classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_sample_has_a_longer_stride() {
        let of = |countable_bytes| Sample { countable_bytes, ..Sample::default() };
        // 16 KiB of dictionary want 1600 KiB of samples.
        assert_eq!(of(16 << 20).stride(16 << 10, 100), 11);
        assert_eq!(of(16 << 20).stride(16 << 10, 50), 21);
        assert_eq!(of(1 << 20).stride(16 << 10, 100), 1);
        assert_eq!(of(1 << 20).stride(16 << 10, 50), 2);
        assert_eq!(of(0).stride(16 << 10, 0), 1);
    }
}
