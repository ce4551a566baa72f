//! Mercurial repositories.
//!
//! | module | contents |
//! |---|---|
//! | [`repository`], [`store_names`] | layout, requirements, names of files in the store |
//! | [`revlog`], [`delta`], [`filelog`] | the formats of stored revisions |
//! | `history` | revisions and content: [`History`](crate::History) |
//! | `store` | chunks in file order: [`Store`](crate::Store) |
//! | [`new_chunks`] | chunks of some changesets |
//! | [`check_copied_files`] | damage in files that a conversion copies |
//! | [`verify`] | comparing two repositories |
//!
//! Everything was written from Mercurial's documentation of the formats, `hg help internals.revlogs` and
//! `hg help internals.requirements`.

mod changeset;
mod copied_files;
pub mod delta;
mod file_index;
pub mod filelog;
mod history;
mod lfs;
mod manifest;
pub mod new_chunks;
mod obsolescence;
pub mod repository;
pub mod revlog;
pub(crate) mod store;
pub mod store_names;
pub mod verify;

use std::path::Path;

pub use self::{copied_files::check_copied_files, history::HgHistory, repository::HgRepository, store::HgStore};
use crate::{Result, bounds::read_regular_file};

/// The content of a file. A missing file is empty.
fn read_or_empty(path: &Path) -> Result<Vec<u8>> {
    Ok(read_regular_file(path)?.unwrap_or_default())
}
