//! The ids of Git's objects: the hash of a header, `<kind> <length>` and NUL, and the content.

use gix_hash::{Kind, ObjectId};

use crate::{ObjectKind, hash::IdHasher};

/// A hasher that has the header of an object with `len` bytes of content. Its content is to be added.
pub(super) fn object_hasher(hash: Kind, kind: ObjectKind, len: u64) -> IdHasher {
    let mut hasher = IdHasher::new(hash);
    hasher.update(kind.name().as_bytes());
    let mut digits = [0u8; 22];
    hasher.update(size_suffix(len, &mut digits));
    hasher
}

/// Writes ` <len>` and NUL, the end of an object's header, into `buffer` without allocating.
fn size_suffix(mut len: u64, buffer: &mut [u8; 22]) -> &[u8] {
    let mut start = buffer.len() - 1;
    for slot in buffer.iter_mut().rev().skip(1) {
        *slot = b'0' + (len % 10) as u8;
        start -= 1;
        len /= 10;
        if len == 0 {
            break;
        }
    }
    start = start.saturating_sub(1);
    if let Some(space) = buffer.get_mut(start) {
        *space = b' ';
    }
    buffer.get(start..).unwrap_or_default()
}

/// The id of an object of `kind` with `content`.
pub fn object_id(hash: Kind, kind: ObjectKind, content: &[u8]) -> ObjectId {
    let mut hasher = object_hasher(hash, kind, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_match_git_hash_object() {
        let id = |hash, kind, content: &[u8]| object_id(hash, kind, content).to_string();
        assert_eq!(id(Kind::Sha1, ObjectKind::Blob, b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(id(Kind::Sha1, ObjectKind::Tree, b""), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
        assert_eq!(id(Kind::Sha1, ObjectKind::Blob, b"test content\n"), "d670460b4b4aece5915caf5c68d12f560a9fe3e4");
        assert_eq!(
            id(Kind::Sha256, ObjectKind::Blob, b""),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    #[test]
    fn sizes_of_every_width_are_written() {
        for len in [0, 9, 10, 12_345, u64::MAX] {
            assert_eq!(size_suffix(len, &mut [0; 22]), format!(" {len}\0").as_bytes());
        }
    }
}
