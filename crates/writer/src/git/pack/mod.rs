//! Rewrites one pack under another codec: same entries, same bases, and the same order unless another one is requested.
//!
//! Threads take batches of consecutive entries, decode them, encode them, and decode them again. One thread puts the
//! results in order, adjusts the distances of offset deltas to the new offsets, and writes. A payload above
//! [`BLOCK_LEN`](repackbench_codec::BLOCK_LEN) is streamed through the writing thread instead.

mod batch;
mod convert;
mod emit;
mod entry_converter;
mod index;

pub use convert::{ConvertedPack, PackJob, convert_pack};
pub use emit::ReferenceDeltas;
#[cfg(test)]
pub(super) use index::tests as test_repository;
