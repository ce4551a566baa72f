//! The Mercurial server: a pull, whose deltas are decoded and compressed as one stream, and a stream clone, which sends
//! files.
//!
//! A bundle is `hg help internals.bundle2` (`HG20`, one parameter `Compression=ZS`, one part `CHANGEGROUP`) around `hg
//! help internals.changegroups`, version 02, or 03 if revisions have flags or directories have manifests of their own.

use std::{
    fs::File,
    io::{BufWriter, Read, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use gix_hash::ObjectId;
use repackbench_reader::{
    ObjectKind, ReaderError, Recording, Repository,
    hg::{
        HgRepository,
        new_chunks::{NewChunk, NewChunks, changeset_of},
        revlog::{Revlog, RevlogFiles},
    },
};
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

use super::{Client, Recoding, Served};
use crate::workloads::{
    HistoryRange, Observer, VariantPlace, WorkloadError, files_error, floor::Program, ingest::last_changesets,
};

/// The default of hg's `server.zstdlevel`.
const LEVEL: i32 = 3;

/// The number of bytes that are read or compressed at a time.
const PIECE: usize = 128 << 10;

/// Serves one repository.
pub(crate) struct BundleServer {
    repository: Box<HgRepository>,
    /// The served revlogs: the repository's own, or some of another one that holds the same deltas.
    revlogs: Vec<RevlogFiles>,
    chunks: NewChunks,
    /// The numbers of the changesets that are sent.
    sent: Range<usize>,
    /// All changesets.
    changesets: Vec<ObjectId>,
    is_clone: bool,
    has_flags: bool,
    revisions: Vec<(ObjectKind, ObjectId)>,
    payload: Vec<u8>,
}

impl BundleServer {
    /// Opens the repository at `place` for a pull of the last commits of `range`, or for a clone if the range has no
    /// limit.
    pub(super) fn open(
        place: &VariantPlace,
        repository: Box<HgRepository>,
        range: &HistoryRange,
    ) -> Result<Self, WorkloadError> {
        let sent = match range.commits {
            None => 0..usize::MAX,
            Some(_) => {
                let mut history = Repository::open(&place.folder)?.history(place.decoders)?;
                last_changesets(&repository, history.as_mut(), range)?
            }
        };
        let mut server = BundleServer {
            chunks: NewChunks::new(&repository, place.decoders)?,
            sent,
            revlogs: repository.revlogs().to_vec(),
            changesets: Vec::new(),
            is_clone: range.commits.is_none(),
            has_flags: false,
            revisions: Vec::new(),
            payload: Vec::new(),
            repository,
        };
        server.list()?;
        Ok(server)
    }

    /// Lists the revisions that are sent.
    fn list(&mut self) -> Result<(), ReaderError> {
        for files in &self.revlogs {
            let revlog = Revlog::open(files)?;
            if files.kind == ObjectKind::Changelog {
                self.changesets = revlog.entries().iter().map(|entry| entry.node).collect();
            }
            self.has_flags |= files.kind == ObjectKind::Manifest && !files.path.is_empty();
            for (revision, entry) in revlog.entries().iter().enumerate() {
                if changeset_of(&revlog, revision).is_some_and(|changeset| self.sent.contains(&changeset)) {
                    self.has_flags |= entry.flags_of_revision() != 0;
                    self.revisions.push((files.kind, entry.node));
                }
            }
        }
        Ok(())
    }

    /// Takes every second revlog from the repository at `place` instead, which holds the same deltas.
    pub(super) fn mix(&mut self, place: &VariantPlace) -> Result<(), WorkloadError> {
        let Repository::Hg(other) = Repository::open(&place.folder)? else {
            return Err(WorkloadError::Refused { why: "expected two Mercurial repositories to mix".to_owned() });
        };
        for files in self.revlogs.iter_mut().step_by(2) {
            let is_it = |other: &&RevlogFiles| other.kind == files.kind && other.path == files.path;
            if let Some(other) = other.revlogs().iter().find(is_it) {
                files.clone_from(other);
            }
        }
        Ok(())
    }

    /// Whether the whole store is sent, to a client that has nothing.
    pub(super) fn is_clone(&self) -> bool {
        self.is_clone
    }

    /// Clears caches of decoded texts, so that the next run starts like the first one.
    pub(super) fn forget(&mut self) {
        self.chunks.clear_caches();
    }

    /// Reports every revision that is sent.
    pub(super) fn tell(&self, observer: &mut dyn Observer) {
        for (kind, node) in &self.revisions {
            observer.object(*kind, node);
        }
    }

    /// Sends files unchanged, or a bundle, which is written to `file` if there is one.
    pub(super) fn serve(&mut self, client: Client, file: Option<&Path>) -> Result<Served, WorkloadError> {
        let entries = self.revisions.len() as u64;
        match client {
            Client::Same => {
                if !self.is_clone || file.is_some() {
                    let why = "serve:same of a Mercurial repository is a stream clone: it sends all of the store's files, and \
                               takes no --commits and no --output";
                    return Err(WorkloadError::Refused { why: why.to_owned() });
                }
                let (wire_bytes, dictionary_bytes) = self.stream_files()?;
                Ok(Served { entries, reused: entries, encoded: 0, wire_bytes, dictionary_bytes })
            }
            Client::Zlib => {
                let wire_bytes = self.send_bundle(file)?;
                Ok(Served { entries, reused: 0, encoded: entries, wire_bytes, dictionary_bytes: 0 })
            }
        }
    }

    /// Records what is decoded for `client`: the chunks of a bundle. The bundle is compressed in the same way under all
    /// codecs, so that is not recorded.
    pub(super) fn record(&mut self, client: Client) -> Result<Recoding, WorkloadError> {
        self.forget();
        self.chunks.record_accesses(Recording::WithBases);
        if client == Client::Zlib {
            for (number, files) in self.revlogs.iter().enumerate() {
                let mut revlog = Revlog::open(files)?;
                self.chunks.watch(&mut revlog);
                self.chunks.for_each(&revlog, number, &self.sent, &mut |_| Ok(()))?;
            }
        }
        let program = Program::new(self.chunks.take_accesses())?;
        self.forget();
        Ok(Recoding { program, encodes: Vec::new() })
    }

    /// Reads every file of the store; returns their total length, and that of the dictionaries among them.
    fn stream_files(&mut self) -> Result<(u64, u64), WorkloadError> {
        let store = self.repository.store_dir();
        let revlogs = self.revlogs.iter().flat_map(files_of);
        let others = self.repository.other_store_files().iter().map(|path| store.join(path));
        let mut length = 0;
        self.payload.resize(PIECE, 0);
        for path in revlogs.chain(others) {
            length += read_through(&path, &mut self.payload)?;
        }
        let mut dictionaries = 0;
        for path in self.repository.dictionary_files() {
            dictionaries += read_through(&store.join(path), &mut self.payload)?;
        }
        Ok((length + dictionaries, dictionaries))
    }

    /// Sends a bundle for a pull; returns its length.
    fn send_bundle(&mut self, file: Option<&Path>) -> Result<u64, WorkloadError> {
        let version = if self.has_flags { "03" } else { "02" };
        let mut sink = BundleSink::new(file)?;
        sink.begin(version, self.sent.end.min(self.changesets.len()).saturating_sub(self.sent.start))?;
        let mut written = Ok(());
        let mut section = Section::Changelog;
        for (number, files) in self.revlogs.iter().enumerate() {
            let revlog = Revlog::open(files)?;
            let next = Section::of(files);
            let mut is_begun = false;
            while section < next {
                section = section.end(self.has_flags, &mut sink)?;
            }
            let (changesets, has_flags) =
                (self.changesets.get(..self.sent.end).unwrap_or(&self.changesets), self.has_flags);
            self.chunks.for_each(&revlog, number, &self.sent, &mut |chunk| {
                if written.is_ok() {
                    written = sink.revision(files, &chunk, changesets, has_flags, &mut is_begun);
                }
                Ok(())
            })?;
            std::mem::replace(&mut written, Ok(()))?;
            if is_begun && section >= Section::Directories {
                sink.data(&0u32.to_be_bytes())?;
            }
        }
        while section < Section::End {
            section = section.end(self.has_flags, &mut sink)?;
        }
        sink.finish()
    }
}

/// The parts of a changegroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Changelog,
    Manifest,
    Directories,
    Files,
    End,
}

impl Section {
    fn of(files: &RevlogFiles) -> Self {
        match (files.kind, files.path.as_slice()) {
            (ObjectKind::Changelog, _) => Section::Changelog,
            (ObjectKind::Manifest, b"") => Section::Manifest,
            (ObjectKind::Manifest, _) => Section::Directories,
            _ => Section::Files,
        }
    }

    /// Ends the section with an empty chunk; version 02 has none for directories.
    fn end(self, has_directories: bool, sink: &mut BundleSink) -> Result<Self, WorkloadError> {
        if self != Section::Directories || has_directories {
            sink.data(&0u32.to_be_bytes())?;
        }
        Ok(match self {
            Section::Changelog => Section::Manifest,
            Section::Manifest => Section::Directories,
            Section::Directories => Section::Files,
            Section::Files | Section::End => Section::End,
        })
    }
}

/// The existing files of a revlog.
fn files_of(files: &RevlogFiles) -> impl Iterator<Item = PathBuf> {
    let data = files.has_data.then(|| files.data.clone());
    std::iter::once(files.index.clone()).chain(data)
}

fn read_through(path: &Path, buffer: &mut [u8]) -> Result<u64, WorkloadError> {
    let mut file = File::open(path).map_err(|e| files_error("open", path, e))?;
    let mut length = 0;
    loop {
        match file.read(buffer).map_err(|e| files_error("read", path, e))? {
            0 => return Ok(length),
            count => length += count as u64,
        }
    }
}

/// Receives a bundle, compresses it from the first part on, and counts its bytes.
struct BundleSink {
    context: CCtx<'static>,
    /// The bytes of the changegroup that wait to become a chunk of its part.
    waiting: Vec<u8>,
    compressed: Vec<u8>,
    written: u64,
    file: Option<(PathBuf, BufWriter<File>)>,
}

impl BundleSink {
    fn new(file: Option<&Path>) -> Result<Self, WorkloadError> {
        let mut context = CCtx::create();
        context.set_parameter(CParameter::CompressionLevel(LEVEL)).map_err(zstd_error)?;
        let file = match file {
            Some(path) => {
                let created = File::create_new(path).map_err(|e| files_error("create", path, e))?;
                Some((path.to_owned(), BufWriter::new(created)))
            }
            None => None,
        };
        Ok(BundleSink { context, waiting: Vec::new(), compressed: vec![0; PIECE], written: 0, file })
    }

    /// Writes the headers before the changegroup.
    fn begin(&mut self, version: &str, changesets: usize) -> Result<(), WorkloadError> {
        let parameters = b"Compression=ZS";
        self.put(b"HG20")?;
        self.put(&length(parameters.len())?)?;
        self.put(parameters)?;
        let count = changesets.to_string();
        let mut header = vec![11];
        header.extend_from_slice(b"CHANGEGROUP");
        // Part number, mandatory and other parameters, the lengths of their names and values.
        header.extend_from_slice(&[0, 0, 0, 0, 1, 1, 7, 2, 9]);
        header.push(u8::try_from(count.len()).unwrap_or_default());
        header.extend_from_slice(format!("version{version}nbchanges{count}").as_bytes());
        let size = length(header.len())?;
        self.compress(&size)?;
        self.compress(&header)
    }

    /// Writes a revision, and before the first revision of a file or directory its name.
    fn revision(
        &mut self,
        files: &RevlogFiles,
        chunk: &NewChunk<'_>,
        changesets: &[ObjectId],
        has_flags: bool,
        is_begun: &mut bool,
    ) -> Result<(), WorkloadError> {
        let (revlog, entry) = (chunk.revlog, *chunk.revlog.entry(chunk.revision)?);
        if !std::mem::replace(is_begun, true) && Section::of(files) >= Section::Directories {
            self.data(&length(files.path.len() + 4)?)?;
            self.data(&files.path)?;
        }
        let link = if files.kind == ObjectKind::Changelog {
            Some(entry.node)
        } else {
            usize::try_from(entry.link).ok().and_then(|link| changesets.get(link).copied())
        };
        let link = link.ok_or_else(|| revlog.corrupt(chunk.revision, "an existing changeset", entry.link.to_string()));
        let base = match chunk.base {
            // hg would send another delta: the client does not have the base, which a later changeset added.
            Some(base) if changeset_of(revlog, base).is_none_or(|changeset| changeset >= changesets.len()) => {
                let why =
                    format!("{}: the base of revision {} is newer than --rev", revlog.files().name(), chunk.revision);
                return Err(WorkloadError::Refused { why });
            }
            Some(base) => revlog.entry(base)?.node,
            None => ObjectId::null(gix_hash::Kind::Sha1),
        };
        // A full text is sent as a delta against nothing.
        let full_text = [[0; 4], [0; 4], length(chunk.payload.len())?].concat();
        let lead: &[u8] = if chunk.base.is_none() { &full_text } else { &[] };
        let flags = entry.flags_of_revision().to_be_bytes();
        let flags: &[u8] = if has_flags { &flags } else { &[] };
        let [first, second] = revlog.parent_nodes(&entry);
        self.data(&length(4 + 5 * 20 + flags.len() + lead.len() + chunk.payload.len())?)?;
        for node in [entry.node, first, second, base, link?] {
            self.data(node.as_bytes())?;
        }
        self.data(flags)?;
        self.data(lead)?;
        self.data(chunk.payload)
    }

    /// Adds bytes to the changegroup.
    fn data(&mut self, bytes: &[u8]) -> Result<(), WorkloadError> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE { self.end_chunk() } else { Ok(()) }
    }

    /// Writes the waiting bytes as one chunk of the part.
    fn end_chunk(&mut self) -> Result<(), WorkloadError> {
        let mut waiting = std::mem::take(&mut self.waiting);
        let size = length(waiting.len())?;
        self.compress(&size)?;
        self.compress(&waiting)?;
        waiting.clear();
        self.waiting = waiting;
        Ok(())
    }

    fn compress(&mut self, bytes: &[u8]) -> Result<(), WorkloadError> {
        let mut input = InBuffer::around(bytes);
        while input.pos() < bytes.len() {
            let mut output = OutBuffer::around(self.compressed.as_mut_slice());
            self.context.compress_stream(&mut output, &mut input).map_err(zstd_error)?;
            let length = output.pos();
            self.put_compressed(length)?;
        }
        Ok(())
    }

    fn put_compressed(&mut self, length: usize) -> Result<(), WorkloadError> {
        let compressed = std::mem::take(&mut self.compressed);
        let result = self.put(compressed.get(..length).unwrap_or_default());
        self.compressed = compressed;
        result
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WorkloadError> {
        self.written += bytes.len() as u64;
        match &mut self.file {
            Some((path, file)) => file.write_all(bytes).map_err(|e| files_error("write", path, e)),
            None => Ok(()),
        }
    }

    /// Ends part, bundle and stream; returns the total length.
    fn finish(mut self) -> Result<u64, WorkloadError> {
        if !self.waiting.is_empty() {
            self.end_chunk()?;
        }
        // The end of the part, and then of the bundle.
        self.compress(&[0; 8])?;
        loop {
            let mut output = OutBuffer::around(self.compressed.as_mut_slice());
            let left = self.context.end_stream(&mut output).map_err(zstd_error)?;
            let length = output.pos();
            self.put_compressed(length)?;
            if left == 0 {
                break;
            }
        }
        if let Some((path, file)) = &mut self.file {
            file.flush().map_err(|e| files_error("write", path, e))?;
        }
        Ok(self.written)
    }
}

/// A length in the form of bundles.
fn length(bytes: usize) -> Result<[u8; 4], WorkloadError> {
    let length = i32::try_from(bytes).map(i32::to_be_bytes);
    length.map_err(|_| WorkloadError::Refused { why: format!("{bytes} bytes are too many for a chunk of a bundle") })
}

fn zstd_error(code: usize) -> WorkloadError {
    WorkloadError::Refused { why: format!("zstd: {}", zstd_safe::get_error_name(code)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_have_one_compressed_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.hg");
        let mut sink = BundleSink::new(Some(&path)).unwrap();
        sink.begin("02", 7).unwrap();
        sink.data(b"changegroup").unwrap();
        assert_eq!(sink.finish().unwrap(), std::fs::metadata(&path).unwrap().len());
        let bundle = std::fs::read(&path).unwrap();
        let compressed = bundle.strip_prefix(b"HG20\0\0\0\x0eCompression=ZS").unwrap();
        let mut parts = vec![0; 200];
        let length = zstd_safe::decompress(parts.as_mut_slice(), compressed).unwrap();
        let header = b"\x0bCHANGEGROUP\0\0\0\0\x01\x01\x07\x02\x09\x01version02nbchanges7";
        let expected = [&[0, 0, 0, header.len() as u8][..], header, b"\0\0\0\x0bchangegroup", &[0; 4], &[0; 4]];
        assert_eq!(parts[..length], expected.concat());
    }
}
