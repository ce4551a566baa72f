//! The destination of a pack: it is hashed and counted, and optionally written to a file or a pipe.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use gix_hash::Kind;
use repackbench_reader::hash::IdHasher;

use crate::workloads::{WorkloadError, files_error};

/// Receives the bytes of a pack.
pub(super) struct PackSink {
    hasher: IdHasher,
    written: u64,
    /// Where it is written, with the name for messages.
    out: Option<(PathBuf, Box<dyn Write>)>,
}

impl PackSink {
    /// A sink for a pack of `entries` entries, under ids of `hash`; written to `file`, which must not exist, if there
    /// is one.
    pub(super) fn new(hash: Kind, entries: u32, file: Option<&Path>) -> Result<Self, WorkloadError> {
        let out: Option<(PathBuf, Box<dyn Write>)> = match file {
            Some(path) => {
                let created = File::create_new(path).map_err(|e| files_error("create", path, e))?;
                Some((path.to_owned(), Box::new(BufWriter::new(created))))
            }
            None => None,
        };
        PackSink::start(hash, entries, out)
    }

    /// A sink for a pack of `entries` entries, which is written to `out`.
    pub(super) fn writing(hash: Kind, entries: u32, out: Box<dyn Write>) -> Result<Self, WorkloadError> {
        PackSink::start(hash, entries, Some((PathBuf::from("the pack"), out)))
    }

    fn start(hash: Kind, entries: u32, out: Option<(PathBuf, Box<dyn Write>)>) -> Result<Self, WorkloadError> {
        let mut sink = PackSink { hasher: IdHasher::new(hash), written: 0, out };
        sink.put(b"PACK\0\0\0\x02")?;
        sink.put(&entries.to_be_bytes())?;
        Ok(sink)
    }

    /// The number of bytes so far: the offset of the next one.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), WorkloadError> {
        self.hasher.update(bytes);
        self.pass_on(bytes)
    }

    fn pass_on(&mut self, bytes: &[u8]) -> Result<(), WorkloadError> {
        self.written += bytes.len() as u64;
        match &mut self.out {
            Some((path, out)) => out.write_all(bytes).map_err(|e| files_error("write", path, e)),
            None => Ok(()),
        }
    }

    /// Adds the trailing checksum; returns the length of the pack.
    pub(super) fn finish(mut self) -> Result<u64, WorkloadError> {
        let checksum = self.hasher.clone().finish();
        self.pass_on(checksum.as_bytes())?;
        if let Some((path, out)) = &mut self.out {
            out.flush().map_err(|e| files_error("write", path, e))?;
        }
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_packs_are_those_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.pack");
        let sink = PackSink::new(Kind::Sha1, 0, Some(&path)).unwrap();
        assert_eq!((sink.written(), sink.finish().unwrap()), (12, 32));
        let pack = std::fs::read(&path).unwrap();
        let (header, checksum) = pack.split_at(12);
        assert_eq!(header, b"PACK\0\0\0\x02\0\0\0\0");
        let hex: String = checksum.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "029d08823bd8a8eab510ad6ac75c823cfd3ed31e");
        assert!(PackSink::new(Kind::Sha1, 0, Some(&path)).is_err(), "nothing is overwritten");
    }
}
