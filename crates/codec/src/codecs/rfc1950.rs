//! RFC 1950 streams by any implementation that works in steps.
//!
//! A stream consists of a two-byte header, the Adler-32 of the dictionary if it uses one, DEFLATE blocks and the
//! payload's Adler-32, big-endian. It finds its own end but does not carry the payload's length.

use std::io::{BufRead, Read, Write};

use super::steps::{Deflater, Inflater, LazyContexts, Machine, Pieces, Position, deflate_piece, deflate_source};
use super::wrapping::STREAM;
use crate::codec::{Capabilities, Codec, OpenEnded, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, expect_all_taken};
use crate::growing::{GrowingPayload, first_room};
use crate::source::PayloadSource;
use crate::stored::StoredBytes;

/// The capabilities of implementations without dictionaries.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: true, streams: true, partial_decode: true, dictionaries: false };

/// A machine whose streams follow RFC 1950, with shortcuts for buffers that hold the whole payload.
pub(crate) trait ZlibMachine: Machine {
    /// Appends the stream of `payload` to `out`.
    fn encode(
        deflater: &mut Self::Deflater,
        payload: &[u8],
        pieces: &mut Pieces,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        deflater.restart(payload.len() as u64)?;
        deflate_piece(deflater, payload, true, pieces, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(())
    }

    /// [`Codec::decode`] by this machine.
    fn decode(inflater: &mut Self::Inflater, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        inflater.restart(payload.len() as u64)?;
        let mut rest = stored;
        Position::start(&mut StoredBytes::new(&mut rest, STREAM)).fill_exactly(inflater, payload)?;
        Ok(stored.len() - rest.len())
    }
}

/// The codec of such a machine.
pub(crate) struct ZlibCodec<M: ZlibMachine>(LazyContexts<M>);

impl<M: ZlibMachine> ZlibCodec<M> {
    pub(super) fn of(machine: M) -> Self {
        ZlibCodec(LazyContexts::new(machine))
    }
}

impl<M: ZlibMachine> Codec for ZlibCodec<M> {
    fn capabilities(&self) -> Capabilities {
        M::CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        let start = out.len();
        let (deflater, pieces) = self.0.deflater()?;
        M::encode(deflater, payload, pieces, out)?;
        Ok(out.len() - start)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        M::decode(self.0.inflater()?.0, stored, payload)
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let (inflater, _) = self.0.inflater()?;
        inflater.restart(prefix.len() as u64)?;
        Position::start(&mut StoredBytes::new(stored, STREAM)).fill(inflater, prefix, false)
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        let (deflater, pieces) = self.0.deflater()?;
        deflater.restart(payload_len)?;
        let mut source = PayloadSource::new(payload, payload_len);
        deflate_source(deflater, &mut source, pieces, stored, &mut |_| ())
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let (inflater, piece) = self.0.inflater()?;
        inflater.restart(payload_len)?;
        let mut stored = StoredBytes::new(stored, STREAM);
        Position::start(&mut stored).deliver_exactly(inflater, piece, payload_len, sink)?;
        Ok(stored.consumed())
    }

    fn set_checksum(&mut self, _carried: bool) {}

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        self.0.set_dictionary(dictionary)
    }
}

impl<M: ZlibMachine> OpenEnded for ZlibCodec<M> {
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let (inflater, _) = self.0.inflater()?;
        inflater.restart(limit as u64)?;
        let mut rest = stored;
        let mut bytes = StoredBytes::new(&mut rest, STREAM);
        let mut position = Position::start(&mut bytes);
        let mut payload = GrowingPayload::new(payload, first_room(stored.len(), limit), limit, STREAM)?;
        while !position.ended {
            if payload.is_full() && !payload.grow()? {
                let mut beyond = [0; 1];
                if position.step(inflater, &mut beyond, false)? > 0 {
                    return Err(payload.too_long());
                }
                continue;
            }
            let produced = position.step(inflater, payload.room(), true)?;
            payload.advance(produced);
        }
        expect_all_taken(STREAM, bytes.consumed(), stored.len() as u64)?;
        Ok(payload.finish())
    }
}
