//! Makes the dictionaries of a spec for one repository.

use std::collections::BTreeMap;

use repackbench_codec::{Algorithm, AssignedDictionaries, ChunkKind, Dictionaries, Dictionary, DictionarySource};
use repackbench_codec::{CodecChoice, CodecSpec, dictionary_content};
use repackbench_reader::{ReaderError, Repository};

use super::{
    TrainingOutcome, WantedDictionary,
    sample::SampledForm,
    train_with,
    training::{DictionaryPurpose, Effort, end_of},
};
use crate::{Encoding, JobControl, Result, TrainingKind, cache::MakingClock};

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

/// The encoding of chunks of `kinds` under `spec` with the ends of the dictionaries of `trained`, without training:
/// their most useful part is there. `None` unless `spec` takes any content as a dictionary, `trained` has zstd's, and
/// may have as long ones for every kind.
pub fn approximate_encoding_from(
    trained: &Encoding,
    kinds: impl IntoIterator<Item = ChunkKind>,
    spec: &CodecSpec,
) -> Option<Encoding> {
    if !spec.uses_dictionaries() || spec.uses_numbers() != trained.spec().uses_numbers() {
        return None;
    }
    let (mut dictionaries, mut by_kind) = (Vec::new(), BTreeMap::new());
    for kind in kinds {
        let wanted_for = |spec: &CodecSpec| wanted(kind, spec.choice(kind));
        let Some(WantedDictionary { capacity, purpose: DictionaryPurpose::RawContent(_), .. }) = wanted_for(spec)
        else {
            if spec.choice(kind).dictionary().is_some() {
                return None;
            }
            continue;
        };
        match wanted_for(trained.spec()) {
            Some(WantedDictionary { capacity: longest, purpose: DictionaryPurpose::Zstd(_), .. })
                if longest >= capacity => {}
            _ => return None,
        }
        // A dictionary that does not pay there hardly does here.
        let Some(dictionary) = trained.dictionary_of(kind) else { continue };
        let number = u8::try_from(dictionaries.len()).ok()?;
        dictionaries.push(Dictionary::new(end_of(dictionary_content(dictionary.bytes()), capacity).to_vec()));
        by_kind.insert(kind, number);
    }
    let assigned = AssignedDictionaries { dictionaries: Dictionaries::new(dictionaries), by_kind };
    Some(Encoding::new(spec, assigned).trained_in(trained.training_cpu()).made_by(TrainingKind::Cut))
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
    let training = if is_approximate { TrainingKind::LessEffort } else { TrainingKind::Full };
    Ok((Encoding::new(spec, assigned).trained_in(training_cpu).made_by(training), notes))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(typed: &str) -> CodecSpec {
        typed.parse().unwrap()
    }

    fn kind(name: &str) -> ChunkKind {
        ChunkKind::from_name(name).unwrap()
    }

    #[test]
    fn content_is_cut_from_dictionaries_of_zstd() {
        let [blob, commit, tree] = ["blob", "commit", "tree-delta"].map(kind);
        let long: Vec<u8> = (0..100_000_u32).map(|position| (position / 1_000) as u8).collect();
        let dictionaries = Dictionaries::new([long.clone(), vec![9; 2_000]].map(Dictionary::new));
        let by_kind = BTreeMap::from([(blob, 0), (commit, 1)]);
        let trained = Encoding::new(&spec("zstd:9,dict=112k"), AssignedDictionaries { dictionaries, by_kind });
        let cut = |typed: &str| approximate_encoding_from(&trained, [blob, commit, tree], &spec(typed));

        let made = cut("lz4hc:12,dict=64k").unwrap();
        assert_eq!((made.training(), made.dictionaries().len()), (TrainingKind::Cut, 2));
        let bytes = |of| made.dictionary_of(of).map(Dictionary::bytes);
        assert!(bytes(blob) == Some(&long[long.len() - (64 << 10)..]));
        assert_eq!(bytes(commit), Some(&[9; 2_000][..]));
        assert_eq!(bytes(tree), None, "none pays there");

        for other in ["lz4hc:12", "zstd:3", "zstd:9,dict=64k", "lz4hc:12,dict=64k,ids=number"] {
            assert!(cut(other).is_none(), "{other}");
        }
        for trained in ["zstd:9", "zstd:9,dict=32k", "lz4hc:9,dict=64k"].map(|typed| Encoding::plain(&spec(typed))) {
            assert!(approximate_encoding_from(&trained, [blob], &spec("lz4hc:12,dict=64k")).is_none(), "{trained:?}");
        }
    }
}
