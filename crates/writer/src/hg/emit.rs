//! Writes a revlog: entries and chunks in order, with their new offsets and lengths.
//!
//! The bytes of an entry are those of the source except for two fields. Source: `hg help internals.revlogs`, version 1;
//! numbers are big-endian.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..6 | offset of the chunk among all chunks | new; in revision 0, bytes 0..4 are the header of the revlog and are kept |
//! | 6..8 | flags | as found |
//! | 8..12 | length of the chunk, signed | new |
//! | 12..64 | lengths, revisions, node | as found |

use std::{
    borrow::Cow,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

use repackbench_reader::{
    ReaderError,
    hg::revlog::{ENTRY_LEN, Revlog, RevlogHeader},
};

use crate::{Result, WriterError, new_file::create_with_mode};

/// Offsets have 48 bits.
const MAX_OFFSET: u64 = (1 << 48) - 1;

/// Lengths have 32 bits, one of them for the sign.
const MAX_STORED_LEN: u64 = i32::MAX as u64;

/// The number of bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;

/// A new file of a revlog. It is created with the first write, or when it is finished.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
    mode: u32,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl NewFile {
    /// A file at `path`, which must not exist, with the permission bits of `mode`.
    pub(super) fn new(path: PathBuf, mode: u32) -> Self {
        NewFile { path, mode, file: None, buffer: Vec::new() }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() <= BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        if bytes.len() < BUFFER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        // Write a large chunk directly, without another copy.
        write(&mut self.file, &self.path, self.mode, bytes)
    }

    fn flush(&mut self) -> Result<()> {
        write(&mut self.file, &self.path, self.mode, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Writes `bytes` to the file at `path`, and creates the file if it is not open.
fn write(file: &mut Option<File>, path: &Path, mode: u32, bytes: &[u8]) -> Result<()> {
    let file = match file {
        Some(file) => file,
        none => none.insert(create_with_mode(path, mode)?),
    };
    file.write_all(bytes).map_err(|e| WriterError::io("write", path, e))
}

/// Writes a revlog chunk by chunk.
#[derive(Debug)]
pub(super) struct RevlogEmitter<'a> {
    source: &'a Revlog,
    source_index: Cow<'a, [u8]>,
    is_inline: bool,
    revision: usize,
    offset: u64,
    index: NewFile,
    /// `None` if the source has no data file.
    data: Option<NewFile>,
}

impl<'a> RevlogEmitter<'a> {
    pub(super) fn new(source: &'a Revlog, index: NewFile, data: Option<NewFile>) -> Result<Self> {
        let source_index = source.index_bytes()?;
        let is_inline = source.header().is_some_and(RevlogHeader::is_inline);
        Ok(RevlogEmitter { source, source_index, is_inline, revision: 0, offset: 0, index, data })
    }

    /// Adds the next revision, with its new chunk.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Result<()> {
        let mut entry = self.source_entry()?;
        place(&mut entry, self.revision, self.offset, chunk.len() as u64).map_err(|(what, limit, found)| {
            let path = self.source.files().index.clone();
            WriterError::TooLarge { path, revision: self.revision, what, limit, found }
        })?;
        self.index.put(&entry)?;
        match &mut self.data {
            _ if self.is_inline => self.index.put(chunk)?,
            Some(data) => data.put(chunk)?,
            None if chunk.is_empty() => {}
            None => {
                let detail = "an empty chunk became one that is not".to_owned();
                let path = self.source.files().index.clone();
                return Err(WriterError::Unfaithful { path, what: format!("revision {}", self.revision), detail });
            }
        }
        self.revision += 1;
        self.offset += chunk.len() as u64;
        Ok(())
    }

    /// The entry of the next revision in the source.
    fn source_entry(&self) -> Result<[u8; ENTRY_LEN]> {
        let before = if self.is_inline { self.source.entry(self.revision)?.offset } else { 0 };
        let at =
            usize::try_from(before).ok().and_then(|before| self.revision.checked_mul(ENTRY_LEN)?.checked_add(before));
        let entry = at.and_then(|at| self.source_index.get(at..)?.first_chunk().copied());
        // The index was read before, and held this revision.
        let changed = || ReaderError::Changed { path: self.source.files().index.clone() };
        entry.ok_or_else(|| changed().into())
    }

    /// Writes the rest. Every revision has to be written before. Nothing is synced.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.revision != self.source.len() {
            let what = format!("all of {} revisions were written, not {}", self.source.len(), self.revision);
            return Err(ReaderError::internal(&self.source.files().index, what).into());
        }
        self.index.flush()?;
        self.data.as_mut().map_or(Ok(()), NewFile::flush)
    }
}

/// Writes the offset and length of the chunk of `revision` into its entry.
///
/// # Errors
/// The value that is too large, its limit, and its size.
fn place(
    entry: &mut [u8; ENTRY_LEN],
    revision: usize,
    offset: u64,
    stored_len: u64,
) -> std::result::Result<(), (&'static str, u64, u64)> {
    if offset > MAX_OFFSET {
        return Err(("offset of the new chunk", MAX_OFFSET, offset));
    }
    let [_, _, _, _, len @ ..] = stored_len.to_be_bytes();
    if stored_len > MAX_STORED_LEN {
        return Err(("length of the new chunk", MAX_STORED_LEN, stored_len));
    }
    let [_, _, o0, o1, o2, o3, o4, o5] = offset.to_be_bytes();
    let [e0, e1, e2, e3, e4, e5, _, _, e8, e9, e10, e11, ..] = entry;
    if revision > 0 {
        (*e0, *e1, *e2, *e3) = (o0, o1, o2, o3);
    }
    (*e4, *e5) = (o4, o5);
    [*e8, *e9, *e10, *e11] = len;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use repackbench_reader::{ObjectKind, hg::revlog::RevlogFiles};

    use super::*;

    #[test]
    fn finishing_without_all_revisions_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (index, data) = (folder.path().join("a.i"), folder.path().join("a.d"));
        // Two empty revisions, inline.
        let entry = |revision: u8| {
            let mut entry = [0; ENTRY_LEN];
            entry[..4].copy_from_slice(if revision == 0 { &[0, 1, 0, 1] } else { &[0; 4] });
            (entry[19], entry[23]) = (revision, revision);
            entry[24..32].fill(0xff);
            entry
        };
        fs::write(&index, [entry(0), entry(1)].concat()).unwrap();
        let files = RevlogFiles { index, data, has_data: false, kind: ObjectKind::Filelog, path: b"a".to_vec() };
        let revlog = Revlog::open(&files).unwrap();
        let emit = |revisions: usize| {
            let new = NewFile::new(folder.path().join(format!("{revisions}.i")), 0o644);
            let mut emitter = RevlogEmitter::new(&revlog, new, None).unwrap();
            (0..revisions).for_each(|_| emitter.push(b"").unwrap());
            emitter.finish().map_err(|error| error.to_string())
        };
        emit(2).unwrap();
        for revisions in [0, 1] {
            let expected = format!("internal error: expected that all of 2 revisions were written, not {revisions}");
            assert!(emit(revisions).unwrap_err().contains(&expected), "{:?}", emit(revisions));
        }
    }

    #[test]
    fn only_offset_and_length_of_an_entry_change() {
        let mut entry = [0xee; ENTRY_LEN];
        place(&mut entry, 7, 0x0102_0304_0506, 0x1112_1314).unwrap();
        let mut expected = [0xee; ENTRY_LEN];
        expected[..6].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
        expected[8..12].copy_from_slice(&[0x11, 0x12, 0x13, 0x14]);
        assert_eq!(entry, expected);
    }

    #[test]
    fn header_in_revision_0_is_kept() {
        let mut entry = [0xee; ENTRY_LEN];
        place(&mut entry, 0, 0, 5).unwrap();
        assert_eq!(entry[..12], [0xee, 0xee, 0xee, 0xee, 0, 0, 0xee, 0xee, 0, 0, 0, 5]);
    }

    #[test]
    fn offsets_and_lengths_beyond_their_fields_are_errors() {
        let mut entry = [0; ENTRY_LEN];
        place(&mut entry, 1, (1 << 48) - 1, 0x7fff_ffff).unwrap();
        assert_eq!(place(&mut entry, 1, 1 << 48, 1), Err(("offset of the new chunk", (1 << 48) - 1, 1 << 48)));
        assert_eq!(place(&mut entry, 1, 0, 1 << 31), Err(("length of the new chunk", 0x7fff_ffff, 1 << 31)));
    }
}
