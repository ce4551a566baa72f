//! Variants of a repository, and their sizes.

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::SizeRecord;
use repackbench_timing::{BenchError, sizes::measure};
use repackbench_writer::{
    Layout, WriterError,
    cache::{GetOrMakeError, VariantDir},
    cached_variant,
};

use crate::{Context, ExperimentError};

/// A codec's variant and its size.
pub(crate) struct Sized {
    pub(crate) spec: CodecSpec,
    pub(crate) size: SizeRecord,
    /// Protects it from being pruned.
    pub(crate) variant: VariantDir,
}

impl Sized {
    /// The variant of `source` under the spec `text`.
    pub(crate) fn make(context: &Context<'_>, source: &Repository, text: &str) -> Result<Self, ExperimentError> {
        let spec = spec(text)?;
        let variant = variant_of(context, source, &spec)?;
        let size = measure(&Repository::open(variant.path())?, text)?;
        Ok(Sized { spec, size, variant })
    }
}

/// Parses a spec that this crate names.
pub(crate) fn spec(text: &str) -> Result<CodecSpec, ExperimentError> {
    text.parse().map_err(|error| WriterError::Spec { spec: text.to_owned(), why: format!("{error}") }.into())
}

/// The variant of the repository under a codec, from the cache or newly made.
pub(crate) fn variant(context: &Context<'_>, spec: &CodecSpec) -> Result<VariantDir, ExperimentError> {
    variant_of(context, context.source, spec)
}

fn variant_of(context: &Context<'_>, source: &Repository, spec: &CodecSpec) -> Result<VariantDir, ExperimentError> {
    cached_variant(context.cache, source, spec, Layout::default(), context.control()).map_err(of_variant)
}

pub(crate) fn of_variant(error: GetOrMakeError<WriterError>) -> ExperimentError {
    BenchError::from(error).into()
}
