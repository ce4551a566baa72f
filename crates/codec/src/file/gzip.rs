//! The frame of a gzip member (RFC 1952) around DEFLATE data. The writer uses none of its optional fields, and a reader of ours
//! takes none.
//!
//! | field | bytes | |
//! |---|---|---|
//! | magic | 2 | `1f 8b` |
//! | method | 1 | `08`, DEFLATE |
//! | flags | 1 | `00` |
//! | modification time | 4 | `00 00 00 00`: not given |
//! | extra flags | 1 | `02` at level 9, `04` at level 1, else `00`, as gzip writes them |
//! | system | 1 | `03`, Unix |
//! | DEFLATE data | | |
//! | CRC-32 of the content | 4 | little-endian |
//! | length of the content | 4 | little-endian, modulo 2^32 |

use flate2::Crc;

use crate::error::{CodecError, FoundLength};

/// How messages name it.
pub(super) const MEMBER: &str = "gzip member";

/// Length of what precedes the DEFLATE data.
pub(super) const HEADER_LEN: usize = 10;
/// Length of what follows it.
const TRAILER_LEN: usize = 8;
/// Magic, method, and no flags.
const OPENING: [u8; 4] = [0x1f, 0x8b, 0x08, 0x00];
/// The system on which the file was written.
const UNIX: u8 = 3;

/// What precedes the DEFLATE data.
pub(super) fn header(level: Option<i32>) -> [u8; HEADER_LEN] {
    let [magic, more_magic, method, flags] = OPENING;
    let extra = match level {
        Some(9) => 2,
        Some(1) => 4,
        _ => 0,
    };
    [magic, more_magic, method, flags, 0, 0, 0, 0, extra, UNIX]
}

/// Appends what follows the DEFLATE data of `content`.
pub(super) fn write_trailer(content: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&checksum(content).to_le_bytes());
    out.extend_from_slice(&length(content.len()).to_le_bytes());
}

fn checksum(content: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(content);
    crc.sum()
}

/// The length as the trailer has it.
fn length(len: usize) -> u32 {
    let [a, b, c, d, ..] = (len as u64).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// A member, taken apart.
pub(super) struct Member<'a> {
    pub(super) deflate: &'a [u8],
    checksum: u32,
    length: u32,
}

impl<'a> Member<'a> {
    /// Takes the member that is all of `stored` apart.
    ///
    /// # Errors
    /// It does not begin as the writer's do, or is shorter than its frame.
    pub(super) fn parse(stored: &'a [u8]) -> Result<Self, CodecError> {
        let truncated = || CodecError::Truncated { codec: MEMBER, available: stored.len() as u64 };
        let (header, rest) = stored.split_first_chunk::<HEADER_LEN>().ok_or_else(truncated)?;
        let opening = header.first_chunk::<4>().ok_or_else(truncated)?;
        if *opening != OPENING {
            let found = opening.map(|byte| format!("{byte:02x}")).join(" ");
            return Err(CodecError::Corrupt { codec: MEMBER, expected: "1f 8b 08 00 at the start", found });
        }
        let (deflate, trailer) = rest.split_last_chunk::<TRAILER_LEN>().ok_or_else(truncated)?;
        let [a, b, c, d, e, f, g, h] = *trailer;
        Ok(Member { deflate, checksum: u32::from_le_bytes([a, b, c, d]), length: u32::from_le_bytes([e, f, g, h]) })
    }

    /// The length that the trailer claims, as far as it says it.
    pub(super) fn claimed_len(&self) -> usize {
        usize::try_from(self.length).unwrap_or(usize::MAX)
    }

    /// Holds `content`, whose DEFLATE data took `consumed` bytes, against the trailer.
    pub(super) fn verify(&self, content: &[u8], consumed: usize) -> Result<(), CodecError> {
        if consumed != self.deflate.len() {
            let (expected, found) = (consumed as u64, self.deflate.len() as u64);
            return Err(CodecError::TrailingBytes { codec: MEMBER, expected, found });
        }
        if length(content.len()) != self.length {
            let found = FoundLength::Exactly(content.len() as u64);
            return Err(CodecError::PayloadLength { codec: MEMBER, expected: u64::from(self.length), found });
        }
        let found = checksum(content);
        if found != self.checksum {
            return Err(CodecError::Checksum { codec: MEMBER, expected: self.checksum, found });
        }
        Ok(())
    }
}
