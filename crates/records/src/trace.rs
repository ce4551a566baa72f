//! What a workload reads of a variant's files, in pages, and what reading them would cost: made of one access trace.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{RepositoryState, Variant, WorkloadLabel};

/// What one workload reads of one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceRecord {
    /// The version of this form, [`SCHEMA_VERSION`](crate::SCHEMA_VERSION) when this program wrote it.
    pub schema: u32,
    /// The version of the program that traced.
    pub program_version: String,
    /// The repository that all variants were made from.
    pub repository: RepositoryState,
    /// The variant that was read.
    pub variant: Variant,
    /// What was replayed.
    pub workload: WorkloadLabel,
    /// Length of a page in bytes.
    pub page_len: u64,
    /// What was touched of the files, by what they hold.
    pub files: Vec<FilePages>,
    /// What was read, by kind of object.
    pub parts: Vec<PartAccesses>,
    /// What reading it from a cold device would take.
    pub devices: Vec<ModelledReads>,
    /// The same where memory is short.
    pub memory: Vec<ModelledMemory>,
    /// Where in its files it reads, and when: one map for each role; empty in older records.
    #[serde(default)]
    pub maps: Vec<AccessMap>,
    /// The command that traced, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
}

/// Where a workload reads in the files of one role, and when, coarse enough to be drawn.
///
/// Touches of pages are numbered in their order over all files; one that follows a touch of the same page is not counted. Columns
/// are equal parts of that order, rows are equal parts of the role's files, laid end to end in the order in which they were opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessMap {
    /// What the files hold, as in [`FilePages::role`].
    pub role: String,
    /// The length of its files in pages.
    pub pages: u64,
    /// How many touches there are, over all roles: what the columns are parts of.
    pub touches: u64,
    /// How many columns there are.
    pub columns: u32,
    /// How many rows there are.
    pub rows: u32,
    /// The cells that were touched, by column, then row.
    pub cells: Vec<MapCell>,
}

impl AccessMap {
    /// Whether the files are indexes, which are short beside what they lead to.
    pub fn is_of_index(&self) -> bool {
        matches!(self.role.as_str(), PACK_INDEX | REVLOG_INDEX)
    }
}

const PACK_INDEX: &str = "pack index";
const REVLOG_INDEX: &str = "revlog index";

/// A cell of an [`AccessMap`], as an array of three numbers in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u64)", into = "(u32, u32, u64)")]
pub struct MapCell {
    /// Its column, from 0 on.
    pub column: u32,
    /// Its row, from 0 on.
    pub row: u32,
    /// How often it was touched.
    pub touches: u64,
}

impl From<(u32, u32, u64)> for MapCell {
    fn from((column, row, touches): (u32, u32, u64)) -> Self {
        MapCell { column, row, touches }
    }
}

impl From<MapCell> for (u32, u32, u64) {
    fn from(cell: MapCell) -> Self {
        (cell.column, cell.row, cell.touches)
    }
}

/// What was touched of all files of one role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FilePages {
    /// What they hold: `pack`, `pack index`, `loose object`, `revlog index`, `revlog data`, `external`.
    pub role: String,
    /// How many files there are of it.
    pub files: u64,
    /// Their pages.
    pub pages: u64,
    /// Those that were touched.
    pub touched: u64,
    /// How many stretches of touched pages there are, with untouched ones between them.
    pub runs: u64,
    /// The median length of a run, in pages.
    pub median_run: u64,
    /// The longest run, in pages.
    pub longest_run: u64,
    /// The median length of what lies untouched between two runs of a file, in pages; `None` where there is no such gap.
    pub median_gap: Option<u64>,
    /// Steps from one page to another of the same file, in the order of reading.
    pub steps: u64,
    /// Those that lead to a later page.
    pub forward_steps: u64,
    /// In what order pages were touched for the first time.
    pub first_touches: FirstTouches,
}

/// First touches of pages, each held against the one before it in the same file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstTouches {
    /// Of the very next page.
    pub next: u64,
    /// Of a page farther on.
    pub ahead: u64,
    /// Of an earlier page.
    pub back: u64,
    /// The median length of the steps ahead and back, in pages; `None` where there is none.
    pub median_jump: Option<u64>,
}

/// What was read for one purpose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAccesses {
    /// The kind of object and its form, as in `blob delta`, or the purpose, as in `index look-ups`.
    pub part: String,
    /// How often something was read.
    pub accesses: u64,
    /// How many bytes, one that was read twice counted twice.
    pub bytes: u64,
    /// How many different pages. One that serves two purposes counts for both.
    pub pages: u64,
    /// How many chunks were decoded.
    pub decodes: u64,
}

/// A device, as the model knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Its name for people.
    pub name: String,
    /// What a read costs before its first byte.
    pub latency: Duration,
    /// Bytes a second after that.
    pub bytes_per_second: f64,
    /// Bytes that one read brings in.
    pub readahead_bytes: u64,
}

/// What a device would take: a model's answer, not a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelledReads {
    /// The device.
    pub device: DeviceRecord,
    /// Reads that had to be waited for.
    pub reads: u64,
    /// Those of them that went on elsewhere than the last one ended, and paid the latency.
    pub seeks: u64,
    /// Bytes that they brought in, readahead included.
    pub bytes: u64,
    /// The modelled time of waiting for the device.
    pub time: Duration,
}

/// What a page cache of limited size would make of the trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelledMemory {
    /// The cache's size as a share of the baseline's store files, in percent.
    pub percent: u32,
    /// The cache's size in bytes.
    pub cache_bytes: u64,
    /// For each device, what it would take.
    pub devices: Vec<ModelledReads>,
}

/// A model's answer beside a measurement on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceCheck {
    /// What was replayed.
    pub workload: String,
    /// Length of the files that were read, in bytes.
    pub store_bytes: u64,
    /// The device as it was measured.
    pub device: DeviceRecord,
    /// The rows.
    pub rows: Vec<DeviceCheckRow>,
}

/// One way to read the trace cold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceCheckRow {
    /// How it was read.
    pub how: String,
    /// What the model says.
    pub modelled: Duration,
    /// What was measured, one time for each copy.
    pub measured: Vec<Duration>,
}
