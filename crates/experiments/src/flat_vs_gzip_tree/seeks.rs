//! The seeks of a reading, from the places of the files on the disk.

use std::os::unix::fs::MetadataExt;

use repackbench_pagecache::extents;
use repackbench_timing::trace::Device;
use repackbench_writer::files::files_in_folder_order;

use super::trees::Tree;
use crate::ExperimentError;

/// The length of a page, the least unit of reading.
const PAGE: u64 = 4096;

/// The disk reads of a reading of all files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DiskReads {
    /// The number of extents that do not begin where the last one ended, including the first; `None` where the file system does not report
    /// extents.
    pub(super) seeks: Option<u64>,
    /// Files that are not empty: the least number of seeks where extents are unknown.
    pub(super) files: u64,
    /// Whole pages, in bytes.
    pub(super) bytes: u64,
    /// The disk space of the files, in bytes.
    pub(super) allocated: u64,
}

impl DiskReads {
    /// The reads of the files of `tree` in the order in which its folders list them, without folders and inodes, whose places are unknown.
    pub(super) fn of(tree: &Tree) -> Result<Self, ExperimentError> {
        let root = tree.files();
        let mut seeks = Seeks::default();
        let mut reads = DiskReads::default();
        for file in files_in_folder_order(&root)? {
            let path = root.join(file);
            let failed = |error| ExperimentError::io("find the extents of", &path, error);
            let metadata = std::fs::metadata(&path).map_err(failed)?;
            let len = metadata.len();
            // `st_blocks` counts units of 512 bytes on every file system (stat(2)).
            reads.allocated += metadata.blocks() * 512;
            reads.files += u64::from(len > 0);
            reads.bytes += len.div_ceil(PAGE) * PAGE;
            match extents(&path).map_err(failed)? {
                Some(found) => found.iter().for_each(|extent| seeks.read(extent.physical, extent.length)),
                None => seeks.is_known = false,
            }
        }
        reads.seeks = seeks.is_known.then_some(seeks.count);
        Ok(reads)
    }

    /// The modelled time in seconds: the latency for each seek plus bytes divided by bandwidth.
    pub(super) fn modelled(&self, device: &Device) -> f64 {
        let seeks = self.seeks.unwrap_or(self.files) as f64;
        seeks * device.latency.as_secs_f64() + self.bytes as f64 / device.bytes_per_second
    }
}

/// Counts seeks, like a head that moves over the disk.
#[derive(Debug)]
struct Seeks {
    head: Option<u64>,
    count: u64,
    is_known: bool,
}

impl Default for Seeks {
    fn default() -> Self {
        Seeks { head: None, count: 0, is_known: true }
    }
}

impl Seeks {
    /// Reads an extent that begins at `physical`; data inside an inode has none and moves nothing.
    fn read(&mut self, physical: Option<u64>, length: u64) {
        let Some(start) = physical else { return };
        self.count += u64::from(self.head != Some(start));
        self.head = start.checked_add(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_extents_are_no_seek() {
        let mut seeks = Seeks::default();
        for (physical, length, expected) in [
            (Some(0), 4096, 1),
            (Some(4096), 8192, 1),
            (Some(12_288), 4096, 1),
            (None, 100, 1),
            (Some(16_384), 4096, 1),
            (Some(0), 4096, 2),
            (Some(8192), 4096, 3),
        ] {
            seeks.read(physical, length);
            assert_eq!(seeks.count, expected, "{physical:?}");
        }
    }

    #[test]
    fn model_counts_files_where_seeks_are_unknown() {
        let hdd = Device::hdd();
        let reads = DiskReads { seeks: None, files: 100, bytes: 2_000_000, allocated: 0 };
        assert!((reads.modelled(&hdd) - 0.81).abs() < 1e-9);
        assert!((DiskReads { seeks: Some(10), ..reads }.modelled(&hdd) - 0.09).abs() < 1e-9);
    }
}
