//! Makes the dictionaries of a spec for one repository.

use std::collections::BTreeMap;

use repackbench_codec::{Algorithm, AssignedDictionaries, ChunkKind, Dictionaries, Dictionary, DictionarySource};
use repackbench_codec::{CodecChoice, CodecSpec};
use repackbench_reader::{ReaderError, Repository};

use super::{
    TrainingOutcome, WantedDictionary,
    sample::SampledForm,
    train_with,
    training::{DictionaryPurpose, Effort},
};
use crate::{Encoding, JobControl, Result, cache::MakingClock};

/// The encoding of `source` under `spec`. Trains the dictionaries that the spec asks for. Also returns notes about
/// them, one sentence each.
///
/// # Errors
/// The source is damaged, a codec fails, the user stops the work, or the file of a dictionary was not given.
pub fn encoding_for(source: &Repository, spec: &CodecSpec, control: JobControl<'_>) -> Result<(Encoding, Vec<String>)> {
    encoding_for_kinds(source, spec, source.chunk_kinds().collect(), (Effort::Full, 100), control)
}

/// As [`encoding_for`], in less time: with dictionaries that are trained with less effort, on `percent` % of the
/// payloads that it samples.
///
/// # Errors
/// As [`encoding_for`].
pub fn approximate_encoding_for(
    source: &Repository,
    spec: &CodecSpec,
    percent: u64,
    control: JobControl<'_>,
) -> Result<Encoding> {
    Ok(encoding_for_kinds(source, spec, source.chunk_kinds().collect(), (Effort::Approximate, percent), control)?.0)
}

/// As [`encoding_for`], for a store that has no deltas.
///
/// # Errors
/// As [`encoding_for`].
pub fn encoding_for_whole(
    source: &Repository,
    spec: &CodecSpec,
    control: JobControl<'_>,
) -> Result<(Encoding, Vec<String>)> {
    let kinds = source.chunk_kinds().filter(|kind| !kind.is_delta).collect();
    encoding_for_kinds(source, spec, kinds, (Effort::Full, 100), control)
}

fn encoding_for_kinds(
    source: &Repository,
    spec: &CodecSpec,
    kinds: Vec<ChunkKind>,
    (effort, percent): (Effort, u64),
    control: JobControl<'_>,
) -> Result<(Encoding, Vec<String>)> {
    if !spec.uses_dictionaries() {
        return Ok((Encoding::plain(spec), Vec::new()));
    }
    let mut dictionaries: Vec<Dictionary> = Vec::new();
    let mut by_kind = BTreeMap::new();
    let from_file = |kind: &ChunkKind| matches!(spec.choice(*kind).dictionary(), Some(DictionarySource::File { .. }));
    if kinds.iter().any(from_file) {
        let missing = || ReaderError::unsupported(source.folder(), format!("{spec} without the dictionary's file"));
        dictionaries.push(spec.own_dictionary().ok_or_else(missing)?.clone());
        by_kind.extend(kinds.iter().copied().filter(from_file).map(|kind| (kind, 0)));
    }
    let wanted: Vec<WantedDictionary> = kinds.iter().filter_map(|kind| wanted(*kind, spec.choice(*kind))).collect();
    let form = SampledForm::Translated { becomes_numbered: spec.uses_numbers() };
    let clock = MakingClock::start();
    let outcomes = train_with(effort, &[source], &wanted, (percent, form), control)?;
    let training_cpu = clock.read(None).map(|cost| cost.cpu).unwrap_or_default();
    let (mut notes, mut is_approximate) = (Vec::new(), false);
    for (WantedDictionary { kinds, .. }, outcome) in wanted.iter().zip(outcomes) {
        notes.extend(kinds.iter().filter_map(|kind| sentence(*kind, &outcome)));
        is_approximate |= outcome.is_approximate || percent < 100;
        let Ok(trained) = outcome.result else { continue };
        // There are fewer kinds than numbers.
        let Ok(number) = u8::try_from(dictionaries.len()) else { continue };
        by_kind.extend(kinds.iter().map(|kind| (*kind, number)));
        dictionaries.push(trained.dictionary);
    }
    let assigned = AssignedDictionaries { dictionaries: Dictionaries::new(dictionaries), by_kind };
    Ok((Encoding::new(spec, assigned).trained_in(training_cpu).approximate(is_approximate), notes))
}

/// The dictionary for payloads of `kind`, if the spec wants one to be trained.
fn wanted(kind: ChunkKind, choice: &CodecChoice) -> Option<WantedDictionary> {
    let Some(DictionarySource::Trained { max_len }) = choice.dictionary() else { return None };
    let spec = choice.without_options();
    let purpose = match choice.algorithm() {
        Algorithm::Zstd => DictionaryPurpose::Zstd(spec),
        _ => DictionaryPurpose::RawContent(spec),
    };
    Some(WantedDictionary { kinds: vec![kind], capacity: *max_len, purpose, must_pay: true })
}

/// The note about a dictionary; `None` if there are no payloads for it.
fn sentence(kind: ChunkKind, outcome: &TrainingOutcome) -> Option<String> {
    if outcome.payloads == 0 {
        return None;
    }
    Some(match &outcome.result {
        Ok(trained) => format!(
            "dictionary for {kind}: {} bytes, stored in {}, trained on {} of {} payloads in {:.1} s",
            trained.dictionary.bytes().len(),
            trained.cost,
            outcome.samples,
            outcome.payloads,
            outcome.elapsed.as_secs_f64()
        ),
        Err(why) => format!("no dictionary for {kind}: {why}"),
    })
}
