//! How long it takes to read objects, by the number of deltas in their chains.

use serde::{Deserialize, Serialize};

/// Objects of one repository whose chains are about equally long, and the time to read a sample of them.
///
/// A session has one such record for each of its repositories and each range of lengths. The samples of all repositories are the same
/// objects in the same order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainRecord {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program that measured.
    pub program_version: String,
    /// When the session began, in milliseconds since 1970-01-01 UTC: its name in all of its records.
    pub session: u64,
    /// The repository's name for people.
    pub repository: String,
    /// Its number in the session; 0 for the one that the others are compared with.
    pub number: u32,
    /// The least number of deltas in a chain.
    pub least: u32,
    /// The largest number; `None` for no limit.
    pub most: Option<u32>,
    /// The number of objects, which is the same in every repository.
    pub objects: u64,
    /// The stored bytes of their own chunks, without those of their bases.
    pub stored_bytes: u64,
    /// The objects that were read.
    pub reads: Vec<ChainReads>,
    /// The command that measured, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
}

/// The time to read one object from empty caches, with its whole chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainReads {
    /// Its id in Git, its node in Mercurial, in hexadecimal digits.
    pub object: String,
    /// The number of deltas in its chain.
    pub deltas: u32,
    /// How many times it was read in each round.
    pub iterations: u32,
    /// The CPU time of each round, user and system, in nanoseconds.
    pub cpu_ns: Vec<u64>,
}
