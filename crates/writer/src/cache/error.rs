//! The errors of the cache.

use std::{io, path::PathBuf};

/// Why the cache failed.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The environment names no folder for a cache.
    #[error("no place for the cache of variants: neither XDG_CACHE_HOME nor HOME is an absolute path")]
    NoPlace,
    /// The operating system refused an operation.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The operation that failed, as an infinitive: `create`, `lock`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another process uses the variant that was to be removed, or removed one that was just made. Trying again later
    /// can help.
    #[error("{}: another process is using or removing this variant", path.display())]
    Busy {
        /// The variant's lock file.
        path: PathBuf,
    },
    /// The function that makes a variant returned without an error, but created nothing.
    #[error("{}: expected a new variant, found nothing", path.display())]
    NothingMade {
        /// The folder that it should have created.
        path: PathBuf,
    },
}

impl CacheError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> CacheError {
        let path = path.into();
        move |source| CacheError::Io { action, path, source }
    }
}

/// Why [`super::Cache::get_or_make`] returned no variant.
#[derive(Debug, thiserror::Error)]
pub enum GetOrMakeError<E> {
    /// The cache failed.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The function that makes the variant failed. Nothing of the variant is left.
    #[error("{0}")]
    Make(E),
}
