//! LZO1X streams: an encoder and a decoder of our own, after the published description of the format.
//!
//! Source: "LZO stream format as understood by Linux's LZO decompressor" (Documentation/staging/lzo.rst of the Linux
//! kernel), bitstream version 0. The LZO library and the kernel's code are under the GPL, and we did not consult them.
//!
//! | first byte | bytes | meaning |
//! |---|---|---|
//! | `0000 LLLL` after no literals | 1 + extension | `3 + L` literals; `L` = 0: 18 plus the extension |
//! | `0000 DDSS` after 1 to 3 literals | 2 | match of 2 bytes at distance 1 to 1,024 |
//! | `0000 DDSS` after 4 or more literals | 2 | match of 3 bytes at distance 2,049 to 3,072 |
//! | `0001 HLLL` | 3 + extension | match of `2 + L` bytes at distance 16,385 to 49,151; `L` = 0: 9 plus the extension |
//! | `001L LLLL` | 3 + extension | match of `2 + L` bytes at distance 1 to 16,384; `L` = 0: 33 plus the extension |
//! | `LLLD DDSS`, `LLL` at least 2 | 2 | match of `1 + LLL` bytes at distance 1 to 2,048 |
//! | `11 00 00` | 3 | the end |
//!
//! An extension consists of any number of zero bytes, each of which adds 255, and a last byte that is not zero and adds
//! its own value. The second byte of a two-byte instruction for a match holds the upper bits of the distance. The last
//! two bytes of a three-byte one hold, from the least significant bit on, `SS` and fourteen bits of the distance. `SS`
//! is the number of literals, 0 to 3, that follow the match without an instruction of their own. The very first byte
//! may instead be 17 plus a number of literals: up to 3 of them count as those of a match, more as those of an
//! instruction.

mod decode;
mod fast;
mod positions;
mod thorough;
mod writer;

pub(crate) use decode::{Fault, decompress};
pub(crate) use fast::FastEncoder;
pub(crate) use thorough::{Effort, ThoroughEncoder};
pub(crate) use writer::NoRoom;

/// The end marker of every stream.
const END: [u8; 3] = [0x11, 0x00, 0x00];

/// The first byte of a stream minus the number of literals that it announces.
const FIRST_LITERALS: usize = 17;

/// The maximum number of payload bytes that one byte of a stream stands for: a zero byte continues the length of a
/// match.
pub(crate) const MAX_EXPANSION: u64 = 255;

/// The longest distance of a match, in bytes.
const MAX_DISTANCE: usize = 49_151;

/// The longest distance of a match in the form `LLLD DDSS`.
const NEAR_DISTANCE: usize = 2_048;

/// The longest distance of a match in the form `001L LLLL`.
const MIDDLE_DISTANCE: usize = 16_384;

/// The longest distance of a match of 3 bytes after 4 or more literals; the shortest is `NEAR_DISTANCE + 1`.
const AFTER_LITERALS_DISTANCE: usize = 3_072;

/// The longest match in the form `LLLD DDSS`, in bytes.
const MAX_NEAR_LEN: usize = 8;

/// The lengths of the longest matches without an extension in the forms `001L LLLL` and `0001 HLLL`, and of the longest
/// run of literals without one.
const MAX_MIDDLE_LEN: usize = 33;
const MAX_FAR_LEN: usize = 9;
const MAX_RUN: usize = 18;

/// The maximum length of the stream of a payload, in bytes.
///
/// The instruction for a match is never longer than the match. The rest are literals: a run of 4 to 18 takes one byte,
/// which the match before it has saved, and a longer run takes two bytes and one more for every 255 literals above 19.
pub(crate) fn bound(payload_len: usize) -> usize {
    payload_len.saturating_add(payload_len / 16).saturating_add(64)
}

#[cfg(test)]
mod tests {
    use super::positions::Positions;
    use super::*;

    type Compress<Encoder> = fn(&mut Encoder, &[u8], &mut [u8]) -> Result<usize, NoRoom>;

    /// Encodes the same payload several times, while the numbers of positions run out, and expects the same streams.
    fn assert_streams_are_the_same<Encoder>(
        mut encoder: Encoder,
        positions: fn(&mut Encoder) -> &mut Positions,
        compress: Compress<Encoder>,
    ) {
        let payload: Vec<u8> = (0..5_000u32).flat_map(|number| (number * number % 311).to_le_bytes()).collect();
        let mut first = None;
        for turn in 0..8 {
            if turn == 2 {
                positions(&mut encoder).skip_to(u32::MAX - 50_000);
            }
            let mut room = vec![0; bound(payload.len())];
            let Ok(written) = compress(&mut encoder, &payload, &mut room) else { panic!("no room in turn {turn}") };
            room.truncate(written);
            assert!(written < payload.len() / 2, "nothing was found in turn {turn}");
            assert!(*first.get_or_insert_with(|| room.clone()) == room, "turn {turn}");
        }
        let wrapped = positions(&mut encoder).number(0);
        assert!(wrapped < 100_000, "the numbers did not run out: {wrapped}");
    }

    /// Positions are numbered consecutively from payload to payload. That must not affect the output or overflow.
    #[test]
    fn output_is_independent_of_earlier_payloads() {
        let thorough = ThoroughEncoder::new(Effort { depth: 4, enough: 32 });
        assert_streams_are_the_same(FastEncoder::new(12, 5), |fast| &mut fast.positions, FastEncoder::compress);
        assert_streams_are_the_same(thorough, |thorough| &mut thorough.positions, ThoroughEncoder::compress);
    }
}
