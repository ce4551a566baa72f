//! `zstd`: Zstandard, the C library. It writes magicless frames, or ordinary ones with `frame=standard`.
//!
//! Our frames always carry their content size, and a content checksum unless `checksum=no`. Frames of other programs,
//! which start with the magic number, may lack both.

pub(crate) mod frame;
mod open_ended;
pub(crate) mod prefix;
mod steps;

use std::io::{BufRead, Cursor, Read, Write};

use zstd_safe::zstd_sys::{ZSTD_EndDirective, ZSTD_ErrorCode};
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, ErrorCode, FrameFormat, InBuffer, OutBuffer, ResetDirective};

use self::frame::{FRAME, FrameHeader, MAX_BLOCK_CONTENT, MAX_WINDOW_LOG, corrupt};
use self::prefix::{check_prefix, with_prefix};
use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use crate::checksum;
use crate::codec::{Capabilities, Codec, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, FoundLength, expect_payload_len, reserve_chunk};
use crate::source::{PIECE_LEN, PayloadSource};
use crate::stored::StoredBytes;
use crate::tag::Body;

/// `ZSTD_minCLevel()` of every libzstd since 1.3.4: the length of the longest block, negated.
const LEAST_LEVEL: i32 = -(1 << 17);

/// The facts about `zstd`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "zstd",
    // Level 0 means "the default" to zstd: it would measure level 3 under another name.
    levels: Some(Levels { range: LEAST_LEVEL..=22, except: Some(0), default: 3 }),
    // zstd's own trainer gains nothing from longer ones, and every reader holds them in memory.
    longest_dictionary: Some(16 << 20),
    body: Some(Body::Zstd),
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "libzstd (C)",
    version: || zstd_safe::version_string().to_owned(),
    language: "C",
    // The alternative is GPL-2.0-only, which we do not choose.
    licence: "BSD-3-Clause",
    new: |level| Box::new(Zstd::new(level, false)),
    new_open_ended: None,
    new_inflater: None,
};

/// The capabilities of zstd.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { finds_own_end: true, streams: true, partial_decode: true, dictionaries: true };

/// zstd at one level.
pub(crate) struct Zstd {
    level: i32,
    window_log: Option<u32>,
    format: FrameFormat,
    checksum: bool,
    dictionary: Option<Dictionary>,
    encoder: Option<CCtx<'static>>,
    decoder: Option<DCtx<'static>>,
    /// Scratch space for a piece of the payload.
    payload_piece: Vec<u8>,
    /// Scratch space for a piece of the stored bytes.
    stored_piece: Vec<u8>,
}

impl Zstd {
    /// Creates a codec at `level` whose frames carry a checksum. Contexts are made when first used.
    pub(crate) fn new(level: i32, standard_frame: bool) -> Self {
        Zstd {
            level,
            window_log: None,
            format: if standard_frame { FrameFormat::One } else { FrameFormat::Magicless },
            checksum: true,
            dictionary: None,
            encoder: None,
            decoder: None,
            payload_piece: Vec::new(),
            stored_piece: Vec::new(),
        }
    }

    /// Limits windows to 2^`window_log` bytes instead of the level's own limit.
    pub(crate) fn with_window(self, window_log: Option<u32>) -> Self {
        Zstd { window_log, ..self }
    }

    /// Does the same as [`encode`](Codec::encode) with `prefix` as content before the payload. The decoder needs the
    /// same prefix.
    ///
    /// # Errors
    /// When the library fails, or [`can_be_prefix`](prefix::can_be_prefix) does not hold.
    pub(crate) fn encode_on(&mut self, prefix: &[u8], payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        check_prefix(prefix)?;
        self.ensure_encoder()?;
        let encoder = self.encoder.as_mut().ok_or_else(no_context)?;
        let mut room = new_room(out, payload.len())?;
        with_prefix(encoder, prefix, |encoder| encoder.compress2(&mut room, payload))
    }

    /// Does the same as [`decode`](Codec::decode) with the `prefix` that [`encode_on`](Zstd::encode_on) had.
    ///
    /// # Errors
    /// As `decode`.
    pub(crate) fn decode_on(&mut self, prefix: &[u8], stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        check_prefix(prefix)?;
        let header = self.header(stored)?;
        expect_content_size(&header, payload.len() as u64)?;
        let frame_len = header.frame_len(stored)?;
        self.decode_frame(&header, stored.get(..frame_len).unwrap_or_default(), Some(prefix), payload)?;
        Ok(frame_len)
    }

    fn new_encoder(&self) -> Result<CCtx<'static>, CodecError> {
        let mut encoder = CCtx::try_create().ok_or_else(no_context)?;
        for parameter in [
            CParameter::Format(self.format),
            CParameter::CompressionLevel(self.level),
            CParameter::ContentSizeFlag(true),
            CParameter::ChecksumFlag(self.checksum),
        ] {
            encoder.set_parameter(parameter).map_err(failed)?;
        }
        if let Some(window_log) = self.window_log {
            encoder.set_parameter(CParameter::WindowLog(window_log)).map_err(failed)?;
        }
        if self.format == FrameFormat::Magicless {
            // The container names the dictionary, in fewer bytes.
            encoder.set_parameter(CParameter::DictIdFlag(false)).map_err(failed)?;
        }
        if let Some(dictionary) = &self.dictionary {
            encoder.load_dictionary(dictionary.bytes()).map_err(|_| refused(dictionary))?;
        }
        Ok(encoder)
    }

    fn new_decoder(&self) -> Result<DCtx<'static>, CodecError> {
        let mut decoder = DCtx::try_create().ok_or_else(no_context)?;
        decoder.set_parameter(DParameter::Format(self.format)).map_err(failed)?;
        decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(failed)?;
        if let Some(dictionary) = &self.dictionary {
            decoder.load_dictionary(dictionary.bytes()).map_err(|_| refused(dictionary))?;
        }
        Ok(decoder)
    }

    fn ensure_encoder(&mut self) -> Result<(), CodecError> {
        if self.encoder.is_none() {
            self.encoder = Some(self.new_encoder()?);
        }
        Ok(())
    }

    fn ensure_decoder(&mut self) -> Result<(), CodecError> {
        if self.decoder.is_none() {
            self.decoder = Some(self.new_decoder()?);
        }
        Ok(())
    }

    /// Reads the header of a frame that is in `stored` as far as it exists.
    fn header(&self, stored: &[u8]) -> Result<FrameHeader, CodecError> {
        let mut rest = stored;
        let header = self.take_header(&mut rest)?;
        header.check_claim(stored.len() as u64)?;
        Ok(header)
    }

    /// Takes the frame's header and checks it against the rules for frames that this codec decodes.
    pub(crate) fn take_header<R: BufRead + ?Sized>(&self, stored: &mut R) -> Result<FrameHeader, CodecError> {
        let standard = self.format == FrameFormat::One;
        let header = FrameHeader::take(&mut StoredBytes::new(stored, FRAME), standard)?;
        if !standard && header.content_size.is_none() {
            return Err(corrupt("a content size", "none".to_owned()));
        }
        // Otherwise one damaged bit would disable the check that should notice it.
        if !standard && header.checksum != self.checksum {
            let with = |present| if present { "a checksum" } else { "no checksum" };
            return Err(corrupt(with(self.checksum), with(header.checksum).to_owned()));
        }
        match header.dictionary {
            Some(id) if self.dictionary.is_none() => Err(CodecError::DictionaryNeeded { codec: FRAME, id }),
            _ => Ok(header),
        }
    }

    /// Decodes a whole frame, which is all of `frame`, into `payload`.
    fn decode_frame(
        &mut self,
        header: &FrameHeader,
        frame: &[u8],
        prefix: Option<&[u8]>,
        payload: &mut [u8],
    ) -> Result<(), CodecError> {
        self.ensure_decoder()?;
        let decoder = self.decoder.as_mut().ok_or_else(no_context)?;
        let expected = payload.len() as u64;
        let wrong_length = |found| CodecError::PayloadLength { codec: FRAME, expected, found };
        let decoded = match prefix {
            Some(prefix) => decoder.decompress_using_dict(payload, frame, prefix),
            None => decoder.decompress(payload, frame),
        };
        match decoded {
            Ok(written) if written == payload.len() => Ok(()),
            Ok(written) => Err(wrong_length(FoundLength::Exactly(written as u64))),
            Err(code) if is(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) => Err(wrong_length(FoundLength::More)),
            Err(code) if is(code, ZSTD_ErrorCode::ZSTD_error_checksum_wrong) && header.checksum => {
                let stored_checksum = frame.last_chunk().copied().unwrap_or_default();
                checksum::verify(stored_checksum, checksum::of(payload), FRAME)?;
                Err(damaged(code))
            }
            Err(code) => Err(damaged(code)),
        }
    }

    /// Decodes the frame at the start of `stored` into `payload`, whose length is that of the whole payload.
    fn decode_whole(&mut self, header: &FrameHeader, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let frame_len = header.frame_len(stored)?;
        self.decode_frame(header, stored.get(..frame_len).unwrap_or_default(), None, payload)?;
        Ok(frame_len)
    }

    /// Prepares the decoder for decoding in pieces.
    fn stream_decoder(&mut self) -> Result<&mut DCtx<'static>, CodecError> {
        self.ensure_decoder()?;
        let decoder = self.decoder.as_mut().ok_or_else(no_context)?;
        decoder.reset(ResetDirective::SessionOnly).map_err(failed)?;
        Ok(decoder)
    }

    /// Decodes the frame that starts with `header` and continues with what `stored` yields, and hands its payload to
    /// `sink` in pieces. Returns `None` if the payload is longer than `most` bytes.
    fn deliver(
        &mut self,
        header: &FrameHeader,
        stored: &mut dyn BufRead,
        most: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<Option<Delivered>, CodecError> {
        let mut piece = std::mem::take(&mut self.payload_piece);
        piece.resize(PIECE_LEN, 0);
        let decoder = self.stream_decoder()?;
        let mut frame = header.bytes().chain(stored);
        let mut frame = StoredBytes::new(&mut frame, FRAME);
        let mut payload_len = 0;
        let mut ended = false;
        while !ended {
            let mut output = OutBuffer::around(piece.as_mut_slice());
            ended = decode_step(decoder, &mut frame, &mut output)?;
            let produced = output.pos();
            payload_len += produced as u64;
            if payload_len > most {
                return Ok(None);
            }
            sink(piece.get(..produced).unwrap_or_default()).map_err(CodecError::delivering_payload)?;
        }
        decoder.reset(ResetDirective::SessionOnly).map_err(failed)?;
        let frame_len = frame.consumed();
        self.payload_piece = piece;
        Ok(Some(Delivered { frame_len, payload_len }))
    }
}

/// The lengths of a frame that was decoded in pieces.
struct Delivered {
    frame_len: u64,
    payload_len: u64,
}

impl Codec for Zstd {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn encode(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, CodecError> {
        self.ensure_encoder()?;
        let encoder = self.encoder.as_mut().ok_or_else(no_context)?;
        let mut room = new_room(out, payload.len())?;
        encoder.compress2(&mut room, payload).map_err(failed)
    }

    fn decode(&mut self, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let header = self.header(stored)?;
        expect_content_size(&header, payload.len() as u64)?;
        self.decode_whole(&header, stored, payload)
    }

    fn decode_prefix(&mut self, stored: &[u8], prefix: &mut [u8]) -> Result<usize, CodecError> {
        let header = self.header(stored)?;
        if let Some(content_size) = header.content_size.filter(|size| *size <= MAX_BLOCK_CONTENT) {
            // This is most likely one block: decoding it whole costs no more and needs no window.
            let content_size = usize::try_from(content_size).unwrap_or_default();
            if let Some(payload) = prefix.get_mut(..content_size) {
                self.decode_whole(&header, stored, payload)?;
                return Ok(content_size);
            }
            let mut whole = std::mem::take(&mut self.payload_piece);
            whole.resize(content_size, 0);
            let decoded = self.decode_whole(&header, stored, &mut whole);
            let begin = whole.get(..prefix.len()).unwrap_or_default();
            prefix.copy_from_slice(begin);
            self.payload_piece = whole;
            return decoded.map(|_| prefix.len());
        }
        let mut rest = stored;
        self.decode_prefix_from(&mut rest, prefix)
    }

    fn decode_prefix_from(&mut self, stored: &mut dyn BufRead, prefix: &mut [u8]) -> Result<usize, CodecError> {
        let header = self.take_header(stored)?;
        let mut frame = header.bytes().chain(stored);
        let mut frame = StoredBytes::new(&mut frame, FRAME);
        let decoder = self.stream_decoder()?;
        let mut output = OutBuffer::around(prefix);
        while output.pos() < output.capacity() {
            if decode_step(decoder, &mut frame, &mut output)? {
                break;
            }
        }
        let filled = output.pos();
        decoder.reset(ResetDirective::SessionOnly).map_err(failed)?;
        Ok(filled)
    }

    fn encode_stream(
        &mut self,
        payload: &mut dyn Read,
        payload_len: u64,
        stored: &mut dyn Write,
    ) -> Result<u64, CodecError> {
        self.ensure_encoder()?;
        let encoder = self.encoder.as_mut().ok_or_else(no_context)?;
        encoder.reset(ResetDirective::SessionOnly).map_err(failed)?;
        encoder.set_pledged_src_size(Some(payload_len)).map_err(failed)?;
        let mut source = PayloadSource::new(payload, payload_len);
        self.stored_piece.resize(PIECE_LEN, 0);
        let mut written = 0;
        loop {
            source.next_piece(&mut self.payload_piece, PIECE_LEN)?;
            let last = source.remaining() == 0;
            written += encode_piece(encoder, &self.payload_piece, last, &mut self.stored_piece, stored)?;
            if last {
                return Ok(written);
            }
        }
    }

    fn decode_stream(
        &mut self,
        stored: &mut dyn BufRead,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<u64, CodecError> {
        let header = self.take_header(stored)?;
        expect_content_size(&header, payload_len)?;
        let wrong_length = |found| Err(CodecError::PayloadLength { codec: FRAME, expected: payload_len, found });
        match self.deliver(&header, stored, payload_len, sink)? {
            None => wrong_length(FoundLength::More),
            Some(Delivered { payload_len: found, .. }) if found < payload_len => {
                wrong_length(FoundLength::Exactly(found))
            }
            Some(Delivered { frame_len, .. }) => Ok(frame_len),
        }
    }

    fn set_checksum(&mut self, carried: bool) {
        if self.checksum != carried {
            self.checksum = carried;
            // The next use makes an encoder with the other parameter. A spec sets this once, and a decoder needs no
            // encoder.
            self.encoder = None;
        }
    }

    fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        let before = std::mem::replace(&mut self.dictionary, dictionary.cloned());
        // Make one context now, so that an unusable dictionary is refused here and not at the first payload. It is a
        // decoder's, because an encoder's has tables for the dictionary that a decoder never needs.
        match self.new_decoder() {
            Ok(decoder) => {
                self.encoder = None;
                self.decoder = Some(decoder);
                Ok(())
            }
            Err(error) => {
                self.dictionary = before;
                Err(error)
            }
        }
    }
}

/// Compares the frame's content size, if it has one, with the payload length that the caller expects.
fn expect_content_size(header: &FrameHeader, expected: u64) -> Result<(), CodecError> {
    header.content_size.map_or(Ok(()), |found| expect_payload_len(FRAME, expected, found))
}

/// Decodes one step. Returns true if the frame is complete, including its checksum.
fn decode_step<R: BufRead + ?Sized>(
    decoder: &mut DCtx<'static>,
    frame: &mut StoredBytes<'_, R>,
    output: &mut OutBuffer<'_, [u8]>,
) -> Result<bool, CodecError> {
    let already = output.pos();
    let mut input = InBuffer::around(frame.available()?);
    let hint = decoder.decompress_stream(output, &mut input).map_err(damaged)?;
    let taken = input.pos();
    frame.advance(taken);
    if hint != 0 && (taken, output.pos()) == (0, already) {
        return Err(frame.truncated());
    }
    Ok(hint == 0)
}

/// Encodes one piece of payload and writes what comes out; the `last` piece completes the frame.
fn encode_piece(
    encoder: &mut CCtx<'static>,
    payload: &[u8],
    last: bool,
    room: &mut [u8],
    stored: &mut dyn Write,
) -> Result<u64, CodecError> {
    let directive = if last { ZSTD_EndDirective::ZSTD_e_end } else { ZSTD_EndDirective::ZSTD_e_continue };
    let mut input = InBuffer::around(payload);
    let mut written = 0;
    loop {
        let mut output = OutBuffer::around(room);
        let pending = encoder.compress_stream2(&mut output, &mut input, directive).map_err(failed)?;
        let produced = output.pos();
        stored.write_all(room.get(..produced).unwrap_or_default()).map_err(CodecError::writing_stored)?;
        written += produced as u64;
        let taken = input.pos() == payload.len();
        if taken && (pending == 0 || !last) {
            return Ok(written);
        }
    }
}

/// Room at the end of `out` for the frame of a payload.
fn new_room(out: &mut Vec<u8>, payload_len: usize) -> Result<Cursor<&mut Vec<u8>>, CodecError> {
    let start = out.len();
    reserve_chunk(out, zstd_safe::compress_bound(payload_len))?;
    let mut room = Cursor::new(out);
    room.set_position(start as u64);
    Ok(room)
}

fn no_context() -> CodecError {
    CodecError::Implementation { codec: "zstd", message: "no context could be allocated".to_owned() }
}

fn refused(dictionary: &Dictionary) -> CodecError {
    CodecError::BadDictionary { codec: "zstd", length: dictionary.bytes().len() }
}

fn is(code: ErrorCode, kind: ZSTD_ErrorCode) -> bool {
    code.wrapping_neg() == kind as usize
}

/// The error for a failure of the library.
fn failed(code: ErrorCode) -> CodecError {
    CodecError::Implementation { codec: "zstd", message: zstd_safe::get_error_name(code).to_owned() }
}

/// The error for damaged stored bytes.
fn damaged(code: ErrorCode) -> CodecError {
    corrupt("a valid frame", zstd_safe::get_error_name(code).to_owned())
}
