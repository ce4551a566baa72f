//! The header of a pack entry.
//!
//! | field | width | source |
//! |---|---|---|
//! | type and size | `cttt ssss`, then `csss ssss` while `c` is set; little-endian groups of 4, 7, 7, ... bits | gitformat-pack(5) |
//! | offset delta: distance | `cnnn nnnn`, big-endian groups of 7 bits, one added per continuation | same |
//! | ref delta: base id | 20 (SHA-1) or 32 (SHA-256) bytes | same |
//!
//! A size may be encoded with trailing zero groups, which Git accepts. So the recorded length of the field counts,
//! never a recomputed one.

use gix_hash::ObjectId;

use crate::ObjectKind;

/// The meaning of an entry's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// The payload is the object.
    Whole(ObjectKind),
    /// The payload is a delta against the entry that starts `distance` bytes before this one.
    OffsetDelta {
        /// Bytes from the start of the base entry to the start of this entry; never 0.
        distance: u64,
    },
    /// The payload is a delta against an object named by id.
    RefDelta {
        /// The base's id.
        base: ObjectId,
    },
}

/// A parsed entry header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackEntryHeader {
    /// Type and base.
    pub kind: EntryKind,
    /// Payload length in bytes, as claimed.
    pub payload_len: u64,
    /// Recorded length of the type-and-size field in bytes.
    pub size_field_len: usize,
    /// Recorded length of the whole header in bytes. The chunk starts here.
    pub header_len: usize,
}

/// Why an entry header cannot be read. The caller adds file and offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryHeaderError {
    /// The pack ends within the header.
    #[error("the end of the pack")]
    Truncated,
    /// The size or distance does not fit 64 bits.
    #[error("a number of more than 64 bits")]
    Overflow,
    /// Types 0 and 5 are reserved.
    #[error("the reserved type {0}")]
    ReservedType(u8),
    /// An offset delta whose base would be itself.
    #[error("a base distance of 0, the entry itself")]
    ZeroDistance,
}

impl PackEntryHeader {
    /// Parses the header at the start of `bytes`, for ids of `hash_kind`.
    pub fn parse(bytes: &[u8], hash_kind: gix_hash::Kind) -> Result<Self, EntryHeaderError> {
        let (type_bits, payload_len, size_field_len) = parse_type_and_size(bytes)?;
        let rest = bytes.get(size_field_len..).ok_or(EntryHeaderError::Truncated)?;
        let (kind, base_len) = match type_bits {
            1 => (EntryKind::Whole(ObjectKind::Commit), 0),
            2 => (EntryKind::Whole(ObjectKind::Tree), 0),
            3 => (EntryKind::Whole(ObjectKind::Blob), 0),
            4 => (EntryKind::Whole(ObjectKind::Tag), 0),
            6 => {
                let (distance, len) = parse_offset_distance(rest)?;
                (EntryKind::OffsetDelta { distance }, len)
            }
            7 => {
                let len = hash_kind.len_in_bytes();
                let id = rest.get(..len).ok_or(EntryHeaderError::Truncated)?;
                let base = ObjectId::try_from(id).map_err(|_| EntryHeaderError::Truncated)?;
                (EntryKind::RefDelta { base }, len)
            }
            reserved => return Err(EntryHeaderError::ReservedType(reserved)),
        };
        Ok(PackEntryHeader { kind, payload_len, size_field_len, header_len: size_field_len + base_len })
    }
}

fn parse_type_and_size(bytes: &[u8]) -> Result<(u8, u64, usize), EntryHeaderError> {
    let mut rest = bytes.iter().copied();
    let first = rest.next().ok_or(EntryHeaderError::Truncated)?;
    let mut size = u64::from(first & 0x0f);
    let mut shift = 4u32;
    let mut len = 1;
    let mut byte = first;
    while byte & 0x80 != 0 {
        byte = rest.next().ok_or(EntryHeaderError::Truncated)?;
        len += 1;
        // The shift count limits the field to ten bytes, as in git. The multiplication detects lost bits, which a
        // checked shift would not.
        let weight = 1u64.checked_shl(shift).ok_or(EntryHeaderError::Overflow)?;
        let group = u64::from(byte & 0x7f).checked_mul(weight).ok_or(EntryHeaderError::Overflow)?;
        size = size.checked_add(group).ok_or(EntryHeaderError::Overflow)?;
        shift += 7;
    }
    Ok(((first >> 4) & 0x07, size, len))
}

fn parse_offset_distance(bytes: &[u8]) -> Result<(u64, usize), EntryHeaderError> {
    let mut rest = bytes.iter().copied();
    let mut byte = rest.next().ok_or(EntryHeaderError::Truncated)?;
    let mut distance = u64::from(byte & 0x7f);
    let mut len = 1;
    while byte & 0x80 != 0 {
        byte = rest.next().ok_or(EntryHeaderError::Truncated)?;
        len += 1;
        distance = distance
            .checked_add(1)
            .and_then(|d| d.checked_mul(128))
            .and_then(|d| d.checked_add(u64::from(byte & 0x7f)))
            .ok_or(EntryHeaderError::Overflow)?;
    }
    if distance == 0 { Err(EntryHeaderError::ZeroDistance) } else { Ok((distance, len)) }
}

/// Appends the type and size of an entry to `out` in the shortest encoding, 1 to 10 bytes. `type_byte` is the first
/// byte of any entry of the same type.
pub fn write_type_and_size(type_byte: u8, size: u64, out: &mut Vec<u8>) {
    let mut byte = (type_byte & 0x70) | (size & 0x0f) as u8;
    let mut rest = size >> 4;
    while rest != 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
}

/// Appends the encoding of an offset-delta `distance` to `out`: 1 to 10 bytes.
pub fn write_offset_distance(mut distance: u64, out: &mut Vec<u8>) {
    let mut groups = [0u8; 10];
    let mut start = groups.len();
    let mut continuation = 0;
    for slot in groups.iter_mut().rev() {
        *slot = continuation | (distance & 0x7f) as u8;
        continuation = 0x80;
        start -= 1;
        distance >>= 7;
        if distance == 0 {
            break;
        }
        distance -= 1;
    }
    out.extend(groups.iter().skip(start));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write_size(type_bits: u8, size: u64, padding: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_type_and_size(type_bits << 4, size, &mut bytes);
        for _ in 0..padding {
            *bytes.last_mut().unwrap() |= 0x80;
            bytes.push(0);
        }
        bytes
    }

    proptest! {
        #[test]
        fn sizes_round_trip_with_their_recorded_length(size: u64, kind in 1u8..5, padding in 0usize..2) {
            let bytes = write_size(kind, size, padding);
            prop_assume!(bytes.len() <= 10);
            let header = PackEntryHeader::parse(&bytes, gix_hash::Kind::Sha1).unwrap();
            prop_assert_eq!(header.payload_len, size);
            prop_assert_eq!(header.header_len, bytes.len());
        }

        #[test]
        fn distances_round_trip(distance in 1u64..) {
            let mut bytes = write_size(6, 5, 0);
            write_offset_distance(distance, &mut bytes);
            let header = PackEntryHeader::parse(&bytes, gix_hash::Kind::Sha1).unwrap();
            prop_assert_eq!(header.kind, EntryKind::OffsetDelta { distance });
            prop_assert_eq!(header.header_len, bytes.len());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = PackEntryHeader::parse(&bytes, gix_hash::Kind::Sha256);
        }
    }

    #[test]
    fn bad_headers_have_specific_errors() {
        let parse = |bytes: &[u8]| PackEntryHeader::parse(bytes, gix_hash::Kind::Sha1).unwrap_err();
        assert_eq!(parse(&[]), EntryHeaderError::Truncated);
        assert_eq!(parse(&[0xb0]), EntryHeaderError::Truncated);
        assert_eq!(parse(&[0x00]), EntryHeaderError::ReservedType(0));
        assert_eq!(parse(&[0x51]), EntryHeaderError::ReservedType(5));
        assert_eq!(parse(&[0x61, 0x00]), EntryHeaderError::ZeroDistance);
        assert_eq!(parse(&[0x71, 1, 2, 3]), EntryHeaderError::Truncated);
        // 4 + 8 * 7 = 60 bits are used. The tenth byte has room for 4 more, so its fifth bit is lost.
        assert_eq!(parse(&[0xbf, 255, 255, 255, 255, 255, 255, 255, 255, 0x1f]), EntryHeaderError::Overflow);
        assert_eq!(parse(&[0xe1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255]), EntryHeaderError::Overflow);
    }
}
