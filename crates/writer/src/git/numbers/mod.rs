//! Numbers in the place of ids, and back: see [`numbered`](repackbench_reader::git::numbered).
//!
//! - [`object`]: commits, trees and tags in pieces;
//! - [`look_up`]: ids and their places in the index;
//! - [`delta`]: deltas that copy and insert pieces;
//! - [`payload`]: payloads of entries, written anew;
//! - `translator`: payloads of the entries of packs.

pub mod delta;
pub mod look_up;
pub mod object;
pub mod payload;
mod translator;

pub use self::{
    look_up::LookUp,
    object::{ParsedObject, Piece, Reference},
    payload::{PayloadRewriter, ReferenceForm},
    translator::PayloadTranslator,
};

#[cfg(test)]
mod tests;
