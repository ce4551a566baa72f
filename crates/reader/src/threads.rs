//! Threads that the system may refuse to start because of a limit on processes or memory.
//!
//! No work here depends on a new thread: the threads that could be started do it, at least the caller's own. A process
//! that got fewer threads than it wanted reports that at its end, see [`shortage`].
//!
//! ```
//! use std::sync::Mutex;
//!
//! use repackbench_reader::threads;
//!
//! let jobs = Mutex::new(1..=100);
//! let sum = Mutex::new(0);
//! let next = || jobs.lock().unwrap().next();
//! threads::share(4, || {
//!     while let Some(job) = next() {
//!         *sum.lock().unwrap() += job;
//!     }
//! });
//! assert_eq!(sum.into_inner().unwrap(), 5050);
//! ```

use std::{
    io,
    panic::resume_unwind,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, Builder, Scope, ScopedJoinHandle},
};

/// The error of the first thread that could not be started.
static SHORTAGE: OnceLock<String> = OnceLock::new();

/// The reason why the system refused to start a thread, if it has done so in this process.
pub fn shortage() -> Option<&'static str> {
    SHORTAGE.get().map(String::as_str)
}

/// Starts a thread in `scope`.
///
/// # Errors
/// The system refuses to start it. Then `work` is dropped.
pub fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, work)
}

/// As [`spawn`], for work that can be done without the thread. [`shortage`] reports the failure.
fn try_spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    spawn(scope, work).map_err(|error| SHORTAGE.get_or_init(|| error.to_string())).ok()
}

/// Runs `work` on up to `threads` threads at once, one of which is the caller's. Each call takes jobs from a shared
/// source until none is left.
pub fn share(threads: usize, work: impl Fn() + Sync) {
    thread::scope(|scope| {
        let _ = start(scope, threads.saturating_sub(1), || &work);
        work();
    });
}

/// Starts up to `threads` threads in `scope`, each with work from `next`. Returns the number of threads started.
pub fn start<'scope, W: FnOnce() + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    mut next: impl FnMut() -> W,
) -> usize {
    // If one is refused, the next will be too.
    (0..threads).map_while(|_| try_spawn(scope, next())).count()
}

/// Runs `beside` on a thread of its own and `here` on this one; one after the other if no thread can be started.
pub fn both<A: Send, B>(beside: impl Fn() -> A + Sync, here: impl Fn() -> B) -> (A, B) {
    let together = thread::scope(|scope| {
        let thread = try_spawn(scope, &beside)?;
        let here = here();
        Some((thread.join().unwrap_or_else(|panic| resume_unwind(panic)), here))
    });
    together.unwrap_or_else(|| (beside(), here()))
}

/// Applies `work` to each of `items` on up to `threads` threads and returns the results in order. Each thread takes
/// runs of consecutive items. A run stops at its first error.
///
/// # Errors
/// The first error in the order of `items`.
pub fn map<'items, T: Sync, R: Send, E: Send>(
    threads: usize,
    items: &'items [T],
    work: impl Fn(&'items T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let len = items.len().div_ceil(threads.max(1)).max(1);
    if len >= items.len() {
        return items.iter().map(work).collect();
    }
    let runs: Vec<_> = items.chunks(len).map(|run| (run, Mutex::new(None))).collect();
    let next = AtomicUsize::new(0);
    share(threads, || {
        while let Some((run, done)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let results = run.iter().map(&work).collect::<Result<Vec<R>, E>>();
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(results);
        }
    });
    let mut all = Vec::with_capacity(items.len());
    for (_, done) in runs {
        if let Some(results) = done.into_inner().unwrap_or_else(PoisonError::into_inner) {
            all.append(&mut results?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_returns_results_in_order_or_first_error() {
        let items: Vec<u32> = (0..1000).collect();
        for threads in [0, 1, 3, 1000, 2000] {
            let doubled: Result<Vec<u32>, ()> = map(threads, &items, |item| Ok(item * 2));
            assert_eq!(doubled.unwrap(), items.iter().map(|item| item * 2).collect::<Vec<_>>());
            let failed = map(threads, &items, |item| if item % 300 == 299 { Err(*item) } else { Ok(()) });
            assert_eq!(failed, Err(299), "{threads} threads");
        }
    }

    #[test]
    fn both_runs_each_side_once() {
        let (beside, here) = (AtomicUsize::new(0), AtomicUsize::new(10));
        let done = both(|| beside.fetch_add(1, Ordering::Relaxed), || here.fetch_add(1, Ordering::Relaxed));
        assert_eq!(done, (0, 10));
        assert_eq!((beside.into_inner(), here.into_inner()), (1, 11));
    }
}
