//! Dictionaries trained from a repository's own payloads.
//!
//! [`sample`] takes payloads of each class evenly over the whole store, [`training`] trains on three quarters of them and asks the rest
//! whether that pays. Nothing depends on time, chance or the number of threads: the same repository gives the same
//! dictionaries.

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

pub use self::assign::{encoding_for, encoding_for_whole};
use self::{
    sample::Sample,
    training::{NotTrained, Purpose, Trained},
};
use crate::{JobControl, ProgressUnit, Result, WriterError};

/// A dictionary that is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The chunks that it is for, such as whole commits and deltas of commits.
    pub kinds: Vec<ChunkKind>,
    /// Its length in bytes at most, and no less than [`MIN_DICTIONARY_LEN`](repackbench_codec::MIN_DICTIONARY_LEN).
    pub capacity: usize,
    /// What it is to be used with.
    pub purpose: Purpose,
    /// Whether a shorter one, or none, is better where that saves more bytes in all. Otherwise it is as long as asked for, if
    /// there is enough to train on.
    pub must_pay: bool,
}

/// What came of a wanted dictionary.
#[derive(Debug)]
pub struct Outcome {
    /// How many payloads there are for it.
    pub payloads: u64,
    /// Their length in bytes.
    pub payload_bytes: u64,
    /// How many of them it was trained and tried on.
    pub samples: usize,
    /// Their length in bytes, after long ones were cut.
    pub sample_bytes: usize,
    /// How long training took.
    pub elapsed: Duration,
    /// The dictionary, or why there is none.
    pub result: std::result::Result<Trained, NotTrained>,
}

/// Trains a dictionary for each of `wanted` from the payloads of `repositories`, and returns what came of
/// each, in the order of `wanted`. A payload counts for the first that names its kind.
///
/// At most 16 MiB of payload are held for each.
///
/// # Errors
/// A repository is damaged, a codec fails, or the user stopped it.
pub fn train_for(repositories: &[&Repository], wanted: &[Wanted], control: JobControl<'_>) -> Result<Vec<Outcome>> {
    let JobControl { threads, progress } = control;
    let samples = sample::collect(repositories, wanted, progress)?;
    progress.start("training dictionaries", wanted.len() as u64, ProgressUnit::Items);
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<Vec<Option<Result<Outcome>>>> = Mutex::new(wanted.iter().map(|_| None).collect());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((wanted, sample)) = wanted.get(at).zip(samples.get(at)) else { return };
            let outcome = if progress.is_cancelled() { Err(WriterError::Interrupted) } else { train(wanted, sample) };
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

fn train(wanted: &Wanted, sample: &Sample) -> Result<Outcome> {
    let start = Instant::now();
    let result = training::train(sample, wanted)?;
    Ok(Outcome {
        payloads: sample.payloads,
        payload_bytes: sample.payload_bytes,
        samples: sample.samples.len(),
        sample_bytes: sample.samples.total_len(),
        elapsed: start.elapsed(),
        result,
    })
}

/// Checks, before the work, that a dictionary may be written to `path`.
///
/// # Errors
/// There is something of that name and `force` is off.
pub fn check_output(path: &Path, force: bool) -> Result<()> {
    if force || path.symlink_metadata().is_err() { Ok(()) } else { Err(taken(path)) }
}

fn taken(path: &Path) -> WriterError {
    WriterError::Output { path: path.to_owned(), why: "exists already".to_owned(), force_helps: true }
}

/// Writes a dictionary to the file `path`, beside it first and under its name when it is whole.
///
/// # Errors
/// There is something of that name and `force` is off, or the file cannot be written.
pub fn write_dictionary(path: &Path, dictionary: &[u8], force: bool) -> Result<()> {
    check_output(path, force)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".repackbench-")
        // What the user's mask leaves of this, as for any new file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    let mut file = file.map_err(|e| WriterError::io("make a file in", folder, e.kind().into()))?;
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
