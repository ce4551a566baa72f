//! The wrapper of a gzip member (RFC 1952) around DEFLATE data. Our writer uses none of its optional fields, and our
//! reader accepts none.
//!
//! | field | bytes | |
//! |---|---|---|
//! | magic | 2 | `1f 8b` |
//! | method | 1 | `08`, DEFLATE |
//! | flags | 1 | `00` |
//! | modification time | 4 | `00 00 00 00`: unknown |
//! | extra flags | 1 | `02` at level 9, `04` at level 1, otherwise `00`, as in gzip |
//! | system | 1 | `03`, Unix |
//! | DEFLATE data | | |
//! | CRC-32 of the content | 4 | little-endian |
//! | length of the content | 4 | little-endian, modulo 2^32 |

use flate2::Crc;

use crate::error::{CodecError, FoundLength, expect_all_taken};

/// The name of a member in messages.
pub(super) const MEMBER: &str = "gzip member";

/// The length of the header, which precedes the DEFLATE data.
pub(super) const HEADER_LEN: usize = 10;
/// The length of the trailer, which follows it.
pub(super) const TRAILER_LEN: usize = 8;
/// Magic, method, and no flags.
const OPENING: [u8; 4] = [0x1f, 0x8b, 0x08, 0x00];
/// The system on which the file was written.
const UNIX: u8 = 3;

/// The header of a member.
pub(super) fn header(level: Option<i32>) -> [u8; HEADER_LEN] {
    let [magic, more_magic, method, flags] = OPENING;
    let extra = match level {
        Some(9) => 2,
        Some(1) => 4,
        _ => 0,
    };
    [magic, more_magic, method, flags, 0, 0, 0, 0, extra, UNIX]
}

/// The CRC-32 and the length of `content`.
pub(super) fn sums(content: &[u8]) -> Crc {
    let mut sums = Crc::new();
    sums.update(content);
    sums
}

/// The trailer of a member whose content has these sums.
pub(super) fn trailer(sums: &Crc) -> [u8; TRAILER_LEN] {
    let [a, b, c, d] = sums.sum().to_le_bytes();
    // The length is modulo 2^32, as in the trailer.
    let [e, f, g, h] = sums.amount().to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Checks that a member starts like those of our writer.
pub(super) fn check_header(header: &[u8; HEADER_LEN]) -> Result<(), CodecError> {
    let opening = header.first_chunk::<4>().copied().unwrap_or_default();
    if opening != OPENING {
        let found = opening.map(|byte| format!("{byte:02x}")).join(" ");
        return Err(CodecError::Corrupt { codec: MEMBER, expected: "1f 8b 08 00 at the start", found });
    }
    Ok(())
}

/// Compares the sums of a content of `len` bytes with the trailer.
pub(super) fn check_trailer(trailer: [u8; TRAILER_LEN], sums: &Crc, len: u64) -> Result<(), CodecError> {
    let Trailer { checksum, length } = Trailer::parse(trailer);
    if sums.amount() != length {
        let found = FoundLength::Exactly(len);
        return Err(CodecError::PayloadLength { codec: MEMBER, expected: u64::from(length), found });
    }
    let found = sums.sum();
    if found != checksum {
        return Err(CodecError::Checksum { codec: MEMBER, expected: checksum, found });
    }
    Ok(())
}

struct Trailer {
    checksum: u32,
    length: u32,
}

impl Trailer {
    fn parse([a, b, c, d, e, f, g, h]: [u8; TRAILER_LEN]) -> Self {
        Trailer { checksum: u32::from_le_bytes([a, b, c, d]), length: u32::from_le_bytes([e, f, g, h]) }
    }
}

/// The parts of a member.
pub(super) struct Member<'a> {
    pub(super) deflate: &'a [u8],
    trailer: [u8; TRAILER_LEN],
}

impl<'a> Member<'a> {
    /// Splits the member that is all of `stored`.
    ///
    /// # Errors
    /// When it does not start like those of our writer, or is shorter than header and trailer.
    pub(super) fn parse(stored: &'a [u8]) -> Result<Self, CodecError> {
        let truncated = || CodecError::Truncated { codec: MEMBER, available: stored.len() as u64 };
        let (header, rest) = stored.split_first_chunk::<HEADER_LEN>().ok_or_else(truncated)?;
        check_header(header)?;
        let (deflate, trailer) = rest.split_last_chunk::<TRAILER_LEN>().ok_or_else(truncated)?;
        Ok(Member { deflate, trailer: *trailer })
    }

    /// The length that the trailer claims, which is modulo 2^32.
    pub(super) fn claimed_len(&self) -> usize {
        usize::try_from(Trailer::parse(self.trailer).length).unwrap_or(usize::MAX)
    }

    /// Compares `content`, whose DEFLATE data took `consumed` bytes, with the trailer.
    pub(super) fn verify(&self, content: &[u8], consumed: usize) -> Result<(), CodecError> {
        expect_all_taken(MEMBER, consumed as u64, self.deflate.len() as u64)?;
        check_trailer(self.trailer, &sums(content), content.len() as u64)
    }
}
