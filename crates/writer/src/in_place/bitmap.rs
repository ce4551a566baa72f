//! Carries the bitmaps of a pack over to its new form.
//!
//! Bitmaps number objects by their place in the pack and in its index, which a conversion in file order does not
//! change. Only two checksums do. Source: gitformat-bitmap(5), version 1; numbers are big-endian.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..12 | `BITM`, u16 version, u16 flags, u32 number of bitmaps | as found |
//! | 12..12+h | checksum of the pack | new |
//! | ... | bitmaps and tables | as found |
//! | last h | checksum of all before | new |

use gix_hash::ObjectId;
use repackbench_reader::hash::IdHasher;

/// The length of the fields before the checksum of the pack.
const HEADER: usize = 12;

/// The bitmaps `bytes` of the pack with the checksum `old`, for the same pack with the checksum `new`; `None` if they
/// are damaged or not of that pack.
pub(super) fn for_pack(bytes: &[u8], old: &ObjectId, new: &ObjectId) -> Option<Vec<u8>> {
    let (body, found) = bytes.split_at_checked(bytes.len().checked_sub(old.as_bytes().len())?)?;
    let rest = body.strip_prefix(b"BITM\0\x01")?.get(HEADER - 6..)?.strip_prefix(old.as_bytes())?;
    if found != checksum(body, old).as_bytes() {
        return None;
    }
    let mut carried = body.get(..HEADER)?.to_vec();
    carried.extend_from_slice(new.as_bytes());
    carried.extend_from_slice(rest);
    let sum = checksum(&carried, new);
    carried.extend_from_slice(sum.as_bytes());
    Some(carried)
}

fn checksum(bytes: &[u8], like: &ObjectId) -> ObjectId {
    let mut hasher = IdHasher::new(like.kind());
    hasher.update(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[byte; 20])
    }

    fn bitmaps(pack: &ObjectId) -> Vec<u8> {
        let mut bytes = [&b"BITM\0\x01\0\x05\0\0\0\x02"[..], pack.as_bytes(), b"bitmaps"].concat();
        let sum = checksum(&bytes, pack);
        bytes.extend_from_slice(sum.as_bytes());
        bytes
    }

    #[test]
    fn only_checksums_change() {
        assert_eq!(for_pack(&bitmaps(&id(1)), &id(1), &id(2)), Some(bitmaps(&id(2))));
    }

    #[test]
    fn damaged_and_foreign_bitmaps_are_refused() {
        let sound = bitmaps(&id(1));
        assert_eq!(for_pack(&sound, &id(3), &id(2)), None, "of another pack");
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 1;
            assert_eq!(for_pack(&damaged, &id(1), &id(2)), None, "byte {at}");
            assert_eq!(for_pack(&sound[..at], &id(1), &id(2)), None, "{at} bytes");
        }
    }
}
