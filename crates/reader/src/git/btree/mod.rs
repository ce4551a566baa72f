//! A B-tree in place of packs and loose objects: one file, in which each object is a value under its id.
//!
//! The file is one of LMDB's versions 0.9 ([`layout`]), so that their tools read it too. Nothing here maps it: every page is read by a call and
//! every field of it checked, so that a file that is damaged or cut short is an error, and no access is hidden from a trace.
//!
//! A value is an entry of a pack without deltas: type and size as gitformat-pack(5) has them, then the chunk.

mod file;
pub mod layout;
mod page_cache;
mod value;
mod walk;

pub use self::{
    file::{BtreeFile, BtreePlace},
    value::{ValueHead, write_head},
    walk::Occupancy,
};
