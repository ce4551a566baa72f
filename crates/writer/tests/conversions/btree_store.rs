//! Tests of B-tree files: objects read back as written, and every damage is an error without a panic.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::ZlibReader;
use repackbench_reader::{
    AccessPart, ObjectKind, ReaderError, Recording, Repository,
    git::{
        GitRepository, ObjectStore,
        btree::{
            BtreeFile, BtreePlace,
            layout::{META_END, NODE_HEADER_LEN, PAGE_HEADER_LEN, PAGE_LEN, POINTER_LEN},
        },
        hash::object_id,
        repository::BTREE_FILE,
        verify::verify_objects,
    },
};
use repackbench_writer::{
    ConvertJob, Encoding, JobControl, Layout, StoreKind, WriterError, convert as convert_repository, git,
};

use crate::support::{convert, in_store, noise, objects, open, places, source};

fn reads_as_written(hash: Kind, count: usize, spec: &str, levels: u16) {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(count);
    let source = source(folder.path(), hash, &objects);
    let variant = convert(&source, spec, 2, "variant");
    assert_eq!(open(&variant).tree().levels, levels, "{count} objects");
    let repository = GitRepository::open(&variant).unwrap();
    let mut store = ObjectStore::open(&repository, ZlibReader::Stock).unwrap();
    assert_eq!(store.len(), count);
    let mut read = Vec::new();
    let mut ids = Vec::new();
    for (kind, content) in &objects {
        let id = object_id(hash, *kind, content);
        for _ in 0..2 {
            assert_eq!(store.read(&id, &mut read).unwrap(), Some(*kind), "{id}");
            assert_eq!(&read, content, "{id}");
        }
        store.clear_caches();
        let place = store.place(&id).unwrap().unwrap();
        assert_eq!(store.kind_and_size(&place).unwrap(), (*kind, content.len() as u64));
        assert!(store.contains(&id).unwrap());
        assert_eq!(store.find_abbreviated(&id.to_string()[..16]).unwrap(), id);
        ids.push(id);
    }
    ids.sort_unstable();
    let absent = object_id(hash, ObjectKind::Blob, b"absent");
    assert_eq!(store.read(&absent, &mut read).unwrap(), None);
    assert!(!store.contains(&absent).unwrap());
    let listed: Vec<ObjectId> = store.every_object().unwrap().iter().map(|place| place.id).collect();
    assert_eq!(listed, ids);
    let verification = verify_objects(&repository, 2).unwrap();
    assert_eq!((verification.ids, verification.damage.len()), (ids, 0));
    let again = Repository::open(&variant).unwrap();
    let spec = "zlib:6".parse().unwrap();
    let target = folder.path().join("again");
    let refused = convert_repository(&again, &spec, Layout::default(), &ConvertJob::new(&target, JobControl::quiet(1)));
    assert!(matches!(refused, Err(WriterError::Reader(ReaderError::Unsupported { .. }))), "{refused:?}");
}

#[test]
fn trees_of_zero_to_three_levels_read_back() {
    reads_as_written(Kind::Sha1, 0, "zlib:6", 0);
    reads_as_written(Kind::Sha1, 1, "zlib:6", 1);
    reads_as_written(Kind::Sha256, 5, "zstd:3", 1);
    reads_as_written(Kind::Sha1, 400, "store", 2);
    reads_as_written(Kind::Sha256, 1500, "lz4", 3);
}

/// A search goes by the keys of branches, so an object that a walk finds would be missing.
#[test]
fn branch_key_that_hides_objects_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), Kind::Sha1, &objects(400));
    let variant = convert(&source, "store", 1, "variant");
    let btree = open(&variant);
    let root = btree.tree().root.unwrap() as usize * PAGE_LEN;
    let original = fs::read(btree.path()).unwrap();
    // The node of the second child, and the first byte of its key.
    let pointer = root + PAGE_HEADER_LEN + POINTER_LEN;
    let node = usize::from(u16::from_le_bytes([original[pointer], original[pointer + 1]]));
    let key = root + node + NODE_HEADER_LEN;
    for byte in [0, original[key] + 1] {
        let mut damaged = original.clone();
        damaged[key] = byte;
        // The file is read-only.
        fs::remove_file(btree.path()).unwrap();
        fs::write(btree.path(), damaged).unwrap();
        let error = open(&variant).for_each(&mut |_, _| Ok(())).unwrap_err().to_string();
        assert!(error.contains("expected ascending keys"), "{error}");
    }
}

#[test]
fn output_identical_across_threads() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), Kind::Sha1, &objects(300));
    let bytes = |threads| fs::read(convert(&source, "zlib:6", threads, "variant").join("objects").join(BTREE_FILE));
    let expected = bytes(1).unwrap();
    assert_eq!(bytes(3).unwrap(), expected);
    assert_eq!(bytes(3).unwrap(), expected);
}

#[test]
fn unused_bytes_are_counted_exactly() {
    let folder = tempfile::tempdir().unwrap();
    // The values are a head and a stored chunk: 1 + 2 + 6 + 9 + 4 bytes, and 3 + 2 + 6 + 9 + ... bytes.
    for (content, in_page) in [(vec![7; 9], true), (noise(1, 5000), false)] {
        let source = source(&folder.path().join(format!("{in_page}")), Kind::Sha1, &[(ObjectKind::Blob, content)]);
        let btree = open(&convert(&source, "store", 1, "variant"));
        let [(_, place)] = places(&btree).try_into().unwrap();
        assert_eq!(place.is_in_page, in_page);
        let occupancy = btree.occupancy().unwrap();
        let data = if in_page { place.len as usize } else { 8 };
        let node = NODE_HEADER_LEN + 20 + data;
        let leaf = PAGE_LEN - PAGE_HEADER_LEN - POINTER_LEN - node;
        let overflow = if in_page { 0 } else { 2 * PAGE_LEN - PAGE_HEADER_LEN - place.len as usize };
        let meta = 2 * (PAGE_LEN - META_END);
        assert_eq!(occupancy.unused_bytes, (leaf + overflow + meta) as u64);
        assert_eq!(occupancy.value_bytes, place.len);
        assert_eq!(occupancy.file_bytes, fs::metadata(btree.path()).unwrap().len());
    }
}

/// Reads all of a variant. Returns the ids of its objects, or the first damage.
fn read_all(variant: &Path) -> Result<Vec<ObjectId>, String> {
    let repository = GitRepository::open(variant).map_err(|error| error.to_string())?;
    let verification = verify_objects(&repository, 1).map_err(|error| error.to_string())?;
    match verification.damage.first() {
        Some(damage) => Err(damage.to_string()),
        None => Ok(verification.ids),
    }
}

/// Looks up each of `ids`, as a workload does. Returns the first error.
fn look_up(variant: &Path, ids: &[ObjectId]) -> Result<(), String> {
    let repository = GitRepository::open(variant).map_err(|error| error.to_string())?;
    let mut store = ObjectStore::open(&repository, ZlibReader::Stock).map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    for id in ids {
        store.read(id, &mut content).map_err(|error| error.to_string())?;
        let _ = store.find_abbreviated(&id.to_string()[..7]);
    }
    Ok(())
}

/// A variant to damage, and its original bytes.
struct Victim {
    _folder: tempfile::TempDir,
    variant: PathBuf,
    file: PathBuf,
    bytes: Vec<u8>,
    ids: Vec<ObjectId>,
}

impl Victim {
    fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), Kind::Sha1, &objects(count));
        let variant = convert(&source, "zlib:6", 1, "variant");
        let file = variant.join("objects").join(BTREE_FILE);
        let bytes = fs::read(&file).unwrap();
        let ids = read_all(&variant).unwrap();
        Victim { _folder: folder, variant, file, bytes, ids }
    }

    fn write(&self, bytes: &[u8]) {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
            _ => fs::write(&self.file, bytes).unwrap(),
        }
    }

    /// Writes `bytes` at offset `at` and reads everything. Returns the error.
    fn with(&self, at: usize, bytes: &[u8]) -> String {
        let mut damaged = self.bytes.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        self.write(&damaged);
        let _ = look_up(&self.variant, &self.ids);
        read_all(&self.variant).expect_err("damage")
    }

    /// The place of the first value that `is_wanted` accepts.
    fn value(&self, is_wanted: impl Fn(&BtreePlace) -> bool) -> BtreePlace {
        self.write(&self.bytes);
        places(&open(&self.variant)).into_iter().map(|(_, place)| place).find(is_wanted).unwrap()
    }

    /// The offset of the first page of this kind: a leaf (2) or a branch (1).
    fn page(&self, flag: u8) -> usize {
        (2..).map(|number| number * PAGE_LEN).find(|at| self.bytes[at + 10] == flag).unwrap()
    }
}

#[test]
fn damage_of_any_page_gives_an_error_or_no_change() {
    let victim = Victim::new(30);
    let pages = victim.bytes.len() / PAGE_LEN;
    let (mut found, mut tried) = (0, 0);
    for page in 0..pages {
        // Every byte of the header and the first pointers, and some of the rest.
        for at in (0..20).chain((20..PAGE_LEN).step_by(211)) {
            for flip in [0x01, 0xff] {
                let at = page * PAGE_LEN + at;
                let mut damaged = victim.bytes.clone();
                damaged[at] ^= flip;
                victim.write(&damaged);
                let _ = look_up(&victim.variant, &victim.ids);
                tried += 1;
                match read_all(&victim.variant) {
                    Err(message) => {
                        found += 1;
                        assert!(message.contains(BTREE_FILE), "byte {at} ^ {flip:#x}: {message}");
                    }
                    // The byte was unused.
                    Ok(ids) => assert_eq!(ids, victim.ids, "byte {at} ^ {flip:#x}"),
                }
            }
        }
    }
    assert!(found * 2 > tried, "{found} of {tried}");
}

#[test]
fn files_of_the_wrong_length_are_refused_on_opening() {
    let victim = Victim::new(60);
    let lens = (0..victim.bytes.len()).step_by(PAGE_LEN).chain([1, 4095, 8191, victim.bytes.len() - 1]);
    for len in lens {
        victim.write(&victim.bytes[..len]);
        let message = read_all(&victim.variant).unwrap_err();
        assert!(message.contains(BTREE_FILE) && message.contains(&format!("found {len}")), "{len}: {message}");
    }
    victim.write(&[victim.bytes.as_slice(), &[0; PAGE_LEN]].concat());
    let message = read_all(&victim.variant).unwrap_err();
    assert!(message.contains(&format!("expected {} bytes", victim.bytes.len())), "{message}");
}

#[test]
fn values_other_than_whole_objects_are_errors() {
    let victim = Victim::new(60);
    let value = victim.value(|place| place.is_in_page && place.len > 20);
    let at = value.offset as usize;
    for (kind, what) in [(0, "the reserved type 0"), (5, "the reserved type 5"), (7, "a delta")] {
        let message = victim.with(at, &[kind << 4]);
        let expected = format!("{BTREE_FILE} at offset {at}: expected kind and size of a whole object, found {what}");
        assert!(message.contains(&expected), "{message}");
    }
    let message = victim.with(at, &[victim.bytes[at] ^ 0x70]);
    assert!(message.contains("content whose id is") || message.contains("found"), "{message}");
}

#[test]
fn wrong_lengths_are_errors() {
    let victim = Victim::new(60);
    let value = victim.value(|place| place.is_in_page && place.len > 20);
    // A payload of 2^63 bytes, and one of 63 MiB.
    let huge = [0xb0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    for length in [&huge[..], &[0xb0, 0x80, 0x80, 0xfc, 0x01]] {
        let message = victim.with(value.offset as usize, length);
        assert!(message.contains(&format!("at offset {}", value.offset)), "{message}");
    }
    // The node of the leaf's first key is at the end of the page.
    let leaf = victim.page(2);
    let pointer = |at: usize| usize::from(u16::from_le_bytes([victim.bytes[at], victim.bytes[at + 1]]));
    let node = leaf + pointer(leaf + PAGE_HEADER_LEN);
    let message = victim.with(node, &u32::MAX.to_le_bytes());
    assert!(
        message.contains("expected a node within the page") || message.contains("expected a value within"),
        "{message}"
    );
    let message = victim.with(node + 6, &u16::MAX.to_le_bytes());
    assert!(message.contains("expected a key of 20 bytes, found one of 65535"), "{message}");
    // Overflow pages that go beyond the end of the file, and an overflow page with another number.
    let large = victim.value(|place| !place.is_in_page);
    let first = large.offset as usize - PAGE_HEADER_LEN;
    let message = victim.with(first + 12, &1_000_000_u32.to_le_bytes());
    assert!(message.contains("pages for a value of"), "{message}");
    let message = victim.with(first, &1_000_000_u64.to_le_bytes());
    assert!(message.contains("the number 1000000"), "{message}");
}

#[test]
fn cycles_and_pages_beyond_the_file_are_errors() {
    let victim = Victim::new(200);
    let branch = victim.page(1);
    let number = (branch / PAGE_LEN) as u32;
    let first = usize::from(u16::from_le_bytes([victim.bytes[branch + 16], victim.bytes[branch + 17]]));
    let second = usize::from(u16::from_le_bytes([victim.bytes[branch + 18], victim.bytes[branch + 19]]));
    let message = victim.with(branch + first, &number.to_le_bytes());
    assert!(message.contains("expected a leaf page"), "{message}");
    let message = victim.with(branch + first, &u32::MAX.to_le_bytes());
    assert!(message.contains("found page 4294967295"), "{message}");
    // Two keys that lead to the same leaf.
    let child: [u8; 4] = victim.bytes[branch + first..branch + first + 4].try_into().unwrap();
    let message = victim.with(branch + second, &child);
    assert!(message.contains("expected ascending keys"), "{message}");
}

#[test]
fn invalid_or_differing_meta_pages_are_errors() {
    let victim = Victim::new(60);
    for page in [0, PAGE_LEN] {
        for (at, what) in [(16, "beefc0de"), (20, "format version 1"), (40, "pages of 4096 bytes"), (92, "one value")] {
            let message = victim.with(page + at, &[0x5a]);
            assert!(message.contains(what) && message.contains(BTREE_FILE), "{at}: {message}");
        }
        let message = victim.with(page + 144, &[victim.bytes[page + 144] ^ 2]);
        assert!(message.contains(&format!("expected transaction {}, found", page / PAGE_LEN)), "{message}");
        // Fields that the reader does not use have to agree too.
        for at in [24, 32, 48, 87] {
            let message = victim.with(page + at, &[victim.bytes[page + at] ^ 1]);
            let expected = format!("{BTREE_FILE} at offset {}: expected 0x", PAGE_LEN + at);
            assert!(message.contains(&expected) && message.contains("as in the first meta page"), "{at}: {message}");
        }
        for at in [94, 96, 104, 112, 120, 128, 136] {
            let message = victim.with(page + at, &[victim.bytes[page + at] ^ 1]);
            assert!(message.contains(BTREE_FILE), "{at}: {message}");
        }
    }
    // Both meta pages claim more keys.
    let mut damaged = victim.bytes.clone();
    damaged[120] += 1;
    damaged[PAGE_LEN + 120] += 1;
    victim.write(&damaged);
    let message = read_all(&victim.variant).unwrap_err();
    assert!(message.contains("expected 61 objects, as its meta pages say, found 60"), "{message}");
    // Both meta pages claim fewer leaves or fewer overflow pages.
    for (at, what) in [(104, "expected a tree of"), (112, "overflow pages, as its meta pages say")] {
        let mut damaged = victim.bytes.clone();
        damaged[at] -= 1;
        damaged[PAGE_LEN + at] -= 1;
        victim.write(&damaged);
        let message = read_all(&victim.variant).unwrap_err();
        assert!(message.contains(what), "{at}: {message}");
    }
}

/// However many keys there are, no more is read than the file holds.
#[test]
fn overlapping_overflow_pages_are_errors() {
    let victim = Victim::new(60);
    let large = victim.value(|place| !place.is_in_page);
    let first = large.offset / PAGE_LEN as u64;
    // The node whose value starts there: the length has four bytes, the key 20.
    let is_node = |at: &usize| {
        let number = &victim.bytes[at + NODE_HEADER_LEN + 20..][..8];
        victim.bytes[at + 4..at + 8] == [1, 0, 20, 0] && number == first.to_le_bytes()
    };
    let node = (2 * PAGE_LEN..victim.bytes.len() - PAGE_LEN).step_by(2).find(is_node).unwrap();
    let len = u32::try_from(large.len).unwrap();
    let pages = |len: u64| (len + PAGE_HEADER_LEN as u64).div_ceil(PAGE_LEN as u64);
    let (more, as_many) = (len + PAGE_LEN as u32, pages(large.len));
    assert_eq!(pages(more.into()), as_many + 1);
    let mut damaged = victim.bytes.clone();
    damaged[node..node + 4].copy_from_slice(&more.to_le_bytes());
    victim.write(&damaged);
    let total = BtreeFile::open(&victim.file, Kind::Sha1).unwrap().tree().overflow_pages;
    let message = read_all(&victim.variant).unwrap_err();
    let expected = format!("expected {total} overflow pages, as its meta pages say, found {}", total + 1);
    assert!(message.contains(&expected), "{message}");
}

/// A page in the reader's page cache is not read again, so the trace does not list it twice.
#[test]
fn trace_lists_each_leaf_once() {
    let folder = tempfile::tempdir().unwrap();
    let source = source(folder.path(), Kind::Sha1, &objects(200));
    let variant = convert(&source, "store", 1, "variant");
    let places = places(&open(&variant));
    let repository = GitRepository::open(&variant).unwrap();
    let mut store = ObjectStore::open(&repository, ZlibReader::Stock).unwrap();
    store.record_accesses(Recording::Accesses);
    let mut content = Vec::new();
    for (id, _) in &places {
        assert!(store.read(id, &mut content).unwrap().is_some());
    }
    let trace = store.take_accesses();
    assert_eq!(trace.decodes.len(), places.len());
    let of = |part| trace.accesses.iter().filter(move |access| access.part == part);
    let on_overflow_pages = places.iter().filter(|(_, place)| !place.is_in_page).count();
    assert_eq!(of(AccessPart::Chunk).count(), on_overflow_pages);
    assert!((1..places.len()).contains(&on_overflow_pages));
    let tree = open(&variant).tree();
    assert_eq!(of(AccessPart::LookUp).count() as u64, tree.branch_pages + tree.leaf_pages);
}

#[test]
fn only_regular_files_are_opened() {
    let victim = Victim::new(10);
    fs::remove_file(&victim.file).unwrap();
    // Opening a pipe would block.
    assert!(Command::new("mkfifo").arg(&victim.file).status().unwrap().success());
    let message = read_all(&victim.variant).unwrap_err();
    assert!(message.contains(BTREE_FILE) && message.contains("found a named pipe"), "{message}");
    fs::remove_file(&victim.file).unwrap();
    fs::create_dir(&victim.file).unwrap();
    assert!(GitRepository::open(&victim.variant).is_err());
}

#[test]
fn loose_stores_hold_the_same_objects_and_convert_again() {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(100);
    let source = source(folder.path(), Kind::Sha1, &objects);
    let encoding = Encoding::plain(&"zstd:3".parse().unwrap());
    let target = folder.path().join("loose");
    git::convert(&source, &encoding, in_store(StoreKind::Loose), &ConvertJob::new(&target, JobControl::quiet(3)))
        .unwrap();
    let loose = GitRepository::open(&target).unwrap();
    let verification = verify_objects(&loose, 2).unwrap();
    let mut ids: Vec<ObjectId> = objects.iter().map(|(kind, content)| object_id(Kind::Sha1, *kind, content)).collect();
    ids.sort_unstable();
    assert_eq!((verification.ids, verification.damage.len()), (ids, 0));
    assert_eq!(open(&convert(&loose, "zlib:6", 1, "btree")).len(), 100);
}

#[test]
fn damaged_sources_leave_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let objects = objects(40);
    let source = source(folder.path(), Kind::Sha1, &objects);
    let (kind, content) = &objects[7];
    let hex = object_id(Kind::Sha1, *kind, content).to_string();
    let file = source.git_dir().join("objects").join(&hex[..2]).join(&hex[2..]);
    // A valid object under the name of another.
    let (kind, content) = &objects[8];
    let other = object_id(Kind::Sha1, *kind, content).to_string();
    fs::copy(source.git_dir().join("objects").join(&other[..2]).join(&other[2..]), &file).unwrap();
    let encoding = Encoding::plain(&"zlib:6".parse().unwrap());
    let target = folder.path().join("variant");
    for error in [
        git::convert(&source, &encoding, in_store(StoreKind::Btree), &ConvertJob::new(&target, JobControl::quiet(2)))
            .unwrap_err(),
        git::convert(&source, &encoding, in_store(StoreKind::Loose), &ConvertJob::new(&target, JobControl::quiet(2)))
            .unwrap_err(),
    ] {
        let message = error.to_string();
        assert!(message.contains(&hex[2..]) && message.contains(&format!("content whose id is {other}")), "{message}");
    }
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["source.git"]);
}
