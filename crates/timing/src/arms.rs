//! What is measured in turn with others, besides replays: see [`crate::session`] for the loop.
//!
//! - [`stock`]: jobs as commands of the user's own git and hg;
//! - [`cold`]: copies to read with an empty page cache;
//! - [`chains`]: objects at the end of delta chains of each length;
//! - [`serve`]: packs and bundles for clients that speak a codec and for those that only speak zlib.

pub mod chains;
pub mod cold;
pub mod serve;
pub mod stock;
