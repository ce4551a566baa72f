//! Where a repository's bytes go.

pub mod ids;

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs::{File, Metadata},
    io::{Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::Path,
};

use repackbench_codec::{SharedFormat, StoredForm};
use repackbench_reader::{
    Chunk, ObjectKind, ReaderError, Repository, Result,
    dictionaries::DICTIONARY_FOLDER,
    git::{GitRepository, btree::BtreeFile, repository::reftable::REFTABLE_FOLDER},
    hg::HgRepository,
};
use repackbench_records::{ChunkForm, SizeRecord};
use walkdir::{DirEntry, WalkDir};

/// The parts of the common git directory that belong to the stored repository, apart from its object directories. The
/// rest (`index`, `hooks`, `modules`, `worktrees`, `lfs`, `FETCH_HEAD` and the like) serves a work tree, a tool or one
/// command. No variant ever holds it, so counting it would distort the ratios between codecs.
const COUNTED: [&str; 8] = ["HEAD", "config", "info", "logs", "packed-refs", "refs", REFTABLE_FOLDER, "shallow"];

/// The formats of a repository's chunks that several implementations read.
pub type SharedFormats = BTreeSet<SharedFormat>;

/// The number of bytes of a chunk that identify its format and form.
const OPENING_LEN: u64 = 16;

/// Measures `repository`, which tables call `label`.
///
/// # Errors
/// [`ReaderError::Io`] for a file that cannot be inspected, and the errors of
/// [`Store::for_each_chunk`](repackbench_reader::Store::for_each_chunk) for damage.
pub fn measure(repository: &Repository, label: &str) -> Result<SizeRecord> {
    examine(repository, label).map(|(size, _)| size)
}

/// Like [`measure`], and returns the formats of the chunks as well.
///
/// # Errors
/// Like `measure`.
pub fn examine(repository: &Repository, label: &str) -> Result<(SizeRecord, SharedFormats)> {
    examine_each(repository, label, &mut |_| {})
}

/// Like [`examine`], and calls `visit` on each chunk.
///
/// # Errors
/// Like `measure`.
pub(crate) fn examine_each(
    repository: &Repository,
    label: &str,
    visit: &mut dyn FnMut(&Chunk<'_>),
) -> Result<(SizeRecord, SharedFormats)> {
    let mut size = SizeRecord { label: label.to_owned(), ..SizeRecord::default() };
    let mut formats = SharedFormats::new();
    repository.store().for_each_chunk(&mut |chunk| {
        visit(chunk);
        let stored = opening(chunk)?;
        formats.extend(repository.shared_format(&Chunk { stored: &stored, ..*chunk }));
        if let Some(form) = repository.stored_form(&Chunk { stored: &stored, ..*chunk }) {
            size.forms.add(record_form(form), chunk.stored_len);
        }
        let form = if chunk.kind.is_delta { ChunkForm::Delta } else { ChunkForm::Whole };
        size.objects.get_mut(record_kind(chunk.kind.object), form).add(chunk.stored_len, chunk.payload_len);
        count_framing(repository, chunk, &mut size);
        Ok(())
    })?;
    match repository {
        Repository::Git(git) => measure_git(git, &mut size)?,
        Repository::Hg(hg) => measure_hg(hg, &mut size)?,
    }
    size.other_bytes = size.total_bytes.saturating_sub(size.sum_of_parts());
    Ok((size, formats))
}

/// The first bytes of a chunk. Those of an object too large for memory are read from its file.
fn opening<'a>(chunk: &Chunk<'a>) -> Result<Cow<'a, [u8]>> {
    if !chunk.stored.is_empty() || chunk.stored_len == 0 {
        return Ok(Cow::Borrowed(chunk.stored));
    }
    let mut bytes = Vec::new();
    let mut file = File::open(chunk.file).map_err(|e| ReaderError::io("open", chunk.file, e))?;
    let start = SeekFrom::Start(chunk.offset.saturating_add(chunk.header_len));
    file.seek(start).map_err(|e| ReaderError::io("read", chunk.file, e))?;
    file.take(OPENING_LEN).read_to_end(&mut bytes).map_err(|e| ReaderError::io("read", chunk.file, e))?;
    Ok(Cow::Owned(bytes))
}

/// Counts the framing of a chunk.
fn count_framing(repository: &Repository, chunk: &Chunk<'_>, size: &mut SizeRecord) {
    match repository {
        Repository::Hg(_) => size.revlog_index_bytes += chunk.header_len,
        Repository::Git(_) => size.entry_header_bytes += chunk.header_len,
    }
    // Only Git's loose objects have no framing.
    if chunk.header_len == 0 {
        size.loose.objects += 1;
        size.loose.stored_bytes += chunk.stored_len;
    }
}

/// Counts the files of a Mercurial repository.
///
/// The total counts revlogs and all other files that a copy of the repository holds. It excludes files that serve the
/// work tree, are caches or undo the last transaction.
fn measure_hg(repository: &HgRepository, size: &mut SizeRecord) -> Result<()> {
    let store = repository.store_dir();
    for (file, len) in repository.files()? {
        size.total_bytes += len;
        let metadata = file.symlink_metadata().map_err(|e| ReaderError::io("inspect", &file, e))?;
        size.allocated_bytes += allocated(&metadata);
        let below = file.strip_prefix(&store).unwrap_or(Path::new(""));
        let name = below.to_str().unwrap_or_default();
        if name == "fncache" || name.starts_with("fileindex") {
            size.fncache_bytes += len;
        } else if below.starts_with(DICTIONARY_FOLDER) {
            size.dictionary_bytes += len;
        }
    }
    Ok(())
}

/// Counts the files of a Git repository.
///
/// The total counts the files of the object directories, and the refs, reflogs, `HEAD`, `config`, `packed-refs`,
/// `reftable`, `shallow` and `info` of the common git directory. Files that follow from the objects are counted beside
/// it ([`SizeRecord::derived_bytes`]), and lock files nowhere. Object directories that are borrowed through alternates
/// are counted, since a variant holds their objects.
fn measure_git(repository: &GitRepository, size: &mut SizeRecord) -> Result<()> {
    for pack in repository.packs() {
        let length =
            |path: &Path| std::fs::metadata(path).map(|m| m.len()).map_err(|e| ReaderError::io("inspect", path, e));
        size.pack_frame_bytes +=
            repackbench_reader::git::pack::PACK_HEADER_LEN + repository.object_hash().len_in_bytes() as u64;
        size.index_bytes += length(&pack.index)?;
        if let Some(reverse_index) = &pack.reverse_index {
            size.reverse_index_bytes += length(reverse_index)?;
        }
    }
    for objects in repository.object_dirs() {
        let [counted, derived] = object_files(objects)?;
        add_total(size, &counted);
        size.derived_bytes += derived.len;
        size.dictionary_bytes += bytes_below(&objects.join("info").join(DICTIONARY_FOLDER))?.len;
    }
    for name in COUNTED {
        add_total(size, &bytes_below(&repository.common_dir().join(name))?);
    }
    if let Some(btree) = repository.btree() {
        let occupancy = BtreeFile::open(btree, repository.object_hash())?.occupancy()?;
        size.btree_unused_bytes = occupancy.unused_bytes;
        size.btree_bytes = occupancy.file_bytes.saturating_sub(occupancy.value_bytes + occupancy.unused_bytes);
    }
    Ok(())
}

/// The bytes of some files.
#[derive(Default)]
struct FileBytes {
    /// Their lengths.
    len: u64,
    /// What the file system has allocated for them.
    allocated: u64,
}

impl FileBytes {
    /// Adds a file.
    fn add(&mut self, file: &Metadata) {
        self.len += file.len();
        self.allocated += allocated(file);
    }
}

fn add_total(size: &mut SizeRecord, files: &FileBytes) {
    size.total_bytes += files.len;
    size.allocated_bytes += files.allocated;
}

/// The allocated size of a file in bytes; the unit is 512 bytes, whatever the block size of the file system.
fn allocated(metadata: &Metadata) -> u64 {
    metadata.blocks().saturating_mul(512)
}

/// The files of the object directory `objects` that hold something of their own, then those that git makes from them.
fn object_files(objects: &Path) -> Result<[FileBytes; 2]> {
    let [mut counted, mut derived] = [FileBytes::default(), FileBytes::default()];
    for_each_file(objects, &mut |path, metadata| {
        let below = path.strip_prefix(objects).unwrap_or(path);
        if is_derived(below) { &mut derived } else { &mut counted }.add(metadata);
    })?;
    Ok([counted, derived])
}

/// Whether git makes the file at this path below an object directory from others: an index of packs, a bitmap, a
/// commit-graph or a list for clients of plain HTTP. Unfinished files of a command that was interrupted are treated
/// alike, unless they are packs under another name, which a reader finds.
fn is_derived(below: &Path) -> bool {
    let name = below.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let starts_with = |start: &str| below.to_str().is_some_and(|below| below.starts_with(start));
    let is_bitmap = starts_with("pack/") && name.ends_with(".bitmap");
    let is_unfinished = below.iter().any(|part| part.as_encoded_bytes().starts_with(b"tmp_"));
    is_bitmap
        || is_unfinished
        || ["pack/multi-pack-index", "info/commit-graph"].into_iter().any(starts_with)
        || below == Path::new("info/packs")
}

/// The lengths of `root`, if it is a file, or of all files below it; 0 if it does not exist.
fn bytes_below(root: &Path) -> Result<FileBytes> {
    let mut total = FileBytes::default();
    for_each_file(root, &mut |_, metadata| total.add(metadata))?;
    Ok(total)
}

/// Calls `visit` on `root`, if it is a file, or on all files below it. Symbolic links below it count with their own
/// length, directories and lock files do not count.
fn for_each_file(root: &Path, visit: &mut dyn FnMut(&Path, &Metadata)) -> Result<()> {
    if root.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return Ok(());
    }
    // git reads through a linked folder. Another link, such as an old `HEAD`, stores the name that it holds, and may be
    // dangling.
    let walk = WalkDir::new(root).follow_root_links(root.is_dir());
    let is_lock = |entry: &DirEntry| entry.path().extension().is_some_and(|extension| extension == "lock");
    for entry in walk.into_iter().filter_entry(|entry| entry.depth() == 0 || !is_lock(entry)) {
        let at = |e: &walkdir::Error| e.path().unwrap_or(root).to_owned();
        let entry = entry.map_err(|e| ReaderError::io("list", at(&e), e.into()))?;
        if !entry.file_type().is_dir() {
            let metadata = entry.metadata().map_err(|e| ReaderError::io("inspect", at(&e), e.into()))?;
            visit(entry.path(), &metadata);
        }
    }
    Ok(())
}

fn record_kind(kind: ObjectKind) -> repackbench_records::ObjectKind {
    match kind {
        ObjectKind::Commit => repackbench_records::ObjectKind::Commit,
        ObjectKind::Tree => repackbench_records::ObjectKind::Tree,
        ObjectKind::Blob => repackbench_records::ObjectKind::Blob,
        ObjectKind::Tag => repackbench_records::ObjectKind::Tag,
        ObjectKind::Changelog => repackbench_records::ObjectKind::Changelog,
        ObjectKind::Manifest => repackbench_records::ObjectKind::Manifest,
        ObjectKind::Filelog => repackbench_records::ObjectKind::Filelog,
    }
}

fn record_form(form: StoredForm) -> repackbench_records::StoredForm {
    match form {
        StoredForm::Plain => repackbench_records::StoredForm::Plain,
        StoredForm::Dictionary => repackbench_records::StoredForm::Dictionary,
        StoredForm::Prefix => repackbench_records::StoredForm::Prefix,
        StoredForm::Patch => repackbench_records::StoredForm::Patch,
        StoredForm::Raw => repackbench_records::StoredForm::Stored,
    }
}
