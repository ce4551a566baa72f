//! The key of a cached variant.

use std::fmt;

use sha2::{Digest, Sha256};

/// The name of a cached variant: a hash of everything that decides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariantKey([u8; 32]);

impl VariantKey {
    /// Parses a key from 64 lower-case hexadecimal digits.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
        let mut key = [0; 32];
        if pairs.len() != key.len() {
            return None;
        }
        for (byte, [high, low]) in key.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(VariantKey(key))
    }
}

impl fmt::Display for VariantKey {
    /// Lower-case hexadecimal digits: the name of the variant's folder.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Everything that decides the content of a variant. Lists may be in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariantInputs {
    /// The version of the on-disk format that the variant is written in.
    pub format_version: u32,
    /// The codec spec in its canonical spelling.
    pub spec: String,
    /// Names and versions of the programs and libraries that encode: another release may compress differently.
    pub encoder: String,
    /// The source's object hash, as Git names it: `sha1` or `sha256`.
    pub object_hash: String,
    /// Name and target of each ref, HEAD included. A target is an object id or the name of another ref, in any form
    /// that distinguishes the two.
    pub refs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The trailing checksums of all packs.
    pub pack_checksums: Vec<Vec<u8>>,
    /// The ids of all loose objects.
    pub loose_ids: Vec<Vec<u8>>,
    /// The content of `shallow`; empty when there is no such file.
    pub shallow: Vec<u8>,
    /// The content of `info/grafts`; empty when there is no such file.
    pub grafts: Vec<u8>,
}

impl VariantInputs {
    /// The key of the variant with these inputs: SHA-256 over the fields in the order of their declaration. Each text
    /// is preceded by its length and each sorted list by its number of items, as 64-bit little-endian integers. So no
    /// two different inputs hash the same bytes.
    pub fn key(mut self) -> VariantKey {
        self.refs.sort_unstable();
        self.pack_checksums.sort_unstable();
        self.loose_ids.sort_unstable();
        let mut hasher = KeyHasher::default();
        hasher.number(u64::from(self.format_version));
        hasher.text(self.spec.as_bytes());
        hasher.text(self.encoder.as_bytes());
        hasher.text(self.object_hash.as_bytes());
        hasher.number(self.refs.len() as u64);
        for (name, target) in &self.refs {
            hasher.text(name);
            hasher.text(target);
        }
        for list in [&self.pack_checksums, &self.loose_ids] {
            hasher.number(list.len() as u64);
            for item in list {
                hasher.text(item);
            }
        }
        hasher.text(&self.shallow);
        hasher.text(&self.grafts);
        hasher.finish()
    }
}

/// Hashes fields so that no two different lists of fields hash the same bytes.
#[derive(Debug, Default)]
pub struct KeyHasher(Sha256);

impl KeyHasher {
    /// Hashes a number, as a 64-bit little-endian integer.
    pub fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    /// Hashes a text, preceded by its length.
    pub fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.bytes(text);
    }

    /// Hashes a piece of a text whose length was hashed before.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the key.
    pub fn finish(self) -> VariantKey {
        VariantKey(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> VariantInputs {
        VariantInputs {
            format_version: 1,
            spec: "zstd:5".into(),
            encoder: "zstd 1.5.7".into(),
            object_hash: "sha1".into(),
            refs: vec![
                (b"HEAD".to_vec(), b"ref: refs/heads/main".to_vec()),
                (b"refs/heads/main".to_vec(), vec![1; 20]),
            ],
            pack_checksums: vec![vec![2; 20], vec![3; 20]],
            loose_ids: vec![vec![4; 20], vec![5; 20]],
            shallow: b"abc".to_vec(),
            grafts: Vec::new(),
        }
    }

    #[test]
    fn key_does_not_depend_on_the_order_of_lists() {
        let mut reordered = inputs();
        reordered.refs.reverse();
        reordered.pack_checksums.reverse();
        reordered.loose_ids.reverse();
        assert_ne!(reordered, inputs());
        assert_eq!(reordered.key(), inputs().key());
    }

    #[test]
    fn every_field_changes_the_key() {
        let changes: [fn(&mut VariantInputs); 13] = [
            |_| {},
            |inputs| inputs.format_version = 2,
            |inputs| inputs.spec = "zstd:6".into(),
            |inputs| inputs.encoder = "zstd 1.5.6".into(),
            |inputs| inputs.object_hash = "sha256".into(),
            |inputs| inputs.refs[1].1 = vec![9; 20],
            |inputs| drop(inputs.refs.pop()),
            |inputs| inputs.pack_checksums[0] = vec![9; 20],
            |inputs| drop(inputs.loose_ids.pop()),
            |inputs| inputs.loose_ids = std::mem::take(&mut inputs.pack_checksums),
            |inputs| inputs.grafts = b"x".to_vec(),
            |inputs| inputs.grafts = std::mem::take(&mut inputs.shallow),
            |inputs| {
                let last = inputs.spec.pop().unwrap();
                inputs.encoder.insert(0, last);
            },
        ];
        let keys: std::collections::BTreeSet<VariantKey> = changes
            .iter()
            .map(|change| {
                let mut changed = inputs();
                change(&mut changed);
                changed.key()
            })
            .collect();
        assert_eq!(keys.len(), changes.len());
    }

    /// Computed independently of this code, in Python with `struct.pack('<Q', ...)` and `hashlib.sha256`. A change of
    /// the layout must not go unnoticed: it invalidates every cache.
    #[test]
    fn hash_layout_is_fixed() {
        let expected = "26b090c68c6a1ce87920b92a6f2222c94cb1a49346ae5a0f455effa7d1ff9f56";
        assert_eq!(inputs().key().to_string(), expected);
    }

    #[test]
    fn key_parses_from_its_hexadecimal_digits() {
        let key = inputs().key();
        assert_eq!(VariantKey::from_hex(&key.to_string()), Some(key));
        assert_eq!(VariantKey::from_hex(&key.to_string().to_uppercase()), None);
        assert_eq!(VariantKey::from_hex(&key.to_string()[2..]), None);
        assert_eq!(VariantKey::from_hex("locks"), None);
    }
}
