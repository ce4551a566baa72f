//! Frames whose payload's length nobody knows beforehand, as in a revlog.

use std::io::BufRead;

use zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd_safe::{OutBuffer, ResetDirective};

use super::frame::FRAME;
use super::{Delivered, Zstd, damaged, decode_step, failed, is, no_context};
use crate::codec::{OpenEnded, PayloadSink};
use crate::error::{CodecError, FoundLength};
use crate::growing::GrowingPayload;
use crate::source::PIECE_LEN;
use crate::stored::StoredBytes;

/// A frame's claim of a payload this many times longer than its stored bytes is believed: memory is taken for all of it
/// before anything is decoded.
const BELIEVED_EXPANSION: u64 = 255;

/// A claim of this many payload bytes is believed too.
const BELIEVED_LEN: u64 = 1 << 20;

impl OpenEnded for Zstd {
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let header = self.header(stored)?;
        let extent = header.extent(stored)?;
        if extent.frame_len < stored.len() {
            let (expected, found) = (extent.frame_len as u64, stored.len() as u64);
            return Err(CodecError::TrailingBytes { codec: FRAME, expected, found });
        }
        if let Some(claimed) = header.content_size.filter(|claimed| *claimed > limit as u64) {
            let found = FoundLength::Exactly(claimed);
            return Err(CodecError::PayloadLimit { codec: FRAME, limit: limit as u64, found });
        }
        let most = header.content_size.unwrap_or(extent.most_content);
        let believed = (stored.len() as u64).saturating_mul(BELIEVED_EXPANSION).max(BELIEVED_LEN);
        match usize::try_from(most) {
            // One call and no window; a frame without content size fills the room that its blocks may need in part.
            Ok(most) if most as u64 <= believed => self.decode_within(stored, most, limit, payload),
            _ => {
                let length = self.decode_growing(stored, limit, payload)?;
                // The library does not compare the two where the last block is empty.
                match header.content_size {
                    Some(expected) if expected != length as u64 => {
                        let found = FoundLength::Exactly(length as u64);
                        Err(CodecError::PayloadLength { codec: FRAME, expected, found })
                    }
                    _ => Ok(length),
                }
            }
        }
    }
}

impl Zstd {
    /// Decodes the frame that `stored` yields next and hands its payload, of at most `limit` bytes, to `sink` in pieces; returns the
    /// payload's length.
    ///
    /// # Errors
    /// As [`decode_to_end`](OpenEnded::decode_to_end), but whatever lies behind the frame is left.
    pub(crate) fn decode_stream_within(
        &mut self,
        stored: &mut dyn BufRead,
        limit: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let header = self.take_header(stored)?;
        let too_long = |found| Err(CodecError::PayloadLimit { codec: FRAME, limit, found });
        if let Some(claimed) = header.content_size.filter(|claimed| *claimed > limit) {
            return too_long(FoundLength::Exactly(claimed));
        }
        let Some(Delivered { payload_len, .. }) = self.deliver(&header, stored, limit, sink)? else {
            return too_long(FoundLength::More);
        };
        match header.content_size {
            // The library does not compare the two where the last block is empty.
            Some(expected) if expected != payload_len => {
                let found = FoundLength::Exactly(payload_len);
                Err(CodecError::PayloadLength { codec: FRAME, expected, found })
            }
            _ => Ok(payload_len),
        }
    }

    /// Decodes the frame that is all of `stored` and whose payload has at most `most` bytes, as the frame says.
    fn decode_within(
        &mut self,
        stored: &[u8],
        most: usize,
        limit: usize,
        payload: &mut Vec<u8>,
    ) -> Result<usize, CodecError> {
        self.ensure_decoder()?;
        let decoder = self.decoder.as_mut().ok_or_else(no_context)?;
        let mut payload = GrowingPayload::new(payload, most, limit, FRAME)?;
        match decoder.decompress(payload.room(), stored) {
            Ok(written) => payload.advance(written),
            Err(code) if most > limit && is(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) => {
                return Err(payload.too_long());
            }
            Err(code) => return Err(damaged(code)),
        }
        Ok(payload.finish())
    }

    /// Decodes the frame that is all of `stored`, taking memory as its blocks decode.
    fn decode_growing(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let decoder = self.stream_decoder()?;
        let mut rest = stored;
        let mut frame = StoredBytes::new(&mut rest, FRAME);
        let mut payload = GrowingPayload::new(payload, PIECE_LEN, limit, FRAME)?;
        let mut ended = false;
        while !ended {
            let mut beyond = [0; 1];
            let at_limit = payload.is_full() && !payload.grow()?;
            let room = if at_limit { &mut beyond } else { payload.room() };
            let mut output = OutBuffer::around(room);
            ended = decode_step(decoder, &mut frame, &mut output)?;
            let produced = output.pos();
            if at_limit && produced > 0 {
                return Err(payload.too_long());
            }
            payload.advance(produced);
        }
        decoder.reset(ResetDirective::SessionOnly).map_err(failed)?;
        Ok(payload.finish())
    }
}
