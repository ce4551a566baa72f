//! The findings about many repositories, for tables.

use serde::Serialize;

use crate::{DeltaOrigin, RatioInterval, Vcs};

/// What the estimates of many repositories say together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FleetSummary {
    /// The number of repositories that were estimated, each content once.
    pub repositories: usize,
    /// The number of estimates that were left out, as another repository has the same content.
    pub duplicates: usize,
    /// The repositories that could not be estimated.
    pub failures: Vec<FleetFailure>,
    /// The number of repositories without commits, in which there is nothing to estimate. Omitted from JSON if 0.
    #[serde(default, skip_serializing_if = "crate::size::is_zero")]
    pub without_commits: usize,
    /// The number of repositories whose estimate ran beside other programs that make its times doubtful:
    /// [`DISTURBING_LOAD`](crate::RepositoryEstimate::DISTURBING_LOAD).
    #[serde(default)]
    pub disturbed: usize,
    /// The number of repositories whose content no record describes by kind.
    pub without_kind: usize,
    /// As found, and with deltas that were searched for anew; the second only if a repository has it. Empty if
    /// the repositories use several version-control systems, whose bytes and times are not added.
    pub states: Vec<FleetState>,
    /// Estimates compared with measurements by `bench`; also empty for repositories of several systems.
    pub checks: Vec<FleetCheck>,
    /// Every predicted figure of every repository, for other programs; empty unless they were asked for.
    #[serde(skip)]
    pub figures: Vec<FleetFigure>,
}

/// What the estimates of all repositories of one version-control system say together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FleetSystem {
    /// The system; `None` if records do not say it.
    pub vcs: Option<Vcs>,
    /// The findings, without failures: what was not estimated has no known system.
    pub summary: FleetSummary,
}

/// One predicted figure of one repository.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetFigure {
    /// The repository's name.
    pub repository: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its version-control system, if that is known.
    pub vcs: Option<Vcs>,
    /// Its bytes as found.
    pub bytes_as_found: u64,
    /// Its class by size.
    pub size_class: RepositoryClass,
    /// Its class by content; `None` if that is unknown.
    pub content: Option<RepositoryClass>,
    /// Where the deltas come from.
    pub deltas: DeltaOrigin,
    /// The codec in its canonical spelling.
    pub codec: String,
    /// The workload; `None` for the size.
    pub workload: Option<String>,
    /// Predicted bytes, or CPU seconds of one replay.
    pub value: f64,
    /// The value as a multiple: of the repository's bytes in this state, or of the CPU time under the baseline.
    pub ratio: f64,
    /// The interval of the ratio; `None` if it is exact.
    pub interval: Option<RatioInterval>,
}

/// A repository that could not be estimated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetFailure {
    /// Its name.
    pub name: String,
    /// Why not.
    pub message: String,
    /// Whether another try would fail as well.
    pub is_permanent: bool,
}

/// All repositories in one state of their deltas.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetState {
    /// Where the deltas come from.
    pub deltas: DeltaOrigin,
    /// The number of repositories.
    pub repositories: usize,
    /// Their bytes under the codecs that they have.
    pub bytes: u64,
    /// Their bytes as found.
    pub bytes_as_found: u64,
    /// Each codec, in the order of the estimates. The first is the baseline of CPU times.
    pub codecs: Vec<FleetCodec>,
    /// The classes of repositories by size, then those by content; classes without a repository are left out.
    pub classes: Vec<FleetClass>,
}

impl FleetState {
    /// The codec other than the baseline with the least bytes times CPU time over all repositories.
    pub fn best(&self) -> Option<&FleetCodec> {
        self.codecs.iter().skip(1).min_by(|a, b| a.product().total_cmp(&b.product()))
    }
}

/// One codec on all repositories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetCodec {
    /// The codec as typed.
    pub codec: String,
    /// The number of repositories that were estimated under it.
    pub repositories: usize,
    /// The predicted bytes of all of them.
    pub bytes: u64,
    /// Bytes as multiples of those of the repositories as they are.
    pub size: FleetRatios,
    /// CPU times as multiples of those under the baseline, geometric means over all workloads; `None` without workloads.
    pub cpu: Option<FleetRatios>,
    /// CPU seconds that one thread takes to encode all of them.
    pub encode_seconds: f64,
    /// The share of repositories that gain: they save enough bytes or CPU time, and lose neither.
    pub gains: f64,
    /// The share of repositories that lose enough bytes or CPU time, and gain neither.
    pub loses: f64,
    /// The share of repositories that gain one and lose the other.
    pub trades: f64,
    /// Each workload.
    pub workloads: Vec<FleetWorkload>,
    /// The repositories with the most bytes times CPU time, as multiples, the worst first.
    pub worst: Vec<FleetRow>,
}

impl FleetCodec {
    /// Bytes times the geometric mean of CPU times, over all repositories, as a multiple.
    pub fn product(&self) -> f64 {
        self.size.total * self.cpu.map_or(1.0, |cpu| cpu.total)
    }
}

/// One workload under one codec on all repositories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetWorkload {
    /// The workload.
    pub workload: String,
    /// The number of repositories that were replayed.
    pub repositories: usize,
    /// The predicted CPU seconds of one replay of each.
    pub seconds: f64,
    /// CPU times as multiples of those under the baseline.
    pub cpu: FleetRatios,
}

/// The ratios of many repositories.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FleetRatios {
    /// The sum of all bytes or seconds as a multiple of the sum that they are compared with.
    pub total: f64,
    /// The geometric mean of the ratios: every repository counts the same.
    pub mean: f64,
    /// The values that 5, 25, 50, 75 and 95 % of the repositories do not exceed.
    pub quantiles: [f64; 5],
}

/// One repository under one codec.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetRow {
    /// Its name.
    pub name: String,
    /// Its bytes as found.
    pub bytes: u64,
    /// Its bytes under the codec as a multiple of those that it has.
    pub size: f64,
    /// The geometric mean of its CPU times as a multiple of the baseline's; `None` without workloads.
    pub cpu: Option<f64>,
}

/// Repositories that have something in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetClass {
    /// What they have in common.
    pub class: RepositoryClass,
    /// Their number.
    pub repositories: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Each codec, as in [`FleetState::codecs`].
    pub codecs: Vec<ClassCodec>,
}

/// One codec on a class of repositories.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassCodec {
    /// The codec as typed.
    pub codec: String,
    /// All bytes as a multiple.
    pub size_total: f64,
    /// The geometric mean of bytes as multiples.
    pub size_mean: f64,
    /// The geometric mean of CPU times as multiples, over workloads and repositories; `None` without workloads.
    pub cpu_mean: Option<f64>,
}

/// What a class of repositories has in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "&'static str")]
pub enum RepositoryClass {
    /// Less than 1 MB (10^6 bytes).
    Below1Mb,
    /// From 1 to 10 MB.
    Below10Mb,
    /// From 10 to 100 MB.
    Below100Mb,
    /// From 100 MB to 1 GB.
    Below1Gb,
    /// 1 GB or more.
    From1Gb,
    /// Trees, commits and tags, or manifests and changelogs, take more than half of the stored bytes of all objects.
    Histories,
    /// Files take more, and shrink by a fifth at most: images, archives and the like.
    CompressedFiles,
    /// Files take more, and shrink further: text and the like.
    CompressibleFiles,
}

impl RepositoryClass {
    /// The name in JSON and CSV.
    pub fn id(self) -> &'static str {
        match self {
            RepositoryClass::Below1Mb => "below-1-mb",
            RepositoryClass::Below10Mb => "below-10-mb",
            RepositoryClass::Below100Mb => "below-100-mb",
            RepositoryClass::Below1Gb => "below-1-gb",
            RepositoryClass::From1Gb => "from-1-gb",
            RepositoryClass::Histories => "mostly-history",
            RepositoryClass::CompressedFiles => "compressed-files",
            RepositoryClass::CompressibleFiles => "other-files",
        }
    }

    /// All classes, in the order of tables.
    pub const ALL: [RepositoryClass; 8] = [
        RepositoryClass::Below1Mb,
        RepositoryClass::Below10Mb,
        RepositoryClass::Below100Mb,
        RepositoryClass::Below1Gb,
        RepositoryClass::From1Gb,
        RepositoryClass::Histories,
        RepositoryClass::CompressedFiles,
        RepositoryClass::CompressibleFiles,
    ];
}

/// Predictions for one codec compared with what `bench` measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetCheck {
    /// The codec as typed.
    pub codec: String,
    /// The workload; `None` for the size.
    pub workload: Option<String>,
    /// The number of repositories.
    pub repositories: usize,
    /// The geometric mean of the predicted ratios to the baseline.
    pub predicted: f64,
    /// The geometric mean of the measured ones.
    pub measured: f64,
    /// The median of the differences between both, without sign, as shares of the measured ratio.
    pub median_error: f64,
    /// The largest of these differences.
    pub largest_error: f64,
}

impl From<RepositoryClass> for &'static str {
    fn from(class: RepositoryClass) -> Self {
        class.id()
    }
}
