//! `brotli`: Brotli (RFC 7932), by a port of the C library to Rust.

use brotli::enc::StandardAlloc;
use brotli::enc::encode::{BrotliEncoderOperation, BrotliEncoderParameter, BrotliEncoderStateStruct};
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::steps::{Deflater, Inflater, Machine, Step};
use super::stream::{STREAMING, StreamCodec};
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::CodecError;
use crate::tag::Body;

/// The facts about `brotli`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "brotli",
    levels: Some(Levels { range: 0..=11, except: None, default: 5 }),
    longest_dictionary: None,
    body: Some(Body::Brotli),
    is_read_by_hg: false,
    capabilities: STREAMING,
    implementation: "brotli (Rust)",
    version: || env!("REPACKBENCH_BROTLI_VERSION").to_owned(),
    language: "Rust",
    licence: "BSD-3-Clause AND MIT",
    new: |level| Box::new(Brotli::new(level.unsigned_abs())),
    new_open_ended: None,
    new_inflater: Some(|| Brotli::new(UNUSED_LEVEL.unsigned_abs()).new_inflater()),
};

/// The name of the body in messages.
const BODY: &str = "brotli body";

/// The windows of the encoder, as the base-2 logarithm of their length in bytes: from Brotli's shortest to the longest
/// that its library uses by default. The decoder accepts windows of up to 16 MiB, Brotli's longest, and allocates
/// memory as they fill.
const WINDOW_BITS: std::ops::RangeInclusive<u32> = 10..=22;

/// The levels at which the library of C has tables of their own for windows of 64 KiB or less. The port has none, and
/// clears 32 MiB of others for each stream instead, where longer windows take 1 to 8 MiB. (So it does at level 8, but
/// there both take about as long.) A window of 18 bits takes fewer bits to write down than one of 17.
const WITHOUT_SHORT_WINDOWS: std::ops::RangeInclusive<u32> = 5..=7;
const SHORTEST_OF_THESE: u32 = 18;

/// The difference between a power of two and the length of its window, in bytes.
const WINDOW_GAP: u64 = 16;

/// The maximum input of one step, in bytes: the decoder counts in 32 bits.
const LONGEST_INPUT: usize = 1 << 30;

/// Brotli at one level.
pub(crate) type Brotli = StreamCodec<BrotliLevel>;

impl Brotli {
    /// Creates a codec at `level`, which is 0 to 11.
    pub(crate) fn new(level: u32) -> Self {
        StreamCodec::of(BrotliLevel(level))
    }
}

/// The level of compressing contexts.
pub(crate) struct BrotliLevel(u32);

impl Machine for BrotliLevel {
    const CODEC: &'static str = "brotli";
    const BODY: &'static str = BODY;
    const CAPABILITIES: Capabilities = STREAMING;
    type Deflater = Compressing;
    type Inflater = Decompressing;

    fn deflater(&self) -> Result<Compressing, CodecError> {
        Ok(Compressing { level: self.0, state: None })
    }

    fn inflater(&self) -> Result<Decompressing, CodecError> {
        Ok(Decompressing(None))
    }
}

/// The compressor. The library cannot start a new stream in an old context.
pub(crate) struct Compressing {
    level: u32,
    state: Option<Box<BrotliEncoderStateStruct<StandardAlloc>>>,
}

fn no_context() -> CodecError {
    CodecError::Implementation { codec: BODY, message: "no context could be set up".to_owned() }
}

/// The shortest window that covers the payload and suits the level.
fn window_bits(level: u32, payload_len: u64) -> u32 {
    let covered = payload_len.saturating_add(WINDOW_GAP);
    let bits = u64::BITS - covered.saturating_sub(1).leading_zeros();
    let shortest = if WITHOUT_SHORT_WINDOWS.contains(&level) { SHORTEST_OF_THESE } else { *WINDOW_BITS.start() };
    bits.clamp(shortest, *WINDOW_BITS.end())
}

impl Deflater for Compressing {
    fn restart(&mut self, payload_len: u64) -> Result<(), CodecError> {
        let mut state = Box::new(BrotliEncoderStateStruct::new(StandardAlloc::default()));
        let size_hint = u32::try_from(payload_len).unwrap_or(u32::MAX);
        let set = state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_QUALITY, self.level)
            && state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_LGWIN, window_bits(self.level, payload_len))
            && state.set_parameter(BrotliEncoderParameter::BROTLI_PARAM_SIZE_HINT, size_hint);
        if !set {
            return Err(no_context());
        }
        self.state = Some(state);
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let state = self.state.as_mut().ok_or_else(no_context)?;
        let operation = if finish {
            BrotliEncoderOperation::BROTLI_OPERATION_FINISH
        } else {
            BrotliEncoderOperation::BROTLI_OPERATION_PROCESS
        };
        let (mut available_in, mut consumed) = (input.len(), 0);
        let (mut available_out, mut produced) = (output.len(), 0);
        let done = state.compress_stream(
            operation,
            &mut available_in,
            input,
            &mut consumed,
            &mut available_out,
            output,
            &mut produced,
            &mut None,
            &mut |_, _, _, _| (),
        );
        if !done {
            let message = "the encoder failed".to_owned();
            return Err(CodecError::Implementation { codec: BODY, message });
        }
        Ok(Step { consumed, produced, ended: finish && state.is_finished() })
    }
}

type DecoderState = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// The decompressor. The library cannot start a new stream in an old context.
pub(crate) struct Decompressing(Option<Box<DecoderState>>);

impl Inflater for Decompressing {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        // Strict: no windows above 16 MiB.
        let [a, b, c] = [StandardAlloc::default(); 3];
        self.0 = Some(Box::new(BrotliState::new_strict(a, b, c)));
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _whole: bool) -> Result<Step, CodecError> {
        let state = self.0.as_mut().ok_or_else(no_context)?;
        let (mut available_in, mut consumed) = (input.len().min(LONGEST_INPUT), 0);
        let (mut available_out, mut produced) = (output.len(), 0);
        let result = BrotliDecompressStream(
            &mut available_in,
            &mut consumed,
            input,
            &mut available_out,
            &mut produced,
            output,
            &mut 0,
            state,
        );
        let ended = match result {
            BrotliResult::ResultSuccess => true,
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => false,
            BrotliResult::ResultFailure => {
                let found = "damaged data".to_owned();
                return Err(CodecError::Corrupt { codec: BODY, expected: "a valid stream", found });
            }
        };
        Ok(Step { consumed, produced, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::window_bits;

    #[test]
    fn window_is_the_shortest_that_covers_the_payload() {
        let lengths = [0, 1008, 1009, 2032, 2033, (1 << 22) - 16, (1 << 22) - 15, u64::MAX];
        for level in [0, 4, 8, 9, 11] {
            assert_eq!(lengths.map(|len| window_bits(level, len)), [10, 10, 11, 11, 12, 22, 22, 22]);
        }
        for level in 5..=7 {
            assert_eq!(lengths.map(|len| window_bits(level, len)), [18, 18, 18, 18, 18, 22, 22, 22]);
        }
    }
}
