//! Rewrites one pack under another codec: same entries, same bases, and the same order unless another one is asked for.
//!
//! Threads take batches of entries that follow one another, decode, encode and decode again; one thread puts the results in order,
//! fits the offset deltas' distances to the new offsets, and writes. A payload above
//! [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) streams through the writing thread instead.

mod batch;
mod emit;
mod entry_converter;
mod index;
mod pipeline;

pub use emit::ReferenceDeltas;
#[cfg(test)]
pub(super) use index::tests as test_repository;
pub use pipeline::{ConvertedPack, PackJob, convert_pack};
