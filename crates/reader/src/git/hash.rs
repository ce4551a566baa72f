//! Hashing of objects and files, by the hash that a repository uses.
//!
//! Plain SHA-1, without the collision detection that git adds: ids are recomputed here to find damage, and damage that
//! collides would have been refused when it was fetched.

use gix_hash::{Kind, ObjectId};
use sha1::Digest;

use crate::ObjectKind;

/// A running hash.
#[derive(Debug, Clone)]
pub enum GitHasher {
    /// SHA-1.
    Sha1(sha1::Sha1),
    /// SHA-256.
    Sha256(sha2::Sha256),
}

impl GitHasher {
    /// A hash of nothing yet.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sha256 => GitHasher::Sha256(sha2::Sha256::new()),
            _ => GitHasher::Sha1(sha1::Sha1::new()),
        }
    }

    /// A hash that has taken the header of an object of `len` bytes: its content follows.
    pub fn for_object(hash: Kind, kind: ObjectKind, len: u64) -> Self {
        let mut hasher = GitHasher::new(hash);
        hasher.update(kind.name().as_bytes());
        let mut digits = [0u8; 22];
        hasher.update(size_suffix(len, &mut digits));
        hasher
    }

    /// Takes `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            GitHasher::Sha1(hasher) => hasher.update(bytes),
            GitHasher::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// The hash of what was taken.
    pub fn finish(self) -> ObjectId {
        match self {
            GitHasher::Sha1(hasher) => ObjectId::Sha1(hasher.finalize().into()),
            GitHasher::Sha256(hasher) => ObjectId::Sha256(hasher.finalize().into()),
        }
    }
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
    let mut hasher = GitHasher::for_object(hash, kind, content.len() as u64);
    hasher.update(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_git_hash_object() {
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
    fn sizes_of_every_width_are_spelled() {
        for len in [0, 9, 10, 12_345, u64::MAX] {
            assert_eq!(size_suffix(len, &mut [0; 22]), format!(" {len}\0").as_bytes());
        }
    }
}
