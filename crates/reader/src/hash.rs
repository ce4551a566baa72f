//! Hashing with SHA-1 or SHA-256: of Git's objects and files, and of files that are named by their hash.
//!
//! SHA-1 is computed without the collision detection of git. Hashes are recomputed here to find damage, not attacks: git
//! would have rejected a collision when it was fetched.

use std::io::{self, ErrorKind, Read};

use gix_hash::{Kind, ObjectId};
use sha1::Digest;

/// A running hash.
#[derive(Debug, Clone)]
pub enum IdHasher {
    /// SHA-1.
    Sha1(sha1::Sha1),
    /// SHA-256.
    Sha256(sha2::Sha256),
}

impl IdHasher {
    /// A hasher without any input.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sha256 => IdHasher::Sha256(sha2::Sha256::new()),
            _ => IdHasher::Sha1(sha1::Sha1::new()),
        }
    }

    /// Adds `bytes`.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            IdHasher::Sha1(hasher) => hasher.update(bytes),
            IdHasher::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// Adds everything that `source` has left. Returns the number of bytes.
    pub(crate) fn update_from(&mut self, source: &mut impl Read) -> io::Result<u64> {
        let mut buffer = vec![0; 1 << 18];
        let mut total = 0;
        loop {
            match source.read(&mut buffer) {
                Ok(0) => return Ok(total),
                Ok(len) => {
                    self.update(buffer.get(..len).unwrap_or_default());
                    total += len as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The hash of all that was added.
    pub fn finish(self) -> ObjectId {
        match self {
            IdHasher::Sha1(hasher) => ObjectId::Sha1(hasher.finalize().into()),
            IdHasher::Sha256(hasher) => ObjectId::Sha256(hasher.finalize().into()),
        }
    }
}
