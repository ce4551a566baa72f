//! Drives implementations that compress and decompress in steps, as all codecs that find their own end do.
//!
//! A stream says where it ends, but not always how long its payload is. So this module checks the length: once the
//! expected bytes have arrived, it offers room for one more, which must stay empty.

use std::io::{BufRead, Write};

use crate::codec::{Capabilities, PayloadSink};
use crate::dictionary::Dictionary;
use crate::error::{CodecError, FoundLength};
use crate::source::{PIECE_LEN, PayloadSource};
use crate::stored::StoredBytes;

/// What one step did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The number of input bytes taken.
    pub(crate) consumed: usize,
    /// The number of output bytes written.
    pub(crate) produced: usize,
    /// The stream is complete. A decompressor has then verified the stream's own checksum, if there is one.
    pub(crate) ended: bool,
}

impl Step {
    fn is_stuck(&self) -> bool {
        !self.ended && self.consumed == 0 && self.produced == 0
    }
}

/// How far a 64-bit counter of bytes moved during one step: at most the length of a buffer.
pub(crate) fn added(before: u64, after: u64) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(usize::MAX)
}

/// A decompressor that works in steps.
pub(crate) trait Inflater: Send {
    /// Prepares for a new stream and keeps allocations if the implementation can. `payload_len` is a claim: the caller
    /// asks for no more bytes than that.
    fn restart(&mut self, payload_len: u64) -> Result<(), CodecError>;

    /// Takes from `input` and writes to `output` as much as possible. `whole` says that both most likely suffice for
    /// the rest of the stream, so that the implementation need not fill its window.
    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError>;
}

/// A compressor that works in steps.
pub(crate) trait Deflater: Send {
    /// Prepares for a new stream of `payload_len` payload bytes and keeps allocations if the implementation can.
    fn restart(&mut self, payload_len: u64) -> Result<(), CodecError>;

    /// Takes from `input` and writes to `output` as much as possible. `finish` says that no more input follows.
    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError>;
}

/// An implementation at one level: makes its compressors and decompressors.
pub(crate) trait Machine: Send {
    /// The name of the codec.
    const CODEC: &'static str;
    /// The name in messages of what the implementation writes, such as `zlib stream`.
    const BODY: &'static str;
    /// The capabilities of the implementation.
    const CAPABILITIES: Capabilities;
    /// The compressor.
    type Deflater: Deflater;
    /// The decompressor.
    type Inflater: Inflater;

    fn deflater(&self) -> Result<Self::Deflater, CodecError>;

    fn inflater(&self) -> Result<Self::Inflater, CodecError>;

    /// Makes later compressors and decompressors use `dictionary`, or none.
    fn set_dictionary(&mut self, _dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        Err(CodecError::NoDictionaries { codec: Self::CODEC })
    }
}

/// The compressor and the decompressor of a machine, each made when first used, with their scratch space.
pub(crate) struct LazyContexts<M: Machine> {
    machine: M,
    deflater: Option<M::Deflater>,
    inflater: Option<M::Inflater>,
    pieces: Pieces,
    delivered: Vec<u8>,
}

impl<M: Machine> LazyContexts<M> {
    pub(crate) fn new(machine: M) -> Self {
        LazyContexts { machine, deflater: None, inflater: None, pieces: Pieces::default(), delivered: Vec::new() }
    }

    /// The machine that makes the contexts.
    pub(crate) fn machine(&self) -> &M {
        &self.machine
    }

    /// The compressor and its scratch space.
    pub(crate) fn deflater(&mut self) -> Result<(&mut M::Deflater, &mut Pieces), CodecError> {
        let deflater = match &mut self.deflater {
            Some(deflater) => deflater,
            none => none.insert(self.machine.deflater()?),
        };
        Ok((deflater, &mut self.pieces))
    }

    /// The decompressor and its scratch space.
    pub(crate) fn inflater(&mut self) -> Result<(&mut M::Inflater, &mut Vec<u8>), CodecError> {
        let inflater = match &mut self.inflater {
            Some(inflater) => inflater,
            none => none.insert(self.machine.inflater()?),
        };
        Ok((inflater, &mut self.delivered))
    }

    /// Sets the dictionary, or none, for both.
    pub(crate) fn set_dictionary(&mut self, dictionary: Option<&Dictionary>) -> Result<(), CodecError> {
        self.machine.set_dictionary(dictionary)?;
        (self.deflater, self.inflater) = (None, None);
        Ok(())
    }
}

/// The position of an inflater in a stored stream.
pub(crate) struct Position<'s, 'a, R: BufRead + ?Sized> {
    pub(crate) stored: &'s mut StoredBytes<'a, R>,
    pub(crate) ended: bool,
}

impl<'s, 'a, R: BufRead + ?Sized> Position<'s, 'a, R> {
    pub(crate) fn start(stored: &'s mut StoredBytes<'a, R>) -> Self {
        Position { stored, ended: false }
    }

    /// Makes one step into `output` and returns the number of bytes written.
    ///
    /// # Errors
    /// When the stored bytes run out first.
    pub(crate) fn step(
        &mut self,
        inflater: &mut impl Inflater,
        output: &mut [u8],
        whole: bool,
    ) -> Result<usize, CodecError> {
        let step = inflater.step(self.stored.available()?, output, whole)?;
        if step.is_stuck() {
            return Err(self.stored.truncated());
        }
        self.stored.advance(step.consumed);
        self.ended = step.ended;
        Ok(step.produced)
    }

    /// Fills `output` unless the stream ends first, and returns the number of bytes written.
    pub(crate) fn fill(
        &mut self,
        inflater: &mut impl Inflater,
        output: &mut [u8],
        whole: bool,
    ) -> Result<usize, CodecError> {
        let mut filled = 0;
        while !self.ended {
            let Some(rest) = output.get_mut(filled..).filter(|rest| !rest.is_empty()) else { break };
            filled += self.step(inflater, rest, whole)?;
        }
        Ok(filled)
    }

    /// Fills `payload`; the stream must end there.
    pub(crate) fn fill_exactly(&mut self, inflater: &mut impl Inflater, payload: &mut [u8]) -> Result<(), CodecError> {
        let expected = payload.len() as u64;
        // Even an empty payload takes one step, here or in `expect_end`, which checks header and checksum.
        let filled = self.fill(inflater, payload, true)? as u64;
        if filled < expected {
            return Err(self.too_short(expected, filled));
        }
        self.expect_end(inflater, expected)
    }

    /// Hands a payload of `payload_len` bytes to `sink` in pieces; the stream must end there. `piece` is scratch space.
    pub(crate) fn deliver_exactly(
        &mut self,
        inflater: &mut impl Inflater,
        piece: &mut Vec<u8>,
        payload_len: u64,
        sink: &mut PayloadSink<'_>,
    ) -> Result<(), CodecError> {
        piece.resize(PIECE_LEN, 0);
        let mut remaining = payload_len;
        while remaining > 0 {
            let wanted = usize::try_from(remaining).map_or(PIECE_LEN, |remaining| remaining.min(PIECE_LEN));
            let room = piece.get_mut(..wanted).unwrap_or_default();
            let filled = self.fill(inflater, room, false)?;
            let delivered = room.get(..filled).unwrap_or_default();
            sink(delivered).map_err(CodecError::delivering_payload)?;
            remaining -= filled as u64;
            if filled < wanted {
                return Err(self.too_short(payload_len, payload_len - remaining));
            }
        }
        self.expect_end(inflater, payload_len)
    }

    /// Checks that the stream ends after the `expected` payload bytes, all of which have arrived.
    fn expect_end(&mut self, inflater: &mut impl Inflater, expected: u64) -> Result<(), CodecError> {
        let mut beyond = [0; 1];
        while !self.ended {
            if self.step(inflater, &mut beyond, false)? > 0 {
                let codec = self.stored.codec();
                return Err(CodecError::PayloadLength { codec, expected, found: FoundLength::More });
            }
        }
        Ok(())
    }

    /// The error for a stream that ended after `found` payload bytes.
    pub(crate) fn too_short(&self, expected: u64, found: u64) -> CodecError {
        CodecError::PayloadLength { codec: self.stored.codec(), expected, found: FoundLength::Exactly(found) }
    }
}

/// Scratch space for encoding in pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    pub(crate) payload: Vec<u8>,
    stored: Vec<u8>,
}

/// Compresses the payload of `source` in pieces into a stream that was started, and returns the stream's length.
pub(crate) fn deflate_source(
    deflater: &mut impl Deflater,
    source: &mut PayloadSource<'_>,
    pieces: &mut Pieces,
    stored: &mut dyn Write,
    see: &mut dyn FnMut(&[u8]),
) -> Result<u64, CodecError> {
    let mut write = |bytes: &[u8]| stored.write_all(bytes).map_err(CodecError::writing_stored);
    let mut written = 0;
    loop {
        source.next_piece(&mut pieces.payload, PIECE_LEN)?;
        see(&pieces.payload);
        let last = source.remaining() == 0;
        let payload = std::mem::take(&mut pieces.payload);
        let deflated = deflate_piece(deflater, &payload, last, pieces, &mut write);
        pieces.payload = payload;
        written += deflated?;
        if last {
            return Ok(written);
        }
    }
}

/// Compresses one piece of payload; after the `last` one it completes the stream. Returns the number of stored bytes
/// that `write` received.
pub(crate) fn deflate_piece(
    deflater: &mut impl Deflater,
    payload: &[u8],
    last: bool,
    pieces: &mut Pieces,
    write: &mut dyn FnMut(&[u8]) -> Result<(), CodecError>,
) -> Result<u64, CodecError> {
    let room = &mut pieces.stored;
    room.resize(PIECE_LEN, 0);
    let mut consumed = 0;
    let mut written = 0;
    loop {
        let rest = payload.get(consumed..).unwrap_or_default();
        if rest.is_empty() && !last {
            return Ok(written);
        }
        let step = deflater.step(rest, room, last)?;
        if step.is_stuck() {
            let message = "the encoder made no progress".to_owned();
            return Err(CodecError::Implementation { codec: "stream", message });
        }
        consumed += step.consumed;
        written += step.produced as u64;
        write(room.get(..step.produced).unwrap_or_default())?;
        if step.ended {
            return Ok(written);
        }
    }
}
