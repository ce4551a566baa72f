//! Sizes and times of a repository under codecs that were predicted from a sample, without writing a variant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Host, ObjectSizes, RatioInterval, Readers, RepositoryState, SpecText, WorkloadLabel};

/// A predicted value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predicted {
    /// The best guess.
    pub value: f64,
    /// Where the true value is with a probability of 95 %; `None` for a value that is exact.
    pub interval: Option<RatioInterval>,
}

impl Predicted {
    /// A value that is known.
    pub fn exact(value: f64) -> Self {
        Predicted { value, interval: None }
    }

    /// Half of the interval's length as a share of the value; 0 for an exact value.
    pub fn relative_error(&self) -> f64 {
        self.interval
            .map_or(0.0, |interval| (interval.high - interval.low) / 2.0 / self.value.abs().max(f64::MIN_POSITIVE))
    }

    /// The ends of the interval: the value itself if it is exact.
    pub fn ends(&self) -> (f64, f64) {
        self.interval.map_or((self.value, self.value), |interval| (interval.low, interval.high))
    }

    /// Whether the interval is wider than the value, so that the value says nothing: the error of two replays can be a
    /// multiple of it.
    pub fn is_unknown(&self) -> bool {
        self.interval.is_some_and(|interval| interval.high - interval.low > self.value)
    }
}

/// What `estimate` predicts for one repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepositoryEstimate {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program that predicted.
    pub program_version: String,
    /// The command that asked for it, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
    /// The machine. `None` in older records.
    #[serde(default)]
    pub host: Option<Host>,
    /// The repository.
    pub repository: RepositoryState,
    /// The seed of the sample.
    pub seed: u64,
    /// The elapsed time of the whole command, in seconds.
    pub seconds: f64,
    /// The share of the processors' time that other programs, or a hypervisor for other machines, took meanwhile.
    /// `None`, and omitted from JSON, in older records and where the system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_load: Option<f64>,
    /// The number of objects that refs or other objects name and that are missing.
    #[serde(default)]
    pub missing_objects: u64,
    /// The checksums in the trailers of its packs, in hexadecimal and sorted. Empty, and omitted from JSON, in older
    /// records, for Mercurial, and for a repository with more packs than
    /// [`MOST_PACK_CHECKSUMS`](Self::MOST_PACK_CHECKSUMS).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pack_checksums: Vec<String>,
    /// The part of a conversion's training, in percent, that dictionaries had in a short session. `None`, and omitted
    /// from JSON, if they had all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training_percent: Option<u64>,
    /// The repository with its own deltas.
    pub as_found: DeltaState,
    /// What became of the repository with deltas that were searched for anew.
    pub rechosen: Rechosen,
}

impl RepositoryEstimate {
    /// The most packs whose checksums are recorded: a record has to fit a line.
    pub const MOST_PACK_CHECKSUMS: usize = 1000;

    /// From this `other_load` on, predicted times are doubtful: their intervals come from differences within the
    /// replays, which all ran beside the same load, and do not contain its effect.
    pub const DISTURBING_LOAD: f64 = 0.1;

    /// The `other_load`, if it makes predicted times doubtful.
    pub fn disturbing_load(&self) -> Option<f64> {
        self.other_load.filter(|load| *load >= Self::DISTURBING_LOAD)
    }
}

/// A new search for deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Rechosen {
    /// It was made.
    Searched {
        /// Its elapsed time in seconds.
        seconds: f64,
        /// git's CPU time in seconds. `None`, and omitted from JSON, in older records.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpu_seconds: Option<f64>,
        /// The number of objects that git compared each with; `None`, and omitted from JSON, for its default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u32>,
        /// The most memory that git held, in bytes, mapped files included; `None`, and omitted from JSON, if that is
        /// unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peak_resident_bytes: Option<u64>,
        /// Whether git had to search without file names, by which it finds most deltas, as objects are missing. Omitted
        /// from JSON if false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_without_names: bool,
        /// The search with another window, where one was asked for beside this. `None`, and omitted from JSON,
        /// otherwise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<OtherSearch>,
        /// The repository after it. As with `git repack -adF`, packed objects that no ref and no reflog reaches are
        /// gone; older records keep them.
        state: Box<DeltaState>,
    },
    /// It would take longer than the time that was left.
    TooLong {
        /// Its predicted elapsed time in seconds.
        predicted_seconds: f64,
        /// The seconds after which it was stopped; `None`, and omitted from JSON, if it was not begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped_after_seconds: Option<f64>,
        /// As in `searched`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u32>,
    },
    /// It was not asked for, or cannot be made.
    Left {
        /// Why not.
        why: String,
    },
}

/// A search for deltas with another window, whose result no codec is predicted for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherSearch {
    /// The number of objects that git compared each with; `None`, and omitted from JSON, for its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Its elapsed time in seconds, which is predicted where there are no bytes.
    pub seconds: f64,
    /// All bytes of the repository after it. `None`, and omitted from JSON, if it did not fit the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
}

/// The predictions for one state of a repository's deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeltaState {
    /// All bytes of the repository.
    pub total_bytes: u64,
    /// The stored bytes of its chunks.
    pub chunk_bytes: u64,
    /// The payload bytes of its chunks.
    pub payload_bytes: u64,
    /// The number of its chunks.
    pub chunks: u64,
    /// The number of those that hold a commit or changeset.
    pub commits: u64,
    /// The number of chunks that were encoded for the spec with the most of them.
    pub sampled_chunks: u64,
    /// All chunks by object kind and form. `None`, and omitted from JSON, in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectSizes>,
    /// Each codec.
    pub specs: Vec<SpecPrediction>,
    /// Each workload.
    pub workloads: Vec<WorkloadPrediction>,
}

impl DeltaState {
    /// The CPU seconds that encoding everything under `spec` takes; `None` if that is unknown.
    pub fn encoding_seconds(&self, spec: &SpecPrediction) -> Option<f64> {
        let speed = spec.encode_bytes_per_second;
        (speed > 0.0).then(|| self.payload_bytes as f64 / speed)
    }
}

/// The predictions for one codec.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpecPrediction {
    /// The codec.
    pub spec: SpecText,
    /// All bytes of the variant, its dictionaries included.
    pub total_bytes: Predicted,
    /// The stored bytes of its dictionaries.
    pub dictionary_bytes: u64,
    /// The CPU seconds that training its dictionaries took: those of a conversion if sizes are exact or the session had
    /// more than a minute, fewer otherwise. 0 in older records.
    #[serde(default)]
    pub training_seconds: f64,
    /// The number of chunks that were encoded.
    pub sampled_chunks: u64,
    /// Payload bytes that one thread encodes in a second of CPU time, over the whole repository. With numbers in the
    /// place of ids these are bytes with ids, and what putting in numbers takes is left out.
    pub encode_bytes_per_second: f64,
    /// Payload bytes that one thread decodes in a second, over the whole repository; with ids, too, where the codec has
    /// numbers in their place.
    pub decode_bytes_per_second: f64,
    /// Bytes on the heap of one thread that encodes: contexts, buffers and dictionaries. `None`, and omitted from JSON,
    /// if the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encode_memory_bytes: Option<u64>,
    /// The same for one thread that decodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_memory_bytes: Option<u64>,
    /// Who reads it.
    pub readers: Readers,
}

/// The predictions for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadPrediction {
    /// The workload.
    pub workload: WorkloadLabel,
    /// The number of commits that were replayed; `None` if the workload does not read one commit after another.
    pub commits: Option<u64>,
    /// Whether older commits were left out because they did not fit the time.
    pub is_cut: bool,
    /// CPU time of one replay of the repository as found, in seconds.
    pub seconds: f64,
    /// The share of that time in which chunks are decoded, measured in place.
    pub decode_share: Predicted,
    /// The share of the CPU time of the user's own git that decoding the same chunks takes. `None`, and omitted from
    /// JSON, if git has no command for it, or does not read the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_share: Option<f64>,
    /// The CPU time of that git with a commit-graph, as a multiple of the time without. `None`, and omitted from JSON,
    /// if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_graph_ratio: Option<Predicted>,
    /// The same for elapsed time. Omitted from JSON in older records, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_graph_elapsed_ratio: Option<Predicted>,
    /// The number of chunks that are decoded.
    pub decodes: u64,
    /// The CPU time under each codec as a multiple of the time under the baseline, in the order of
    /// [`DeltaState::specs`]. Those with numbers in the place of ids come last there, and have none.
    pub ratios: Vec<Predicted>,
    /// The same for elapsed time, with all files in the page cache. Empty, and omitted from JSON, in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elapsed_ratios: Vec<Predicted>,
    /// The CPU times as multiples of that under the codec of the repository. Errors that both times share are not in
    /// these intervals. Empty, and omitted from JSON, if the baseline is that codec, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratios_to_own: Vec<Predicted>,
    /// The same for elapsed time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elapsed_ratios_to_own: Vec<Predicted>,
}
