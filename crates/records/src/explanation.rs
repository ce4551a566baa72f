//! What a ratio of times is made of.

use serde::{Deserialize, Serialize};

use crate::{ComparedTime, RatioEstimate, RepositoryState, WorkloadLabel};

/// The ratio of a codec's time to the baseline's in one workload, split into factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The session that measured it, as in [`RunPlace::session`](crate::RunPlace::session): its runs are steps of the explanation,
    /// not variants to be compared. 0 where it is not known.
    #[serde(default)]
    pub session: u64,
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// What was replayed.
    pub workload: WorkloadLabel,
    /// Which time the ratios are of.
    pub compared_time: ComparedTime,
    /// The codec that is explained, as it was typed.
    pub codec: String,
    /// What it is compared with.
    pub baseline: String,
    /// The ratio as measured: the codec's time to the baseline's in the same block.
    pub measured: RatioEstimate,
    /// The steps that lead from the baseline to the codec. A step that does not apply to the repository or the codec is
    /// not there.
    pub factors: Vec<Factor>,
    /// The product of the factors; it differs from what was measured, as medians do not multiply.
    pub product: f64,
    /// The baseline against itself (A / A').
    pub noise: Option<RatioEstimate>,
}

impl Explanation {
    /// Every ratio in it, with the ends of its interval: each is positive if it was measured.
    pub(crate) fn ratios(&self) -> impl Iterator<Item = f64> {
        let estimates = self.factors.iter().map(|factor| &factor.ratio).chain([&self.measured]).chain(&self.noise);
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
    /// What the two rows differ in.
    pub kind: FactorKind,
    /// The row that is left.
    pub from: String,
    /// The row that is reached.
    pub to: String,
    /// The time of the row that is reached as a multiple of the other's in the same block.
    pub ratio: RatioEstimate,
}

/// What two rows differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactorKind {
    /// Who decodes the very same bytes.
    Implementation,
    /// The wrapping of RFC 1950 with its Adler-32, or a tag byte and a length around the same DEFLATE blocks.
    Framing,
    /// How the payload is compressed.
    Format,
    /// Whether a checksum over the payload is stored and checked.
    Integrity,
}
