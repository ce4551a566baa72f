//! What an experiment that was published once found here, beside what it found then.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Host, RepositoryState};

/// The version of [`Experiment`]'s form.
pub const EXPERIMENT_SCHEMA_VERSION: u32 = 1;

/// A published experiment that was run again, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// The version of this form: [`EXPERIMENT_SCHEMA_VERSION`].
    pub experiment_schema: u32,
    /// The name that it goes by, as in `flat-vs-gzip-tree`; that of its [`Published`](crate::Published) figures.
    pub name: String,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub began_unix_ms: u64,
    /// The machine that it ran on.
    pub host: Host,
    /// The repository that it ran on.
    pub repository: RepositoryState,
    /// Where the set-up differs from the published one, a sentence each.
    pub differences: Vec<String>,
    /// What was measured, beside what was published.
    pub tables: Vec<ExperimentTable>,
    /// What is read line by line, all quantities of a line together, such as a trace: its rows are not held against a first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listings: Vec<ExperimentTable>,
    /// What is to be said of each claim.
    pub claims: Vec<ClaimOutcome>,
    /// What else is worth knowing, a sentence each: what does not agree in the published text, what was left out and why.
    pub notes: Vec<String>,
}

/// One table: a row for each arm, a column for each quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentTable {
    /// What it shows.
    pub title: String,
    /// Its quantities.
    pub columns: Vec<ExperimentColumn>,
    /// Its arms.
    pub rows: Vec<ExperimentRow>,
}

/// A quantity of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentColumn {
    /// What it is called.
    pub name: String,
    /// What its figures are in.
    pub unit: Unit,
}

/// What a figure is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// How many.
    Count,
    /// A number that names something, such as a page: no multiple of another.
    Identifier,
    /// One quantity as a multiple of another.
    Ratio,
    /// A part of 1, shown in percent.
    Share,
}

/// One arm of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentRow {
    /// What the arm is called, as in `gzip 9`.
    pub label: String,
    /// The published figures, one for each column; `None` where there is none.
    pub published: Vec<Option<f64>>,
    /// The measured figures, one for each column; `None` where it was not measured.
    pub measured: Vec<Option<Estimate>>,
}

/// A measured figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Of times the median, of ratios the estimate.
    pub value: f64,
    /// The bounds of its 95 % interval, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Every raw value, in the order in which they were measured; empty for what does not vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

impl Estimate {
    /// A figure that does not vary, such as a size.
    pub fn exact(value: f64) -> Self {
        Estimate { value, interval: None, samples: Vec::new() }
    }
}

/// What is to be said of a published claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimOutcome {
    /// The claim, in a sentence.
    pub claim: String,
    /// What was published for it, as text with its unit; empty where it came without a figure.
    pub published: String,
    /// What was measured for it, as text with its unit; empty where it was not.
    pub measured: String,
    /// The verdict.
    pub outcome: Outcome,
    /// Why, as far as the figures support it.
    pub reason: String,
}

/// The verdict on a published claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds here, too.
    Reproduced,
    /// The direction holds, the figure does not.
    Changed,
    /// It does not hold here.
    NotReproduced,
    /// The set-up differs in what the claim is about.
    NotComparable,
    /// The measurement does not tell: its interval is too wide, or it was left out.
    Undecided,
}
