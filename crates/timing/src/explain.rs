//! The variants that have to be measured to explain a codec's ratio; [`ExplainedRows`] derives the factors.

use repackbench_analysis::ExplainedRows;
use repackbench_codec::{CodecSpec, DecoderChoice, SharedFormat, SpecError};
use repackbench_reader::Repository;
use repackbench_writer::check_kinds;

use crate::workloads::{HistoryRange, WorkloadSpec};

/// The libraries that read both zlib streams and deflate bodies, by the name that is typed.
const IMPLEMENTATIONS: [&str; 2] = ["libdeflate", "zlib-rs"];

/// The measurements that explain a codec.
#[derive(Debug, Clone)]
pub struct ExplainPlan {
    codec: CodecSpec,
    baseline: CodecSpec,
    /// The codec with ids in the place of numbers, if it has numbers.
    hashed: Option<CodecSpec>,
    /// The steps to the codec with ids; `None` if that is the baseline.
    steps: Option<Steps>,
}

/// The codecs between the baseline and another format.
#[derive(Debug, Clone)]
struct Steps {
    deflate: CodecSpec,
    unchecked: Option<CodecSpec>,
}

/// Why a codec cannot be explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// Its chunks are zlib streams.
    #[error(
        "{codec} writes zlib streams: expected another format, or the --baseline with ids=number; bench --decoder measures other libraries on the same bytes"
    )]
    ZlibStreams {
        /// The spec as it was typed.
        codec: String,
    },
    /// The codec names object kinds that the repository does not have.
    #[error("{why}")]
    Kinds {
        /// Which, and those that are expected.
        why: String,
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
        let is_git = matches!(source, Repository::Git(_));
        check_kinds(source, codec).map_err(|error| ExplainError::Kinds { why: error.to_string() })?;
        let in_source = |spec: &CodecSpec| if is_git { spec.clone() } else { spec.for_revlogs() };
        let hashed = codec.uses_numbers().then(|| codec.without_numbers());
        let steps = match &hashed {
            Some(hashed) if hashed.canonical() == baseline.canonical() => None,
            _ if codec.choices().any(|choice| choice.algorithm().is_zlib_family()) => {
                return Err(ExplainError::ZlibStreams { codec: codec.to_string() });
            }
            _ => Some(Steps::new(hashed.as_ref().unwrap_or(codec), baseline, is_git)?),
        };
        Ok(ExplainPlan { codec: in_source(codec), baseline: in_source(baseline), hashed, steps })
    }

    /// The codecs of the rows beside the baseline.
    pub fn codecs(&self) -> Vec<CodecSpec> {
        let steps = self.steps.iter().flat_map(|steps| [&steps.deflate].into_iter().chain(&steps.unchecked));
        let hashed = self.hashed.iter().filter(|_| self.steps.is_some());
        steps.chain(hashed).chain([&self.codec]).cloned().collect()
    }

    /// The floors that split what numbers save in those of `workloads` that only read, without floors that are among
    /// them.
    pub fn floors(&self, workloads: &[WorkloadSpec]) -> Vec<WorkloadSpec> {
        let split = workloads.iter().filter(|spec| self.hashed.is_some() && spec.is_traced());
        let floors = split.map(|spec| WorkloadSpec::Floor(Box::new(spec.clone())));
        floors.filter(|floor| !workloads.contains(floor)).collect()
    }

    /// The decoders that read zlib streams and deflate bodies once more, to find the fastest.
    pub fn decoders(&self) -> Vec<DecoderChoice> {
        if self.steps.is_none() {
            return Vec::new();
        }
        let formats = [SharedFormat::Zlib, SharedFormat::Deflate];
        let names = |format: SharedFormat| {
            IMPLEMENTATIONS.iter().filter_map(move |name| format!("{}={name}", format.name()).parse().ok())
        };
        formats.into_iter().flat_map(names).collect()
    }

    /// The rows that explain the ratio: canonical specs, the decoders that read the [`codecs`](Self::codecs) once more,
    /// and [`floors`](Self::floors).
    pub fn rows(&self, floors: &[WorkloadSpec]) -> ExplainedRows {
        // A name does not depend on the part of history.
        let range = HistoryRange { revision: String::new(), commits: None, seed: 0 };
        let name = |floor: &WorkloadSpec| floor.build(&range, None).label().name;
        ExplainedRows {
            floors: floors.iter().map(name).collect(),
            codec: self.codec.canonical(),
            baseline: self.baseline.canonical(),
            hashed: self.hashed.as_ref().map(CodecSpec::canonical),
            unchecked: self.steps.as_ref().and_then(|steps| steps.unchecked.as_ref()).map(CodecSpec::canonical),
            deflate: self.steps.as_ref().map(|steps| steps.deflate.canonical()),
            implementations: IMPLEMENTATIONS.map(str::to_owned).to_vec(),
        }
    }
}

impl Steps {
    fn new(codec: &CodecSpec, baseline: &CodecSpec, is_git: bool) -> Result<Self, ExplainError> {
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
        let deflate: CodecSpec = deflate.parse()?;
        Ok(Steps { deflate: if is_git { deflate } else { deflate.for_revlogs() }, unchecked })
    }
}
