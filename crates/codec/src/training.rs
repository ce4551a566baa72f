//! Training of dictionaries by ZDICT, the trainer in libzstd.
//!
//! A trained dictionary consists of a header (magic number, identifier, entropy tables) and the content. The content
//! consists of segments of the samples. Those that were picked first, which help most samples, are at its end, where
//! matches are cheapest. So the end of a content is the content of a smaller dictionary, and a content without the
//! header works for other codecs.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_uint, c_void};

use zstd_safe::zstd_sys::{
    ZDICT_fastCover_params_t, ZDICT_finalizeDictionary, ZDICT_getDictHeaderSize, ZDICT_getErrorName, ZDICT_isError,
    ZDICT_optimizeTrainFromBuffer_fastCover, ZDICT_params_t, ZDICT_trainFromBuffer_fastCover,
};

use crate::error::CodecError;

/// The name of the trainer in messages.
const TRAINER: &str = "zstd dictionary training";

/// The length of the smallest dictionary that is trained, in bytes. A smaller one might have room only for the header.
pub const MIN_DICTIONARY_LEN: usize = 2 * MAX_HEADER_LEN;

/// The number of bytes of a sample that count: one block of zstd.
pub const MAX_SAMPLE_LEN: usize = 128 << 10;

/// The maximum length of a header, in bytes. If header and content do not fit, the trainer cuts off the content's best
/// end.
const MAX_HEADER_LEN: usize = 256;

/// The length in bytes of the substrings whose frequency counts.
const SUBSTRING_LEN: c_uint = 8;

/// The binary logarithm of the number of counters for substrings, which take 6 MiB for any samples.
const COUNTERS_LOG: c_uint = 20;

/// One less than the number of segment lengths that are tried, between 50 and 2000 bytes.
const SEGMENT_STEPS: c_uint = 4;

/// The share of the samples that segments are taken from. The segment lengths are compared on the rest.
const SEGMENT_SHARE: f64 = 0.75;

/// Payloads to train on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrainingSamples {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl TrainingSamples {
    /// Adds the first [`MAX_SAMPLE_LEN`] bytes of `payload`.
    pub fn push(&mut self, payload: &[u8]) {
        let sample = payload.get(..MAX_SAMPLE_LEN).unwrap_or(payload);
        self.bytes.extend_from_slice(sample);
        self.lengths.push(sample.len());
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The length of all samples together, in bytes.
    pub fn total_len(&self) -> usize {
        self.bytes.len()
    }

    /// The samples, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().map(move |length| {
            let (sample, after) = rest.split_at_checked(*length).unwrap_or_default();
            rest = after;
            sample
        })
    }

    /// The samples at the positions that `is_wanted` accepts.
    #[must_use]
    pub fn select(&self, mut is_wanted: impl FnMut(usize) -> bool) -> TrainingSamples {
        let mut selected = TrainingSamples::default();
        for (position, sample) in self.iter().enumerate() {
            if is_wanted(position) {
                selected.push(sample);
            }
        }
        selected
    }

    /// Trains a dictionary of at most `capacity` bytes, or [`MIN_DICTIONARY_LEN`] if that is more. zstd at `level`
    /// compares the segment lengths, and the entropy tables are for that level. The same samples always give the same
    /// dictionary.
    ///
    /// # Errors
    /// When the trainer finds nothing in the samples, as in a small number of them, or there is not enough memory.
    pub fn train(&self, capacity: usize, level: i32) -> Result<Vec<u8>, CodecError> {
        Ok(self.train_each_length(capacity, level)?.0)
    }

    /// As [`train`](Self::train), in less time: the segment lengths are compared on `part` of these samples alone.
    ///
    /// # Errors
    /// As [`train`](Self::train), for `part` too.
    pub fn train_as_part(&self, part: &TrainingSamples, capacity: usize, level: i32) -> Result<Vec<u8>, CodecError> {
        let (_, segment_len) = part.train_each_length(capacity, level)?;
        let count = self.count()?;
        let mut dictionary = vec![0; capacity.max(MIN_DICTIONARY_LEN)];
        // SAFETY: as in `train_each_length`. The parameters are passed by value.
        let written = unsafe {
            ZDICT_trainFromBuffer_fastCover(
                dictionary.as_mut_ptr().cast::<c_void>(),
                dictionary.len(),
                self.bytes.as_ptr().cast(),
                self.lengths.as_ptr(),
                count,
                parameters(segment_len, level),
            )
        };
        dictionary.truncate(checked(written)?);
        Ok(dictionary)
    }

    /// The dictionary with the segment length that is best of some, and that length.
    fn train_each_length(&self, capacity: usize, level: i32) -> Result<(Vec<u8>, c_uint), CodecError> {
        let count = self.count()?;
        let mut dictionary = vec![0; capacity.max(MIN_DICTIONARY_LEN)];
        let mut parameters = parameters(0, level);
        // SAFETY: every pointer is to a buffer that lives through the call. The dictionary's is valid for writes of the
        // length passed with it, and that of the samples for reads of the sum of the `count` lengths. The library keeps
        // none of the pointers, and it writes only 0 to its one global, the display level.
        let written = unsafe {
            ZDICT_optimizeTrainFromBuffer_fastCover(
                dictionary.as_mut_ptr().cast::<c_void>(),
                dictionary.len(),
                self.bytes.as_ptr().cast(),
                self.lengths.as_ptr(),
                count,
                &raw mut parameters,
            )
        };
        dictionary.truncate(checked(written)?);
        Ok((dictionary, parameters.k))
    }

    /// Makes a dictionary of the end of `content`, with entropy tables of these samples for `level`. It has at most
    /// `capacity` bytes, or [`MIN_DICTIONARY_LEN`] if that is more.
    ///
    /// # Errors
    /// When there are no samples, or there is not enough memory.
    pub fn finalize(&self, content: &[u8], capacity: usize, level: i32) -> Result<Vec<u8>, CodecError> {
        let count = self.count()?;
        let mut dictionary = vec![0; capacity.max(MIN_DICTIONARY_LEN)];
        let content = end_of(content, dictionary.len() - MAX_HEADER_LEN);
        // SAFETY: as in `train`. The content is another buffer, which is only read, of the length passed with it.
        let written = unsafe {
            ZDICT_finalizeDictionary(
                dictionary.as_mut_ptr().cast::<c_void>(),
                dictionary.len(),
                content.as_ptr().cast(),
                content.len(),
                self.bytes.as_ptr().cast(),
                self.lengths.as_ptr(),
                count,
                silent(level),
            )
        };
        dictionary.truncate(checked(written)?);
        Ok(dictionary)
    }

    /// The number of samples in the library's type.
    fn count(&self) -> Result<c_uint, CodecError> {
        let count = c_uint::try_from(self.lengths.len()).ok().filter(|count| *count > 0);
        count.ok_or_else(|| failed(format!("expected 1 to {} samples, found {}", c_uint::MAX, self.lengths.len())))
    }
}

/// The content of a trained dictionary, which follows its header; all of `dictionary` if it has no such header.
pub fn dictionary_content(dictionary: &[u8]) -> &[u8] {
    // SAFETY: the buffer is valid for reads of the length passed with it.
    let header_len = unsafe { ZDICT_getDictHeaderSize(dictionary.as_ptr().cast(), dictionary.len()) };
    checked(header_len).ok().and_then(|header_len| dictionary.get(header_len..)).unwrap_or(dictionary)
}

/// The last `length` bytes, or all if there are fewer.
fn end_of(content: &[u8], length: usize) -> &[u8] {
    content.get(content.len().saturating_sub(length)..).unwrap_or(content)
}

/// Parameters for segments of `segment_len` bytes; 0 for those of several lengths that are best.
fn parameters(segment_len: c_uint, level: i32) -> ZDICT_fastCover_params_t {
    ZDICT_fastCover_params_t {
        k: segment_len,
        d: SUBSTRING_LEN,
        f: COUNTERS_LOG,
        steps: SEGMENT_STEPS,
        nbThreads: 1,
        splitPoint: SEGMENT_SHARE,
        accel: 1,
        shrinkDict: 0,
        shrinkDictMaxRegression: 0,
        zParams: silent(level),
    }
}

/// Parameters for a level. The library writes nothing to stderr, and the identifier is a hash of the content.
fn silent(level: i32) -> ZDICT_params_t {
    ZDICT_params_t { compressionLevel: level, notificationLevel: 0, dictID: 0 }
}

/// The length that the library returned, unless that is an error code.
fn checked(returned: usize) -> Result<usize, CodecError> {
    // SAFETY: the function takes a number and returns one.
    if unsafe { ZDICT_isError(returned) } == 0 {
        return Ok(returned);
    }
    // SAFETY: the library returns a static string for any number.
    let name = unsafe { CStr::from_ptr(ZDICT_getErrorName(returned)) };
    Err(failed(name.to_string_lossy().into_owned()))
}

fn failed(message: String) -> CodecError {
    CodecError::Implementation { codec: TRAINER, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payloads that start alike, as commits do.
    fn samples() -> TrainingSamples {
        let mut samples = TrainingSamples::default();
        for number in 0..500u32 {
            let noise = number.wrapping_mul(2_654_435_761);
            let text =
                format!("tree {noise:08x}\nauthor A U Thor <author@example.org> {number} +0100\n\nsubject {noise}\n");
            samples.push(text.as_bytes());
        }
        samples
    }

    #[test]
    fn trained_dictionary_is_valid_and_reproducible() {
        let dictionary = samples().train(4096, 3).unwrap();
        assert!(dictionary.len() <= 4096 && dictionary.starts_with(&[0x37, 0xa4, 0x30, 0xec]));
        assert!(zstd_safe::get_dict_id(&dictionary).is_some());
        let content = dictionary_content(&dictionary);
        assert!(content.len() < dictionary.len() && dictionary.ends_with(content));
        assert_eq!(samples().train(4096, 3).unwrap(), dictionary);
    }

    #[test]
    fn part_of_the_samples_says_how_long_segments_are() {
        let all = samples();
        let part = all.select(|position| position % 4 == 0);
        let dictionary = all.train_as_part(&part, 4096, 3).unwrap();
        assert!(zstd_safe::get_dict_id(&dictionary).is_some() && dictionary.len() <= 4096);
        assert_eq!(all.train_as_part(&part, 4096, 3).unwrap(), dictionary);
        assert_ne!(part.train(4096, 3).unwrap(), dictionary, "the segments are those of all samples");
        assert!(all.train_as_part(&TrainingSamples::default(), 4096, 3).is_err());
        // What repeats in this part is longer than any segment of the first.
        let mut long = TrainingSamples::default();
        for number in 0..100u32 {
            let text: Vec<u8> = (0..3000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            long.push(&[&number.to_le_bytes(), text.as_slice()].concat());
        }
        let lengths = [&part, &long].map(|part| part.train_each_length(4096, 3).unwrap().1);
        assert_ne!(lengths[0], lengths[1]);
        assert_ne!(all.train_as_part(&long, 4096, 3).unwrap(), dictionary);
    }

    #[test]
    fn end_of_a_content_makes_a_smaller_dictionary() {
        let trained = samples().train(4096, 3).unwrap();
        let content = dictionary_content(&trained);
        let smaller = samples().finalize(content, 1024, 19).unwrap();
        assert!(smaller.len() <= 1024);
        let kept = dictionary_content(&smaller);
        assert!(kept.len() >= 1024 - MAX_HEADER_LEN && content.ends_with(kept), "{} bytes", kept.len());
    }

    #[test]
    fn untrained_dictionary_is_all_content() {
        assert_eq!(dictionary_content(b"just bytes"), b"just bytes");
        assert_eq!(dictionary_content(b""), b"");
    }

    #[test]
    fn training_rejects_too_few_samples() {
        assert!(TrainingSamples::default().train(4096, 3).is_err());
        assert!(TrainingSamples::default().finalize(b"content", 4096, 3).is_err());
        let mut one = TrainingSamples::default();
        one.push(b"a sample");
        let error = one.train(4096, 3).unwrap_err();
        assert!(error.to_string().starts_with("zstd dictionary training: "), "{error}");
    }

    #[test]
    fn samples_are_cut_and_keep_their_order() {
        let mut samples = TrainingSamples::default();
        for payload in [&b"one"[..], b"", &vec![7; MAX_SAMPLE_LEN + 1], b"four"] {
            samples.push(payload);
        }
        assert_eq!(samples.total_len(), 3 + MAX_SAMPLE_LEN + 4);
        let others = samples.select(|position| position != 2);
        assert_eq!(others.iter().collect::<Vec<_>>(), [&b"one"[..], b"", b"four"]);
        assert_eq!(samples.iter().map(<[u8]>::len).collect::<Vec<_>>(), [3, 0, MAX_SAMPLE_LEN, 4]);
    }
}
