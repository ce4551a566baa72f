//! The library that stands in for zlib, built as these tests were.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::built;

/// Its file.
pub(crate) fn stand_in() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| built::library("repackbench_preload"))
}
