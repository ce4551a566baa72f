//! The result of a published experiment that was run again: measured figures beside the published ones, and a verdict on each claim.
//!
//! A result holds identifiers and figures. Version 1 held finished sentences in their place: they are kept and shown as stored, and such a
//! result is never judged again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Host, RepositoryState, Statement, StoredStatement};

/// The version of [`Experiment`]'s form.
pub const EXPERIMENT_SCHEMA_VERSION: u32 = 2;

/// A published experiment that was run again, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// The version of this form: [`EXPERIMENT_SCHEMA_VERSION`].
    pub experiment_schema: u32,
    /// The name, as in `flat-vs-gzip-tree`; that of its [`Published`](crate::Published) figures.
    pub name: String,
    /// The command line, quoted for a shell.
    pub command: Option<String>,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub began_unix_ms: u64,
    /// The machine that it ran on.
    pub host: Host,
    /// The repository that it ran on.
    pub repository: RepositoryState,
    /// Where the set-up differs from the published one.
    pub differences: Vec<StoredStatement>,
    /// Measured figures beside the published ones.
    pub tables: Vec<ExperimentTable>,
    /// Tables that are read line by line, such as traces: their rows are not multiples of a first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listings: Vec<ExperimentTable>,
    /// The verdict on each claim.
    pub claims: Vec<ClaimOutcome>,
    /// What else is worth knowing: how figures were measured, what was left out and why. The remarks on the publication itself are in its
    /// [`Published`](crate::Published) entry; version 1 repeats them here.
    pub notes: Vec<StoredStatement>,
}

/// One table: a row for each arm, a column for each quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentTable {
    /// What it shows.
    pub title: StoredStatement,
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
    /// The unit of its figures.
    pub unit: Unit,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
    /// A number that identifies something, such as a page.
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

impl ExperimentTable {
    /// Whether this is the table whose title is `title`, with the same values.
    pub fn is_titled(&self, title: &Statement) -> bool {
        matches!(&self.title, StoredStatement::Statement(found) if found == title)
    }
}

/// The verdict on a published claim, with the figures and the reasons that led to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ClaimOutcome {
    /// From version 2 on.
    Judged(JudgedClaim),
    /// Of version 1.
    Text(ClaimText),
}

/// A judged claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgedClaim {
    /// The claim, by its [`PublishedClaim::id`](crate::PublishedClaim).
    pub id: String,
    /// The verdict.
    pub outcome: Outcome,
    /// The measured figures that decide; empty where nothing was measured.
    pub measured: Vec<Statement>,
    /// Why the figures lead to the verdict.
    pub reasons: Vec<Statement>,
}

/// A claim's outcome as version 1 stored it: finished text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimText {
    /// The claim, in a sentence.
    pub claim: String,
    /// The published figure with its unit; empty where the claim has none.
    pub published: String,
    /// The measured figure with its unit; empty where nothing was measured.
    pub measured: String,
    /// The verdict.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
}

impl ClaimOutcome {
    /// The verdict.
    pub fn outcome(&self) -> Outcome {
        match self {
            ClaimOutcome::Judged(claim) => claim.outcome,
            ClaimOutcome::Text(claim) => claim.outcome,
        }
    }
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
