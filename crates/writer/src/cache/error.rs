//! What can go wrong with the cache.

use std::{io, path::PathBuf};

/// Why the cache could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no place for a cache.
    #[error("no place for the cache of variants: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoPlace,
    /// The operating system refused an operation.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// What was tried, as an infinitive: `create`, `lock`.
        action: &'static str,
        /// The file or folder it was tried on.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Another process uses the variant that was to be removed, or removed one that was just made. Trying again later
    /// can help.
    #[error("{}: another process is using or removing this variant", path.display())]
    Busy {
        /// The variant's lock file.
        path: PathBuf,
    },
    /// The function that makes a variant reported success and left nothing.
    #[error("{}: expected a new variant, found nothing", path.display())]
    NothingMade {
        /// The folder that it was to make.
        path: PathBuf,
    },
}

impl CacheError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> CacheError {
        let path = path.into();
        move |source| CacheError::Io { action, path, source }
    }
}

/// Why [`super::Cache::get_or_make`] gave no variant.
#[derive(Debug, thiserror::Error)]
pub enum GetOrMakeError<E> {
    /// The cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The function that makes the variant failed; nothing of it is left.
    #[error("{0}")]
    Make(E),
}
