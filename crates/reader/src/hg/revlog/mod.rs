//! Revlogs: append-only lists of revisions, each a full text or a delta, each compressed on its own.

mod entry;
mod log;
mod revision_place;
mod text;

use std::{
    borrow::Cow,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gix_hash::{ObjectId, oid};
use repackbench_codec::{CodecError, RevlogDecoder};

use self::log::RevlogLog;
pub use self::{
    entry::{ENTRY_LEN, Entry, RevlogHeader},
    text::{TextReader, node_of},
};
pub(crate) use self::{revision_place::RevisionPlace, text::node_hasher};
use super::delta::longest_payload;
use crate::{
    ObjectKind, Place, ReaderError, Result,
    access::AccessLog,
    memory::{self, TooLarge},
};

/// The files of a revlog, and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevlogFiles {
    /// The entries, and the chunks of an inline revlog: `.i`.
    pub index: PathBuf,
    /// The chunks of a revlog that is not inline: `.d`. Other revlogs have no such file.
    pub data: PathBuf,
    /// Whether `data` existed when the store was listed.
    pub has_data: bool,
    /// The kind of its revisions.
    pub kind: ObjectKind,
    /// The tracked file that it belongs to, or the directory of a manifest with a trailing slash. Empty for the
    /// changelog and the root manifest.
    pub path: Vec<u8>,
}

impl RevlogFiles {
    /// A name for messages: the tracked file or directory that it belongs to.
    pub fn name(&self) -> String {
        match (self.kind, self.path.as_slice()) {
            (ObjectKind::Changelog, _) => "changelog".to_owned(),
            (ObjectKind::Manifest, b"") => "manifest".to_owned(),
            (ObjectKind::Manifest, directory) => format!("manifest of {}", String::from_utf8_lossy(directory)),
            (_, file) => String::from_utf8_lossy(file).into_owned(),
        }
    }
}

/// An open revlog.
#[derive(Debug)]
pub struct Revlog {
    files: RevlogFiles,
    header: Option<RevlogHeader>,
    entries: Vec<Entry>,
    chunks: Chunks,
    /// Computed on first use.
    chain_lengths: OnceLock<Vec<u32>>,
    /// The access log while accesses are recorded.
    log: Option<RevlogLog>,
}

#[derive(Debug)]
enum Chunks {
    /// The whole index file.
    Inline(Vec<u8>),
    /// The data file. An empty revlog has none.
    Split(Option<File>),
}

impl Revlog {
    /// Opens the revlog of `files` and reads its index.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] for an index that contradicts itself or its data file, [`ReaderError::Unsupported`] for
    /// another version, [`ReaderError::Io`].
    pub fn open(files: &RevlogFiles) -> Result<Self> {
        let index = read_index(&files.index)?;
        let header = read_header(files, &index)?;
        let revlog = match header {
            None => Revlog::new(files.clone(), header, Vec::new(), Chunks::Split(None)),
            Some(known) if known.is_inline() => {
                let entries = inline_entries(files, &index)?;
                Revlog::new(files.clone(), header, entries, Chunks::Inline(index))
            }
            Some(_) => {
                let (entries, data_len) = split_entries(files, &index)?;
                let chunks = Chunks::Split(open_data(files, data_len)?);
                Revlog::new(files.clone(), header, entries, chunks)
            }
        };
        revlog.check_bases()?;
        Ok(revlog)
    }

    /// A revlog without revisions and without files.
    pub fn empty() -> Self {
        let files = RevlogFiles {
            index: PathBuf::new(),
            data: PathBuf::new(),
            has_data: false,
            kind: ObjectKind::Changelog,
            path: Vec::new(),
        };
        Revlog::new(files, None, Vec::new(), Chunks::Split(None))
    }

    fn new(files: RevlogFiles, header: Option<RevlogHeader>, entries: Vec<Entry>, chunks: Chunks) -> Self {
        Revlog { files, header, entries, chunks, chain_lengths: OnceLock::new(), log: None }
    }

    /// Its files.
    pub fn files(&self) -> &RevlogFiles {
        &self.files
    }

    /// Its header; `None` if it is empty.
    pub fn header(&self) -> Option<RevlogHeader> {
        self.header
    }

    /// Its revisions.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Number of revisions.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no revisions.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of `revision`.
    ///
    /// # Errors
    /// [`ReaderError::Corrupt`] if there is no such revision: its number came from a file.
    pub fn entry(&self, revision: usize) -> Result<&Entry> {
        self.entries.get(revision).ok_or_else(|| {
            let expected = format!("at least {} revisions", revision.saturating_add(1));
            ReaderError::corrupt(&self.files.index, Place::Whole, expected, self.entries.len().to_string())
        })
    }

    /// Starts recording accesses in `log`, beginning with the index, which opening reads; `None` ends the recording.
    pub(crate) fn set_log(&mut self, log: Option<&Arc<AccessLog>>) {
        self.log = log.map(|log| RevlogLog::new(self, Arc::clone(log)));
    }

    /// The access log while accesses are recorded.
    pub(crate) fn log(&self) -> Option<&RevlogLog> {
        self.log.as_ref()
    }

    /// Length of the index file when it was read, in bytes.
    fn index_len(&self) -> u64 {
        match &self.chunks {
            Chunks::Inline(index) => index.len() as u64,
            Chunks::Split(_) => (self.entries.len() * ENTRY_LEN) as u64,
        }
    }

    /// The index as stored on disk: entries, and chunks between them if it is inline. Reads the file again if it is
    /// not.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if it can no longer be read.
    pub fn index_bytes(&self) -> Result<Cow<'_, [u8]>> {
        match &self.chunks {
            Chunks::Inline(index) => Ok(Cow::Borrowed(index)),
            Chunks::Split(_) => {
                let index = std::fs::read(&self.files.index);
                index.map(Cow::Owned).map_err(|e| ReaderError::io("read", &self.files.index, e))
            }
        }
    }

    /// The revision that the chunk of `revision` is a delta against; `None` if the chunk is a full text.
    pub fn delta_base(&self, revision: usize) -> Option<usize> {
        let base = usize::try_from(self.entries.get(revision)?.base).ok()?;
        if base == revision {
            None
        } else if self.header.is_some_and(RevlogHeader::has_general_delta) {
            Some(base)
        } else {
            revision.checked_sub(1)
        }
    }

    /// Number of deltas from a full text to `revision`, including its own.
    pub fn chain_length(&self, revision: usize) -> u32 {
        let lengths = self.chain_lengths.get_or_init(|| {
            let mut lengths: Vec<u32> = Vec::with_capacity(self.entries.len());
            for revision in 0..self.entries.len() {
                // A base is an earlier revision. This was checked on opening.
                let base = self.delta_base(revision).and_then(|base| lengths.get(base));
                lengths.push(base.map_or(0, |length| length.saturating_add(1)));
            }
            lengths
        });
        lengths.get(revision).copied().unwrap_or_default()
    }

    /// The file and the offset of the chunk of `revision`.
    pub fn place(&self, revision: usize) -> (&Path, u64) {
        let offset = self.entries.get(revision).map_or(0, |entry| entry.offset);
        match self.chunks {
            Chunks::Inline(_) => (&self.files.index, offset + inline_header_bytes(revision)),
            Chunks::Split(_) => (&self.files.data, offset),
        }
    }

    /// The chunks of the revisions from `first` to `last`, which are consecutive in the file. `buffer` holds their
    /// bytes unless the revlog is inline.
    ///
    /// # Errors
    /// [`ReaderError::Io`] if the data file cannot be read, [`ReaderError::Corrupt`] if there is no such revision.
    pub fn chunks<'a>(&'a self, first: usize, last: usize, buffer: &'a mut Vec<u8>) -> Result<ChunkRun<'a>> {
        let (start, end) = (self.entry(first)?.offset, self.entry(last)?.end());
        match &self.chunks {
            Chunks::Inline(_) => Ok(ChunkRun { revlog: self, start, bytes: &[] }),
            Chunks::Split(file) => {
                // This was checked against the length of the file on opening.
                let len = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
                let failed = |e| ReaderError::io("read", &self.files.data, e);
                buffer.clear();
                buffer.try_reserve(len).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
                buffer.resize(len, 0);
                if let Some(file) = file {
                    file.read_exact_at(buffer, start).map_err(failed)?;
                }

                Ok(ChunkRun { revlog: self, start, bytes: buffer })
            }
        }
    }

    /// The revision of `node`.
    ///
    /// Searches from the end, where most wanted revisions are. Use [`NodeMap`] for many look-ups.
    pub fn find(&self, node: &oid) -> Option<usize> {
        self.entries.iter().rposition(|entry| entry.node == node)
    }

    /// Checks that every delta is against an earlier revision, and that lengths and parents are within their limits.
    fn check_bases(&self) -> Result<()> {
        for (revision, entry) in self.entries.iter().enumerate() {
            let fails = |expected: &str, found: i64| {
                let place = Place::Revision(revision);
                Err(ReaderError::corrupt(&self.files.index, place, expected, found.to_string()))
            };
            match usize::try_from(entry.base) {
                Ok(base) if base <= revision => {}
                _ => return fails("a base that is this revision or an earlier one", entry.base.into()),
            }
            if entry.text_len > i32::MAX.cast_unsigned() {
                return fails("a full text of less than 2 GiB", entry.text_len.into());
            }
            for parent in entry.parents {
                if parent < -1 || usize::try_from(parent).is_ok_and(|parent| parent >= self.entries.len()) {
                    return fails("parents among the revisions", parent.into());
                }
            }
        }
        Ok(())
    }

    /// Limit in bytes for the payload of `revision`. `base_len` is the length of its base, or an upper bound of it.
    /// `room` is the limit for any text or payload.
    ///
    /// # Errors
    /// The full text of `revision` exceeds `room`.
    pub(crate) fn payload_limit(&self, revision: usize, base_len: usize, room: usize) -> Result<usize> {
        let text_len = self.entry(revision)?.text_len;
        let too_large = |excess| self.too_large(revision, "a full text", excess);
        memory::check_room(u64::from(text_len), room).map_err(too_large)?;
        Ok(match self.delta_base(revision) {
            None => text_len as usize,
            Some(_) => longest_payload(base_len, text_len as usize).min(room),
        })
    }

    /// Replaces `payload` by that of `revision`, whose chunk is `chunk`. `room` is the limit in bytes for the payload
    /// and for the full text.
    ///
    /// # Errors
    /// The chunk is damaged, or the limit is exceeded.
    pub fn decode(
        &self,
        decoder: &mut RevlogDecoder,
        revision: usize,
        chunk: &[u8],
        room: usize,
        payload: &mut Vec<u8>,
    ) -> Result<()> {
        let base = self.delta_base(revision);
        let base_len = base.map(|base| self.entry(base)).transpose()?.map_or(0, |base| base.text_len as usize);
        let limit = self.payload_limit(revision, base_len, room)?;
        payload.clear();
        let length = decoder.decode(chunk, limit, payload).map_err(|error| self.undecodable(revision, &error, room))?;
        if base.is_none() && length != limit {
            return Err(self.corrupt(revision, format!("a full text of {limit} bytes"), length.to_string()));
        }
        Ok(())
    }

    /// The error for the chunk of `revision`, which cannot be decoded within `room` bytes.
    pub(crate) fn undecodable(&self, revision: usize, error: &CodecError, room: usize) -> ReaderError {
        match memory::excess_of(error, room) {
            Some(excess) => self.too_large(revision, "a delta", excess),
            None => self.corrupt(revision, "a chunk that decodes", error.to_string()),
        }
    }

    /// The error for `revision` if `what` takes more memory than it may.
    pub fn too_large(&self, revision: usize, what: &'static str, excess: TooLarge) -> ReaderError {
        let (path, offset) = self.place(revision);
        ReaderError::too_large(path, Place::RevisionAt { revision, offset }, what, excess)
    }

    /// The error for damage of the chunk of `revision`.
    pub fn corrupt(&self, revision: usize, expected: impl Into<String>, found: impl Into<String>) -> ReaderError {
        let (path, offset) = self.place(revision);
        ReaderError::corrupt(path, Place::RevisionAt { revision, offset }, expected, found)
    }
}

/// Chunks of consecutive revisions.
#[derive(Debug, Clone, Copy)]
pub struct ChunkRun<'a> {
    revlog: &'a Revlog,
    start: u64,
    bytes: &'a [u8],
}

impl<'a> ChunkRun<'a> {
    /// The stored bytes of `revision`, one of these revisions.
    pub fn get(&self, revision: usize) -> Result<&'a [u8]> {
        let entry = self.revlog.entry(revision)?;
        let (bytes, start) = match &self.revlog.chunks {
            Chunks::Inline(index) => (index.as_slice(), entry.offset + inline_header_bytes(revision)),
            Chunks::Split(_) => (self.bytes, entry.offset.saturating_sub(self.start)),
        };
        let chunk = usize::try_from(start).ok().and_then(|start| bytes.get(start..)?.get(..entry.stored_len as usize));
        chunk.ok_or_else(|| self.revlog.corrupt(revision, format!("{} stored bytes", entry.stored_len), "fewer"))
    }
}

/// Reads an index, with the chunks of an inline revlog.
fn read_index(path: &Path) -> Result<Vec<u8>> {
    let failed = |error| ReaderError::io("read", path, error);
    let len = std::fs::metadata(path).map_err(failed)?.len();
    memory::check(len).map_err(|excess| ReaderError::too_large(path, Place::Whole, "an index", excess))?;
    std::fs::read(path).map_err(failed)
}

/// Number of bytes of entries before the chunk of `revision` in an inline revlog.
fn inline_header_bytes(revision: usize) -> u64 {
    (revision as u64 + 1) * ENTRY_LEN as u64
}

fn read_header(files: &RevlogFiles, index: &[u8]) -> Result<Option<RevlogHeader>> {
    if index.is_empty() {
        return Ok(None);
    }
    let Some(number) = index.first_chunk().copied().map(u32::from_be_bytes) else {
        return Err(ReaderError::corrupt(&files.index, Place::Offset(0), "a header of 4 bytes", "the end of the file"));
    };
    match RevlogHeader::new(number) {
        Ok(header) => Ok(Some(header)),
        Err(entry::BadHeader::Version(version @ (0 | 2 | 0xd34d))) => {
            Err(ReaderError::unsupported(&files.index, format!("revlog version {version:#x}")))
        }
        Err(entry::BadHeader::Version(version)) => {
            Err(ReaderError::corrupt(&files.index, Place::Offset(0), "revlog version 1", format!("{version:#x}")))
        }
        Err(entry::BadHeader::Flags(flags)) => {
            Err(ReaderError::unsupported(&files.index, format!("a revlog with the unknown flags {flags:#x}")))
        }
    }
}

fn inline_entries(files: &RevlogFiles, index: &[u8]) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut rest = index;
    let mut offset = 0;
    while !rest.is_empty() {
        let at = (index.len() - rest.len()) as u64;
        let entry = take_entry(files, &mut rest, entries.len(), at)?;
        if entry.offset != offset {
            let (expected, found) = (format!("the chunk's offset {offset}"), entry.offset.to_string());
            return Err(ReaderError::corrupt(&files.index, Place::Offset(at), expected, found));
        }
        let Some((_, after)) = rest.split_at_checked(entry.stored_len as usize) else {
            let (expected, found) = (format!("a chunk of {} bytes", entry.stored_len), format!("{} left", rest.len()));
            return Err(ReaderError::corrupt(&files.index, Place::Offset(at), expected, found));
        };
        rest = after;
        offset = entry.end();
        entries.push(entry);
    }
    Ok(entries)
}

/// The entries, and the minimum length of the data file.
fn split_entries(files: &RevlogFiles, index: &[u8]) -> Result<(Vec<Entry>, u64)> {
    let mut entries = Vec::with_capacity(index.len() / ENTRY_LEN);
    let mut rest = index;
    let mut data_len = 0;
    while !rest.is_empty() {
        let at = (index.len() - rest.len()) as u64;
        let entry = take_entry(files, &mut rest, entries.len(), at)?;
        // Gaps between chunks are possible in theory. Overlaps are not: a conversion writes chunks one after another.
        if entry.offset < data_len {
            let (expected, found) = (format!("the chunk's offset {data_len} or more"), entry.offset.to_string());
            return Err(ReaderError::corrupt(&files.index, Place::Offset(at), expected, found));
        }
        data_len = entry.end();
        entries.push(entry);
    }
    Ok((entries, data_len))
}

fn take_entry(files: &RevlogFiles, rest: &mut &[u8], revision: usize, at: u64) -> Result<Entry> {
    let Some((bytes, after)) = rest.split_first_chunk() else {
        let (expected, found) = (format!("an entry of {ENTRY_LEN} bytes"), format!("{} left", rest.len()));
        return Err(ReaderError::corrupt(&files.index, Place::Offset(at), expected, found));
    };
    *rest = after;
    let entry = Entry::parse(bytes, revision == 0);
    match entry.unknown_flags() {
        0 => Ok(entry),
        unknown => {
            let found = format!("{unknown:#x}");
            Err(ReaderError::corrupt(&files.index, Place::Offset(at), "known flags of a revision", found))
        }
    }
}

fn open_data(files: &RevlogFiles, data_len: u64) -> Result<Option<File>> {
    let file = match File::open(&files.data) {
        Ok(file) => file,
        // Revisions without stored bytes need no file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && data_len == 0 => return Ok(None),
        Err(error) => return Err(ReaderError::io("open", &files.data, error)),
    };
    let len = file.metadata().map_err(|e| ReaderError::io("inspect", &files.data, e))?.len();
    if len < data_len {
        let (expected, found) = (format!("{data_len} bytes, as the index says"), len.to_string());
        return Err(ReaderError::corrupt(&files.data, Place::Whole, expected, found));
    }
    Ok(Some(file))
}

/// Revisions by node, for many look-ups in one revlog.
#[derive(Debug, Default)]
pub struct NodeMap {
    sorted: Vec<(ObjectId, u32)>,
}

impl NodeMap {
    /// The nodes of `revlog`. If a node occurs twice, the first revision counts.
    pub fn new(revlog: &Revlog) -> Self {
        let mut sorted: Vec<_> = revlog.entries().iter().zip(0..).map(|(entry, at)| (entry.node, at)).collect();
        sorted.sort_unstable();
        NodeMap { sorted }
    }

    /// The revision of `node`.
    pub fn get(&self, node: &oid) -> Option<usize> {
        let at = self.sorted.partition_point(|(other, _)| other.as_ref() < node);
        self.sorted.get(at).filter(|(other, _)| other.as_ref() == node).map(|(_, revision)| *revision as usize)
    }

    /// Up to two revisions whose nodes start with the hexadecimal `prefix`.
    pub fn with_prefix(&self, prefix: &gix_hash::Prefix) -> impl Iterator<Item = usize> {
        let start = self.sorted.partition_point(|(node, _)| prefix.cmp_oid(node).is_gt());
        let found = self.sorted.get(start..).unwrap_or_default().iter().take(2);
        found.filter(move |(node, _)| prefix.cmp_oid(node).is_eq()).map(|(_, at)| *at as usize)
    }
}
