//! What a new search for deltas needs of git and hg. This crate starts no program: crates that do implement these
//! traits.

use std::{fmt, path::Path, sync::Arc};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;

use crate::{Result, git::recompute::search_window};

/// A program that searches for all deltas of a repository again.
#[derive(Debug, Clone)]
pub enum DeltaRecomputer {
    /// git, for Git repositories.
    Git(Arc<dyn GitDeltas>),
    /// hg, for Mercurial repositories.
    Hg(Arc<dyn HgDeltas>),
}

impl DeltaRecomputer {
    /// `git` for Git repositories.
    pub fn git(git: impl GitDeltas + 'static) -> Self {
        DeltaRecomputer::Git(Arc::new(git))
    }

    /// The number of objects that a search compares each with, if it is not left to git and the repository's settings.
    pub fn chosen_window(&self) -> Option<u32> {
        match self {
            DeltaRecomputer::Git(git) => git.window(),
            DeltaRecomputer::Hg(_) => None,
        }
    }

    /// The number of objects that a search in `source` compares each with; `None` for git's default, and for hg.
    pub fn window(&self, source: &Repository) -> Option<u32> {
        match (self, source) {
            (DeltaRecomputer::Git(_), Repository::Git(source)) => {
                self.chosen_window().or_else(|| search_window(source))
            }
            _ => None,
        }
    }

    /// `hg` for Mercurial repositories.
    pub fn hg(hg: impl HgDeltas + 'static) -> Self {
        DeltaRecomputer::Hg(Arc::new(hg))
    }
}

/// What becomes of packed objects that no ref and no reflog reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreachable {
    /// They stay, so that a conversion holds the same objects as its source.
    Keep,
    /// They go, as with `git repack -adF`.
    Drop,
}

/// Recomputes the deltas of Git packs.
pub trait GitDeltas: fmt::Debug + Send + Sync {
    /// What decides the resulting deltas: the name and version of the program, and its window.
    fn identity(&self) -> String;

    /// The number of objects that each is compared with, if it is not left to git and its settings.
    fn window(&self) -> Option<u32> {
        None
    }

    /// Replaces all packs of the bare repository `git_dir`, which holds zlib streams, by one pack whose deltas are
    /// searched for from scratch on `threads` threads. Returns the most memory that the program held, in bytes, if it
    /// was measured.
    ///
    /// # Errors
    /// [`WriterError::Program`](crate::WriterError::Program) when the program fails,
    /// [`WriterError::Interrupted`](crate::WriterError::Interrupted) when `is_cancelled` returns true.
    fn recompute(
        &self,
        git_dir: &Path,
        threads: usize,
        unreachable: Unreachable,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<u64>>;

    /// As [`recompute`](Self::recompute), for a repository with missing objects: searches among those that are there, by the
    /// same file names. Packs with a `.keep` file stay.
    ///
    /// # Errors
    /// As [`recompute`](Self::recompute). The packs of the repository are then still there.
    fn recompute_incomplete(
        &self,
        git_dir: &Path,
        threads: usize,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<()>;
}

/// Recomputes the deltas of Mercurial revlogs.
pub trait HgDeltas: fmt::Debug + Send + Sync {
    /// What decides the resulting deltas under `spec`: the version of the program, and its extension.
    ///
    /// # Errors
    /// [`WriterError::Program`](crate::WriterError::Program) when the program cannot write under `spec`.
    fn identity(&self, spec: &CodecSpec) -> Result<String>;

    /// Recomputes every delta of `repository` and writes every chunk under `spec`, with these settings (`name=value`).
    ///
    /// # Errors
    /// [`WriterError::Program`](crate::WriterError::Program) when the program fails or cannot write under `spec`,
    /// [`WriterError::Interrupted`](crate::WriterError::Interrupted) when `is_cancelled` returns true. The caller must
    /// discard the repository then.
    fn recompute(
        &self,
        repository: &Path,
        spec: &CodecSpec,
        settings: &[String],
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<()>;
}
