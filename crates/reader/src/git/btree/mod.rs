//! A B-tree that replaces packs and loose objects: one file, in which each object is a value and its id is the key.
//!
//! The file has the format of LMDB 0.9 ([`layout`]), so that its tools can read it too. It is not memory-mapped here:
//! every page is read by a call and every field of it checked. So a damaged or truncated file is an error, and a trace
//! shows every access.
//!
//! A value is like an entry of a pack without deltas: type and size as in gitformat-pack(5), then the chunk.

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
