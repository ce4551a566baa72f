//! `lz4_flex`: LZ4 blocks by the implementation in Rust, in its bounds-checked form. Fast mode only.

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into};

use super::block::{BlockCodec, BlockCoder};
use super::descriptor::CodecDescriptor;
use super::lz4_block::{self, BLOCK};
use crate::error::{CodecError, expect_payload_len};
use crate::tag::Body;

/// The facts about `lz4_flex`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "lz4_flex",
    levels: None,
    longest_dictionary: None,
    body: Some(Body::Lz4),
    is_read_by_hg: false,
    capabilities: super::block::CAPABILITIES,
    implementation: "lz4_flex (Rust)",
    version: || env!("REPACKBENCH_LZ4_FLEX_VERSION").to_owned(),
    language: "Rust",
    licence: "MIT",
    new: |_| Box::new(codec()),
    new_open_ended: None,
    new_inflater: None,
};

/// lz4_flex with tables that are made when first used.
#[derive(Default)]
pub(crate) struct FlexCoder {
    small_table: Option<CompressTable>,
    large_table: Option<CompressTable>,
}

/// Creates the codec `lz4_flex`.
pub(crate) fn codec() -> BlockCodec<FlexCoder> {
    BlockCodec::new(FlexCoder::default())
}

/// Decodes all of `block` into all of `payload`.
///
/// # Errors
/// When the block is damaged or its payload has another length. `codec` is the name in errors of what contains the
/// block.
pub(crate) fn decompress(block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
    let written = decompress_into(block, payload).map_err(|error| lz4_block::invalid(codec, error.to_string()))?;
    expect_payload_len(codec, payload.len() as u64, written as u64)
}

impl BlockCoder for FlexCoder {
    fn name(&self) -> &'static str {
        DESCRIPTOR.name
    }

    fn body(&self) -> &'static str {
        lz4_block::BODY
    }

    fn max_expansion(&self) -> u64 {
        lz4_block::MAX_EXPANSION
    }

    fn bound(&self, payload_len: usize) -> usize {
        lz4_block::bound(payload_len)
    }

    fn compress(&mut self, payload: &[u8], room: &mut [u8]) -> Result<usize, CodecError> {
        // The small table is faster to clear and takes payloads below 64 KiB. The library would permanently replace
        // it with a large one at the first longer payload, so there is one of each.
        let table = if payload.len() < usize::from(u16::MAX) {
            self.small_table.get_or_insert_with(CompressTable::small)
        } else {
            self.large_table.get_or_insert_with(CompressTable::large)
        };
        compress_into_with_table(payload, room, table)
            .map_err(|error| CodecError::Implementation { codec: BLOCK, message: error.to_string() })
    }

    fn decompress(&mut self, block: &[u8], payload: &mut [u8], codec: &'static str) -> Result<(), CodecError> {
        decompress(block, payload, codec)
    }
}
