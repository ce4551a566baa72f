//! Trains dictionaries from the payloads of a repository.
//!
//! [`sample`] takes payloads of each class evenly from the whole store. [`training`] trains on three quarters of
//! them, and tests whether the dictionary pays: on the rest, or on all of a class that was sampled whole. Nothing
//! depends on time, chance or the number of threads: the same repository gives the same dictionaries.

mod assign;
pub mod sample;
pub mod training;

use std::{
    fs::Permissions,
    io::{ErrorKind, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use repackbench_reader::{ChunkKind, Repository, threads};

pub use self::assign::{approximate_encoding_for, approximate_encoding_from, encoding_for, encoding_for_whole};
use self::{
    sample::{Sample, SampledForm},
    training::{DictionaryPurpose, Effort, NotTrained, TrainedDictionary},
};
use crate::{JobControl, ProgressUnit, Result, WriterError};

/// A dictionary to train.
#[derive(Debug, Clone)]
pub struct WantedDictionary {
    /// The chunks that it is for, such as whole commits and deltas of commits.
    pub kinds: Vec<ChunkKind>,
    /// Its greatest length in bytes, at least [`MIN_DICTIONARY_LEN`](repackbench_codec::MIN_DICTIONARY_LEN).
    pub capacity: usize,
    /// How it will be used.
    pub purpose: DictionaryPurpose,
    /// Whether to prefer a shorter dictionary, or none, if that saves more bytes in total. Otherwise it gets the full
    /// length if there are enough samples.
    pub must_pay: bool,
}

/// The result of training a dictionary.
#[derive(Debug)]
pub struct TrainingOutcome {
    /// The number of payloads that it is for.
    pub payloads: u64,
    /// Their length in bytes.
    pub payload_bytes: u64,
    /// The number of payloads that it was trained and tested on.
    pub samples: usize,
    /// Their length in bytes, after long ones were cut.
    pub sample_bytes: usize,
    /// The time that training took.
    pub elapsed: Duration,
    /// Whether it took less effort than a conversion's, which may have another result.
    pub is_approximate: bool,
    /// The dictionary, or the reason why there is none.
    pub result: std::result::Result<TrainedDictionary, NotTrained>,
}

/// Trains a dictionary for each of `wanted` from the payloads of `repositories`. Returns the outcomes in the order of
/// `wanted`. A payload counts for the first of `wanted` that includes its kind.
///
/// For each dictionary, at most 16 MiB of payload are held in memory.
///
/// # Errors
/// A repository is damaged, a codec fails, or the user stops the work.
pub fn train_for(
    repositories: &[&Repository],
    wanted: &[WantedDictionary],
    control: JobControl<'_>,
) -> Result<Vec<TrainingOutcome>> {
    train_with(Effort::Full, repositories, wanted, (100, SampledForm::AsFound), control)
}

/// As [`train_for`] with this effort, on about `percent` % of the payloads that it samples, in `form`.
fn train_with(
    effort: Effort,
    repositories: &[&Repository],
    wanted: &[WantedDictionary],
    (percent, form): (u64, SampledForm),
    control: JobControl<'_>,
) -> Result<Vec<TrainingOutcome>> {
    let JobControl { threads, progress } = control;
    let samples = sample::collect(repositories, wanted, percent, form, progress)?;
    progress.start("training dictionaries", wanted.len() as u64, ProgressUnit::Items);
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Result<TrainingOutcome>>>> = Mutex::new(wanted.iter().map(|_| None).collect());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((wanted, sample)) = wanted.get(at).zip(samples.get(at)) else { return };
            let outcome =
                if progress.is_cancelled() { Err(WriterError::Interrupted) } else { train(wanted, sample, effort) };
            if let Some(slot) = outcomes.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                *slot = Some(outcome);
            }
            progress.advance(1);
        }
    };
    threads::share(threads.min(wanted.len()), work);
    progress.finish();
    outcomes.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// Trains the dictionary `wanted` from `payloads`, which need not be those of a repository. They are all payloads that
/// it is for, in the order of the store.
///
/// # Errors
/// A codec fails.
pub fn train_on<'a>(
    payloads: impl Iterator<Item = &'a [u8]> + Clone,
    wanted: &WantedDictionary,
) -> Result<TrainingOutcome> {
    train(wanted, &Sample::of(payloads, wanted.capacity), Effort::Full)
}

fn train(wanted: &WantedDictionary, sample: &Sample, effort: Effort) -> Result<TrainingOutcome> {
    let start = Instant::now();
    let effort = effort.on(&sample.samples, wanted.capacity);
    let result = training::train(sample, wanted, effort)?;
    Ok(TrainingOutcome {
        payloads: sample.payloads,
        payload_bytes: sample.payload_bytes,
        samples: sample.samples.len(),
        sample_bytes: sample.samples.total_len(),
        elapsed: start.elapsed(),
        is_approximate: effort == Effort::Approximate,
        result,
    })
}

/// Checks, before the work, that a dictionary may be written to `path`.
///
/// # Errors
/// `path` exists and `force` is off.
pub fn check_output(path: &Path, force: bool) -> Result<()> {
    if force || path.symlink_metadata().is_err() { Ok(()) } else { Err(taken(path)) }
}

fn taken(path: &Path) -> WriterError {
    WriterError::Output { path: path.to_owned(), why: "already exists".to_owned(), force_helps: true }
}

/// Writes a dictionary to the file `path`: first beside it, then under its name.
///
/// # Errors
/// `path` exists and `force` is off, or the file cannot be written.
pub fn write_dictionary(path: &Path, dictionary: &[u8], force: bool) -> Result<()> {
    check_output(path, force)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".repackbench-")
        // The umask applies to this, as for any new file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    let mut file = file.map_err(|e| WriterError::io("create a file in", folder, e.kind().into()))?;
    file.write_all(dictionary)
        .and_then(|()| file.as_file().sync_all())
        .map_err(|e| WriterError::io("write", path, e))?;
    let named = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match named {
        Ok(_) => Ok(()),
        Err(failure) if failure.error.kind() == ErrorKind::AlreadyExists => Err(taken(path)),
        Err(failure) => Err(WriterError::io("write", path, failure.error)),
    }
}
