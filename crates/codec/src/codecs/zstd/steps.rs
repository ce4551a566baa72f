//! Decodes zstd frames in steps, like other streams.

use zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective};

use super::{Zstd, damaged, failed};
use crate::codecs::steps::{Inflater, Step};
use crate::error::CodecError;

/// The decompressor. It allocates its window when a frame needs it, and keeps it for the next frame.
pub(crate) struct ZstdInflater(DCtx<'static>);

impl Zstd {
    /// Makes only a decompressor, for a caller that has checked the frame's header with
    /// [`take_header`](Zstd::take_header). One step must contain the whole header: if the header of a magicless frame
    /// arrives in two steps, zstd may take the second part for the start of another frame.
    ///
    /// # Errors
    /// When the decompressor cannot be set up.
    pub(crate) fn new_inflater(&self) -> Result<Box<dyn Inflater>, CodecError> {
        Ok(Box::new(ZstdInflater(self.new_decoder()?)))
    }
}

impl Inflater for ZstdInflater {
    fn restart(&mut self, _payload_len: u64) -> Result<(), CodecError> {
        self.0.reset(ResetDirective::SessionOnly).map(drop).map_err(failed)
    }

    fn step(&mut self, input: &[u8], output: &mut [u8], _whole: bool) -> Result<Step, CodecError> {
        let mut output = OutBuffer::around(output);
        let mut input = InBuffer::around(input);
        let hint = self.0.decompress_stream(&mut output, &mut input).map_err(damaged)?;
        Ok(Step { consumed: input.pos(), produced: output.pos(), ended: hint == 0 })
    }
}
