//! The file beside a pack whose objects are numbered: `.numbers`. It has only a header and checksums.
//!
//! | field | width | |
//! |---|---|---|
//! | signature | 4 | `NUMB` |
//! | version | 4 | 1, big-endian |
//! | hash function | 4 | 1 for SHA-1, 2 for SHA-256, big-endian |
//! | pack checksum | 20 or 32 | that of the pack's trailer |
//! | own checksum | 20 or 32 | of all bytes before it |

use std::path::Path;

use gix_hash::{Kind, ObjectId};

use crate::{Place, ReaderError, Result, bounds::read_regular_file, hash::IdHasher};

/// The first bytes of the file.
pub const MARK_SIGNATURE: &[u8; 4] = b"NUMB";

/// The version of the file.
pub const MARK_VERSION: u32 = 1;

/// The length of signature, version and hash function.
const HEADER_LEN: u64 = 12;

/// The length in bytes of the mark in a repository of the hash function `hash`.
pub fn mark_len(hash: Kind) -> u64 {
    HEADER_LEN + 2 * hash.len_in_bytes() as u64
}

/// Checks that the file at `path` marks the pack with the checksum `pack`.
///
/// # Errors
/// It is of another version or pack, or damaged.
pub(in crate::git) fn check_mark(path: &Path, pack: &ObjectId) -> Result<()> {
    let bytes = read_regular_file(path)?.unwrap_or_default();
    let expected = header(pack.kind());
    if !bytes.starts_with(&expected) {
        let wanted = format!("NUMB, version {MARK_VERSION} and the repository's hash function");
        return Err(ReaderError::corrupt(path, Place::Offset(0), wanted, "a different header"));
    }
    let len = pack.kind().len_in_bytes();
    let expected_len = mark_len(pack.kind());
    if bytes.len() as u64 != expected_len {
        let (wanted, found) = (format!("{expected_len} bytes"), bytes.len().to_string());
        return Err(ReaderError::corrupt(path, Place::Whole, wanted, found));
    }
    let (body, own) = bytes.split_at_checked(bytes.len().saturating_sub(len)).unwrap_or_default();
    let recorded = body.get(expected.len()..).unwrap_or_default();
    check_id(path, HEADER_LEN, "the checksum of its pack", pack, recorded)?;
    let mut hasher = IdHasher::new(pack.kind());
    hasher.update(body);
    check_id(path, body.len() as u64, "the checksum of the bytes before it", &hasher.finish(), own)
}

fn check_id(path: &Path, offset: u64, what: &str, expected: &ObjectId, found: &[u8]) -> Result<()> {
    if expected.as_slice() == found {
        return Ok(());
    }
    let found = ObjectId::try_from(found).map_or_else(|_| "none".to_owned(), |id| id.to_string());
    Err(ReaderError::corrupt(path, Place::Offset(offset), format!("{what}, {expected}"), found))
}

fn header(hash: Kind) -> Vec<u8> {
    let function: u32 = if hash == Kind::Sha256 { 2 } else { 1 };
    [&MARK_SIGNATURE[..], &MARK_VERSION.to_be_bytes(), &function.to_be_bytes()].concat()
}
