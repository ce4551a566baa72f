//! The progress of an estimate: its steps, and the time that is left for all of them.

use std::time::Duration;

use repackbench_writer::{Progress, ProgressUnit, SessionStatus};

use crate::clock::Clock;

/// Shows each step that is started as a part of one session.
pub(super) struct Steps<'a> {
    progress: &'a dyn Progress,
    clock: &'a (dyn Clock + Sync),
    /// When all of it ends, on the clock, unless it ends earlier.
    end: Duration,
}

impl<'a> Steps<'a> {
    pub(super) fn new(progress: &'a dyn Progress, clock: &'a (dyn Clock + Sync), end: Duration) -> Self {
        Steps { progress, clock, end }
    }
}

impl Progress for Steps<'_> {
    fn start(&self, step: &str, _total: u64, _unit: ProgressUnit) {
        let left = self.clock.read_wall().ok().map(|now| self.end.saturating_sub(now));
        self.progress.session(SessionStatus { place: "estimate", detail: step, left });
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
