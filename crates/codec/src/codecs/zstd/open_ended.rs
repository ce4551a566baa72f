//! Frames of unknown payload length, as in a revlog.

use std::io::BufRead;

use zstd_safe::zstd_sys::ZSTD_ErrorCode;
use zstd_safe::{OutBuffer, ResetDirective};

use super::frame::{FRAME, FrameHeader};
use super::{Delivered, Zstd, damaged, decode_step, failed, is, no_context};
use crate::codec::{OpenEnded, PayloadSink};
use crate::error::{CodecError, FoundLength, check_limit, expect_all_taken, expect_payload_len};
use crate::growing::{GrowingPayload, is_plausible_len};
use crate::source::PIECE_LEN;
use crate::stored::StoredBytes;

impl OpenEnded for Zstd {
    fn decode_to_end(&mut self, stored: &[u8], limit: usize, payload: &mut Vec<u8>) -> Result<usize, CodecError> {
        let header = self.header(stored)?;
        let extent = header.extent(stored)?;
        expect_all_taken(FRAME, extent.frame_len as u64, stored.len() as u64)?;
        if let Some(claimed) = header.content_size {
            check_limit(FRAME, claimed, limit)?;
        }
        let most = header.content_size.unwrap_or(extent.most_content);
        match usize::try_from(most) {
            // One call and no window. A frame without a content size may fill only a part of the room that its blocks
            // may need.
            Ok(most) if is_plausible_len(most, stored.len(), 0) => self.decode_within(stored, most, limit, payload),
            _ => {
                let length = self.decode_growing(stored, limit, payload)?;
                // The library does not compare the two if the last block is empty.
                expect_content_size(&header, length as u64)?;
                Ok(length)
            }
        }
    }
}

impl Zstd {
    /// Decodes the frame that `stored` yields next, hands its payload of at most `limit` bytes to `sink` in pieces and
    /// returns the payload's length.
    ///
    /// # Errors
    /// As [`decode_to_end`](OpenEnded::decode_to_end), but bytes may follow the frame, and are left in `stored`.
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
        // The library does not compare the two if the last block is empty.
        expect_content_size(&header, payload_len)?;
        Ok(payload_len)
    }

    /// Decodes the frame that is all of `stored` and that claims a payload of at most `most` bytes.
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

    /// Decodes the frame that is all of `stored`, and allocates memory as its blocks are decoded.
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

/// Compares the frame's content size, if it has one, with the length of the decoded payload.
fn expect_content_size(header: &FrameHeader, decoded: u64) -> Result<(), CodecError> {
    header.content_size.map_or(Ok(()), |claimed| expect_payload_len(FRAME, claimed, decoded))
}
