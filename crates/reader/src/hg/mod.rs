//! Mercurial repositories: the store and its revlogs, the names of their files, and what changesets and manifests say.
//!
//! Everything here was written from the format, which Mercurial documents in `hg help internals.revlogs` and
//! `hg help internals.requirements`.

mod changeset;
pub mod delta;
mod file_index;
pub mod filelog;
mod history;
mod manifest;
pub mod new_chunks;
pub mod repository;
pub mod revlog;
pub(crate) mod store;
pub mod store_names;
pub mod verify;

use std::path::Path;

pub use self::{history::HgHistory, repository::HgRepository, store::HgStore};
use crate::{Result, bounds::read_regular_file};

/// The content of a file; nothing of one that is not there or empty, which mean the same.
fn read_if_there(path: &Path) -> Result<Vec<u8>> {
    Ok(read_regular_file(path)?.unwrap_or_default())
}
