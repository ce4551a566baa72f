//! How many places of the disk a reading goes to, from where the files lie.

use std::os::unix::fs::MetadataExt;

use repackbench_pagecache::extents;
use repackbench_timing::trace::Device;
use repackbench_writer::files::files_in_folder_order;

use super::trees::Tree;
use crate::ExperimentError;

/// The length of a page, which is the least that is read.
const PAGE: u64 = 4096;

/// What a reading of all files takes of the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DiskReads {
    /// How often the next byte is not where the last one ended, the first among them; `None` where the file system does not say where
    /// files lie.
    pub(super) seeks: Option<u64>,
    /// Files with any bytes, each of which is one seek at least if nothing is known of them.
    pub(super) files: u64,
    /// Whole pages, in bytes.
    pub(super) bytes: u64,
    /// What the files take of the disk, in bytes.
    pub(super) allocated: u64,
}

impl DiskReads {
    /// Those of reading the files of `tree` in the order in which its folders list them. Folders and inodes are not among them: nothing
    /// says where those lie.
    pub(super) fn of(tree: &Tree) -> Result<Self, ExperimentError> {
        let root = tree.files();
        let mut seeks = Seeks::default();
        let mut reads = DiskReads::default();
        for file in files_in_folder_order(&root)? {
            let path = root.join(file);
            let failed = |error| ExperimentError::io("find the extents of", &path, error);
            let metadata = std::fs::metadata(&path).map_err(failed)?;
            let len = metadata.len();
            // In units of 512 bytes, whatever the file system's own are (stat(2)).
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

    /// What the device model makes of them, in seconds: the latency for each seek, and the bandwidth for each byte.
    pub(super) fn modelled(&self, device: &Device) -> f64 {
        let seeks = self.seeks.unwrap_or(self.files) as f64;
        seeks * device.latency.as_secs_f64() + self.bytes as f64 / device.bytes_per_second
    }
}

/// A head that moves over the disk.
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
    /// Reads a stretch that begins at `physical`; what lies within an inode is read with that, and moves nothing.
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
    fn only_what_does_not_go_on_is_a_seek() {
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
    fn the_model_counts_files_where_nothing_is_known_of_seeks() {
        let hdd = Device::hdd();
        let reads = DiskReads { seeks: None, files: 100, bytes: 2_000_000, allocated: 0 };
        assert!((reads.modelled(&hdd) - 0.81).abs() < 1e-9);
        assert!((DiskReads { seeks: Some(10), ..reads }.modelled(&hdd) - 0.09).abs() < 1e-9);
    }
}
