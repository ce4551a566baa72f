//! How a long conversion tells of its progress, and is told to stop.

/// What a step counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes of the source.
    Bytes,
    /// Things that are done one after another: loose objects, blocks of runs.
    Items,
}

/// Told what is being done and how far it is. Called from several threads.
pub trait Progress: Sync {
    /// A step begins: what it does, and how many bytes or items it will go through.
    fn start(&self, step: &str, total: u64, unit: ProgressUnit);

    /// So many more of the step's unit are done.
    fn advance(&self, amount: u64);

    /// The step is over.
    fn finish(&self);

    /// Something that the user should know before it is done.
    fn note(&self, note: &str) {
        let _ = note;
    }

    /// Whether the user wants the work to stop: asked every few milliseconds.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn start(&self, _step: &str, _total: u64, _unit: ProgressUnit) {}

    fn advance(&self, _amount: u64) {}

    fn finish(&self) {}
}
