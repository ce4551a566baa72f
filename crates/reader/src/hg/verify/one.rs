//! Checking one repository: reads every revision and recomputes its node.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use super::{Verified, next_job, side_files::empty_revlogs, text_check::TextCheck};
use crate::{
    ReaderError, Result,
    hg::{
        HgRepository,
        revlog::{Revlog, RevlogFiles},
    },
    memory::TurnTaker,
    threads,
};

/// Reads every revision of `repository` on `threads` threads, and stops at the first that is damaged or whose text does
/// not have its node. `go_on` is called before each revision; if it returns false, the others are skipped.
///
/// # Errors
/// A file cannot be read, or a revision is damaged. Of several errors that of the first revlog is returned.
pub fn check_revisions(
    repository: &HgRepository,
    threads: usize,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Verified> {
    let dictionaries = repository.dictionaries()?;
    let empty = empty_revlogs(repository);
    let jobs: Vec<&RevlogFiles> = repository.revlogs().iter().filter(|files| !empty.contains(&files.index)).collect();
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let found: Mutex<(Verified, Option<(usize, ReaderError)>)> = Mutex::default();
    threads::share(threads, || {
        let mut turn = TurnTaker::default();
        let mut check = TextCheck::new(&dictionaries, 1, &turn);
        let mut verified = Verified::default();
        while !is_over.load(Ordering::Relaxed)
            && let Some((number, files)) = next_job(&next, &jobs)
        {
            let go_on = || !is_over.load(Ordering::Relaxed) && go_on();
            let checked = check_revlog(files, &mut check, &mut turn, &go_on, &mut verified);
            turn.finish([check.forget()]);
            check.give_room(&turn);
            if !matches!(checked, Ok(true)) {
                is_over.store(true, Ordering::Relaxed);
            }
            if let Err(error) = checked {
                let (_, first) = &mut *found.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(earlier, _)| number < *earlier) {
                    *first = Some((number, error));
                }
            }
        }
        let (sum, _) = &mut *found.lock().unwrap_or_else(PoisonError::into_inner);
        sum.revisions += verified.revisions;
        sum.unhashed += verified.unhashed;
    });
    match found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        (verified, None) => Ok(verified),
        (_, Some((_, error))) => Err(error),
    }
}

/// Whether all of the revlog was read: `go_on` may have stopped it.
fn check_revlog(
    files: &RevlogFiles,
    check: &mut TextCheck,
    turn: &mut TurnTaker,
    go_on: &dyn Fn() -> bool,
    verified: &mut Verified,
) -> Result<bool> {
    let revlog = Revlog::open(files)?;
    for (revision, entry) in revlog.entries().iter().enumerate() {
        if !go_on() {
            return Ok(false);
        }
        check.read(&revlog, revision, turn).map_err(|damage| damage.error)?;
        verified.revisions += 1;
        verified.unhashed += u64::from(!entry.is_hashed());
    }
    Ok(true)
}
