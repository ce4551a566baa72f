//! Recomputes deltas with the user's own git.
//!
//! The deltas of a repository depend on who packed it, when, and with how much effort. A new search can save more than
//! any codec. `git repack -adF` makes one, with git's defaults, on a copy that was converted to a codec that git reads.
//! The result is converted once more, so that both arms are written by the same libraries. git chooses deltas before it
//! compresses, so they are the same under every codec.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use gix_config::file::{Metadata, init::Options};
use repackbench_codec::CodecSpec;
use repackbench_reader::{
    Place, ReaderError, Repository,
    git::{
        GitRepository,
        repository::{Reference, Target},
        verify,
    },
};

use walkdir::WalkDir;

use super::{begin, convert_into, folders, refuse_bases};
use crate::{
    ConvertJob, Encoding, GitDeltas, JobControl, ProgressUnit, Result, StoreKind, Unreachable, WriterError,
    cache::children_cpu,
    conversion::{Conversion, SearchCost, build_beside, check_identical, in_scratch_folder},
    dictionaries::encoding_for,
};

/// The spec of repositories that git reads.
const READABLE: &str = "zlib:6";

/// What is added to the configuration of a repository with missing objects while git repacks it.
const PROMISING_REMOTE: &[u8] = b"[remote \"promisor\"]\n\tpromisor = true\n";

/// The spec under which git reads a repository, to search for deltas in it.
pub(crate) fn readable_spec() -> Result<CodecSpec> {
    READABLE.parse().map_err(|error| WriterError::Spec { spec: READABLE.to_owned(), why: format!("{error}") })
}

/// Converts `source` as [`convert`](super::convert) does, with deltas that `git` searches for again.
///
/// # Errors
/// As [`convert`](super::convert); [`WriterError::Program`] when git fails, [`WriterError::Unfaithful`] when git did
/// not write the same objects.
pub fn convert_recomputed(
    source: &GitRepository,
    spec: &CodecSpec,
    git: &dyn GitDeltas,
    job: &ConvertJob<'_>,
) -> Result<(Conversion, PathBuf)> {
    refuse_bases(source)?;
    let readable = readable_spec()?;
    let control = job.control;
    build_beside(job, &folders(source), |out| {
        let conversion = in_scratch_folder(out, |scratch| {
            let first = convert_into(source, &Encoding::plain(&readable), scratch, control)?;
            keep_settings(source, scratch)?;
            let start = Instant::now();
            let (is_without_names, peak_resident_bytes) = recompute(scratch, git, Unreachable::Keep, control)?;
            let search = Some(SearchCost { wall: start.elapsed(), peak_resident_bytes });
            let mut notes: Vec<String> = is_without_names.then(without_names_note).into_iter().collect();
            let (encoding, of_encoding) = encoding_for(&Repository::open(scratch)?, spec, control)?;
            let second = convert_into(&GitRepository::open(scratch)?, &encoding, out, control)?;
            notes.extend(first.notes.into_iter().chain(of_encoding));
            Ok(Conversion { elapsed: first.elapsed + second.elapsed, notes, search, ..Conversion::default() })
        })?;
        let recomputed = GitRepository::open(out)?;
        check_identical(source.git_dir(), "the objects after git repack", |found| {
            verify::compare(source, &recomputed, control.threads, &mut |difference| found(&difference)).map(drop)
        })?;
        Ok(conversion)
    })
}

/// A search for deltas.
#[derive(Debug)]
pub struct Searched {
    /// Its cost.
    pub cost: SearchCost,
    /// The CPU time of git; `None` if the system does not report it.
    pub cpu: Option<Duration>,
    /// Whether git had to search without file names, as objects are missing.
    pub is_without_names: bool,
    /// Notes about it, one sentence each.
    pub notes: Vec<String>,
}

/// Makes a repository in the empty folder `out` with the objects of `source`, whose deltas `git` searches for again, as
/// `git repack -adF` does: packed objects that no ref and no reflog reaches are lost, also if an index names them.
/// Chunks that stock git reads are linked rather than converted. Nothing is compared: the result is only looked at, and
/// thrown away.
///
/// # Errors
/// As [`convert`](super::convert); [`WriterError::Program`] when git fails.
pub fn search_anew(
    source: &GitRepository,
    out: &Path,
    git: &dyn GitDeltas,
    control: JobControl<'_>,
) -> Result<Searched> {
    let encoding = Encoding::plain(&readable_spec()?);
    match source.extension_spec() {
        None => link_objects(source, &begin(source, &encoding, StoreKind::AsFound, out)?.0)?,
        Some(_) => convert_into(source, &encoding, out, control).map(drop)?,
    }
    keep_settings(source, out)?;
    let unreachable = if shows_what_is_reachable(source, out)? { Unreachable::Drop } else { Unreachable::Keep };
    let (start, cpu) = (Instant::now(), children_cpu());
    let (is_without_names, peak_resident_bytes) = recompute(out, git, unreachable, control)?;
    let notes = is_without_names.then(without_names_note).into_iter().collect();
    let cost = SearchCost { wall: start.elapsed(), peak_resident_bytes };
    let cpu = cpu.and_then(|before| children_cpu()?.checked_sub(before));
    Ok(Searched { cost, cpu, is_without_names, notes })
}

/// Whether the refs and reflogs of the copy in `out` lead to all that those of `source` do: there are some, and no
/// other work tree has any of its own.
fn shows_what_is_reachable(source: &GitRepository, out: &Path) -> Result<bool> {
    let is_direct = |reference: &Reference| matches!(reference.target, Target::Object(_));
    let has_refs = GitRepository::open(out)?.references()?.iter().any(is_direct);
    Ok(has_refs && !source.common_dir().join("worktrees").exists())
}

/// The settings of `source` that decide which deltas its own `git repack` would find. They are numbers, and too large
/// ones are left out: a search should not take for ever because a stranger's repository says so.
pub(crate) fn search_settings(source: &GitRepository) -> Vec<(&'static str, i64)> {
    let number = |(name, most): (&'static str, i64)| {
        let value = source.config().integer(&format!("pack.{name}")).ok().flatten()?;
        (0..=most).contains(&value).then_some((name, value))
    };
    [("window", 1000), ("depth", 4095)].into_iter().filter_map(number).collect()
}

/// The window of git's search for deltas that `source` sets for itself: [`search_anew`] keeps it.
pub fn search_window(source: &GitRepository) -> Option<u32> {
    let settings = search_settings(source).into_iter();
    settings.filter(|(name, _)| *name == "window").find_map(|(_, window)| u32::try_from(window).ok())
}

/// Adds [`search_settings`] to the configuration of the copy in `out`, which is repacked.
fn keep_settings(source: &GitRepository, out: &Path) -> Result<()> {
    let settings = search_settings(source);
    if settings.is_empty() {
        return Ok(());
    }
    let path = out.join("config");
    let mut config = fs::read(&path).map_err(|error| ReaderError::io("read", &path, error))?;
    config.extend_from_slice(b"[pack]\n");
    for (name, value) in settings {
        config.extend_from_slice(format!("\t{name} = {value}\n").as_bytes());
    }
    fs::write(&path, config).map_err(|error| WriterError::io("write", &path, error))
}

/// Links or copies all packs and loose objects of `source` into the object directory `objects`.
fn link_objects(source: &GitRepository, objects: &Path) -> Result<()> {
    for folder in source.object_dirs() {
        for entry in WalkDir::new(folder) {
            let entry = entry.map_err(|error| ReaderError::io("list", folder, error.into()))?;
            let below = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            let target = objects.join(below);
            if !entry.file_type().is_file() || below.starts_with("info") || target.exists() {
                continue;
            }
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent).map_err(|error| WriterError::io("create", parent, error))?;
            }
            // Git replaces files and never changes one. Another user's file may not be linked.
            if fs::hard_link(entry.path(), &target).is_err() {
                fs::copy(entry.path(), &target).map_err(|error| WriterError::io("write", &target, error))?;
            }
        }
    }
    Ok(())
}

fn without_names_note() -> String {
    "objects are missing: git chose deltas without file names, as in partial clones".to_owned()
}

/// Lets `git` search for all deltas of the packs of `repository` again. Returns whether it had to search without file
/// names, and its peak memory if that was measured.
fn recompute(
    repository: &Path,
    git: &dyn GitDeltas,
    unreachable: Unreachable,
    control: JobControl<'_>,
) -> Result<(bool, Option<u64>)> {
    let marks = promisor_marks(repository)?;
    // git packs objects from a promisor separately, and without file names, by which it finds most deltas. If nothing
    // is missing, no object has to be marked as promised.
    let unmark = |mark: &PathBuf| fs::rename(mark, set_aside(mark)).map_err(|e| WriterError::io("rename", mark, e));
    marks.iter().try_for_each(unmark)?;
    let is_partial = GitRepository::open(repository)?.is_partial_by_configuration() || !marks.is_empty();
    let search = || match repack(repository, git, unreachable, control) {
        // An object is missing. git cannot repack, but search among those that are there.
        Err(WriterError::Program { .. }) if is_partial => {
            let search = |threads| git.recompute_incomplete(repository, threads, &|| control.progress.is_cancelled());
            search(control.threads).map(|()| None)
        }
        repacked => repacked,
    };
    // Where git sees a promising remote and no mark, it looks for each missing object again and again.
    let unmarked = if is_partial { with_config(repository, without_remotes, search) } else { search() };
    match unmarked {
        Err(WriterError::Program { .. }) if is_partial => {
            let mark =
                |mark: &PathBuf| fs::rename(set_aside(mark), mark).map_err(|e| WriterError::io("rename", mark, e));
            marks.iter().try_for_each(mark)?;
            let peak =
                with_config(repository, with_promising_remote, || repack(repository, git, unreachable, control))?;
            Ok((true, peak))
        }
        Err(error) => Err(error),
        Ok(peak) => {
            let remove = |mark: &PathBuf| {
                let mark = set_aside(mark);
                match fs::remove_file(&mark) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        Err(WriterError::io("remove", mark, error))
                    }
                    _ => Ok(()),
                }
            };
            marks.iter().try_for_each(remove)?;
            if !marks.is_empty() {
                mark_all(repository)?;
            }
            Ok((false, peak))
        }
    }
}

/// Lets `search` see a configuration that `changed` makes of that of `repository`.
fn with_config<T>(
    repository: &Path,
    changed: fn(&[u8]) -> Option<Vec<u8>>,
    search: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let path = repository.join("config");
    let config = fs::read(&path).map_err(|error| ReaderError::io("read", &path, error))?;
    let write = |bytes: &[u8]| fs::write(&path, bytes).map_err(|error| WriterError::io("write", &path, error));
    let during =
        changed(&config).ok_or_else(|| ReaderError::corrupt(&path, Place::Whole, "a configuration", "another file"))?;
    write(&during)?;
    let searched = search();
    write(&config)?;
    searched
}

/// `config` with a remote that promises the missing objects, without which git does not heed the marks of packs. A
/// repository may have lost the remote with its configuration. No address is given, so nothing can be fetched.
fn with_promising_remote(config: &[u8]) -> Option<Vec<u8>> {
    Some([config, PROMISING_REMOTE].concat())
}

/// `config` of a repository that promises no object.
fn without_remotes(config: &[u8]) -> Option<Vec<u8>> {
    let mut config = gix_config::File::from_bytes_no_includes(config, Metadata::api(), Options::default()).ok()?;
    let remotes = config.sections_and_ids().filter(|(section, _)| section.header().name() == "remote");
    let remotes: Vec<_> = remotes.map(|(_, id)| id).collect();
    remotes.into_iter().for_each(|id| drop(config.remove_section_by_id(id)));
    if let Ok(mut extensions) = config.section_mut("extensions", None) {
        extensions.remove("partialClone");
    }
    Some(config.to_bstring().into())
}

/// Marks all packs as sent by a promisor, as they were before.
fn mark_all(repository: &Path) -> Result<()> {
    let folder = repository.join("objects").join("pack");
    let failed = |error| WriterError::io("list", &folder, error);
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "pack") {
            let mark = path.with_extension("promisor");
            fs::write(&mark, "").map_err(|error| WriterError::io("write", &mark, error))?;
        }
    }
    Ok(())
}

/// The files that mark packs as sent by a promisor.
fn promisor_marks(repository: &Path) -> Result<Vec<PathBuf>> {
    let folder = repository.join("objects").join("pack");
    let failed = |error| WriterError::io("list", &folder, error);
    let mut marks = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "promisor") {
            marks.push(path);
        }
    }
    Ok(marks)
}

/// A name under which git does not find a mark.
fn set_aside(mark: &Path) -> PathBuf {
    mark.with_extension("set-aside")
}

fn repack(
    repository: &Path,
    git: &dyn GitDeltas,
    unreachable: Unreachable,
    JobControl { threads, progress }: JobControl<'_>,
) -> Result<Option<u64>> {
    progress.start("recomputing deltas with git", 1, ProgressUnit::Items);
    let peak = git.recompute(repository, threads, unreachable, &|| progress.is_cancelled())?;
    progress.finish();
    Ok(peak)
}
