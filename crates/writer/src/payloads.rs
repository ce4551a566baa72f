//! Exports the payloads of a repository as files, for programs that measure codecs on files.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use repackbench_codec::{BLOCK_LEN, ZlibReader};
use repackbench_reader::{Chunk, ChunkKind, LeftOut, ObjectKind, Repository};

use crate::{OutputPath, Progress, ProgressUnit, Result, WriterError, conversion::unchanged, convert::folders};

/// The name of the list of all payloads, beside their folders.
const LIST: &str = "payloads.tsv";

/// The first line of the list.
const LIST_HEADER: &str = "path\tkind\tform\tpayload_bytes\tstored_bytes\tsource\toffset\n";

/// The number of files in each folder. A folder of hundreds of thousands is slow in many file systems and programs.
const FILES_IN_A_FOLDER: u64 = 1000;

/// The payloads to export. Whole objects and deltas of a kind count separately.
#[derive(Debug, Clone)]
pub struct PayloadSelection {
    /// Only these kinds; empty for all.
    pub kinds: Vec<ObjectKind>,
    /// Every n-th payload of each kind, starting with the n-th. 1 means all.
    pub every: u64,
    /// The most payload bytes of each kind. The payload that would exceed it and all later ones of the kind are not
    /// exported.
    pub limit: Option<u64>,
}

impl Default for PayloadSelection {
    fn default() -> Self {
        PayloadSelection { kinds: Vec::new(), every: 1, limit: None }
    }
}

/// What an export wrote of one kind, whole or delta.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportedKind {
    /// The number of such payloads in the repository.
    pub found: u64,
    /// The number of payloads that were written.
    pub payloads: u64,
    /// Payload bytes of those: the lengths of the files.
    pub payload_bytes: u64,
    /// Stored bytes of those in the repository.
    pub stored_bytes: u64,
}

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// The exported payloads by kind.
    pub kinds: BTreeMap<ChunkKind, ExportedKind>,
    /// Selected payloads above [`BLOCK_LEN`], which are not written.
    pub left_out: LeftOut,
}

/// The name of the folder for payloads of `kind`, such as `blob-delta`.
pub fn folder_of(kind: ChunkKind) -> String {
    format!("{}-{}", kind.object, form_of(kind))
}

fn form_of(kind: ChunkKind) -> &'static str {
    if kind.is_delta { "delta" } else { "whole" }
}

/// Writes the selected payloads of `repository` as files into a new folder `target`, which may exist if it is empty.
///
/// Each file holds one payload: `blob-delta/0012/0012345`, numbered from 0 in store order, a thousand in each folder.
/// `payloads.tsv` lists them all. The folder is built beside `target` and renamed, but not synced: an export can be
/// repeated.
///
/// # Errors
/// `target` is taken, the repository is damaged or changes meanwhile, a file cannot be written, or the user stops the
/// export. Nothing is left then.
pub fn export_payloads(
    repository: &Repository,
    selection: &PayloadSelection,
    target: &Path,
    progress: &dyn Progress,
) -> Result<(Exported, PathBuf)> {
    let replaces_empty = is_empty_folder(target)?;
    let output = OutputPath::create(target, replaces_empty, &folders(repository)).map_err(without_force)?;
    let exported = unchanged(
        || repository.snapshot(),
        || {
            let mut export = Export::new(repository, selection, output.building())?;
            progress.start("exporting payloads", stored_bytes(repository)?, ProgressUnit::Bytes);
            let exported = export.run(progress)?;
            progress.finish();
            Ok(exported)
        },
    )?;
    Ok((exported, output.publish()?))
}

/// The command replaces nothing, so no message may suggest `--force`.
fn without_force(error: WriterError) -> WriterError {
    match error {
        WriterError::Output { path, why, .. } => WriterError::Output { path, why, force_helps: false },
        other => other,
    }
}

/// Whether `target` exists and is an empty folder.
///
/// # Errors
/// `target` exists and is something else.
fn is_empty_folder(target: &Path) -> Result<bool> {
    if fs::symlink_metadata(target).is_err() {
        return Ok(false);
    }
    match fs::read_dir(target).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(true),
        _ => {
            let why = "exists and is not an empty folder".to_owned();
            Err(WriterError::Output { path: target.to_owned(), why, force_helps: false })
        }
    }
}

/// The approximate stored bytes of the repository, as the total of the progress bar.
fn stored_bytes(repository: &Repository) -> Result<u64> {
    match repository {
        // A pack that cannot be inspected cannot be read either, and reading reports that.
        Repository::Git(git) => {
            Ok(git.packs().iter().map(|files| fs::metadata(&files.pack).map_or(0, |m| m.len())).sum())
        }
        Repository::Hg(hg) => Ok(hg.files()?.iter().map(|(_, length)| length).sum()),
    }
}

/// An export in progress.
struct Export<'a> {
    repository: &'a Repository,
    selection: &'a PayloadSelection,
    out: &'a Path,
    list: BufWriter<File>,
    kinds: BTreeMap<ChunkKind, ExportedKind>,
    line: Vec<u8>,
}

impl<'a> Export<'a> {
    fn new(repository: &'a Repository, selection: &'a PayloadSelection, out: &'a Path) -> Result<Self> {
        let path = out.join(LIST);
        let file = File::create_new(&path).map_err(|e| WriterError::io("create", &path, e))?;
        let mut list = BufWriter::new(file);
        list.write_all(LIST_HEADER.as_bytes()).map_err(|e| WriterError::io("write", &path, e))?;
        Ok(Export { repository, selection, out, list, kinds: BTreeMap::new(), line: Vec::new() })
    }

    fn run(&mut self, progress: &dyn Progress) -> Result<Exported> {
        let (repository, selection) = (self.repository, self.selection);
        let mut tally = Tally::default();
        let mut wanted = |chunk: &Chunk<'_>| {
            progress.advance(chunk.header_len + chunk.stored_len);
            tally.selects(selection, chunk)
        };
        let mut visit = |chunk: &Chunk<'_>, payload: &[u8]| match progress.is_cancelled() {
            true => Err(WriterError::Interrupted),
            false => self.write(chunk, payload),
        };
        // Nothing is timed here.
        let left_out = repository.for_each_payload(ZlibReader::Libdeflate, &mut wanted, &mut visit)?;
        let path = self.out.join(LIST);
        self.list.flush().map_err(|e| WriterError::io("write", path, e))?;
        let mut kinds = std::mem::take(&mut self.kinds);
        for (kind, found) in tally.kinds {
            kinds.entry(kind).or_default().found = found.found;
        }
        Ok(Exported { kinds, left_out })
    }

    fn write(&mut self, chunk: &Chunk<'_>, payload: &[u8]) -> Result<()> {
        let written = self.kinds.entry(chunk.kind).or_default();
        let number = written.payloads;
        let folder = format!("{}/{:04}", folder_of(chunk.kind), number / FILES_IN_A_FOLDER);
        if number.is_multiple_of(FILES_IN_A_FOLDER) {
            let path = self.out.join(&folder);
            fs::create_dir_all(&path).map_err(|e| WriterError::io("create", path, e))?;
        }
        let name = format!("{folder}/{number:07}");
        let path = self.out.join(&name);
        let result = File::create_new(&path).and_then(|mut file| file.write_all(payload));
        result.map_err(|e| WriterError::io("write", path, e))?;
        written.payloads += 1;
        written.payload_bytes += payload.len() as u64;
        written.stored_bytes += chunk.stored_len;
        self.list_payload(&name, chunk, payload.len())
    }

    fn list_payload(&mut self, name: &str, chunk: &Chunk<'_>, payload_len: usize) -> Result<()> {
        let source = chunk.file.strip_prefix(self.repository.folder()).unwrap_or(chunk.file);
        self.line.clear();
        let (kind, form, stored_len) = (chunk.kind.object, form_of(chunk.kind), chunk.stored_len);
        self.line.extend_from_slice(format!("{name}\t{kind}\t{form}\t{payload_len}\t{stored_len}\t").as_bytes());
        escape(source.as_os_str().as_bytes(), &mut self.line);
        self.line.extend_from_slice(format!("\t{}\n", chunk.offset).as_bytes());
        self.list.write_all(&self.line).map_err(|e| WriterError::io("write", self.out.join(LIST), e))
    }
}

/// Appends `field` to a line whose fields are separated by tabs.
fn escape(field: &[u8], line: &mut Vec<u8>) {
    for byte in field {
        match byte {
            b'\t' => line.extend_from_slice(b"\\t"),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\\' => line.extend_from_slice(b"\\\\"),
            byte => line.push(*byte),
        }
    }
}

/// What was found and selected so far, by kind.
#[derive(Default)]
struct Tally {
    kinds: BTreeMap<ChunkKind, Found>,
}

#[derive(Default)]
struct Found {
    found: u64,
    selected_bytes: u64,
    is_full: bool,
}

impl Tally {
    /// Whether `selection` includes `chunk`.
    fn selects(&mut self, selection: &PayloadSelection, chunk: &Chunk<'_>) -> bool {
        if !selection.kinds.is_empty() && !selection.kinds.contains(&chunk.kind.object) {
            return false;
        }
        let found = self.kinds.entry(chunk.kind).or_default();
        found.found += 1;
        if found.is_full || !found.found.is_multiple_of(selection.every.max(1)) {
            return false;
        }
        if chunk.payload_len > BLOCK_LEN as u64 {
            // It is counted as left out, and uses up nothing of the limit.
            return true;
        }
        let bytes = found.selected_bytes.saturating_add(chunk.payload_len);
        found.is_full = selection.limit.is_some_and(|limit| bytes > limit);
        if !found.is_full {
            found.selected_bytes = bytes;
        }
        !found.is_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(object: ObjectKind, payload_len: u64) -> Chunk<'static> {
        let kind = ChunkKind { object, is_delta: false };
        Chunk {
            file: Path::new(""),
            offset: 0,
            header_len: 0,
            kind,
            base: None,
            payload_len,
            stored_len: 0,
            stored: &[],
        }
    }

    #[test]
    fn every_nth_of_each_kind_is_selected_up_to_the_limit() {
        let selection = PayloadSelection { kinds: Vec::new(), every: 2, limit: Some(25) };
        let mut tally = Tally::default();
        let mut select = |object, payload_len| tally.selects(&selection, &chunk(object, payload_len));
        let blobs: Vec<bool> = [10, 10, 10, 15, 1, 1, 1, 0].map(|len| select(ObjectKind::Blob, len)).into();
        // The third selected payload would exceed 25 bytes, so no more are selected.
        assert_eq!(blobs, [false, true, false, true, false, false, false, false]);
        assert_eq!([1, 1].map(|len| select(ObjectKind::Tree, len)), [false, true]);
    }

    #[test]
    fn only_the_requested_kinds_are_selected() {
        let selection = PayloadSelection { kinds: vec![ObjectKind::Tree], ..PayloadSelection::default() };
        let mut tally = Tally::default();
        assert!(!tally.selects(&selection, &chunk(ObjectKind::Blob, 1)));
        assert!(tally.selects(&selection, &chunk(ObjectKind::Tree, 1)));
    }

    #[test]
    fn separators_in_fields_are_escaped() {
        let mut line = Vec::new();
        escape(b"a\tb\nc\\d\r\xff", &mut line);
        assert_eq!(line, b"a\\tb\\nc\\\\d\\r\xff");
    }
}
