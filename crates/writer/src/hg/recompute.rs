//! Recomputes deltas with the user's own hg, under the codec of the variant.
//!
//! hg limits a chain of deltas by its compressed length. So under another codec it would not have written the deltas
//! that [`convert`](super::convert) keeps. `hg debugupgraderepo -o re-delta-all` recomputes every delta and
//! recompresses every chunk. It runs on a copy that was converted to the codec, with the format of the source pinned.
//! The result is converted once more. Then both arms are written by the same libraries, and deltas are the only
//! difference between them.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use repackbench_codec::{Algorithm, CodecSpec};
use repackbench_reader::{
    ReaderError,
    hg::{HgRepository, repository::Requirements, verify},
};

use super::{convert_into, folders, metadata::requirement_lines};
use crate::{
    ConvertJob, Encoding, HgDeltas, Progress, ProgressUnit, Result, WriterError,
    conversion::{Conversion, SearchCost, build_beside, check_identical, in_scratch_folder},
};

/// Requirements, and the setting by which hg keeps each of them in an upgrade. Without it hg uses its own defaults.
const PINNED: [(&str, &str); 11] = [
    ("delta-info-revlog", "format.use-delta-info-flags"),
    ("dirstate-tracked-key-v1", "format.use-dirstate-tracked-hint"),
    ("dirstate-v2", "format.use-dirstate-v2"),
    ("dotencode", "format.dotencode"),
    ("fileindex-v1", "format.use-fileindex-v1"),
    ("fncache", "format.usefncache"),
    ("generaldelta", "format.usegeneraldelta"),
    ("persistent-nodemap", "format.use-persistent-nodemap"),
    ("share-safe", "format.use-share-safe"),
    ("sparserevlog", "format.sparse-revlog"),
    ("treemanifest", "experimental.treemanifest"),
];

/// Requirements that prevent hg from upgrading. They do not concern revlogs, so they are removed while hg searches for
/// deltas. Their files are in the store, and hg copies them.
const TAKEN_AWAY: [&str; 4] = ["bookmarksinstore", "exp-archived-phase", "internal-phase", "internal-phase-2"];

/// Requirements of repositories whose deltas are not searched for again, and why.
const REFUSED: [(&str, &str); 2] = [
    // hg records the length of an external file in the entry of the pointer to it.
    ("lfs", "where hg damages pointers to external files"),
    ("narrowhg-experimental", "where hg lacks some of the files"),
];

/// Whether hg has an encoder for exactly this codec and level, without an extension.
pub fn is_native_to_hg(spec: &CodecSpec) -> bool {
    match spec.algorithm() {
        Algorithm::Zlib | Algorithm::Store => true,
        Algorithm::Zstd => spec.level().is_some_and(|level| level > 0),
        _ => false,
    }
}

/// Refuses a spec that hg cannot write under.
pub(crate) fn check_spec(spec: &CodecSpec) -> Result<()> {
    if spec.is_uniform() && !spec.uses_bases() {
        return Ok(());
    }
    let why = "hg recomputes deltas under one codec for all payloads: expected a spec without kinds, dictionaries, prefix and patch".to_owned();
    Err(WriterError::Spec { spec: spec.to_string(), why })
}

/// Converts `source` as [`convert`](super::convert) does, with deltas that `hg` searches for again under `spec`.
///
/// # Errors
/// As [`convert`](super::convert); [`WriterError::Program`] when hg fails, [`WriterError::Unfaithful`] when hg did not
/// write the same history.
pub fn convert_recomputed(
    source: &HgRepository,
    spec: &CodecSpec,
    hg: &dyn HgDeltas,
    job: &ConvertJob<'_>,
) -> Result<(Conversion, PathBuf)> {
    if let Some((name, why)) = REFUSED.into_iter().find(|(name, _)| source.requirements().contains(name)) {
        let what = format!("recomputing deltas with the requirement '{name}', {why},");
        return Err(ReaderError::unsupported(source.hg_dir(), what).into());
    }
    check_spec(spec)?;
    hg.identity(spec)?;
    let encoding = Encoding::plain(spec);
    let control = job.control;
    build_beside(job, &folders(source), |out| {
        let conversion = in_scratch_folder(out, |scratch| {
            let first = convert_into(source, &encoding, scratch, control)?;
            let start = Instant::now();
            recompute(scratch, spec, hg, control.progress)?;
            let search = Some(SearchCost { wall: start.elapsed(), peak_resident_bytes: None });
            let second = convert_into(&HgRepository::open(scratch)?, &encoding, out, control)?;
            Ok(Conversion {
                elapsed: first.elapsed + second.elapsed,
                notes: first.notes,
                search,
                ..Conversion::default()
            })
        })?;
        let recomputed = HgRepository::open(out)?;
        check_identical(source.hg_dir(), "the history after hg debugupgraderepo", |found| {
            verify::compare(source, &recomputed, control.threads, &mut |difference| found(&difference)).map(drop)
        })?;
        Ok(conversion)
    })
}

/// Lets `hg` search for all deltas of `repository`, which is already under `spec`, again, and write them under `spec`.
///
/// # Errors
/// [`WriterError::Program`] when hg fails or writes another format; [`WriterError::Interrupted`]. The caller must
/// discard the repository then.
fn recompute(repository: &Path, spec: &CodecSpec, hg: &dyn HgDeltas, progress: &dyn Progress) -> Result<()> {
    let source = HgRepository::open(repository)?;
    let reduced = without(source.requirements(), &TAKEN_AWAY);
    write_requirements(&source, &reduced)?;
    let before = HgRepository::open(repository)?;
    progress.start("recomputing deltas with hg", 1, ProgressUnit::Items);
    hg.recompute(repository, spec, &settings(&before, spec), &|| progress.is_cancelled())?;
    progress.finish();
    let after = HgRepository::open(repository)?;
    if after.requirements() != before.requirements() {
        let why = format!("the result has the requirements {:?}", after.requirements());
        return Err(WriterError::Program { command: "hg debugupgraderepo".into(), why });
    }
    write_requirements(&after, source.requirements())
}

fn without(requirements: &Requirements, names: &[&str]) -> Requirements {
    let mut left = requirements.clone();
    for set in [&mut left.work_tree, &mut left.store] {
        set.retain(|name| !names.contains(&name.as_str()));
    }
    left
}

/// Replaces the requirements of `repository` if they differ.
fn write_requirements(repository: &HgRepository, requirements: &Requirements) -> Result<()> {
    let old = repository.requirements();
    for (file, old, new) in [
        (repository.hg_dir().join("requires"), &old.work_tree, &requirements.work_tree),
        (repository.store_dir().join("requires"), &old.store, &requirements.store),
    ] {
        if old != new {
            fs::write(&file, requirement_lines(new)).map_err(|e| WriterError::io("write", &file, e))?;
        }
    }
    Ok(())
}

/// Settings that make hg write `repository` under `spec` and keep its format.
fn settings(repository: &HgRepository, spec: &CodecSpec) -> Vec<String> {
    let requirements = repository.requirements();
    let mut settings = Vec::new();
    for (requirement, setting) in PINNED {
        settings.push(format!("{setting}={}", if requirements.contains(requirement) { "yes" } else { "no" }));
    }
    let engine = spec.revlog_engine().name();
    // hg needs its own extension to open such a repository, and does not read the repository's configuration, which
    // enables it.
    if requirements.contains("largefiles") {
        settings.push("extensions.largefiles=".to_owned());
    }
    settings.push(format!("format.revlog-compression={engine}"));
    if let Some(level) = spec.level().filter(|_| is_native_to_hg(spec)) {
        settings.push(format!("storage.revlog.{engine}.level={level}"));
    }
    settings
}
