//! Progress on stderr, and the signals that interrupt a job.
//!
//! - `display`: what is shown: a bar for one step, or the place and the time left of a session of many steps;
//! - `stop`: what Ctrl-C does.

mod display;
pub(crate) mod stop;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use repackbench_writer::{Progress, ProgressUnit, SessionStatus};

use self::{
    display::{Display, Ticker},
    stop::{RunningJob, Stopper},
};
use crate::failure::print_note;

/// The progress of a job, shown on stderr unless the user wants none. Signals interrupt the job while this value lives.
pub(crate) struct Bar {
    display: Arc<Mutex<Display>>,
    /// Shows the time left while nothing else happens; `None` before a session.
    ticker: Mutex<Option<Ticker>>,
    quiet: bool,
    stopper: &'static Stopper,
    // Dropped last: while it lives, the job runs.
    _job: RunningJob,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Self {
        let display = Arc::new(Mutex::new(Display::new(quiet)));
        let stopper = Stopper::get();
        let job = stopper.begin_job(&display, quiet);
        Bar { display, ticker: Mutex::new(None), quiet, stopper, _job: job }
    }

    fn with(&self, act: impl FnOnce(&mut Display)) {
        act(&mut self.display.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Bar {
    /// A job that failed has not finished its step.
    fn drop(&mut self) {
        self.with(Display::clear);
    }
}

impl Progress for Bar {
    fn start(&self, step: &str, total: u64, unit: ProgressUnit) {
        self.with(|display| display.start_step(step, total, unit));
    }

    fn advance(&self, amount: u64) {
        self.with(|display| display.advance(amount));
    }

    fn finish(&self) {
        self.with(Display::clear);
    }

    fn session(&self, status: SessionStatus<'_>) {
        if self.quiet {
            return;
        }
        self.with(|display| display.show_session(status, Instant::now()));
        let mut ticker = self.ticker.lock().unwrap_or_else(PoisonError::into_inner);
        ticker.get_or_insert_with(|| Ticker::start(&self.display));
    }

    fn note(&self, note: &str) {
        if self.quiet {
            return;
        }
        self.with(|display| {
            if display.is_first(note) {
                display.interrupted_by(|| print_note(note));
            }
        });
    }

    fn is_cancelled(&self) -> bool {
        self.stopper.is_stopping()
    }
}
