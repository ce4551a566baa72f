//! Access traces: what a workload reads of the files of a repository, and models of what that costs.
//!
//! - [`pages`]: which pages it touches, and in what order;
//! - [`device`]: the modelled time of reading it from a cold device;
//! - [`memory`]: the page cache of that model;
//! - [`access_map`]: where and when it reads, coarse enough to be drawn;
//! - [`page_map`]: all pages, for programs that draw;
//! - [`plan`]: the traces of several variants of a repository.

pub mod access_map;
pub mod device;
pub mod memory;
pub mod page_map;
pub mod pages;
pub mod plan;

use std::{num::NonZeroU64, path::Path};

use repackbench_reader::{AccessTrace, ReaderError, Recording, Repository};
use repackbench_records::TracedReads;

pub use self::device::{BadDevice, Device};
use self::pages::{PAGE_LEN, PageSpace};

/// The summary of `trace` for the record of a run, with `devices` modelled. A trace of [`NEW_PAGES`] gives the same as
/// a full trace.
pub fn traced_reads(trace: &AccessTrace, devices: &[Device]) -> TracedReads {
    let touched = PageSpace::new(trace).first_touches(trace).len() as u64;
    TracedReads {
        touched_bytes: touched.saturating_mul(PAGE_LEN),
        modelled: devices.iter().map(|device| device.cold(trace)).collect(),
    }
}

/// The recording that [`traced_reads`] needs.
pub const NEW_PAGES: Recording = Recording::NewPages(NonZeroU64::new(PAGE_LEN).expect("pages have a length"));

/// The length of the files of `repository` that hold its chunks, in bytes, whether or not they are read: packs, a
/// B-tree or revlogs; all loose objects if there are none of these.
///
/// # Errors
/// A file cannot be inspected.
pub fn store_bytes(repository: &Repository) -> Result<u64, ReaderError> {
    let len = |path: &Path| {
        let metadata = path.metadata().map_err(|error| ReaderError::io("inspect", path, error))?;
        Ok::<u64, ReaderError>(metadata.len())
    };
    let mut bytes = 0u64;
    match repository {
        Repository::Git(git) => {
            for path in git.packs().iter().map(|files| files.pack.as_path()).chain(git.btree()) {
                bytes = bytes.saturating_add(len(path)?);
            }
            if bytes == 0 {
                let loose = git.loose_objects()?;
                for path in (0..loose.len()).filter_map(|at| loose.path(at)) {
                    bytes = bytes.saturating_add(len(&path)?);
                }
            }
        }
        Repository::Hg(hg) => {
            for revlog in hg.revlogs() {
                let data = revlog.has_data.then_some(&revlog.data);
                for path in std::iter::once(&revlog.index).chain(data) {
                    bytes = bytes.saturating_add(len(path)?);
                }
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use repackbench_reader::{
        Access, AccessPart, ChunkKind, FileRole, ObjectKind, TracedFile, git::repository::BTREE_FILE,
    };

    use super::*;

    /// A trace of packs of these lengths.
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
    fn store_length_is_that_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let objects = folder.path().join("objects");
        for name in ["objects/ab", "objects/pack", "refs"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let bytes = || store_bytes(&Repository::open(folder.path()).unwrap()).unwrap();
        assert_eq!(bytes(), 0);
        for (number, len) in [("0", 30), ("1", 12)] {
            fs::write(objects.join("ab").join(number.repeat(38)), vec![0; len]).unwrap();
        }
        assert_eq!(bytes(), 42, "loose objects");
        fs::write(objects.join(BTREE_FILE), [0; 1000]).unwrap();
        assert_eq!(bytes(), 1000, "a B-tree");
        fs::remove_file(objects.join(BTREE_FILE)).unwrap();
        let pack = objects.join(format!("pack/pack-{}.pack", "0".repeat(40)));
        fs::write(&pack, [0; 100]).unwrap();
        fs::write(pack.with_extension("idx"), [0; 10]).unwrap();
        assert_eq!(bytes(), 100, "packs without their indexes");
    }
}
