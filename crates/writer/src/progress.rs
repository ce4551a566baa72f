//! Reports the progress of long work, and lets the user stop it.

use std::time::Duration;

/// The unit in which a step counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes of the source.
    Bytes,
    /// Things that are processed one after another: loose objects, blocks of runs.
    Items,
}

/// The place of the work in a session of many steps.
#[derive(Debug, Clone, Copy)]
pub struct SessionStatus<'a> {
    /// The step, as in `workload 2 of 5`.
    pub place: &'a str,
    /// What is done in the step.
    pub detail: &'a str,
    /// How long all steps that are left take; `None` while that is unknown.
    pub left: Option<Duration>,
}

/// Receives what is being done and how far it is. Called from several threads.
pub trait Progress: Sync {
    /// Starts a step: what it does, and how many bytes or items it will process.
    fn start(&self, step: &str, total: u64, unit: ProgressUnit);

    /// `amount` more units of the step are done.
    fn advance(&self, amount: u64);

    /// The step is finished.
    fn finish(&self);

    /// A session of many steps has come to another place. It replaces the step that was started, if any, until the
    /// session [finishes](Self::finish).
    fn session(&self, status: SessionStatus<'_>) {
        let _ = status;
    }

    /// A note for the user that should not wait until the work is finished.
    fn note(&self, note: &str) {
        let _ = note;
    }

    /// Whether the user wants to stop the work. Called every few milliseconds.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Reports to nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}

    fn advance(&self, _amount: u64) {}

    fn finish(&self) {}
}
