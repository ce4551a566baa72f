//! The progress of an estimate: its steps, the time that is left for all of them, and a step that is cut.

use std::time::Duration;

use repackbench_writer::{Progress, ProgressUnit, SessionStatus};

use crate::clock::Clock;

/// Shows each step that is started as a part of one session.
pub(super) struct Steps<'a> {
    progress: &'a dyn Progress,
    clock: &'a (dyn Clock + Sync),
    /// When all of it ends, on the clock, unless it ends earlier; `None` while nobody knows.
    end: Option<Duration>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(progress: &'a dyn Progress, clock: &'a (dyn Clock + Sync), end: Option<Duration>) -> Self {
        Steps { progress, clock, end }
    }
}

impl Progress for Steps<'_> {
    fn start(&self, step: &str, _total: u64, _unit: ProgressUnit) {
        let left = self.end.zip(self.clock.read_wall().ok()).map(|(end, now)| end.saturating_sub(now));
        self.progress.session(SessionStatus { place: step, detail: "", left });
    }

    /// The time that is left says how far it is.
    fn advance(&self, _amount: u64) {}

    /// The next step follows.
    fn finish(&self) {}

    fn note(&self, note: &str) {
        self.progress.note(note);
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled()
    }
}

/// Stops a step at a given time, as if the user wanted it.
pub(super) struct Until<'a> {
    pub(super) progress: &'a dyn Progress,
    pub(super) clock: &'a (dyn Clock + Sync),
    /// When it stops, on the clock.
    pub(super) end: Duration,
}

impl Progress for Until<'_> {
    fn start(&self, step: &str, total: u64, unit: ProgressUnit) {
        self.progress.start(step, total, unit);
    }

    fn advance(&self, amount: u64) {
        self.progress.advance(amount);
    }

    fn finish(&self) {
        self.progress.finish();
    }

    fn note(&self, note: &str) {
        self.progress.note(note);
    }

    fn is_cancelled(&self) -> bool {
        self.progress.is_cancelled() || self.clock.read_wall().is_ok_and(|now| now >= self.end)
    }
}
