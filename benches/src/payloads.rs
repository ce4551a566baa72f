//! The payloads that codecs are measured on: those of a real repository, by size class.

use repackbench_codec::{BLOCK_LEN, ChunkDecoder, ZlibReader};
use repackbench_reader::{
    Chunk, Place, ReaderError, Store,
    git::{GitRepository, GitStore, chunk::decode_to_vec},
};

use crate::Result;

/// A range of payload lengths within which codecs behave alike. Four of ten entries of a pack are in the smallest
/// class, and most of the stored bytes in the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeClass {
    /// The name in results.
    pub name: &'static str,
    /// The length of the shortest payload, in bytes.
    from: u64,
    /// The first length above the class.
    to: u64,
}

impl SizeClass {
    /// The classes. They contain every payload that is encoded in one call.
    pub const ALL: [SizeClass; 4] = [
        SizeClass { name: "below 64 B", from: 0, to: 64 },
        SizeClass { name: "64 to 255 B", from: 64, to: 256 },
        SizeClass { name: "256 B to 4 KiB", from: 256, to: 4096 },
        SizeClass { name: "4 KiB and more", from: 4096, to: BLOCK_LEN as u64 + 1 },
    ];

    /// Payloads of all these lengths, in the proportions of the repository.
    pub const EVERY: SizeClass = SizeClass { name: "all lengths", from: 0, to: BLOCK_LEN as u64 + 1 };

    fn holds(self, payload_len: u64) -> bool {
        (self.from..self.to).contains(&payload_len)
    }
}

/// Some payloads of one size class.
#[derive(Debug)]
pub struct PayloadSample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// Whether `chunk` belongs to `class` and is in memory, which a large loose object is not.
fn is_sampled(class: SizeClass, chunk: &Chunk<'_>) -> bool {
    class.holds(chunk.payload_len) && chunk.stored.len() as u64 == chunk.stored_len
}

impl PayloadSample {
    /// Collects every n-th payload of `class` among the chunks of `repository`, in file order. `n` is such that they
    /// have about `limit` bytes together, or 1 if there are fewer. A single payload may exceed the limit.
    ///
    /// # Errors
    /// The repository cannot be read.
    pub fn collect(repository: &GitRepository, class: SizeClass, limit: u64) -> Result<Self> {
        let store = GitStore::new(repository);
        let mut total = 0;
        store.for_each_chunk(&mut |chunk| {
            total += if is_sampled(class, chunk) { chunk.payload_len } else { 0 };
            Ok(())
        })?;
        let stride = total.div_ceil(limit.max(1)).max(1);

        let mut sample = PayloadSample { bytes: Vec::new(), ends: Vec::new() };
        let mut decoder = ChunkDecoder::new(ZlibReader::Libdeflate);
        let mut payload = Vec::new();
        let mut nth = 0u64;
        store.for_each_chunk(&mut |chunk| {
            if !is_sampled(class, chunk) {
                return Ok(());
            }
            nth += 1;
            if !nth.is_multiple_of(stride) {
                return Ok(());
            }
            decode_to_vec(&mut decoder, chunk.stored, chunk.payload_len, &mut payload).map_err(|error| {
                let place = Place::Offset(chunk.offset);
                ReaderError::corrupt(chunk.file, place, "a sound chunk", error.to_string())
            })?;
            sample.bytes.extend_from_slice(&payload);
            sample.ends.push(sample.bytes.len());
            Ok(())
        })?;
        Ok(sample)
    }

    /// Every `stride`-th payload, starting with the first.
    #[must_use]
    pub fn thinned(&self, stride: usize) -> Self {
        let mut thinned = PayloadSample { bytes: Vec::new(), ends: Vec::new() };
        for payload in self.iter().step_by(stride.max(1)) {
            thinned.bytes.extend_from_slice(payload);
            thinned.ends.push(thinned.bytes.len());
        }
        thinned
    }

    /// The payloads, in file order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }

    /// The number of payloads.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no payloads.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The length of all payloads together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_tile_all_lengths() {
        for length in [0, 1, 63, 64, 65, 255, 256, 4095, 4096, BLOCK_LEN as u64] {
            let holders = SizeClass::ALL.into_iter().filter(|class| class.holds(length)).count();
            assert_eq!(holders, 1, "{length}");
        }
        assert!(!SizeClass::ALL.into_iter().any(|class| class.holds(BLOCK_LEN as u64 + 1)));
    }

    #[test]
    fn iter_yields_every_payload() {
        let sample = PayloadSample { bytes: b"onethree".to_vec(), ends: vec![3, 3, 8] };
        assert_eq!(sample.iter().collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        assert_eq!((sample.len(), sample.bytes()), (3, 8));
        assert_eq!(sample.thinned(2).iter().collect::<Vec<_>>(), [&b"one"[..], b"three"]);
    }
}
