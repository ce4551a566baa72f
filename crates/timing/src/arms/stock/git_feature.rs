//! Features of git that make it faster without another codec.

use std::fmt;

/// A feature of git that makes it faster without another codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitFeature {
    /// A commit-graph: git traverses commits without reading their objects.
    CommitGraph,
    /// A multi-pack-index with bitmaps: git finds reachable objects without a traversal. They have name hashes, which
    /// git needs where it searches for deltas.
    Bitmaps,
    /// `core.deltaBaseCacheLimit`, in MiB.
    DeltaCache(u32),
}

impl GitFeature {
    /// Whether it consists of files beside the packs.
    pub(crate) fn has_files(self) -> bool {
        !matches!(self, GitFeature::DeltaCache(_))
    }

    /// The setting that turns it on, as `key=value`.
    pub(crate) fn setting(self) -> Option<String> {
        match self {
            GitFeature::DeltaCache(mebibytes) => Some(format!("core.deltaBaseCacheLimit={mebibytes}m")),
            GitFeature::CommitGraph | GitFeature::Bitmaps => None,
        }
    }

    /// The arguments of the git command that makes it.
    pub(crate) fn command(self) -> Option<&'static [&'static str]> {
        match self {
            GitFeature::CommitGraph => Some(&["commit-graph", "write", "--reachable"]),
            GitFeature::Bitmaps => Some(&["multi-pack-index", "write", "--bitmap"]),
            GitFeature::DeltaCache(_) => None,
        }
    }
}

impl fmt::Display for GitFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GitFeature::CommitGraph => f.write_str("commit-graph"),
            GitFeature::Bitmaps => f.write_str("bitmaps"),
            GitFeature::DeltaCache(mebibytes) => write!(f, "delta cache {mebibytes} MiB"),
        }
    }
}
