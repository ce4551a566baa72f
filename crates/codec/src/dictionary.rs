//! Dictionaries: bytes that encoder and decoder both hold before the first payload.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kind::ChunkKind;

/// The longest preset dictionary of an RFC 1950 stream: its window, in bytes.
pub(crate) const LONGEST_PRESET: usize = 32 << 10;

/// A dictionary.
///
/// Cheap to clone, so that every thread's codec can share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    bytes: Arc<[u8]>,
}

impl Dictionary {
    /// A dictionary of these bytes: trained by `zstd --train`, or any content that resembles the payloads.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Dictionary { bytes: bytes.into() }
    }

    /// The bytes of the dictionary.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The dictionaries of one repository: chunks name theirs by number.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    numbered: Arc<Vec<Numbered>>,
}

#[derive(Debug)]
struct Numbered {
    dictionary: Dictionary,
    /// By which an RFC 1950 stream names it.
    adler32: u32,
}

impl Dictionaries {
    /// These dictionaries, the first with number 0. One too many for a one-byte number cannot be named.
    pub fn new(dictionaries: impl IntoIterator<Item = Dictionary>) -> Self {
        let numbered = dictionaries.into_iter().map(|dictionary| {
            let adler32 = if dictionary.bytes().len() <= LONGEST_PRESET { adler32(dictionary.bytes()) } else { 1 };
            Numbered { dictionary, adler32 }
        });
        Dictionaries { numbered: Arc::new(numbered.collect()) }
    }

    /// The dictionary with that number.
    pub fn get(&self, number: u8) -> Option<&Dictionary> {
        self.numbered.get(usize::from(number)).map(|numbered| &numbered.dictionary)
    }

    /// The dictionary with that Adler-32, and its number; only among those that an RFC 1950 stream can use.
    pub fn by_adler32(&self, adler32: u32) -> Option<(u8, &Dictionary)> {
        let at = self
            .numbered
            .iter()
            .position(|numbered| numbered.adler32 == adler32 && numbered.dictionary.bytes().len() <= LONGEST_PRESET)?;
        let number = u8::try_from(at).ok()?;
        self.get(number).map(|dictionary| (number, dictionary))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbered.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbered.is_empty()
    }

    /// Every dictionary, by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = &Dictionary> {
        self.numbered.iter().map(|numbered| &numbered.dictionary)
    }
}

/// Dictionaries, and which one the payloads of each kind are encoded with.
#[derive(Clone, Debug, Default)]
pub struct AssignedDictionaries {
    /// The dictionaries.
    pub dictionaries: Dictionaries,
    /// The number of the dictionary of each kind that has one.
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
    fn adler32_is_that_of_rfc_1950() {
        // The last four bytes of an RFC 1950 stream are its payload's.
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
