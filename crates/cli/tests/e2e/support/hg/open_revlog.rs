//! Revlogs as bytes to damage. Everything else stays as hg would write it, so that the damage itself must be found.
//!
//! An entry is 64 bytes, big-endian: offset (6 bytes; of entry 0 the first four are the header), flags (2), length of
//! the chunk (4), of the text (4), base, linked changeset, first and second parent (4 each), node (20 of 32). Source:
//! `hg help internals.revlogs`.

use std::fs;
use std::path::{Path, PathBuf};

/// The length of an entry in bytes.
pub(crate) const ENTRY: usize = 64;

/// The offsets of the fields in an entry.
pub(crate) mod field {
    pub(crate) const OFFSET: usize = 0;
    pub(crate) const FLAGS: usize = 6;
    pub(crate) const STORED_LEN: usize = 8;
    pub(crate) const TEXT_LEN: usize = 12;
    pub(crate) const BASE: usize = 16;
    pub(crate) const LINK: usize = 20;
    pub(crate) const FIRST_PARENT: usize = 24;
    pub(crate) const SECOND_PARENT: usize = 28;
    pub(crate) const NODE: usize = 32;
}

/// A revlog, as bytes to change.
#[derive(Clone)]
pub(crate) struct OpenRevlog {
    /// The index file.
    pub(crate) path: PathBuf,
    /// The bytes of the index.
    pub(crate) index: Vec<u8>,
    /// The bytes of the data file; `None` if the chunks are between the entries.
    pub(crate) data: Option<Vec<u8>>,
}

impl OpenRevlog {
    /// Opens the revlog of this name, without its extension, in the store of `repo`.
    pub(crate) fn open(repo: &Path, name: &str) -> Self {
        let path = repo.join(".hg/store").join(format!("{name}.i"));
        let index = fs::read(&path).expect("an index");
        assert_eq!(index[2..4], [0, 1], "revlog version 1");
        let is_inline = index[1] & 1 != 0;
        let data = (!is_inline).then(|| fs::read(path.with_extension("d")).expect("a data file"));
        OpenRevlog { path, index, data }
    }

    /// The file that holds the chunks.
    pub(crate) fn chunk_file(&self) -> PathBuf {
        if self.data.is_some() { self.path.with_extension("d") } else { self.path.clone() }
    }

    /// Writes the revlog.
    pub(crate) fn write(&self) {
        fs::write(&self.path, &self.index).expect("the index");
        if let Some(data) = &self.data {
            fs::write(self.path.with_extension("d"), data).expect("the data file");
        }
    }

    /// Where the entry of `revision` starts in the index file.
    pub(crate) fn entry(&self, revision: usize) -> usize {
        if self.data.is_some() {
            return revision * ENTRY;
        }
        (0..revision).fold(0, |at, _| at + ENTRY + number(&self.index, at + field::STORED_LEN))
    }

    /// The number of revisions.
    pub(crate) fn len(&self) -> usize {
        (0..).take_while(|revision| self.entry(*revision) < self.index.len()).count()
    }

    /// A field of four bytes.
    pub(crate) fn field(&self, revision: usize, field: usize) -> usize {
        number(&self.index, self.entry(revision) + field)
    }

    /// Changes a field of four bytes.
    pub(crate) fn set(&mut self, revision: usize, field: usize, value: i64) {
        let at = self.entry(revision) + field;
        // Fields are signed, and some tests damage the sign.
        let bytes = value.to_be_bytes();
        self.index[at..at + 4].copy_from_slice(&bytes[4..]);
    }

    /// Where the chunk of `revision` starts, in the file that holds it.
    pub(crate) fn chunk_start(&self, revision: usize) -> usize {
        match self.data {
            None => self.entry(revision) + ENTRY,
            Some(_) => self.offset(revision),
        }
    }

    /// The chunk of `revision`.
    pub(crate) fn chunk(&mut self, revision: usize) -> &mut [u8] {
        let (start, length) = (self.chunk_start(revision), self.field(revision, field::STORED_LEN));
        &mut self.data.as_mut().unwrap_or(&mut self.index)[start..start + length]
    }

    /// Replaces a chunk, and corrects its length and the offsets of later chunks.
    pub(crate) fn replace_chunk(&mut self, revision: usize, chunk: &[u8]) {
        let (start, length, count) = (self.chunk_start(revision), self.chunk(revision).len(), self.len());
        let _ = self.data.as_mut().unwrap_or(&mut self.index).splice(start..start + length, chunk.iter().copied());
        self.set(revision, field::STORED_LEN, i64::try_from(chunk.len()).expect("a short chunk"));
        for later in revision + 1..count {
            let offset = (self.offset(later) + chunk.len() - length) as u64;
            let at = self.entry(later);
            self.index[at..at + 6].copy_from_slice(&offset.to_be_bytes()[2..]);
        }
    }

    fn offset(&self, revision: usize) -> usize {
        let at = self.entry(revision);
        let high = if revision == 0 { 0 } else { number(&self.index, at) };
        high << 16 | usize::from(self.index[at + 4]) << 8 | usize::from(self.index[at + 5])
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Otherwise the damage tests would test mistakes of this module.
#[test]
fn replacing_a_chunk_by_itself_changes_nothing() {
    for (fixture, name) in [("default", "data/story.txt"), ("chains", "data/chain.txt"), ("default", "00changelog")] {
        let mut revlog = OpenRevlog::open(&crate::support::Fixture::hg(fixture).repo(), name);
        let original = revlog.clone();
        assert!(revlog.len() > 20);
        for revision in [0, 1, 5] {
            let chunk = revlog.chunk(revision).to_vec();
            revlog.replace_chunk(revision, &[&chunk[..], b"more"].concat());
            assert_ne!(revlog.index, original.index);
            revlog.replace_chunk(revision, &chunk);
            assert!(revlog.index == original.index && revlog.data == original.data, "{fixture}, {name}, {revision}");
        }
    }
}
