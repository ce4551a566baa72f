//! What a user can do for git besides changing the codec.

use std::fmt;

/// Something that helps git, and that no codec is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Help {
    /// A commit-graph: commits without their objects.
    CommitGraph,
    /// A multi-pack-index with bitmaps: what is reachable without a traversal.
    Bitmaps,
    /// `core.deltaBaseCacheLimit`, in MiB.
    DeltaCache(u32),
}

impl Help {
    /// Whether it is made of files beside the packs.
    pub(crate) fn has_files(self) -> bool {
        !matches!(self, Help::DeltaCache(_))
    }

    /// What tells git of it, as `key=value`.
    pub(crate) fn setting(self) -> Option<String> {
        match self {
            Help::DeltaCache(mebibytes) => Some(format!("core.deltaBaseCacheLimit={mebibytes}m")),
            Help::CommitGraph | Help::Bitmaps => None,
        }
    }

    /// The words by which git makes it.
    pub(crate) fn command(self) -> Option<&'static [&'static str]> {
        match self {
            Help::CommitGraph => Some(&["commit-graph", "write", "--reachable"]),
            Help::Bitmaps => Some(&["multi-pack-index", "write", "--bitmap"]),
            Help::DeltaCache(_) => None,
        }
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Help::CommitGraph => f.write_str("commit-graph"),
            Help::Bitmaps => f.write_str("bitmaps"),
            Help::DeltaCache(mebibytes) => write!(f, "delta cache {mebibytes} MiB"),
        }
    }
}
