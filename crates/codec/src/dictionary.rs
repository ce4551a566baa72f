//! Dictionaries: bytes that both encoder and decoder have before the first payload.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kind::ChunkKind;

/// The length of the longest preset dictionary of an RFC 1950 stream in bytes: that of its window.
pub(crate) const LONGEST_PRESET: usize = 32 << 10;

/// A dictionary.
///
/// It is cheap to clone, so that the codecs of all threads can share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    bytes: Arc<[u8]>,
}

impl Dictionary {
    /// Creates a dictionary of these bytes: one that `zstd --train` made, or any content that resembles the payloads.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Dictionary { bytes: bytes.into() }
    }

    /// The bytes of the dictionary.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The dictionaries of one repository. Chunks refer to them by number.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    numbered: Arc<Vec<Numbered>>,
}

#[derive(Debug)]
struct Numbered {
    dictionary: Dictionary,
    /// RFC 1950 streams refer to the dictionary by this checksum.
    adler32: u32,
}

impl Dictionaries {
    /// Numbers these dictionaries from 0. Chunks cannot refer to those beyond the range of a one-byte number.
    pub fn new(dictionaries: impl IntoIterator<Item = Dictionary>) -> Self {
        let numbered = dictionaries.into_iter().map(|dictionary| {
            let adler32 = if dictionary.bytes().len() <= LONGEST_PRESET { adler32(dictionary.bytes()) } else { 1 };
            Numbered { dictionary, adler32 }
        });
        Dictionaries { numbered: Arc::new(numbered.collect()) }
    }

    /// The dictionary with this number.
    pub fn get(&self, number: u8) -> Option<&Dictionary> {
        self.numbered.get(usize::from(number)).map(|numbered| &numbered.dictionary)
    }

    /// The dictionary with this Adler-32 and its number, among those that an RFC 1950 stream can use.
    pub fn by_adler32(&self, adler32: u32) -> Option<(u8, &Dictionary)> {
        let at = self
            .numbered
            .iter()
            .position(|numbered| numbered.adler32 == adler32 && numbered.dictionary.bytes().len() <= LONGEST_PRESET)?;
        let number = u8::try_from(at).ok()?;
        self.get(number).map(|dictionary| (number, dictionary))
    }

    /// The number of dictionaries.
    pub fn len(&self) -> usize {
        self.numbered.len()
    }

    /// Whether there are no dictionaries.
    pub fn is_empty(&self) -> bool {
        self.numbered.is_empty()
    }

    /// Every dictionary in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Dictionary> {
        self.numbered.iter().map(|numbered| &numbered.dictionary)
    }
}

/// Dictionaries, and the one for the payloads of each kind.
#[derive(Clone, Debug, Default)]
pub struct AssignedDictionaries {
    /// The dictionaries.
    pub dictionaries: Dictionaries,
    /// The number of the dictionary for each kind that has one.
    pub by_kind: BTreeMap<ChunkKind, u8>,
}

/// RFC 1950, section 8.2: the sum of all bytes plus one, and the sum of those sums, both modulo 65521.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    let (a, b) = bytes.iter().fold((1u32, 0u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    });
    (b << 16) | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adler32_agrees_with_rfc_1950() {
        // The last four bytes of an RFC 1950 stream are the Adler-32 of its payload.
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn dictionaries_are_found_by_number_and_by_checksum() {
        let dictionaries = Dictionaries::new([Dictionary::new(*b"one"), Dictionary::new(*b"two")]);
        assert_eq!(dictionaries.get(1).unwrap().bytes(), b"two");
        assert!(dictionaries.get(2).is_none());
        assert_eq!(dictionaries.by_adler32(adler32(b"two")).unwrap().0, 1);
        assert!(dictionaries.by_adler32(adler32(b"three")).is_none());
    }
}
