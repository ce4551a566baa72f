//! LZO1X streams: an encoder and a decoder of our own, from the published description of the format.
//!
//! Source: "LZO stream format as understood by Linux's LZO decompressor" (Documentation/staging/lzo.rst of the Linux kernel),
//! bitstream version 0. The LZO library and the kernel's code are under the GPL and were not consulted.
//!
//! | first byte | bytes | meaning |
//! |---|---|---|
//! | `0000 LLLL` after no literals | 1 + extension | `3 + L` literals; `L` = 0: 18 and the extension |
//! | `0000 DDSS` after 1 to 3 literals | 2 | match of 2 bytes, 1 to 1,024 behind |
//! | `0000 DDSS` after 4 or more literals | 2 | match of 3 bytes, 2,049 to 3,072 behind |
//! | `0001 HLLL` | 3 + extension | match of `2 + L` bytes, 16,385 to 49,151 behind; `L` = 0: 9 and the extension |
//! | `001L LLLL` | 3 + extension | match of `2 + L` bytes, 1 to 16,384 behind; `L` = 0: 33 and the extension |
//! | `LLLD DDSS`, `LLL` from 2 on | 2 | match of `1 + LLL` bytes, 1 to 2,048 behind |
//! | `11 00 00` | 3 | the end |
//!
//! An extension is any number of zero bytes, each of which counts 255, and a last byte that is not zero and counts itself.
//! Of a match of two bytes, the second holds the upper bits of the distance; of one of three, the last two bytes hold, from
//! the least significant bit on, `SS` and fourteen bits of the distance. `SS` is the number of literals, 0 to 3, that
//! follow the match without an instruction of their own. The very first byte may be 17 plus a number of literals instead: up to
//! 3 of them count as those of a match, more as those of an instruction.

mod decode;
mod fast;
mod positions;
mod thorough;
mod writer;

pub(crate) use decode::{Fault, decompress};
pub(crate) use fast::FastEncoder;
pub(crate) use thorough::{Effort, ThoroughEncoder};
pub(crate) use writer::NoRoom;

/// The end of every stream.
const END: [u8; 3] = [0x11, 0x00, 0x00];

/// The first byte of a stream less the number of literals that follow it.
const FIRST_LITERALS: usize = 17;

/// The most payload bytes that one byte of a stream stands for: a zero byte that continues the length of a match.
pub(crate) const MAX_EXPANSION: u64 = 255;

/// The farthest that a match may lie behind, in bytes.
const MAX_DISTANCE: usize = 49_151;

/// The farthest that a match in the form `LLLD DDSS` may lie behind.
const NEAR_DISTANCE: usize = 2_048;

/// The farthest that a match in the form `001L LLLL` may lie behind.
const MIDDLE_DISTANCE: usize = 16_384;

/// The farthest that a match of 3 bytes after 4 literals may lie behind; the nearest is `NEAR_DISTANCE + 1`.
const BEHIND_LITERALS_DISTANCE: usize = 3_072;

/// The longest match in the form `LLLD DDSS`, in bytes.
const MAX_NEAR_LEN: usize = 8;

/// The longest matches without an extension in the forms `001L LLLL` and `0001 HLLL`, and the longest run of literals.
const MAX_MIDDLE_LEN: usize = 33;
const MAX_FAR_LEN: usize = 9;
const MAX_RUN: usize = 18;

/// The room that the stream of a payload may need, in bytes.
///
/// A match is never longer than what it stands for. What is left are literals: one byte for a run of 4 to 18, which a
/// match before it has saved, and above that two for 19 and one for every 255 more.
pub(crate) fn bound(payload_len: usize) -> usize {
    payload_len.saturating_add(payload_len / 16).saturating_add(64)
}
