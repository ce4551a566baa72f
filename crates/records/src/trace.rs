//! The pages that a workload reads from a variant's files, and the modelled cost of reading them: from one access
//! trace.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{RepositoryState, Variant, WorkloadLabel};

/// What one workload reads from one variant.
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
    /// The workload.
    pub workload: WorkloadLabel,
    /// Length of a page in bytes.
    pub page_len: u64,
    /// The touched pages, by role of the files.
    pub files: Vec<FilePages>,
    /// The accesses, by kind of object.
    pub parts: Vec<PartAccesses>,
    /// The modelled cost on each device from an empty page cache.
    pub devices: Vec<ModelledReads>,
    /// The same with a page cache of limited size.
    pub memory: Vec<ModelledMemory>,
    /// Where and when it reads: one map for each role; empty in older records.
    #[serde(default)]
    pub maps: Vec<AccessMap>,
    /// The command that traced, quoted as a shell reads it.
    #[serde(default)]
    pub command: Option<String>,
}

/// Where and when a workload reads in the files of one role, coarse enough to draw.
///
/// Page touches are numbered in order over all files; a repeated touch of the same page counts once. Columns are equal
/// parts of that order. Rows are equal parts of the files of the role, concatenated in the order in which they were
/// opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessMap {
    /// The role of the files, as in [`FilePages::role`].
    pub role: String,
    /// The length of the files in pages.
    pub pages: u64,
    /// The number of touches over all roles, which the columns divide.
    pub touches: u64,
    /// The number of columns.
    pub columns: u32,
    /// The number of rows.
    pub rows: u32,
    /// The cells that were touched, by column, then row.
    pub cells: Vec<MapCell>,
}

impl AccessMap {
    /// Whether the files are indexes, which are much shorter than packs and revlogs.
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

/// The touched pages of all files of one role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FilePages {
    /// Their role: `pack`, `pack index`, `loose object`, `revlog index`, `revlog data`, `external`.
    pub role: String,
    /// The number of files.
    pub files: u64,
    /// The number of their pages.
    pub pages: u64,
    /// The number of touched pages.
    pub touched: u64,
    /// The number of runs: stretches of touched pages between untouched ones.
    pub runs: u64,
    /// The median length of a run, in pages.
    pub median_run: u64,
    /// The longest run, in pages.
    pub longest_run: u64,
    /// The median length of a gap between two runs of a file, in pages; `None` without gaps.
    pub median_gap: Option<u64>,
    /// Steps from one page to another of the same file, in the order of reading.
    pub steps: u64,
    /// Steps to a later page.
    pub forward_steps: u64,
    /// The order of first touches.
    pub first_touches: FirstTouches,
}

/// First touches of pages, each relative to the previous first touch in the same file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstTouches {
    /// Touches of the next page.
    pub next: u64,
    /// Touches of a page farther ahead.
    pub ahead: u64,
    /// Touches of an earlier page.
    pub back: u64,
    /// The median length of steps ahead and back, in pages; `None` without such steps.
    pub median_jump: Option<u64>,
}

/// The accesses for one purpose.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartAccesses {
    /// The kind of object and its form, as in `blob delta`, or the purpose, as in `index look-ups`.
    pub part: String,
    /// The number of accesses.
    pub accesses: u64,
    /// The bytes read; a byte that is read twice counts twice.
    pub bytes: u64,
    /// The number of distinct pages. A page that serves two purposes counts for both.
    pub pages: u64,
    /// The number of decoded chunks.
    pub decodes: u64,
}

/// The parameters of a modelled device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Its name for people.
    pub name: String,
    /// The latency before the first byte of a read.
    pub latency: Duration,
    /// Bytes per second after that.
    pub bytes_per_second: f64,
    /// Bytes per read.
    pub readahead_bytes: u64,
}

/// The cost on a device: modelled, not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelledReads {
    /// The device.
    pub device: DeviceRecord,
    /// Reads that the workload waits for.
    pub reads: u64,
    /// Those reads that do not start where the last one ended, and so pay the latency.
    pub seeks: u64,
    /// Bytes that they read, including readahead.
    pub bytes: u64,
    /// The modelled time of waiting for the device.
    pub time: Duration,
}

/// The modelled cost with a page cache of limited size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelledMemory {
    /// The cache's size as a share of the baseline's store files, in percent.
    pub percent: u32,
    /// The cache's size in bytes.
    pub cache_bytes: u64,
    /// The cost on each device.
    pub devices: Vec<ModelledReads>,
}
