//! What Ctrl-C does, and SIGTERM and SIGHUP.
//!
//! The first signal asks the job to end in an orderly way, so that its results are shown. A call of a codec or a replay
//! may take long and cannot be interrupted: if the job has not ended within [`PATIENCE`], this thread shows the results
//! so far, removes what would be left over, and ends the process; only a job that is giving its output the final names
//! is waited for. The second signal ends the process at once, as a kill does.

use std::{
    path::Path,
    process,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use repackbench_writer::leftovers;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
    iterator::Signals,
};

use super::display::Display;
use crate::failure::{INTERRUPTED, print_note, say};

/// How long a job may take to end in an orderly way.
const PATIENCE: Duration = Duration::from_millis(600);

/// How often to look whether a job has given its output the final names, which is not interrupted.
const COMMIT_CHECK: Duration = Duration::from_millis(20);

/// Shows what was measured until the process has to end.
type LastWords = Box<dyn FnOnce() + Send>;

/// The last line, which says what is left of the job.
type LastLine = Box<dyn FnOnce() -> &'static str + Send>;

/// The last line of a job that measures.
const INTERRUPTED_LINE: &str = "interrupted";

/// That of a job that writes, as the error of one that ends in an orderly way.
const NOTHING_WRITTEN: &str = "interrupted; nothing was written";

/// Handles the signals of the process.
pub(crate) struct Stopper {
    /// Whether a signal has come.
    stopping: Arc<AtomicBool>,
    /// Whether the user was told.
    is_announced: AtomicBool,
    state: Mutex<State>,
    job_ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of jobs that run.
    jobs: u32,
    display: Option<Arc<Mutex<Display>>>,
    is_quiet: bool,
    last_words: Option<LastWords>,
    last_line: Option<LastLine>,
}

/// A job that signals interrupt while this value lives.
pub(crate) struct RunningJob(&'static Stopper);

impl Drop for RunningJob {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.jobs = state.jobs.saturating_sub(1);
        if state.jobs == 0 {
            (state.display, state.last_words, state.last_line) = (None, None, None);
        }
        self.0.job_ended.notify_all();
    }
}

impl Stopper {
    /// The handler of the process. The first call sets it up. If a handler cannot be set, its signal ends the program.
    pub(super) fn get() -> &'static Stopper {
        static STOPPER: OnceLock<Stopper> = OnceLock::new();
        let mut is_new = false;
        let stopper = STOPPER.get_or_init(|| {
            is_new = true;
            Stopper {
                stopping: Arc::default(),
                is_announced: AtomicBool::new(false),
                state: Mutex::default(),
                job_ended: Condvar::new(),
            }
        });
        if is_new {
            stopper.handle_signals();
        }
        stopper
    }

    fn handle_signals(&'static self) {
        // The handler that ends the program is set first, and sees the flag that the first signal has set.
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let _ = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&self.stopping))
                .and_then(|_| flag::register(signal, Arc::clone(&self.stopping)));
        }
        if let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) {
            let wait = move || {
                if signals.forever().next().is_some() {
                    self.stop();
                }
            };
            // Without the thread, jobs end when their codec is done.
            let _ = thread::Builder::new().name("signals".to_owned()).spawn(wait);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A job begins, whose progress is on `display`.
    pub(super) fn begin_job(&'static self, display: &Arc<Mutex<Display>>, is_quiet: bool) -> RunningJob {
        let mut state = self.state();
        state.jobs = state.jobs.saturating_add(1);
        (state.display, state.is_quiet) = (Some(Arc::clone(display)), is_quiet);
        RunningJob(self)
    }

    /// Whether the user wants the job to end. Whoever notices first tells the user.
    pub(super) fn is_stopping(&self) -> bool {
        let is_stopping = self.stopping.load(Ordering::Relaxed);
        if is_stopping && !self.is_announced.load(Ordering::Relaxed) {
            self.announce(&self.state());
        }
        is_stopping
    }

    /// Says once that the job is being stopped. Progress is shown no longer.
    fn announce(&self, state: &State) {
        if self.is_announced.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(display) = &state.display {
            display.lock().unwrap_or_else(PoisonError::into_inner).end();
        }
        if !state.is_quiet {
            say(format_args!("repackbench: stopping..."));
        }
    }

    /// The user has asked for the end.
    fn stop(&self) {
        let mut state = self.state();
        if state.jobs == 0 {
            return;
        }
        self.announce(&state);
        let waited = self.job_ended.wait_timeout_while(state, PATIENCE, |state| state.jobs > 0);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        while state.jobs > 0 && !leftovers::may_end() {
            let waited = self.job_ended.wait_timeout(state, COMMIT_CHECK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        // The lock is kept: a job that ends now waits here for the end of the process.
        if state.jobs > 0 {
            end(&mut state);
        }
    }
}

/// Ends the process, whatever the job is doing.
fn end(state: &mut State) {
    if let Some(last_words) = state.last_words.take() {
        last_words();
    }
    for left in leftovers::remove_registered() {
        print_note(format!("{}: left over, and could not be removed", left.display()));
    }
    let line = state.last_line.take().map_or(INTERRUPTED_LINE, |line| line());
    say(format_args!("repackbench: {line}"));
    process::exit(INTERRUPTED.into());
}

/// What to show if the process has to end before the running job does. The end of the job cancels it.
pub(crate) fn set_last_words(last_words: impl FnOnce() + Send + 'static) {
    Stopper::get().state().last_words = Some(Box::new(last_words));
}

/// As [`set_last_words`], for a job that writes: `line` says what is left of it once its unfinished output is removed.
pub(crate) fn set_last_line(line: impl FnOnce() -> &'static str + Send + 'static) {
    Stopper::get().state().last_line = Some(Box::new(line));
}

/// Says that a job that writes `target` left nothing there, if that is so. What was there before stays until the job
/// is done if it `replaces` that.
pub(crate) fn set_target(target: &Path, replaces: bool) {
    let exists = |path: &Path| path.symlink_metadata().is_ok();
    let (target, existed) = (target.to_owned(), replaces && exists(target));
    set_last_line(move || match exists(&target) == existed {
        true => NOTHING_WRITTEN,
        false => INTERRUPTED_LINE,
    });
}
