//! `bzip2`: bzip2 streams, by a port of the C library to Rust.

use bzip2::{Action, Compress, Compression, Decompress, Status};

use super::descriptor::CodecDescriptor;
use super::descriptor::Levels;
use super::steps::{Deflater, Inflater, Machine, Step, added};
use super::stream::{STREAMING, StreamCodec};
use crate::codec::{Capabilities, UNUSED_LEVEL};
use crate::error::CodecError;
use crate::tag::Body;

/// The facts about `bzip2`.
pub(crate) static DESCRIPTOR: CodecDescriptor = CodecDescriptor {
    name: "bzip2",
    levels: Some(Levels { range: 1..=9, except: None, default: 9 }),
    longest_dictionary: None,
    body: Some(Body::Bzip2),
    is_read_by_hg: false,
    capabilities: STREAMING,
    implementation: "libbz2-rs (Rust)",
    version: || env!("REPACKBENCH_LIBBZ2_RS_VERSION").to_owned(),
    language: "Rust",
    licence: "bzip2-1.0.6",
    new: |level| Box::new(Bzip2::new(level.unsigned_abs())),
    new_open_ended: None,
    new_inflater: Some(|| Bzip2::new(UNUSED_LEVEL.unsigned_abs()).new_inflater()),
};

/// The name of the body in messages.
const BODY: &str = "bzip2 body";

/// The difference between the block lengths of two successive levels, in bytes.
const LEVEL_BLOCK_LEN: u64 = 100_000;

/// Lets the library choose when to switch from its fast sort to one that no payload slows down.
const DEFAULT_WORK_FACTOR: u32 = 0;

/// bzip2 at one level.
pub(crate) type Bzip2 = StreamCodec<Bzip2Level>;

impl Bzip2 {
    /// Creates a codec at `level`, which is 1 to 9.
    pub(crate) fn new(level: u32) -> Self {
        StreamCodec::of(Bzip2Level(level.clamp(1, 9)))
    }
}

/// The level of compressing contexts.
pub(crate) struct Bzip2Level(u32);

impl Machine for Bzip2Level {
    const CODEC: &'static str = "bzip2";
    const BODY: &'static str = BODY;
    const CAPABILITIES: Capabilities = STREAMING;
    type Deflater = Compressing;
    type Inflater = Decompressing;

    fn deflater(&self) -> Result<Compressing, CodecError> {
        Ok(Compressing { level: self.0, context: None })
    }

    fn inflater(&self) -> Result<Decompressing, CodecError> {
        Ok(Decompressing(None))
    }
}

/// The compressor. The library cannot start a new stream in an old context.
pub(crate) struct Compressing {
    level: u32,
    context: Option<Compress>,
}

fn not_restarted() -> CodecError {
    CodecError::Implementation { codec: BODY, message: "no context was set up".to_owned() }
}

/// The lowest level whose blocks hold the payload, but at most `level`: a higher level would only take more memory.
///
/// A block holds 19 bytes less than its length, and run lengths may lengthen the payload by up to a quarter.
fn fitting_level(level: u32, payload_len: u64) -> u32 {
    let needed = payload_len.saturating_add(payload_len / 4).saturating_add(20).div_ceil(LEVEL_BLOCK_LEN);
    u32::try_from(needed).map_or(level, |needed| needed.clamp(1, level))
}

impl Deflater for Compressing {
    fn restart(&mut self, payload_len: u64) -> Result<(), CodecError> {
        let level = Compression::new(fitting_level(self.level, payload_len));
        self.context = Some(Compress::new(level, DEFAULT_WORK_FACTOR));
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], finish: bool) -> Result<Step, CodecError> {
        let context = self.context.as_mut().ok_or_else(not_restarted)?;
        let (taken, given) = (context.total_in(), context.total_out());
        let action = if finish { Action::Finish } else { Action::Run };
        let status = context
            .compress(input, output, action)
            .map_err(|error| CodecError::Implementation { codec: BODY, message: error.to_string() })?;
        Ok(Step {
            consumed: added(taken, context.total_in()),
            produced: added(given, context.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}

/// The decompressor. The library cannot start a new stream in an old context.
pub(crate) struct Decompressing(Option<Decompress>);

impl Inflater for Decompressing {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        // The context allocates memory when it reads the block length: 3.7 MB for the longest.
        self.0 = Some(Decompress::new(false));
        Ok(())
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _whole: bool) -> Result<Step, CodecError> {
        let context = self.0.as_mut().ok_or_else(not_restarted)?;
        let (taken, given) = (context.total_in(), context.total_out());
        let corrupt = |found: String| CodecError::Corrupt { codec: BODY, expected: "a valid stream", found };
        let status = context.decompress(input, output).map_err(|error| corrupt(error.to_string()))?;
        if status == Status::MemNeeded {
            return Err(CodecError::Implementation { codec: BODY, message: "no memory for a block".to_owned() });
        }
        Ok(Step {
            consumed: added(taken, context.total_in()),
            produced: added(given, context.total_out()),
            ended: status == Status::StreamEnd,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::fitting_level;

    #[test]
    fn level_is_clamped_to_the_payload() {
        let lengths = [0, 79_000, 80_000, 500_000, 1_000_000, u64::MAX];
        assert_eq!(lengths.map(|length| fitting_level(9, length)), [1, 1, 2, 7, 9, 9]);
        assert_eq!(lengths.map(|length| fitting_level(3, length)), [1, 1, 2, 3, 3, 3]);
    }
}
