//! Rewrites one pack under another codec: same entries, same order, same bases.
//!
//! Threads take batches of neighbouring entries, decode, encode and decode again; one thread puts the results in order,
//! fits the offset deltas' distances to the new offsets, and writes. A payload above
//! [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) streams through the writing thread instead.

mod batch;
mod emit;
mod entry_converter;
mod index;
mod pipeline;

pub use pipeline::{ConvertedPack, convert_pack};
