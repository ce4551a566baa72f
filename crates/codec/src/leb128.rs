//! The encoding of lengths in bodies: unsigned LEB128 of up to 64 bits, only in its shortest form.
//!
//! | bits of a byte | meaning |
//! |---|---|
//! | 0-6 | the next seven bits of the number, least significant first |
//! | 7 | another byte follows |
//!
//! Every number has exactly one encoding. A longer one is refused, because it would let two different chunks hold the
//! same payload with the same codec.

use std::io::BufRead;

use crate::error::{CodecError, expect_payload_len};
use crate::stored::StoredBytes;

/// The length of the longest encoding of a 64-bit number, in bytes.
pub(crate) const MAX_LEN: usize = 10;

/// The length of the encoding of `value`, in bytes.
pub(crate) fn len(value: u64) -> usize {
    (u64::BITS - value.leading_zeros()).max(1).div_ceil(7) as usize
}

/// The encoding of `value`.
pub(crate) fn bytes(value: u64) -> impl ExactSizeIterator<Item = u8> {
    let len = len(value);
    (0..len).map(move |position| {
        let low = (value >> (7 * position) & 0x7f) as u8;
        if position + 1 == len { low } else { low | 0x80 }
    })
}

/// Appends `value` to `out`.
pub(crate) fn write(value: u64, out: &mut Vec<u8>) {
    out.extend(bytes(value));
}

/// Takes the number at the start of `stored`.
///
/// # Errors
/// When its encoding is truncated, overlong or overflows.
pub(crate) fn read<R: BufRead + ?Sized>(stored: &mut StoredBytes<'_, R>) -> Result<u64, CodecError> {
    let codec = stored.codec();
    let mut value = 0u64;
    for position in 0..MAX_LEN {
        let [byte] = stored.take_array()?;
        let bits = u64::from(byte & 0x7f);
        // The tenth byte holds only bit 63.
        if position == MAX_LEN - 1 && byte > 1 {
            break;
        }
        value |= bits << (7 * position);
        if byte & 0x80 == 0 {
            if byte == 0 && position > 0 {
                return Err(CodecError::Length { codec, found: "one with redundant bytes" });
            }
            return Ok(value);
        }
    }
    Err(CodecError::Length { codec, found: "one that overflows 64 bits" })
}

/// Takes a payload length, which must be `expected`.
///
/// # Errors
/// As [`read`], and when the length is another one.
#[inline]
pub(crate) fn read_expected<R: BufRead + ?Sized>(
    stored: &mut StoredBytes<'_, R>,
    expected: u64,
) -> Result<(), CodecError> {
    let claimed = read(stored)?;
    expect_payload_len(stored.codec(), expected, claimed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        write(value, &mut out);
        out
    }

    fn decoded(mut bytes: &[u8]) -> Result<(u64, usize), CodecError> {
        let mut stored = StoredBytes::new(&mut bytes, "lz4 body");
        let value = read(&mut stored)?;
        Ok((value, stored.consumed() as usize))
    }

    #[test]
    fn known_encodings() {
        assert_eq!(encoded(0), [0x00]);
        assert_eq!(encoded(127), [0x7f]);
        assert_eq!(encoded(128), [0x80, 0x01]);
        assert_eq!(encoded(300), [0xac, 0x02]);
        assert_eq!(encoded(u64::MAX), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn read_rejects_overlong_overflowing_and_truncated_lengths() {
        let message = |bytes: &[u8]| decoded(bytes).unwrap_err().to_string();
        assert_eq!(message(&[0x80, 0x00]), "lz4 body: expected a length in LEB128, found one with redundant bytes");
        let mut overflow = [0xff; 10];
        overflow[9] = 0x02;
        assert_eq!(message(&overflow), "lz4 body: expected a length in LEB128, found one that overflows 64 bits");
        assert_eq!(message(&[0xff; 12]), "lz4 body: expected a length in LEB128, found one that overflows 64 bits");
        assert_eq!(message(&[0x80; 3]), "lz4 body: expected more stored bytes, found the end after 3");
        assert_eq!(message(&[]), "lz4 body: expected more stored bytes, found the end after 0");
    }

    proptest! {
        #[test]
        fn numbers_round_trip_before_other_bytes(value: u64, shift in 0u32..64, garbage: Vec<u8>) {
            // Shifted so that all lengths of encodings occur.
            let value = value >> shift;
            let mut bytes = encoded(value);
            let length = bytes.len();
            bytes.extend_from_slice(&garbage);
            prop_assert_eq!(decoded(&bytes).unwrap(), (value, length));
        }

        #[test]
        fn read_accepts_only_what_write_produces(bytes: Vec<u8>) {
            if let Ok((value, length)) = decoded(&bytes) {
                prop_assert_eq!(encoded(value), &bytes[..length]);
            }
        }
    }
}
