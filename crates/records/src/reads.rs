//! What a workload reads of a variant's files, and what a model makes of that: from an access trace, not from a timed run.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a workload reads of a variant's files. The same in every run of a session: one untimed pass traced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracedReads {
    /// Length of the different pages of 4 KiB that it touches, in bytes: what the page cache has to hold for it to wait for no disk.
    pub touched_bytes: u64,
    /// What reading them from a device would take, if all fit into an empty page cache: one for each device that was asked for.
    #[serde(default)]
    pub modelled: Vec<ModelledCold>,
}

/// How long a device would keep a workload waiting: a model's answer, not a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelledCold {
    /// The device.
    pub device: ModelledDevice,
    /// Reads that had to be waited for.
    pub reads: u64,
    /// Those of them that went on elsewhere than the last one ended, and paid the latency.
    pub seeks: u64,
    /// Bytes that they brought in, readahead included.
    pub bytes: u64,
    /// The modelled time of waiting for the device alone, in nanoseconds.
    pub time_ns: u64,
}

impl ModelledCold {
    /// The modelled time.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.time_ns)
    }
}

/// A device, as the model knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ModelledDevice {
    /// Its name as it was typed: `hdd`, or its numbers.
    pub name: String,
    /// What a read costs before its first byte, in nanoseconds.
    pub latency_ns: u64,
    /// Bytes a second after that.
    pub bytes_per_second: u64,
    /// Bytes that one read brings in.
    pub readahead_bytes: u64,
}
