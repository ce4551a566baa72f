//! zstd frames step by step, as other streams are driven.

use zstd_safe::{DCtx, InBuffer, OutBuffer, ResetDirective};

use super::{Zstd, damaged, failed};
use crate::codecs::steps::{Inflater, Step};
use crate::error::CodecError;

/// The decompressing half of zstd. It takes its windows when a frame needs them, and keeps them for the next.
pub(crate) struct ZstdInflater(DCtx<'static>);

impl Zstd {
    /// The decompressing half alone, for a caller that has looked at the frame's header with
    /// [`take_header`](Zstd::take_header). All of the header has to be there in one step: of a magicless frame whose header came in
    /// two, zstd may take the second for the beginning of another frame.
    ///
    /// # Errors
    /// When it cannot be set up.
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
