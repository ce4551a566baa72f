//! The steps that conversions of both version-control systems have in common.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use repackbench_reader::{ReaderError, Snapshot};
use serde::{Deserialize, Serialize};

use crate::{ConvertJob, OutputPath, Result, WriterError};

/// What a conversion did.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// The time that reading, encoding, verifying and writing took.
    pub elapsed: Duration,
    /// The time that the final sync to disk took.
    pub sync: Duration,
    /// What was left out or is worth knowing, one sentence each.
    pub notes: Vec<String>,
    /// The search for deltas, if there was one.
    pub search: Option<SearchCost>,
}

/// The cost of a search for all deltas anew, by the user's own git or hg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchCost {
    /// Its elapsed time.
    pub wall: Duration,
    /// The most memory that it held, in bytes; `None` if that was not measured.
    pub peak_resident_bytes: Option<u64>,
}

/// Lets `build` fill a folder, syncs it, and renames it to the target of `job`. `sources` are folders that must not be
/// written to.
pub(crate) fn build_beside(
    job: &ConvertJob<'_>,
    sources: &[PathBuf],
    build: impl FnOnce(&Path) -> Result<Conversion>,
) -> Result<(Conversion, PathBuf)> {
    let output = OutputPath::create(job.target, job.force, sources)?;
    let mut conversion = build(output.building())?;
    let start = Instant::now();
    output.sync()?;
    conversion.sync = start.elapsed();
    let path = output.publish()?;
    Ok((conversion, path))
}

/// Does `work`, which returns notes, on a source that must not change meanwhile.
pub(crate) fn watched(
    snapshot: impl FnOnce() -> repackbench_reader::Result<Snapshot>,
    work: impl FnOnce() -> Result<Vec<String>>,
) -> Result<Conversion> {
    let start = Instant::now();
    let notes = unchanged(snapshot, work)?;
    Ok(Conversion { elapsed: start.elapsed(), notes, ..Conversion::default() })
}

/// Does `work` on a source that must not change meanwhile.
pub(crate) fn unchanged<T>(
    snapshot: impl FnOnce() -> repackbench_reader::Result<Snapshot>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let snapshot = snapshot()?;
    let result = work();
    // If the source was written to meanwhile, that explains whatever else went wrong, such as a missing file.
    match snapshot.check() {
        Err(written_to @ (ReaderError::Changed { .. } | ReaderError::Locked { .. })) => Err(written_to.into()),
        checked => {
            let done = result?;
            checked?;
            Ok(done)
        }
    }
}

/// Does `work` with a temporary folder in `out`, and removes that folder.
///
/// The folder is in `out` to be on the same file system, and to be removed with `out` if the process is killed.
pub(crate) fn in_scratch_folder<T>(out: &Path, work: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let scratch = tempfile::Builder::new()
        .prefix("recomputed-")
        .tempdir_in(out)
        .map_err(|e| WriterError::io("create a folder in", out, e.kind().into()))?;
    let done = work(scratch.path())?;
    let path = scratch.path().to_owned();
    scratch.close().map_err(|e| WriterError::io("remove", path, e))?;
    Ok(done)
}

/// Fails with the first difference that `compare` reports between `what` in the repository `source` and its copy.
pub(crate) fn check_identical(
    source: &Path,
    what: &str,
    compare: impl FnOnce(&mut dyn FnMut(&dyn Display)) -> repackbench_reader::Result<()>,
) -> Result<()> {
    let mut first = None;
    compare(&mut |difference| {
        first.get_or_insert_with(|| difference.to_string());
    })?;
    match first {
        None => Ok(()),
        Some(detail) => Err(WriterError::Unfaithful { path: source.to_owned(), what: what.to_owned(), detail }),
    }
}
