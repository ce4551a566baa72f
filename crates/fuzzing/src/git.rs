//! The formats of Git repositories.

use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::{ChunkDecoder, Decoders};
use repackbench_reader::git::btree::BtreeFile;
use repackbench_reader::git::btree::layout::PAGE_LEN;
use repackbench_reader::git::delta::{DeltaError, DeltaSizes, apply};
use repackbench_reader::git::loose::{self, LooseFile};
use repackbench_reader::git::numbered::{MARK_SIGNATURE, MARK_VERSION};
use repackbench_reader::git::pack::{DeltaForest, EntryTable, PACK_HEADER_LEN, PackFile, StoredEntry};
use repackbench_reader::git::packed_objects::PackedObjects;
use repackbench_reader::git::repository::reftable::{REFTABLE_FOLDER, TABLES_LIST};
use repackbench_reader::git::verify::verify_objects;
use repackbench_reader::git::{GitHistory, GitRepository, ObjectStore};
use repackbench_reader::hash::IdHasher;
use repackbench_reader::{History, ObjectKind};

use crate::input::{Input, Output};

/// A pack and its index in a repository: a byte for hash, version and whether objects are numbered, the number of
/// entries, the length of each, and their bytes.
///
/// The index is the right one for these lengths, so that the fuzzer need not find checksums. The entries have the ids
/// that [`entry_id`] gives.
pub fn pack(data: &[u8]) {
    let mut input = Input::new(data);
    let first = input.byte();
    let hash = if first & 1 == 0 { Kind::Sha1 } else { Kind::Sha256 };
    let version = if first & 2 == 0 { 2 } else { 3 };
    let lengths: Vec<usize> = (0..input.byte()).map(|_| input.number()).collect();
    let (pack, index) = packed(hash, version, &lengths, input.rest());
    let folder = tempfile::tempdir().expect("a folder");
    let path = repository(folder.path(), hash);
    if first & 4 != 0 {
        fs::write(path.join("objects/pack/pack-1.numbers"), numbers_mark(hash, &pack)).expect("to write");
    }
    fs::write(path.join("objects/pack/pack-1.pack"), pack).expect("to write");
    fs::write(path.join("objects/pack/pack-1.idx"), index).expect("to write");
    let references = (0..lengths.len()).map(|at| format!("{} refs/heads/{at}\n", entry_id(hash, at)));
    fs::write(path.join("packed-refs"), references.collect::<String>()).expect("to write");
    let repository = GitRepository::open(&path).expect("a repository");
    let _ = read_pack(&repository);
    let _ = verify_objects(&repository, 1);
    if let Ok(mut store) = ObjectStore::open(&repository, Decoders::default()) {
        let mut content = Vec::new();
        for place in store.every_object().unwrap_or_default() {
            let size = store.kind_and_size(&place);
            if let (Ok(kind), Ok(size)) = (store.read_place(&place, &mut content), size) {
                assert_eq!((kind, content.len() as u64), size, "{}", place.id);
            }
        }
        count_reachable(&repository, store);
    }
}

/// Counts by number have to be those by id.
fn count_reachable(repository: &GitRepository, store: ObjectStore) {
    let Ok(mut history) = GitHistory::new(repository, store) else { return };
    let (mut listed, mut counted) = ([0u64; 4], [0u64; 4]);
    let add = |counts: &mut [u64; 4], kind: ObjectKind| {
        let at = ObjectKind::GIT.iter().position(|other| *other == kind).expect("a kind of Git");
        counts[at] += 1;
    };
    let outcomes = [
        history.traverse(&mut |kind, _| add(&mut listed, kind)),
        history.count_newest(u64::MAX, &mut |kind| add(&mut counted, kind)),
    ];
    if outcomes.iter().all(Result::is_ok) {
        assert_eq!(counted, listed);
    }
}

fn read_pack(repository: &GitRepository) -> repackbench_reader::Result<()> {
    let [files] = repository.packs() else { panic!("one pack was written") };
    let pack = PackFile::open(files, repository.object_hash())?;
    let table = EntryTable::new(&pack)?;
    let forest = DeltaForest::new(&pack, &table)?;
    assert_eq!(forest.chain_lengths().len(), table.len());
    let mut decoder = ChunkDecoder::new(Decoders::default());
    let mut objects = PackedObjects::new(ChunkDecoder::new(Decoders::default()));
    let (mut payload, mut content, mut to_end) = (Vec::new(), Vec::new(), Vec::new());
    for position in 0..table.len() {
        let entry = table.entry(&pack, position)?;
        entry.check_crc(&pack)?;
        let decoded = entry.decode(&pack, &mut decoder, &mut payload);
        let read = objects.read(&pack, 0, entry.offset, &mut content);
        let is_numbered = forest.kind(position).is_some_and(|kind| pack.is_numbered(kind));
        if forest.base(position).is_none() && !is_numbered {
            // git, too, reads objects without looking at where the next entry begins, and so whether anything is between the two
            // or they overlap.
            let unlimited = StoredEntry { stored: pack.entry(entry.offset)?.1, ..entry };
            let unlimited = unlimited.decode(&pack, &mut decoder, &mut to_end);
            let ends_early = unlimited.as_ref().is_err_and(|error| error.to_string().contains("one that ends after"));
            assert_eq!(unlimited.is_ok() || ends_early, read.is_ok(), "entry {position}: {unlimited:?}, {read:?}");
            assert!(read.is_err() || to_end == content, "entry {position}");
            assert!(decoded.is_err() || read.is_ok() && payload == content, "entry {position}: {decoded:?}, {read:?}");
        }
    }
    Ok(())
}

/// The mark of a `pack` whose objects are numbered.
fn numbers_mark(hash: Kind, pack: &[u8]) -> Vec<u8> {
    let function: u32 = if hash == Kind::Sha256 { 2 } else { 1 };
    let trailer = &pack[pack.len() - hash.len_in_bytes()..];
    let mark = [&MARK_SIGNATURE[..], &MARK_VERSION.to_be_bytes(), &function.to_be_bytes(), trailer].concat();
    let own = checksum(hash, &mark);
    [mark.as_slice(), own.as_bytes()].concat()
}

/// The id of the entry at `position` of the pack that [`pack`] makes.
pub fn entry_id(hash: Kind, position: usize) -> ObjectId {
    let byte = u8::try_from(position).expect("at most 256 entries");
    ObjectId::try_from(vec![byte; hash.len_in_bytes()].as_slice()).expect("an id of this length")
}

/// A pack of these `entries`, each of which has its length in `lengths`, and its index. The last entry has all that is
/// left.
fn packed(hash: Kind, version: u32, lengths: &[usize], entries: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let count = u32::try_from(lengths.len()).expect("at most 255");
    let mut pack = [&b"PACK"[..], &version.to_be_bytes(), &count.to_be_bytes(), entries].concat();
    let end = pack.len();
    let mut start = PACK_HEADER_LEN as usize;
    let mut extents = Vec::with_capacity(lengths.len());
    for (position, length) in lengths.iter().enumerate() {
        let is_last = position + 1 == lengths.len();
        let next = if is_last { end } else { start.saturating_add(*length).min(end) };
        extents.push((start, next));
        start = next;
    }
    let trailer = checksum(hash, &pack);
    let mut index = [&b"\xfftOc"[..], &2u32.to_be_bytes()].concat();
    for byte in 0..=255u32 {
        index.extend((byte + 1).min(count).to_be_bytes());
    }
    for position in 0..extents.len() {
        index.extend_from_slice(entry_id(hash, position).as_bytes());
    }
    for (start, next) in &extents {
        index.extend(crc32fast::hash(&pack[*start..*next]).to_be_bytes());
    }
    for (start, _) in &extents {
        index.extend((*start as u32).to_be_bytes());
    }
    index.extend_from_slice(trailer.as_bytes());
    index.extend_from_slice(checksum(hash, &index).as_bytes());
    pack.extend_from_slice(trailer.as_bytes());
    (pack, index)
}

fn checksum(hash: Kind, bytes: &[u8]) -> ObjectId {
    let mut hasher = IdHasher::new(hash);
    hasher.update(bytes);
    hasher.finish()
}

/// The index of a pack of `lengths` and `entries`, as a seed of [`index`].
pub fn index_seed(lengths: &[usize], entries: &[u8]) -> Vec<u8> {
    packed(Kind::Sha1, 2, lengths, entries).1
}

/// An empty repository in `folder`.
fn repository(folder: &Path, hash: Kind) -> PathBuf {
    let path = folder.join("repository.git");
    for name in ["objects/pack", "refs"] {
        fs::create_dir_all(path.join(name)).expect("a folder");
    }
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n").expect("to write");
    if hash == Kind::Sha256 {
        let config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n";
        fs::write(path.join("config"), config).expect("to write");
    }
    path
}

/// The index of a pack that has the number of entries and the checksum that the index records.
pub fn index(data: &[u8]) {
    const FAN_OUT: usize = 256 * 4;
    let hash_len = Kind::Sha1.len_in_bytes();
    let has_header = data.starts_with(b"\xfftOc");
    let at = if has_header { 8 } else { 0 } + FAN_OUT - 4;
    let Some(count) = data.get(at..at + 4) else { return };
    let Some(trailer) = data.len().checked_sub(2 * hash_len).and_then(|at| data.get(at..at + hash_len)) else { return };
    let pack = [&b"PACK\0\0\0\x02"[..], count, &[0x30; 200], trailer].concat();
    let folder = tempfile::tempdir().expect("a folder");
    let path = repository(folder.path(), Kind::Sha1);
    fs::write(path.join("objects/pack/pack-1.pack"), pack).expect("to write");
    fs::write(path.join("objects/pack/pack-1.idx"), data).expect("to write");
    let repository = GitRepository::open(&path).expect("a repository");
    let [files] = repository.packs() else { panic!("one pack was written") };
    let Ok(pack) = PackFile::open(files, Kind::Sha1) else { return };
    let _ = pack.check_index_checksum();
    let table = EntryTable::new(&pack);
    for (position, entry) in (0..pack.entry_count()).zip(pack.index().iter()) {
        let _ = pack.entry(entry.pack_offset);
        assert_eq!(pack.offset_at(position), Some(entry.pack_offset));
        let found = pack.position(&entry.oid);
        // Only ids that ascend can be searched for.
        assert!(table.is_err() || found.is_some(), "{} at {position}", entry.oid);
    }
}

/// A delta of Git: a base, and the delta.
pub fn delta(data: &[u8]) {
    let mut input = Input::new(data);
    let (base, delta) = (input.part(), input.rest());
    let sizes = DeltaSizes::parse(delta);
    let mut result = Vec::new();
    match (apply(base, delta, &mut result), sizes) {
        (Ok(()), Ok(sizes)) => {
            assert_eq!((result.len() as u64, base.len() as u64), (sizes.result, sizes.base));
            assert_eq!(result, by_the_book(base, &delta[sizes.len..]).expect("a delta that was applied"));
        }
        (Ok(()), Err(error)) => panic!("applied a delta without sizes: {error}"),
        (Err(DeltaError::ResultSize { .. } | DeltaError::BaseSize { .. } | DeltaError::TooLarge(_)), _) => {}
        (Err(error), Ok(sizes)) => {
            let expected = by_the_book(base, &delta[sizes.len..]);
            assert!(expected.is_none_or(|result| result.len() as u64 != sizes.result), "refused: {error}");
        }
        (Err(_), Err(_)) => {}
    }
}

/// Applies the instructions of a delta as gitformat-pack(5) describes them; `None` for one that is not valid.
fn by_the_book(base: &[u8], mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut result = Vec::new();
    while let Some((head, mut tail)) = rest.split_first() {
        if head & 0x80 != 0 {
            let mut numbers = [0usize; 7];
            for (bit, number) in numbers.iter_mut().enumerate().filter(|(bit, _)| head >> bit & 1 != 0) {
                *number = usize::from(*tail.split_off_first()?) << (8 * if bit < 4 { bit } else { bit - 4 });
            }
            let offset: usize = numbers[..4].iter().sum();
            let size = Some(numbers[4..].iter().sum()).filter(|size| *size != 0).unwrap_or(0x10000);
            result.extend_from_slice(base.get(offset..offset + size)?);
        } else {
            let inserted = tail.split_off(..usize::from(*head)).filter(|inserted| !inserted.is_empty())?;
            result.extend_from_slice(inserted);
        }
        rest = tail;
    }
    Some(result)
}

/// A loose object.
pub fn loose(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("object");
    fs::write(&path, data).expect("to write");
    let mut decoder = ChunkDecoder::new(Decoders::default());
    let (mut payload, mut stored) = (Vec::new(), Vec::new());
    let header = loose::read_header(&path, data, &mut decoder);
    let opened = LooseFile::open(&path, &mut decoder, &mut stored);
    if let (Ok(header), Ok(opened)) = (&header, &opened) {
        assert_eq!(*header, opened.header);
    }
    let decoded = loose::decode(&path, data, &mut decoder, &mut payload);
    if let Ok(decoded) = decoded {
        assert_eq!(decoded.payload_len(), payload.len() as u64);
    }
    let Ok(LooseFile { header, large: Some(mut large), .. }) = opened else { return };
    // Below the ceiling, so only as much is allocated as the stored bytes yield.
    let _ = large.decode_to_vec(&path, &header, &mut decoder, &mut payload);
}

/// The number of pages that a B-tree may have here.
const PAGES: usize = 64;

/// A B-tree file: the number of its pages, and the bytes that are not zero, each run of them after its place.
pub fn btree(data: &[u8]) {
    let mut input = Input::new(data);
    let mut file = vec![0; usize::from(input.byte()) % PAGES * PAGE_LEN];
    while !input.is_empty() {
        let at = input.long();
        let length = input.byte();
        let run = input.bytes(length.into());
        if let Some(place) = file.get_mut(at..).and_then(|rest| rest.get_mut(..run.len())) {
            place.copy_from_slice(run);
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tree");
    fs::write(&path, file).expect("to write");
    let Ok(tree) = BtreeFile::open(&path, Kind::Sha1) else { return };
    let mut found = Vec::new();
    let walked = tree.for_each(&mut |id, place| {
        found.push((id, place));
        Ok(())
    });
    let _ = tree.occupancy();
    let mut value = Vec::new();
    for (id, place) in &found {
        let searched = tree.find(id);
        // In a tree with a damaged part, a search may take another way than the walk.
        assert!(walked.is_err() || matches!(searched, Ok(Some(at)) if at == *place), "{id}: {searched:?}");
        let _ = (tree.head(place), tree.load(place, &mut value));
        let _ = tree.read_in_pieces(place, &mut value, &mut |_| {});
    }
}

/// The input of [`btree`] for the `file`.
///
/// # Panics
/// The file has too many pages.
pub fn btree_seed(file: &[u8]) -> Vec<u8> {
    let pages = file.len() / PAGE_LEN;
    assert!(pages < PAGES && pages * PAGE_LEN == file.len());
    let mut seed = Output::default().bytes([pages as u8]);
    let mut at = 0;
    while at < file.len() {
        if file[at] == 0 {
            at += 1;
            continue;
        }
        // A few zeroes take no more room than another place.
        let ends = |end: &usize| file[*end..].iter().take(4).all(|byte| *byte == 0);
        let end = (at..file.len().min(at + 255)).find(ends).unwrap_or(file.len().min(at + 255));
        seed = seed.long(at).bytes([(end - at) as u8]).bytes(&file[at..end]);
        at = end;
    }
    seed.done()
}

/// The length of the checksum at the end of a table of refs.
const TABLE_CHECKSUM_LEN: usize = 4;

/// Two tables of refs without their checksums: a byte for the hash, the table of a linked work tree, and that of its
/// repository.
pub fn reftable(data: &[u8]) {
    let mut input = Input::new(data);
    let hash = if input.byte() & 1 == 0 { Kind::Sha1 } else { Kind::Sha256 };
    let (own, common) = (input.part(), input.rest());
    let folder = tempfile::tempdir().expect("a folder");
    let path = repository(folder.path(), hash);
    let object_format = if hash == Kind::Sha256 { "objectFormat = sha256" } else { "" };
    let config = format!("[core]\nrepositoryformatversion = 1\n[extensions]\nrefStorage = reftable\n{object_format}\n");
    fs::write(path.join("config"), config).expect("to write");
    let linked = path.join("worktrees/linked");
    write_table(&path, common);
    write_table(&linked, own);
    for (name, content) in [("HEAD", "ref: refs/heads/.invalid\n"), ("commondir", "../..\n"), ("gitdir", "/x/.git\n")] {
        fs::write(linked.join(name), content).expect("to write");
    }
    let main = GitRepository::open(&path).expect("a repository");
    let references = main.references();
    if let Ok(references) = &references {
        assert!(references.is_sorted_by(|one, next| one.name < next.name), "{references:?}");
        assert_eq!(references, &main.references().expect("to read it again"));
    }
    let linked = GitRepository::open(&linked).expect("a linked work tree");
    assert!(linked.is_linked_work_tree());
    let _ = linked.references();
    // The reader copies all log records, too, of which the main work tree has no use.
    let _ = linked.private_records();
}

/// Puts a table with its checksum in the git directory `path`.
fn write_table(path: &Path, start: &[u8]) {
    const NAME: &str = "0x000000000001-0x000000000001-00000000.ref";
    let folder = path.join(REFTABLE_FOLDER);
    fs::create_dir_all(&folder).expect("a folder");
    let footer_len = if start.get(4) == Some(&2) { 72 } else { 68 };
    let footer = &start[start.len().saturating_sub(footer_len - TABLE_CHECKSUM_LEN)..];
    fs::write(folder.join(NAME), [start, &crc32fast::hash(footer).to_be_bytes()].concat()).expect("to write");
    fs::write(folder.join(TABLES_LIST), format!("{NAME}\n")).expect("to write");
}

/// The input of [`reftable`] for the only tables of a linked work tree and of its repository.
///
/// # Panics
/// A table is too short or too long.
pub fn reftable_seed(hash: Kind, own: &[u8], common: &[u8]) -> Vec<u8> {
    let unchecked = |table: &[u8]| table[..table.len() - TABLE_CHECKSUM_LEN].to_vec();
    Output::default().bytes([u8::from(hash == Kind::Sha256)]).part(&unchecked(own)).bytes(unchecked(common)).done()
}
