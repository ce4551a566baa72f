//! Several codecs.

use clap::Args;
use repackbench_codec::{CodecSpec, CodecSpecs};

use super::SpecArguments;
use crate::failure::Failure;

/// The codecs of variants.
#[derive(Debug, Args)]
pub(crate) struct CodecsArguments {
    /// Codec, such as zstd:5 or zstd:1,3,5; may be repeated.
    ///
    /// Several levels of a codec are a list or a range, such as zlib:1..9. Codecs that are equal, in any spelling,
    /// count once. `repackbench codecs` lists them.
    #[arg(long = "codec", value_name = "SPEC", help_heading = super::WHAT)]
    codecs: Vec<CodecSpecs>,

    #[command(flatten)]
    with: SpecArguments,
}

impl CodecsArguments {
    /// Every spec, with the dictionary and the limit of chains that the user gave.
    pub(crate) fn specs(&self) -> Result<Vec<CodecSpec>, Failure> {
        self.codecs.iter().flat_map(CodecSpecs::specs).map(|spec| self.with.apply(spec)).collect()
    }
}
