//! What a workload reads from a variant's files, and modelled times: from an access trace, not from a timed run.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a workload reads from a variant's files. One untimed pass traces it, as it is the same in every run of a
/// session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedReads {
    /// The bytes of all distinct 4 KiB pages that it touches: with these in the page cache it waits for no disk.
    pub touched_bytes: u64,
    /// The modelled cost of reading them from each requested device, if all fit into an empty page cache.
    #[serde(default)]
    pub modelled: Vec<ModelledCold>,
}

/// How long a workload would wait for a device: modelled, not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelledCold {
    /// The device.
    pub device: ModelledDevice,
    /// Reads that the workload waits for.
    pub reads: u64,
    /// Those reads that do not start where the last one ended, and so pay the latency.
    pub seeks: u64,
    /// Bytes that they read, including readahead.
    pub bytes: u64,
    /// The modelled time of waiting for the device only, in nanoseconds.
    pub time_ns: u64,
}

impl ModelledCold {
    /// The modelled time.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.time_ns)
    }
}

/// The parameters of a modelled device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ModelledDevice {
    /// Its name as typed: `hdd`, or its numbers.
    pub name: String,
    /// The latency before the first byte of a read, in nanoseconds.
    pub latency_ns: u64,
    /// Bytes per second after that.
    pub bytes_per_second: u64,
    /// Bytes per read.
    pub readahead_bytes: u64,
}
