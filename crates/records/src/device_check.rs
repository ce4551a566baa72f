//! Cold reads of copies of a repository, beside what the device model predicts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::DeviceRecord;

/// What one workload's reads take on this machine's disk, as modelled and as measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceCheck {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program that measured.
    pub program_version: String,
    /// What was replayed.
    pub workload: String,
    /// Length of the files that were read, in bytes.
    pub store_bytes: u64,
    /// The reads that the device was measured by.
    pub calibration: DeviceCalibration,
    /// The device as the model has it, without readahead.
    pub device: DeviceRecord,
    /// How far the kernel reads ahead, in bytes; `None` if it does not say.
    pub readahead_bytes: Option<u64>,
    /// How far it is modelled to read ahead, in bytes.
    pub modelled_readahead_bytes: u64,
    /// The modelled time to read the pages of the workload's trace without readahead.
    pub modelled_pages: Duration,
    /// The modelled time to read them with readahead, as the workload does.
    pub modelled_workload: Duration,
    /// What was measured on each copy.
    pub copies: Vec<ColdCopyReads>,
    /// The command that measured, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
}

/// The reads that a device was measured by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCalibration {
    /// How many single pages were read at random places.
    pub single_reads: u32,
    /// The time that all of them took.
    pub single_time: Duration,
    /// The length of the file that was read from beginning to end, in bytes.
    pub long_bytes: u64,
    /// The time that this took.
    pub long_time: Duration,
}

/// The times to read one copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColdCopyReads {
    /// The pages of the trace, cold and without readahead.
    pub pages: Duration,
    /// The workload, cold.
    pub workload_cold: Duration,
    /// The workload right after that, from memory.
    pub workload_warm: Duration,
}
