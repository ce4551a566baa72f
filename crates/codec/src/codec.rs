//! The trait below the container: encodes a payload into a body, and decodes it.

use std::io::{BufRead, Read, Write};

use crate::dictionary::Dictionary;
use crate::error::CodecError;

/// The level of a codec that is made only for decoding.
pub(crate) const UNUSED_LEVEL: i32 = 1;

/// Receives a decoded payload piece by piece.
pub type PayloadSink<'a> = dyn FnMut(&[u8]) -> std::io::Result<()> + 'a;

/// The abilities that a codec has without help from the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The compressed bytes say where they end. Otherwise the body carries the stored length.
    pub finds_own_end: bool,
    /// The codec encodes and decodes a payload of any length in bounded memory. Otherwise a payload above
    /// [`BLOCK_LEN`](crate::BLOCK_LEN) is cut into blocks, or handed to a codec that streams.
    pub streams: bool,
    /// The codec can decode the first bytes of a payload without decoding the rest.
    pub partial_decode: bool,
    /// The codec takes dictionaries.
    pub dictionaries: bool,
}

/// One algorithm in one implementation, with contexts that are reused from payload to payload.
///
/// A *body* is the part of a chunk after the tag, or the whole chunk if it is an RFC 1950 stream. The caller owns the
/// buffers. A codec allocates when its context is first used and when a payload is larger than all before it.
pub trait Codec: Send {
    /// What this codec can do without help from the container.
    fn capabilities(&self) -> Capabilities;

    /// Appends the body of `payload` to `out` and returns the body's length in bytes.
    ///
    /// # Errors
    /// When the implementation fails; `out` may then end in a partial body.
    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError>;

    /// Decodes the body at the start of `stored`, which may extend far beyond the body, into `payload`.
    /// Returns the number of stored bytes that the body took.
    ///
    /// # Errors
    /// When the body does not hold exactly `payload.len()` bytes, is damaged, or its checksum does not match.
    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError>;

    /// Fills `prefix` with the first bytes of the payload and returns their number, which is
    /// `prefix.len()` unless the payload is shorter. The rest of `prefix` is unspecified.
    ///
    /// # Errors
    /// When the body is damaged before the prefix is complete. Only codecs that decode the whole payload for a prefix
    /// check its checksum.
    fn decode_prefix(&mut self, stored: &[u8], prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        self.decode_prefix_from(&mut rest, prefix)
    }

    /// Does the same as [`decode_prefix`](Codec::decode_prefix) with a source of stored bytes, from which it may take
    /// more than it needs.
    ///
    /// # Errors
    /// As `decode_prefix`, and when the source cannot be read.
    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError>;

    /// Encodes the `payload_len` bytes that `payload` yields, writes the body to `stored` and returns the body's length
    /// in bytes.
    ///
    /// # Errors
    /// When the source is shorter or longer than `payload_len`, or a reader, a writer or the implementation fails.
    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError>;

    /// Decodes the body that `stored` yields next and hands the payload to `sink` in pieces. Takes exactly the body's
    /// bytes and returns their number.
    ///
    /// # Errors
    /// As [`decode`](Codec::decode), and when the source or the sink fails. The checksum of the pieces that were handed
    /// over before an error is not yet known: the caller must discard them.
    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError>;

    /// Sets whether bodies carry a payload checksum: the encoder then writes it and the decoder requires it.
    ///
    /// This does nothing for RFC 1950 streams, which always carry their Adler-32.
    fn set_checksum(&mut self, carried: bool);

    /// Uses `dictionary`, or no dictionary, for all bodies that follow.
    ///
    /// # Errors
    /// [`CodecError::NoDictionaries`] from codecs that take none (also for `None`, so that the caller
    /// notices early), [`CodecError::BadDictionary`] for bytes that the codec refuses.
    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError>;
}

/// A codec whose chunks find their own end even if the payload's length is unknown.
pub(crate) trait OpenEnded: Send {
    /// Decodes the chunk that is all of `stored`, appends its payload to `payload` and returns the payload's length.
    ///
    /// # Errors
    /// When the chunk is damaged, does not end with `stored`, or its payload is longer than `limit`. The appended bytes
    /// are then unspecified.
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError>;
}
