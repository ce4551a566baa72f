//! The variants that have to be measured to explain a codec's ratio; [`ExplainedRows`] derives the factors.

use repackbench_analysis::ExplainedRows;
use repackbench_codec::{CodecSpec, DecoderChoice, SharedFormat, SpecError};
use repackbench_reader::Repository;

/// The libraries that read both zlib streams and deflate bodies, by the name that is typed.
const IMPLEMENTATIONS: [&str; 2] = ["libdeflate", "zlib-rs"];

/// The measurements that explain a codec.
#[derive(Debug, Clone)]
pub struct ExplainPlan {
    codec: CodecSpec,
    baseline: CodecSpec,
    unchecked: Option<CodecSpec>,
    deflate: CodecSpec,
}

/// Why a codec cannot be explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// Its chunks are zlib streams.
    #[error(
        "{codec} writes zlib streams: expected another format; bench --decoder measures other libraries on the same bytes"
    )]
    ZlibStreams {
        /// The spec as it was typed.
        codec: String,
    },
    /// The codec comes with numbers in the place of ids.
    #[error("{codec} changes payloads, so that a step would differ in two things; bench compares it with other rows")]
    Numbers {
        /// The codec.
        codec: String,
    },
    /// A spec that is needed cannot be written.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

impl ExplainPlan {
    /// The plan for `codec` against `baseline`, a zlib level, on `source`.
    ///
    /// Chunks in Mercurial have no checksum of this program, so that step is left out there. If a spec has parts for
    /// kinds, the cost of its checksums stays in the factor of the format.
    ///
    /// # Errors
    /// See [`ExplainError`].
    pub fn new(codec: &CodecSpec, baseline: &CodecSpec, source: &Repository) -> Result<Self, ExplainError> {
        if codec.uses_numbers() {
            return Err(ExplainError::Numbers { codec: codec.to_string() });
        }
        if codec.choices().any(|choice| choice.algorithm().is_zlib_family()) {
            return Err(ExplainError::ZlibStreams { codec: codec.to_string() });
        }
        let is_git = matches!(source, Repository::Git(_));
        let in_source = |spec: &CodecSpec| if is_git { spec.clone() } else { spec.for_revlogs() };
        let unchecked = match is_git && codec.is_uniform() && codec.checksum() {
            true => Some(format!("{},checksum=no", codec.canonical()).parse()?),
            false => None,
        };
        let level = baseline.level().unwrap_or(6);
        let deflate = match (is_git, baseline.for_loose_objects().level()) {
            // Compresses every payload that the baseline does, even where that is no shorter.
            (true, Some(loose)) => format!("deflate:{level},checksum=no,store-if-larger=no,loose={loose}"),
            (true, None) => format!("deflate:{level},checksum=no,store-if-larger=no"),
            (false, _) => format!("deflate:{level}"),
        };
        let (codec, baseline) = (in_source(codec), in_source(baseline));
        Ok(ExplainPlan { codec, baseline, unchecked, deflate: in_source(&deflate.parse()?) })
    }

    /// The codecs of the rows beside the baseline.
    pub fn codecs(&self) -> Vec<CodecSpec> {
        [&self.deflate].into_iter().chain(&self.unchecked).chain([&self.codec]).cloned().collect()
    }

    /// The decoders that read zlib streams and deflate bodies once more, to find the fastest.
    pub fn decoders(&self) -> Vec<DecoderChoice> {
        let formats = [SharedFormat::Zlib, SharedFormat::Deflate];
        let names = |format: SharedFormat| {
            IMPLEMENTATIONS.iter().filter_map(move |name| format!("{}={name}", format.name()).parse().ok())
        };
        formats.into_iter().flat_map(names).collect()
    }

    /// The rows that explain the ratio: canonical specs, and the decoders that read the [`codecs`](Self::codecs) once
    /// more.
    pub fn rows(&self) -> ExplainedRows {
        ExplainedRows {
            codec: self.codec.canonical(),
            baseline: self.baseline.canonical(),
            unchecked: self.unchecked.as_ref().map(CodecSpec::canonical),
            deflate: self.deflate.canonical(),
            implementations: IMPLEMENTATIONS.map(str::to_owned).to_vec(),
        }
    }
}
