//! Checking one repository: reads every revision and recomputes its node.

use std::{
    cell::RefCell,
    collections::HashSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use gix_hash::ObjectId;

use super::{
    Verified, next_job,
    references::{NewLines, References, file_key},
    text_check::TextCheck,
};
use crate::{
    ObjectKind, ReaderError, Result,
    hg::{
        HgRepository, lfs,
        revlog::{Revlog, RevlogFiles},
    },
    memory::TurnTaker,
    threads,
};

/// What all threads found.
#[derive(Default)]
struct Found {
    verified: Verified,
    references: References,
    /// The number of the first damaged revlog, and the error of its first damaged revision.
    first: Option<(usize, ReaderError)>,
}

/// Reads every revision of `repository` on `threads` threads, and stops when one is damaged or its text does not have its
/// node. Then looks for the manifests and files that changesets and manifests name, but not in a narrow clone, which lacks
/// some. `go_on` is called before each revision; if it returns false, the others are skipped. `on_revlog` is called after
/// each revlog.
///
/// # Errors
/// A file cannot be read, or a revision is damaged: the first one of the first such revlog. Or one names a manifest or a
/// file that is not stored.
pub fn check_revisions(
    repository: &HgRepository,
    threads: usize,
    go_on: &(dyn Fn() -> bool + Sync),
    on_revlog: &(dyn Fn() + Sync),
) -> Result<Verified> {
    let dictionaries = repository.dictionaries()?;
    let jobs: Vec<&RevlogFiles> = repository.revlogs().iter().collect();
    // Revlogs before a damaged one are read to their end, so that the same input gives the same error.
    let (next, damaged) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let found: Mutex<Found> = Mutex::default();
    threads::share(threads, || {
        let mut turn = TurnTaker::default();
        let mut check = TextCheck::new(&dictionaries, 1, &turn);
        let (mut verified, mut references) = (Verified::default(), References::of(repository));
        while let Some((number, files)) = next_job(&next, &jobs) {
            let go_on = || number < damaged.load(Ordering::Relaxed) && go_on();
            let mut seen = |revision: usize, node: &ObjectId, text: &[u8], is_hashed: bool| {
                references.add_stored(files, node);
                verified.revisions += 1;
                verified.unhashed += u64::from(!is_hashed);
                if is_hashed {
                    references.add(files, (number, revision), text);
                }
            };
            let checked = check_revlog(repository, files, &mut check, &mut turn, &go_on, &mut seen);
            turn.finish([check.forget()]);
            check.give_room(&turn);
            match checked {
                Ok(true) => on_revlog(),
                Ok(false) => break,
                Err(error) => {
                    damaged.fetch_min(number, Ordering::Relaxed);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    if found.first.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                        found.first = Some((number, error));
                    }
                }
            }
        }
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.verified.revisions += verified.revisions;
        found.verified.unhashed += verified.unhashed;
        found.references.merge(references);
    });
    let Found { verified, references, first } = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, error)) = first {
        return Err(error);
    }
    // The user may have stopped the reading.
    if go_on() && !repository.requirements().contains("narrowhg-experimental") {
        references.check(repository)?;
        let missing = references.missing_files();
        if !missing.is_empty() {
            check_named_files(repository, &jobs, &missing)?;
        }
    }
    Ok(verified)
}

/// Reads the manifests again for the first one that names one of the `missing` file revisions.
///
/// # Errors
/// That one.
fn check_named_files(repository: &HgRepository, jobs: &[&RevlogFiles], missing: &HashSet<u64>) -> Result<()> {
    let dictionaries = repository.dictionaries()?;
    let mut turn = TurnTaker::default();
    let mut check = TextCheck::new(&dictionaries, 1, &turn);
    let mut new_lines = NewLines::default();
    for (number, files) in jobs.iter().enumerate().filter(|(_, files)| files.kind == ObjectKind::Manifest) {
        let found: RefCell<Option<(usize, Vec<u8>, ObjectId)>> = RefCell::default();
        let mut seen = |revision: usize, _: &ObjectId, text: &[u8], is_hashed: bool| {
            if is_hashed {
                new_lines.each_file(number, text, |path, node| {
                    if missing.contains(&file_key(&files.path, path, &node)) {
                        let path = [&files.path[..], path].concat();
                        found.borrow_mut().get_or_insert((revision, path, node));
                    }
                });
            }
        };
        check_revlog(repository, files, &mut check, &mut turn, &|| found.borrow().is_none(), &mut seen)?;
        if let Some((revision, path, node)) = found.take() {
            let found = format!("{node} of '{}'", path.escape_ascii());
            return Err(Revlog::open(files)?.corrupt(revision, "the node of a stored file", found));
        }
    }
    Ok(())
}

/// Gets a revision with its node and text, and whether that has its node.
type Seen<'a> = dyn FnMut(usize, &ObjectId, &[u8], bool) + 'a;

/// Whether all of the revlog was read: `go_on` may have stopped it. `seen` gets each revision.
fn check_revlog(
    repository: &HgRepository,
    files: &RevlogFiles,
    check: &mut TextCheck,
    turn: &mut TurnTaker,
    go_on: &dyn Fn() -> bool,
    seen: &mut Seen<'_>,
) -> Result<bool> {
    let revlog = Revlog::open(files)?;
    let has_lfs = repository.requirements().contains("lfs");
    for (revision, entry) in revlog.entries().iter().enumerate() {
        if !go_on() {
            return Ok(false);
        }
        // Only lfs stores texts elsewhere, and without it hg does not read such a revision.
        if entry.is_stored_externally() && !has_lfs {
            let found = "one that is stored elsewhere, without the requirement lfs";
            return Err(revlog.corrupt(revision, "a revision that is stored here", found));
        }
        check.read(&revlog, revision, turn).map_err(|damage| damage.error)?;
        let is_found =
            entry.is_stored_externally() && lfs::check(repository.hg_dir(), &revlog, revision, check.text())?;
        seen(revision, &entry.node, check.text(), is_found || entry.is_hashed());
    }
    Ok(true)
}
