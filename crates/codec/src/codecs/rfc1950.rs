//! Driving a zlib-like stream machine: shared by stock zlib and zlib-rs, which offer the same steps.
//!
//! A stream (RFC 1950) is a two-byte header, DEFLATE blocks and the payload's Adler-32, big-endian. It
//! finds its own end but does not carry the payload's length: exactness is checked here, by offering
//! room for one more byte once the expected ones are there.

use std::io::{BufRead, Write};

use crate::codec::PayloadSink;
use crate::error::{CodecError, FoundLength};
use crate::revlog::{GrowingPayload, first_room};
use crate::source::{PIECE_LEN, PayloadSource};
use crate::stored::StoredBytes;

/// How messages name the body.
pub(super) const STREAM: &str = "zlib stream";

/// What one step of a stream machine did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Input bytes taken.
    pub(super) consumed: usize,
    /// Output bytes written.
    pub(super) produced: usize,
    /// The stream is complete; when inflating, its Adler-32 was right.
    pub(super) ended: bool,
}

impl Step {
    fn is_stuck(&self) -> bool {
        !self.ended && self.consumed == 0 && self.produced == 0
    }
}

/// How far a 64-bit counter of bytes moved during one step, which is at most a buffer's length.
pub(super) fn added(before: u64, after: u64) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(usize::MAX)
}

/// The inflating half of an implementation.
pub(super) trait Inflater {
    /// Prepares for a new stream, keeping allocations.
    fn restart(&mut self);

    /// Takes from `input` and writes to `output` as much as possible. `whole` says that both most likely
    /// suffice for the rest of the stream, which spares the implementation its window where they do.
    fn step(&mut self, input: &[u8], output: &mut [u8], whole: bool) -> Result<Step, CodecError>;
}

/// The deflating half of an implementation.
pub(super) trait Deflater {
    /// Prepares for a new stream, keeping allocations.
    fn restart(&mut self);

    /// Takes from `input` and writes to `output` as much as possible. `finish` says that no more input follows.
    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError>;
}

/// Where in a stored stream an inflater stands.
struct Position<'a, R: BufRead + ?Sized> {
    stored: StoredBytes<'a, R>,
    ended: bool,
}

impl<'a, R: BufRead + ?Sized> Position<'a, R> {
    fn start(stored: &'a mut R) -> Self {
        Position { stored: StoredBytes::new(stored, STREAM), ended: false }
    }

    /// One step into `output`; returns the bytes written. An error if the stored bytes run out first.
    fn step(
        &mut self,
        inflater: &mut (impl Inflater + ?Sized),
        output: &mut [u8],
        whole: bool,
    ) -> Result<usize, CodecError> {
        let step = inflater.step(self.stored.at_hand()?, output, whole)?;
        if step.is_stuck() {
            return Err(self.stored.truncated());
        }
        self.stored.advance(step.consumed);
        self.ended = step.ended;
        Ok(step.produced)
    }

    /// Fills `output` unless the stream ends before; returns the bytes written.
    fn fill(
        &mut self,
        inflater: &mut (impl Inflater + ?Sized),
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

    /// Called when all `expected` payload bytes are there: the stream must end now, without another one.
    fn expect_end(&mut self, inflater: &mut (impl Inflater + ?Sized), expected: u64) -> Result<(), CodecError> {
        let mut beyond = [0; 1];
        while !self.ended {
            if self.step(inflater, &mut beyond, false)? > 0 {
                return Err(CodecError::PayloadLength { codec: STREAM, expected, found: FoundLength::More });
            }
        }
        Ok(())
    }
}

fn too_short(expected: u64, found: u64) -> CodecError {
    CodecError::PayloadLength { codec: STREAM, expected, found: FoundLength::Exactly(found) }
}

/// [`Codec::decode`](crate::Codec::decode) for any inflater.
pub(super) fn decode(
    inflater: &mut (impl Inflater + ?Sized),
    stored: &[u8],
    payload: &mut [u8],
) -> Result<usize, CodecError> {
    inflater.restart();
    let mut rest = stored;
    let mut position = Position::start(&mut rest);
    // An empty payload too takes one step here or in `expect_end`, which checks header and Adler-32.
    let filled = position.fill(inflater, payload, true)?;
    if filled < payload.len() {
        return Err(too_short(payload.len() as u64, filled as u64));
    }
    position.expect_end(inflater, payload.len() as u64)?;
    Ok(stored.len() - rest.len())
}

/// [`OpenEnded::decode_to_end`](crate::revlog::OpenEnded::decode_to_end) for any inflater.
pub(super) fn decode_to_end(
    inflater: &mut (impl Inflater + ?Sized),
    stored: &[u8],
    limit: usize,
    payload: &mut Vec<u8>,
) -> Result<usize, CodecError> {
    inflater.restart();
    let mut rest = stored;
    let mut position = Position::start(&mut rest);
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
    expect_no_more(stored, position.stored.consumed())?;
    Ok(payload.finish())
}

/// An error unless the stream takes all of `stored`.
pub(super) fn expect_no_more(stored: &[u8], stream_len: u64) -> Result<(), CodecError> {
    let found = stored.len() as u64;
    if stream_len == found {
        return Ok(());
    }
    Err(CodecError::TrailingBytes { codec: STREAM, expected: stream_len, found })
}

/// [`Codec::decode_prefix_from`](crate::Codec::decode_prefix_from) for any inflater.
pub(super) fn decode_prefix(
    inflater: &mut (impl Inflater + ?Sized),
    stored: &mut dyn BufRead,
    prefix: &mut [u8],
) -> Result<usize, CodecError> {
    inflater.restart();
    Position::start(stored).fill(inflater, prefix, false)
}

/// [`Codec::decode_stream`](crate::Codec::decode_stream) for any inflater; `piece` is scratch space.
pub(super) fn decode_stream(
    inflater: &mut (impl Inflater + ?Sized),
    piece: &mut Vec<u8>,
    stored: &mut dyn BufRead,
    payload_len: u64,
    sink: &mut PayloadSink<'_>,
) -> Result<u64, CodecError> {
    inflater.restart();
    piece.resize(PIECE_LEN, 0);
    let mut position = Position::start(stored);
    let mut remaining = payload_len;
    while remaining > 0 {
        let wanted = usize::try_from(remaining).map_or(PIECE_LEN, |remaining| remaining.min(PIECE_LEN));
        let room = piece.get_mut(..wanted).unwrap_or_default();
        let filled = position.fill(inflater, room, false)?;
        let delivered = room.get(..filled).unwrap_or_default();
        sink(delivered).map_err(CodecError::delivering_payload)?;
        remaining -= filled as u64;
        if filled < wanted {
            return Err(too_short(payload_len, payload_len - remaining));
        }
    }
    position.expect_end(inflater, payload_len)?;
    Ok(position.stored.consumed())
}

/// Scratch space for encoding piece by piece.
#[derive(Default)]
pub(super) struct Pieces {
    payload: Vec<u8>,
    stored: Vec<u8>,
}

/// Encodes a whole payload; `write` receives the stream's pieces. Returns the stream's length.
pub(super) fn encode(
    deflater: &mut (impl Deflater + ?Sized),
    payload: &[u8],
    pieces: &mut Pieces,
    write: &mut dyn FnMut(&[u8]) -> Result<(), CodecError>,
) -> Result<u64, CodecError> {
    deflater.restart();
    deflate_piece(deflater, payload, true, &mut pieces.stored, write)
}

/// [`Codec::encode_stream`](crate::Codec::encode_stream) for any deflater; `pieces` is scratch space.
pub(super) fn encode_stream(
    deflater: &mut (impl Deflater + ?Sized),
    mut source: PayloadSource<'_>,
    stored: &mut dyn Write,
    pieces: &mut Pieces,
) -> Result<u64, CodecError> {
    deflater.restart();
    let mut write = |bytes: &[u8]| stored.write_all(bytes).map_err(CodecError::writing_stored);
    let mut written = 0;
    loop {
        source.next_piece(&mut pieces.payload, PIECE_LEN)?;
        let last = source.remaining() == 0;
        written += deflate_piece(deflater, &pieces.payload, last, &mut pieces.stored, &mut write)?;
        if last {
            return Ok(written);
        }
    }
}

/// Feeds one piece of payload; with `last`, runs until the stream is complete.
fn deflate_piece(
    deflater: &mut (impl Deflater + ?Sized),
    payload: &[u8],
    last: bool,
    room: &mut Vec<u8>,
    write: &mut dyn FnMut(&[u8]) -> Result<(), CodecError>,
) -> Result<u64, CodecError> {
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
            return Err(CodecError::Implementation { codec: STREAM, message: "deflate made no progress".to_owned() });
        }
        consumed += step.consumed;
        written += step.produced as u64;
        write(room.get(..step.produced).unwrap_or_default())?;
        if step.ended {
            return Ok(written);
        }
    }
}
