//! The factors of a ratio of times.

use serde::{Deserialize, Serialize};

use crate::{ComparedTime, RatioEstimate, RepositoryState, WorkloadLabel};

/// The ratio of a codec's time to the baseline's in one workload, split into factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The session that measured it, as in [`RunPlace::session`](crate::RunPlace::session): its runs are steps of the
    /// explanation, not variants to compare. 0 if unknown.
    #[serde(default)]
    pub session: u64,
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// The workload.
    pub workload: WorkloadLabel,
    /// The time that the ratios use.
    pub compared_time: ComparedTime,
    /// The explained codec, as it was typed.
    pub codec: String,
    /// The baseline.
    pub baseline: String,
    /// The ratio as measured: the codec's time to the baseline's in the same block.
    pub measured: RatioEstimate,
    /// The steps that lead from the baseline to the codec, without those that do not apply to the repository or the
    /// codec.
    pub factors: Vec<Factor>,
    /// The product of the factors. It differs from the measured ratio, because medians do not multiply.
    pub product: f64,
    /// The baseline against itself (A / A').
    pub noise: Option<RatioEstimate>,
    /// What numbers in the place of ids save, split by the floor of the workload. `None`, and omitted from JSON, if the
    /// codec comes without numbers, the workload does not only read, or its floor takes as long in some block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<NumbersSplit>,
}

/// The time of a workload without numbers and with them, in two parts: decoding, which is the workload's floor, and
/// everything else, such as looking ids up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NumbersSplit {
    /// The share of decoding in the time without numbers.
    pub decode_share: f64,
    /// The time of decoding with numbers as a multiple of that without, in the same block of the floor.
    pub decoding: RatioEstimate,
    /// The same of everything else.
    pub rest: RatioEstimate,
}

impl Explanation {
    /// Every ratio and the ends of its interval. All are positive if they were measured.
    pub(crate) fn ratios(&self) -> impl Iterator<Item = f64> {
        let of_numbers = self.numbers.iter().flat_map(|split| [&split.decoding, &split.rest]);
        let estimates = self.factors.iter().map(|factor| &factor.ratio).chain([&self.measured]).chain(&self.noise);
        let estimates = estimates.chain(of_numbers);
        let ratios = estimates.flat_map(|estimate| {
            let ends = estimate.interval.iter().flat_map(|interval| [interval.low, interval.high]);
            std::iter::once(estimate.ratio).chain(ends)
        });
        ratios.chain([self.product])
    }
}

/// One step: two rows that differ in one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// The difference between the two rows.
    pub kind: FactorKind,
    /// The row before the step.
    pub from: String,
    /// The row after the step.
    pub to: String,
    /// The time of `to` as a multiple of the time of `from` in the same block.
    pub ratio: RatioEstimate,
}

/// The one difference between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactorKind {
    /// The implementation that decodes the same bytes.
    Implementation,
    /// The wrapping of RFC 1950 with its Adler-32, or a tag byte and a length around the same DEFLATE blocks.
    Framing,
    /// The format of the compressed payload.
    Format,
    /// Whether a checksum over the payload is stored and checked.
    Integrity,
    /// Whether objects name others of their pack by number.
    Numbers,
}
