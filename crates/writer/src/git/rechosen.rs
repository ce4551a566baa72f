//! Deltas chosen again by the user's own git.
//!
//! What a repository's packs are like depends on who packed them, with what patience, and when: a fresh search for deltas can save more
//! than any codec. `git repack -adF` makes one, with git's defaults, on a copy that was converted before; what it leaves is converted
//! once more, so that both arms are written by the same libraries. git chooses deltas before it compresses, so they are the same
//! under every codec.

use std::{
    fs,
    path::{Path, PathBuf},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::{
    Repository,
    git::{GitRepository, verify},
};

use super::{convert_into, folders, refuse_bases};
use crate::{
    Encoding, GitDeltas, Progress, ProgressUnit, Result, WriterError,
    conversion::{Conversion, build_beside},
    dictionaries::encoding_for,
};

/// What git reads.
pub(crate) const READABLE: &str = "zlib:6";

/// Converts `source` as [`convert`](super::convert) does, with deltas chosen again by `git`.
///
/// # Errors
/// As [`convert`](super::convert), and [`WriterError::Program`] when git fails, [`WriterError::Unfaithful`] when what it wrote
/// are not the same objects.
pub fn convert_rechosen(
    source: &GitRepository,
    spec: &CodecSpec,
    git: &dyn GitDeltas,
    target: &Path,
    force: bool,
    threads: usize,
    progress: &dyn Progress,
) -> Result<(Conversion, PathBuf)> {
    refuse_bases(source)?;
    let readable: CodecSpec =
        READABLE.parse().map_err(|error| WriterError::Spec { spec: READABLE.to_owned(), why: format!("{error}") })?;
    build_beside(target, force, &folders(source), |out| {
        // Beside what is being built, and so on the same file system; it goes with that if the process is killed.
        let scratch = tempfile::Builder::new()
            .prefix("rechosen-")
            .tempdir_in(out)
            .map_err(|e| WriterError::io("make a folder in", out, e.kind().into()))?;
        let first = convert_into(source, &Encoding::plain(&readable), scratch.path(), threads, progress)?;
        let mut notes = rechoose(scratch.path(), git, threads, progress)?;
        let (encoding, of_encoding) = encoding_for(&Repository::open(scratch.path())?, spec, threads, progress)?;
        let rechosen = GitRepository::open(scratch.path())?;
        let second = convert_into(&rechosen, &encoding, out, threads, progress)?;
        let path = scratch.path().to_owned();
        scratch.close().map_err(|e| WriterError::io("remove", path, e))?;
        check_objects(source, &GitRepository::open(out)?, threads)?;
        notes.extend(first.notes.into_iter().chain(of_encoding));
        Ok(Conversion { elapsed: first.elapsed + second.elapsed, notes, ..Conversion::default() })
    })
}

/// Lets `git` choose all deltas of the packs of `repository` again. Objects that nothing refers to are kept. Returns notes.
fn rechoose(repository: &Path, git: &dyn GitDeltas, threads: usize, progress: &dyn Progress) -> Result<Vec<String>> {
    let marks = promisor_marks(repository)?;
    // git packs what a promisor sent apart, and without the names of files, by which it finds most deltas. Where nothing is missing,
    // nothing was promised.
    let unmark = |mark: &PathBuf| fs::rename(mark, set_aside(mark)).map_err(|e| WriterError::io("rename", mark, e));
    marks.iter().try_for_each(unmark)?;
    match repack(repository, git, threads, progress) {
        Err(WriterError::Program { .. }) if !marks.is_empty() => {
            let mark =
                |mark: &PathBuf| fs::rename(set_aside(mark), mark).map_err(|e| WriterError::io("rename", mark, e));
            marks.iter().try_for_each(mark)?;
            repack(repository, git, threads, progress)?;
            let note = "objects are missing: git chose deltas without the names of files, as it does in partial clones";
            Ok(vec![note.to_owned()])
        }
        Err(error) => Err(error),
        Ok(()) => {
            let remove = |mark: &PathBuf| {
                let mark = set_aside(mark);
                fs::remove_file(&mark).map_err(|e| WriterError::io("remove", mark, e))
            };
            marks.iter().try_for_each(remove).map(|()| Vec::new())
        }
    }
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

/// Where git does not look for a mark.
fn set_aside(mark: &Path) -> PathBuf {
    mark.with_extension("set-aside")
}

fn repack(repository: &Path, git: &dyn GitDeltas, threads: usize, progress: &dyn Progress) -> Result<()> {
    progress.start("letting git choose deltas", 1, ProgressUnit::Items);
    git.recompute(repository, threads, &|| progress.is_cancelled())?;
    progress.finish();
    Ok(())
}

/// Makes sure that `rechosen` holds what `source` holds.
fn check_objects(source: &GitRepository, rechosen: &GitRepository, threads: usize) -> Result<()> {
    let mut first = None;
    verify::compare(source, rechosen, threads, &mut |difference| {
        first.get_or_insert_with(|| difference.to_string());
    })?;
    match first {
        None => Ok(()),
        Some(detail) => {
            let what = "the objects with deltas that git chose".to_owned();
            Err(WriterError::Unfaithful { path: source.git_dir().to_owned(), what, detail })
        }
    }
}
