//! Parameters that every layer of a conversion hands on: where it writes, and how it runs.

use std::path::{Path, PathBuf};

use crate::{NoProgress, Progress};

/// How work is done.
#[derive(Clone, Copy)]
pub struct JobControl<'a> {
    /// The number of threads that work.
    pub threads: usize,
    /// Receives progress and notes, and says when the user wants to stop.
    pub progress: &'a dyn Progress,
}

impl JobControl<'static> {
    /// Work on `threads` threads that reports no progress and is never cancelled.
    pub fn quiet(threads: usize) -> Self {
        JobControl { threads, progress: &NoProgress }
    }
}

/// Where a conversion writes, and how it runs. What it writes (spec or encoding, layout, revision) is not part of it.
#[derive(Clone, Copy)]
pub struct ConvertJob<'a> {
    /// The path of the new repository or tree of files.
    pub target: &'a Path,
    /// Whether an earlier conversion at `target` is replaced.
    pub force: bool,
    /// The object directories from which the new Git repository borrows what it does not hold itself: absolute paths.
    pub alternates: &'a [PathBuf],
    /// Whether every object or revision of the source is hashed before any is converted. A search for deltas and a store
    /// of whole objects always hash what they write.
    pub check: bool,
    /// How the conversion runs.
    pub control: JobControl<'a>,
}

impl<'a> ConvertJob<'a> {
    /// A job that writes to `target`, where nothing may exist yet.
    pub fn new(target: &'a Path, control: JobControl<'a>) -> Self {
        ConvertJob { target, force: false, alternates: &[], check: false, control }
    }
}
