//! `sirocco`: a DEFLATE in Rust that follows the design of libdeflate.

use sirocco::Format;
use sirocco::deflate::{Encoder, Flush, Level, MIN_BUFFER_LEN, compress_bound};
use sirocco::inflate::{Decoder, Error};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::rfc1950::{CAPABILITIES, ZlibCodec, ZlibMachine};
use super::steps::{Deflater, Inflater, Machine, Pieces, Step};
use super::wrapping::STREAM;
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::{CodecError, FoundLength, reserve_chunk};

/// The facts about `sirocco`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "sirocco",
    levels: Some(Levels { range: 0..=9, except: None, default: 6 }),
    longest_dictionary: None,
    body: None,
    is_read_by_hg: true,
    capabilities: CAPABILITIES,
    implementation: "sirocco (Rust)",
    version: || env!("REPACKBENCH_SIROCCO_VERSION").to_owned(),
    language: "Rust",
    licence: "MIT OR Apache-2.0",
    new: |level| Box::new(Sirocco::new(level)),
    new_open_ended: Some(|| Box::new(Sirocco::new(UNUSED_LEVEL))),
    new_inflater: None,
};

/// The length of the buffer for the window and the data that passes through it, in bytes. It is longer than either half
/// needs to free some of it.
const BUFFER_LEN: usize = 256 << 10;
const _: () = assert!(BUFFER_LEN > MIN_BUFFER_LEN && BUFFER_LEN > sirocco::inflate::MIN_BUFFER_LEN);

/// sirocco panics at higher levels.
const HIGHEST_LEVEL: u8 = 9;

/// sirocco at one level.
pub(crate) type Sirocco = ZlibCodec<SiroccoLevel>;

impl Sirocco {
    /// Creates a codec at `level`, which is 0 to 9. Contexts are made when first used.
    pub(crate) fn new(level: i32) -> Self {
        ZlibCodec::of(SiroccoLevel(u8::try_from(level).map_or(HIGHEST_LEVEL, |level| level.min(HIGHEST_LEVEL))))
    }
}

/// The level of a compressing context.
pub(crate) struct SiroccoLevel(u8);

impl Machine for SiroccoLevel {
    const CODEC: &'static str = "sirocco";
    const BODY: &'static str = STREAM;
    const CAPABILITIES: Capabilities = CAPABILITIES;
    type Deflater = Compressing;
    type Inflater = Decompressing;

    fn deflater(&self) -> Result<Compressing, CodecError> {
        let encoder = Encoder::new(Format::Zlib, Level::new(self.0));
        Ok(Compressing { encoder, buffer: Vec::new(), filled: 0 })
    }

    fn inflater(&self) -> Result<Decompressing, CodecError> {
        Ok(Decompressing {
            decoder: Box::new(Decoder::new(Format::Zlib)),
            buffer: Vec::new(),
            given: 0,
            filled: 0,
            ended: false,
        })
    }
}

impl ZlibMachine for SiroccoLevel {
    /// Encodes directly from `payload`, whereas steps would copy it.
    fn encode(
        deflater: &mut Compressing,
        payload: &[u8],
        _pieces: &mut Pieces,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        deflater.encoder.reset();
        let most = compress_bound(Format::Zlib, payload.len());
        reserve_chunk(out, most)?;
        out.resize(start + most, 0);
        let room = out.get_mut(start..).unwrap_or_default();
        let progress = deflater.encoder.compress(payload, room, Flush::Finish);
        let (done, length) = (progress.done, progress.output.len());
        out.truncate(start + length);
        if done {
            return Ok(());
        }
        let message = "the bound on the stream's length was too low".to_owned();
        Err(CodecError::Implementation { codec: STREAM, message })
    }

    /// Decodes directly into `payload`, whereas steps would go through a window of their own.
    fn decode(inflater: &mut Decompressing, stored: &[u8], payload: &mut [u8]) -> Result<usize, CodecError> {
        let expected = payload.len() as u64;
        let wrong_length = |found| Err(CodecError::PayloadLength { codec: STREAM, expected, found });
        inflater.decoder.reset();
        match inflater.decoder.decompress(stored, payload, true) {
            Ok(progress) if !progress.done => wrong_length(FoundLength::More),
            Ok(progress) if progress.output.len() as u64 == expected => Ok(progress.consumed),
            Ok(progress) => wrong_length(FoundLength::Exactly(progress.output.len() as u64)),
            Err(Error::BufferFull) => wrong_length(FoundLength::More),
            Err(error) => Err(refusal(error, stored)),
        }
    }
}

fn refusal(error: Error, stored: &[u8]) -> CodecError {
    match error {
        Error::Truncated => CodecError::Truncated { codec: STREAM, available: stored.len() as u64 },
        other => CodecError::Corrupt { codec: STREAM, expected: "a valid stream", found: other.to_string() },
    }
}

/// The decompressor. sirocco keeps its window in the caller's buffer, so this has a buffer of its own.
pub(crate) struct Decompressing {
    decoder: Box<Decoder>,
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that the caller has received.
    given: usize,
    /// The number of bytes in the buffer that are decompressed.
    filled: usize,
    ended: bool,
}

impl Inflater for Decompressing {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.decoder.reset();
        (self.given, self.filled, self.ended) = (0, 0, false);
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _whole: bool) -> Result<Step, CodecError> {
        let mut consumed = 0;
        if self.given == self.filled && !self.ended {
            self.buffer.resize(BUFFER_LEN, 0);
            if self.filled == self.buffer.len() {
                let dropped = self.decoder.make_room(&mut self.buffer);
                self.given -= dropped;
                self.filled -= dropped;
            }
            let progress = self.decoder.decompress(input, &mut self.buffer, false);
            let progress = progress.map_err(|error| refusal(error, input))?;
            consumed = progress.consumed;
            self.filled += progress.output.len();
            self.ended = progress.done;
        }
        let ready = self.buffer.get(self.given..self.filled).unwrap_or_default();
        let produced = ready.len().min(output.len());
        if let (Some(to), Some(from)) = (output.get_mut(..produced), ready.get(..produced)) {
            to.copy_from_slice(from);
        }
        self.given += produced;
        Ok(Step { consumed, produced, ended: self.ended && self.given == self.filled })
    }
}

/// The compressor. sirocco keeps its window in the caller's buffer, so this has a buffer of its own.
pub(crate) struct Compressing {
    encoder: Encoder,
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that are payload.
    filled: usize,
}

impl Deflater for Compressing {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.encoder.reset();
        self.filled = 0;
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        self.buffer.resize(BUFFER_LEN, 0);
        if self.filled == self.buffer.len() {
            self.filled -= self.encoder.make_room(&mut self.buffer);
        }
        let room = self.buffer.get_mut(self.filled..).unwrap_or_default();
        let taken = room.len().min(input.len());
        if let (Some(to), Some(from)) = (room.get_mut(..taken), input.get(..taken)) {
            to.copy_from_slice(from);
        }
        self.filled += taken;
        let flush = if finish && taken == input.len() { Flush::Finish } else { Flush::None };
        let window = self.buffer.get(..self.filled).unwrap_or_default();
        let progress = self.encoder.compress(window, output, flush);
        Ok(Step { consumed: taken, produced: progress.output.len(), ended: progress.done })
    }
}
