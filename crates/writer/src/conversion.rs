//! What conversions of every version-control system have in common.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use repackbench_codec::{CodecSpec, ObjectKind};
use repackbench_reader::{ReaderError, Repository, Snapshot};

use crate::{
    Layout, OutputPath, Progress, Result, StoreKind, WriterError,
    dictionaries::{encoding_for, encoding_for_whole},
    git, hg,
};

/// What a conversion did.
#[derive(Debug, Clone, Default)]
pub struct Conversion {
    /// How long reading, encoding, verifying and writing took.
    pub elapsed: Duration,
    /// How long the final sync to disk took.
    pub sync: Duration,
    /// What was left aside or is worth knowing, one sentence each.
    pub notes: Vec<String>,
}

/// Converts `source` into a new repository without a checkout at `target`, which lies on disk as `layout` says.
///
/// # Errors
/// See [`WriterError`](crate::WriterError); [`ReaderError::Changed`] when the source changed meanwhile. Nothing is left
/// under `target` then.
pub fn convert(
    source: &Repository,
    spec: &CodecSpec,
    layout: Layout,
    target: &Path,
    force: bool,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(Conversion, PathBuf)> {
    check_kinds(source, spec)?;
    layout.check(source, spec)?;
    match source {
        Repository::Git(source) => git::refuse_bases(source)?,
        Repository::Hg(source) => hg::refuse_bases(source)?,
    }
    let (encoding, notes) = match layout.store {
        StoreKind::AsFound => encoding_for(source, spec, threads, progress)?,
        StoreKind::Loose | StoreKind::Btree => encoding_for_whole(source, spec, threads, progress)?,
    };
    let (mut conversion, path) = match source {
        Repository::Git(source) => git::convert_laid_out(source, &encoding, layout, target, force, threads, progress)?,
        Repository::Hg(source) => hg::convert(source, &encoding, target, force, threads, progress)?,
    };
    conversion.notes.extend(notes);
    Ok((conversion, path))
}

/// An error for a spec that names kinds of the other version-control system.
fn check_kinds(source: &Repository, spec: &CodecSpec) -> Result<()> {
    let (kinds, system) = match source {
        Repository::Git(_) => (&ObjectKind::GIT[..], "Git"),
        Repository::Hg(_) => (&ObjectKind::HG[..], "Mercurial"),
    };
    match spec.kind_outside(kinds) {
        None => Ok(()),
        Some(kind) => {
            let known: Vec<String> = kinds.iter().map(|kind| format!("{kind}=")).collect();
            let why = format!("a {system} repository has no {}: expected {} or delta=", kind.name(), known.join(", "));
            Err(WriterError::Spec { spec: spec.to_string(), why })
        }
    }
}

/// Lets `build` fill a folder, syncs it, and names it `target`. `sources` are what must not be written to.
pub(crate) fn build_beside(
    target: &Path,
    force: bool,
    sources: &[PathBuf],
    build: impl FnOnce(&Path) -> Result<Conversion>,
) -> Result<(Conversion, PathBuf)> {
    let output = OutputPath::create(target, force, sources)?;
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
    Ok(Conversion { elapsed: start.elapsed(), sync: Duration::ZERO, notes })
}

/// Does `work` on a source that must not change meanwhile.
pub(crate) fn unchanged<T>(
    snapshot: impl FnOnce() -> repackbench_reader::Result<Snapshot>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let snapshot = snapshot()?;
    let result = work();
    // A source that was written to meanwhile explains whatever else went wrong, such as a file that is gone.
    match snapshot.check() {
        Err(written_to @ (ReaderError::Changed { .. } | ReaderError::Locked { .. })) => Err(written_to.into()),
        checked => {
            let done = result?;
            checked?;
            Ok(done)
        }
    }
}
