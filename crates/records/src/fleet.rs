//! What `fleet` writes beside the records of each repository.
//!
//! A shard is a file of results. It begins with the line of a [`FleetRun`]. A [`FleetTry`] says that the work on a
//! repository begins. Its records follow, and the line of a [`FleetRecord`], which says how the work ended. Lines after
//! the last of these three kinds belong to a repository that was not finished.

use serde::{Deserialize, Serialize};

use crate::Host;

/// A start of `fleet`, also to resume a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetRun {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program.
    pub program_version: String,
    /// The command that started it, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
    /// The machine.
    pub host: Host,
    /// The options that decide what is estimated and measured, in one spelling. All runs on one shard have the same.
    pub settings: String,
    /// The shard, counted from 1.
    pub shard: u32,
    /// The number of shards.
    pub shards: u32,
    /// The number of repositories in the shard.
    pub repositories: u64,
}

/// A try to work on one repository. If neither a [`FleetRecord`] nor another event follows, `fleet` itself was killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetTry {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program.
    pub program_version: String,
    /// The repository's name in the manifest.
    pub name: String,
    /// What happened.
    pub event: FleetTryEvent,
}

/// What happened to a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetTryEvent {
    /// The work begins.
    Begun,
    /// It stopped for a reason that is not the repository's: the user stopped `fleet`, or the result could not be
    /// written. The try does not count.
    Stopped,
}

/// How the work on one repository ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FleetRecord {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program.
    pub program_version: String,
    /// The repository's name in the manifest. It is also its name in the other records.
    pub name: String,
    /// Its path.
    pub path: String,
    /// The elapsed time of all work on it, in seconds.
    pub seconds: f64,
    /// How the work ended.
    pub end: FleetEnd,
}

/// The end of the work on a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum FleetEnd {
    /// It was estimated.
    Done {
        /// Why `bench` could not check the estimate. `None`, and omitted from JSON, if it did or was not asked to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unchecked: Option<String>,
    },
    /// It has no commits, so there is nothing to estimate.
    Empty,
    /// The repository is bad, and another try would fail as well.
    Failed {
        /// What the program said.
        message: String,
    },
    /// Another try may succeed: the process was killed, took too long, or failed for a reason outside the repository.
    TryAgain {
        /// What the program said, or how it ended.
        message: String,
    },
}

impl FleetEnd {
    /// Whether resuming the shard leaves the repository out.
    pub fn is_final(&self) -> bool {
        !matches!(self, FleetEnd::TryAgain { .. })
    }

    /// Why the repository was not estimated; `None` if it was.
    pub fn why_not(&self) -> Option<&str> {
        match self {
            FleetEnd::Done { .. } => None,
            FleetEnd::Empty => Some("no commits, so there is nothing to estimate"),
            FleetEnd::Failed { message } | FleetEnd::TryAgain { message } => Some(message),
        }
    }
}
