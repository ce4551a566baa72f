//! A modelled page cache of limited size compared with the kernel's.

use serde::{Deserialize, Serialize};

/// What short memory costs a workload, as modelled and as measured in a cgroup with a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCheck {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program that measured.
    pub program_version: String,
    /// What was replayed.
    pub workload: String,
    /// Length of the packs or revlogs, in bytes.
    pub store_bytes: u64,
    /// Length of the different pages that are touched, in bytes: each has to be read once, whatever the memory.
    pub touched_bytes: u64,
    /// One row for each share.
    pub rows: Vec<MemoryCheckRow>,
    /// The command that measured, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryCheckRow {
    /// The limit as a share of the packs or revlogs, in percent.
    pub percent: u32,
    /// The limit in bytes.
    pub limit_bytes: u64,
    /// What the model's cache had to read, in bytes.
    pub modelled_bytes: u64,
    /// How much of that it had read before, and forgotten.
    pub modelled_again_bytes: u64,
    /// What the kernel had to read from the device; `None` if it does not tell.
    pub measured_bytes: Option<u64>,
    /// How much of that it had forgotten not long before, which is what it counts; `None` if it does not tell.
    pub measured_again_bytes: Option<u64>,
    /// The most that was charged to the group at once; `None` if the kernel does not tell.
    pub peak_bytes: Option<u64>,
}
