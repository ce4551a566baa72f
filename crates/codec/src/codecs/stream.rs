//! The tagged body of codecs that find their own end: `deflate`, `brotli`, `lzma`, `xz` and `bzip2`.
//!
//! | field | length | meaning |
//! |---|---|---|
//! | payload length | 1-10 | LEB128 |
//! | stream | found by decoding | in the codec's own format |
//! | checksum | 4, or 0 | see [`checksum`](crate::checksum); absent with `checksum=no` |

use std::io::{BufRead, Read, Write};

use super::steps::{Deflater, Inflater, LazyContexts, Machine, Position, deflate_piece, deflate_source};
use crate::checksum::{self, RunningChecksum};
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::CodecError;
use crate::leb128;
use crate::source::{PIECE_LEN, PayloadSource};
use crate::stored::StoredBytes;

/// The capabilities of these codecs, except for dictionaries.
pub(crate) const STREAMING: Capabilities =
    Capabilities { finds_own_end: true, streams: true, partial_decode: true, dictionaries: false };

/// The codec of a machine whose streams are in tagged bodies.
pub(crate) struct StreamCodec<M: Machine> {
    contexts: LazyContexts<M>,
    checksum: bool,
}

impl<M: Machine> StreamCodec<M> {
    /// Creates a codec whose bodies carry a checksum.
    pub(super) fn of(machine: M) -> Self {
        StreamCodec { contexts: LazyContexts::new(machine), checksum: true }
    }

    /// Makes only a decompressor, for a caller that checks length and checksum itself.
    ///
    /// # Errors
    /// When the decompressor cannot be set up.
    pub(crate) fn new_inflater(&self) -> Result<Box<dyn Inflater>, CodecError>
    where
        M::Inflater: 'static,
    {
        Ok(Box::new(self.contexts.machine().inflater()?))
    }
}

impl<M: Machine> Codec for StreamCodec<M> {
    fn capabilities(&self) -> Capabilities {
        M::CAPABILITIES
    }

    /// Compresses the same pieces as [`encode_stream`](Codec::encode_stream), and therefore writes the same bytes.
    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        leb128::write(payload.len() as u64, out);
        let (deflater, pieces) = self.contexts.deflater()?;
        deflater.restart(payload.len() as u64)?;
        let mut rest = payload;
        loop {
            let (piece, following) = rest.split_at_checked(PIECE_LEN).unwrap_or((rest, &[]));
            deflate_piece(deflater, piece, following.is_empty(), pieces, &mut |stored| {
                out.extend_from_slice(stored);
                Ok(())
            })?;
            if following.is_empty() {
                break;
            }
            rest = following;
        }
        if self.checksum {
            out.extend_from_slice(&checksum::of(payload).to_le_bytes());
        }
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let mut rest = stored;
        let mut body = StoredBytes::new(&mut rest, M::BODY);
        leb128::read_expected(&mut body, payload.len() as u64)?;
        let (inflater, _) = self.contexts.inflater()?;
        inflater.restart(payload.len() as u64)?;
        Position::start(&mut body).fill_exactly(inflater, payload)?;
        if self.checksum {
            checksum::verify(body.take_array()?, checksum::of(payload), M::BODY)?;
        }
        Ok(stored.len() - rest.len())
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let mut body = StoredBytes::new(stored, M::BODY);
        let payload_len = leb128::read(&mut body)?;
        let wanted = usize::try_from(payload_len).map_or(prefix.len(), |length| length.min(prefix.len()));
        let (inflater, _) = self.contexts.inflater()?;
        inflater.restart(payload_len)?;
        let mut position = Position::start(&mut body);
        let filled = position.fill(inflater, prefix.get_mut(..wanted).unwrap_or_default(), false)?;
        if filled < wanted { Err(position.too_short(payload_len, filled as u64)) } else { Ok(filled) }
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let (deflater, pieces) = self.contexts.deflater()?;
        deflater.restart(payload_len)?;
        pieces.payload.clear();
        leb128::write(payload_len, &mut pieces.payload);
        stored.write_all(&pieces.payload).map_err(CodecError::writing_stored)?;
        let mut written = pieces.payload.len() as u64;
        let mut hash = RunningChecksum::new();
        let mut source = PayloadSource::new(payload, payload_len);
        written += deflate_source(deflater, &mut source, pieces, stored, &mut |piece| hash.update(piece))?;
        if self.checksum {
            stored.write_all(&hash.value().to_le_bytes()).map_err(CodecError::writing_stored)?;
            written += checksum::LEN as u64;
        }
        Ok(written)
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let mut body = StoredBytes::new(stored, M::BODY);
        leb128::read_expected(&mut body, payload_len)?;
        let (inflater, piece) = self.contexts.inflater()?;
        inflater.restart(payload_len)?;
        let mut hash = RunningChecksum::new();
        Position::start(&mut body).deliver_exactly(inflater, piece, payload_len, &mut |delivered| {
            hash.update(delivered);
            sink(delivered)
        })?;
        if self.checksum {
            checksum::verify(body.take_array()?, hash.value(), M::BODY)?;
        }
        Ok(body.consumed())
    }

    fn set_checksum(&mut self, carried: bool) {
        self.checksum = carried;
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        self.contexts.set_dictionary(dictionary)
    }
}
