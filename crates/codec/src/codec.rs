//! The trait beneath the container: one body in, one payload out, and back.

use std::io::{BufRead, Read, Write};

use crate::dictionary::Dictionary;
use crate::error::CodecError;

/// The level of codecs that only decode; no encoder is made for it.
pub(crate) const UNUSED_LEVEL: i32 = 1;

/// Takes a decoded payload piece by piece.
pub type PayloadSink<'a> = dyn FnMut(&[u8]) -> std::io::Result<()> + 'a;

/// What a codec can do without help from the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The compressed bytes say where they end; otherwise the body carries the stored length.
    pub finds_own_end: bool,
    /// A payload of any length is encoded and decoded in bounded memory; otherwise a payload above
    /// [`BLOCK_LEN`](crate::BLOCK_LEN) is cut into blocks, or handed to a codec that streams.
    pub streams: bool,
    /// The first bytes of a payload are had without decoding the rest.
    pub partial_decode: bool,
    /// Dictionaries can be set.
    pub dictionaries: bool,
}

/// One algorithm in one implementation, with contexts that are reused from payload to payload.
///
/// A *body* is what follows the tag byte, or the whole chunk for codecs whose chunks are RFC 1950
/// streams. Buffers belong to the caller; a codec allocates when its context is first used and
/// when a payload is larger than any before.
pub trait Codec: Send {
    /// What this codec can do by itself.
    fn capabilities(&self) -> Capabilities;

    /// Appends the body of `payload` to `out`, returns its length in bytes.
    ///
    /// # Errors
    /// When the implementation fails; `out` may then end in a partial body.
    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError>;

    /// Decodes the body at the start of `stored`, which may go on far beyond it, into `payload`;
    /// returns how many stored bytes the body took.
    ///
    /// # Errors
    /// When the body does not hold exactly `payload.len()` bytes, is damaged, or its checksum does not match.
    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError>;

    /// Fills `prefix` with the first bytes of the payload; returns how many there are, which is
    /// `prefix.len()` unless the payload is shorter. What `prefix` holds beyond them is unspecified.
    ///
    /// # Errors
    /// When the body is damaged before the prefix is complete. Checksums are checked only by
    /// codecs that decode the whole payload for a prefix.
    fn decode_prefix(&mut self, stored: &[u8], prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        self.decode_prefix_from(&mut rest, prefix)
    }

    /// As [`decode_prefix`](Codec::decode_prefix), from a source of stored bytes, of which it may take more than it
    /// needs.
    ///
    /// # Errors
    /// As `decode_prefix`, and when the source cannot be read.
    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError>;

    /// Encodes the `payload_len` bytes that `payload` yields and writes the body to `stored`;
    /// returns its length in bytes.
    ///
    /// # Errors
    /// When the source is shorter or longer than `payload_len`, or a reader, a writer or the implementation fails.
    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError>;

    /// Decodes the body that `stored` yields next and hands the payload to `sink` in pieces; takes exactly the body's
    /// bytes and returns how many there are.
    ///
    /// # Errors
    /// As [`decode`](Codec::decode), and when the source or the sink fails. Pieces handed over before an error were
    /// decoded without one, but their checksum was not yet known: the caller must discard them.
    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError>;

    /// Says whether bodies carry a payload checksum: written when encoding, demanded when decoding.
    ///
    /// RFC 1950 streams always carry their Adler-32; for them this does nothing.
    fn set_checksum(&mut self, carried: bool);

    /// Uses `dictionary` for every body from here on, or none.
    ///
    /// # Errors
    /// [`CodecError::NoDictionaries`] from codecs that take none (also for `None`, so that a caller
    /// notices early), [`CodecError::BadDictionary`] for bytes that the codec refuses.
    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError>;
}

/// A codec whose chunks find their own end, also when the payload's length is not known.
pub(crate) trait OpenEnded: Send {
    /// Decodes the chunk that is all of `stored` and appends its payload to `payload`; returns the payload's length.
    ///
    /// # Errors
    /// When the chunk is damaged, does not end with `stored`, or its payload is longer than `limit`. What was appended
    /// is then unspecified.
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError>;
}
