//! What choosing deltas anew needs of git and hg. This crate starts no program: whoever can start them implements this.

use std::{fmt, path::Path, sync::Arc};

use repackbench_codec::CodecSpec;

use crate::Result;

/// A program that chooses all deltas of a repository anew.
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

    /// `hg` for Mercurial repositories.
    pub fn hg(hg: impl HgDeltas + 'static) -> Self {
        DeltaRecomputer::Hg(Arc::new(hg))
    }
}

/// Chooses the deltas of Git packs anew.
pub trait GitDeltas: fmt::Debug + Send + Sync {
    /// What decides the deltas that it chooses: the program's name and version.
    fn identity(&self) -> &str;

    /// Replaces all packs of the bare repository `git_dir`, which holds zlib streams, by one whose deltas are searched for from scratch
    /// by `threads` threads. Objects that nothing refers to are kept.
    ///
    /// # Errors
    /// [`WriterError::Program`](crate::WriterError::Program) when the program fails, [`WriterError::Interrupted`](crate::WriterError::Interrupted)
    /// when `is_cancelled`.
    fn recompute(&self, git_dir: &Path, threads: usize, is_cancelled: &dyn Fn() -> bool) -> Result<()>;
}

/// Chooses the deltas of Mercurial revlogs anew.
pub trait HgDeltas: fmt::Debug + Send + Sync {
    /// What decides the deltas that it chooses under `spec`: the program's version, and what extends it.
    ///
    /// # Errors
    /// [`WriterError::Program`](crate::WriterError::Program) when it cannot write under `spec`.
    fn identity(&self, spec: &CodecSpec) -> Result<String>;

    /// Chooses every delta of `repository` anew and writes every chunk under `spec`, with these settings (`name=value`).
    ///
    /// # Errors
    /// [`WriterError::Program`](crate::WriterError::Program) when the program fails or cannot write under `spec`,
    /// [`WriterError::Interrupted`](crate::WriterError::Interrupted) when `is_cancelled`. The repository must then be discarded.
    fn recompute(
        &self,
        repository: &Path,
        spec: &CodecSpec,
        settings: &[String],
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<()>;
}
