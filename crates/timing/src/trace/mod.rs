//! Access traces: what a workload reads of the files of a repository, and what follows from it.
//!
//! - [`record`]: takes a trace;
//! - [`pages`]: which pages it touches, and in what order;
//! - [`device`]: the modelled time of reading it from a cold device;
//! - [`memory`]: the page cache of that model;
//! - [`access_map`]: where and when, coarse enough to be drawn;
//! - [`page_map`]: all pages, for programs that draw;
//! - [`plan`]: the traces of several variants of a repository.

pub mod access_map;
pub mod device;
pub mod memory;
pub mod page_map;
pub mod pages;
pub mod plan;

use std::num::NonZeroU64;

use repackbench_reader::{AccessTrace, FileRole, History, Recording};
use repackbench_records::TracedReads;

pub use self::device::{BadDevice, Device};
use self::pages::{PAGE_LEN, PageSpace};
use crate::workloads::{Counter, Counts, VariantPlace, Workload, WorkloadError};

/// Runs `workload` once on `history`, the one of `place`, from empty caches, and returns what it read and what it counted.
///
/// # Errors
/// What the workload says.
pub fn record(
    workload: &mut dyn Workload,
    history: &mut dyn History,
    place: &VariantPlace,
    recording: Recording,
) -> Result<(AccessTrace, Counts), WorkloadError> {
    workload.prepare(place)?;
    history.forget();
    history.record_accesses(recording);
    let mut counter = Counter::default();
    let result = workload.run(history, &mut counter);
    let trace = history.take_accesses();
    history.forget();
    workload.clean_up()?;
    result.map(|()| (trace, counter.counts()))
}

/// What `trace` comes to in the record of a run, with `devices` modelled. A trace of [`NEW_PAGES`] says the same as a whole one.
pub fn traced_reads(trace: &AccessTrace, devices: &[Device]) -> TracedReads {
    let touched = PageSpace::new(trace).first_touches(trace).len() as u64;
    TracedReads {
        touched_bytes: touched.saturating_mul(PAGE_LEN),
        modelled: devices.iter().map(|device| device.cold(trace)).collect(),
    }
}

/// What has to be recorded for [`traced_reads`].
pub const NEW_PAGES: Recording = Recording::NewPages(NonZeroU64::new(PAGE_LEN).expect("pages have a length"));

/// The length of the files of `trace` that hold a repository's chunks, in bytes: packs, a B-tree or revlogs; where there are
/// none of these, of all files.
pub fn store_bytes(trace: &AccessTrace) -> u64 {
    let is_counted =
        |role| matches!(role, FileRole::Pack | FileRole::Btree | FileRole::RevlogIndex | FileRole::RevlogData);
    match trace.files.iter().filter(|file| is_counted(file.role)).map(|file| file.len).sum() {
        0 => trace.files.iter().map(|file| file.len).sum(),
        bytes => bytes,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use repackbench_reader::{Access, AccessPart, ChunkKind, ObjectKind, TracedFile};

    use super::*;

    /// Packs of these lengths, and what is read of them.
    pub(crate) fn trace(lengths: &[u64], accesses: Vec<Access>) -> AccessTrace {
        let file = |len: &u64| TracedFile { path: "pack".into(), len: *len, role: FileRole::Pack };
        AccessTrace { files: lengths.iter().map(file).collect(), accesses, ..AccessTrace::default() }
    }

    /// A whole blob.
    pub(crate) fn chunk(file: u32, offset: u64, len: u64) -> Access {
        let kind = Some(ChunkKind { object: ObjectKind::Blob, is_delta: false });
        Access { file, part: AccessPart::Chunk, kind, offset, len }
    }

    #[test]
    fn indexes_of_packs_are_no_part_of_what_is_compared() {
        let mut trace = trace(&[100, 10], vec![]);
        trace.files[1].role = FileRole::PackIndex;
        assert_eq!(store_bytes(&trace), 100);
    }
}
