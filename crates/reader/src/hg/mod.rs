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
pub mod repository;
pub mod revlog;
mod store;
pub mod store_names;
pub mod verify;

pub use self::{history::HgHistory, repository::HgRepository, store::HgStore};
