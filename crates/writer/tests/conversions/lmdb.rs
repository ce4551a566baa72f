//! Compares B-tree files with LMDB itself: LMDB reads files that this project writes, and the reader of this project
//! reads files that LMDB writes.

use std::{fs, path::Path};

use gix_hash::{Kind, ObjectId};
use heed::{
    CommitOrAbort, CompactionOption, Database, DatabaseStat, Env, EnvFlags, EnvOpenOptions, PutFlags, types::Bytes,
};
use repackbench_reader::git::btree::{
    BtreeFile,
    layout::{META_AT, PAGE_LEN, TRANSACTION_AT, Tree},
};

use crate::support::{convert, objects, open, places, source};

/// Keys and values, sorted by key.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// The size of LMDB's map in bytes. It takes address space, but no disk space.
const MAP_LEN: usize = 64 << 20;

/// Opens the file at `path` with LMDB. The file has to be in a folder of the test's own.
fn environment(path: &Path, flags: EnvFlags, map_len: Option<usize>) -> Env {
    let mut options = EnvOpenOptions::new();
    if let Some(len) = map_len {
        options.map_size(len);
    }
    // SAFETY: LMDB maps the file. No other process or thread knows the file or writes to it while it is mapped, so no
    // lock is needed either.
    unsafe { options.flags(flags | EnvFlags::NO_SUB_DIR | EnvFlags::NO_LOCK).open(path) }.unwrap()
}

/// The tree of keys.
fn main_tree(env: &Env) -> Database<'_, Bytes, Bytes> {
    let txn = env.read_txn().unwrap();
    let opened = env.open_databases_and_commit(txn, |opener, txn| {
        opener.open_database::<Bytes, Bytes>(txn, None).map(CommitOrAbort::<_, ()>::Commit)
    });
    let opened: Result<_, heed::Error> = opened;
    opened.unwrap().unwrap_commit().unwrap()
}

/// Levels, branch, leaf and overflow pages, and keys, as LMDB reports them.
fn counts(stat: &DatabaseStat) -> [u64; 5] {
    assert_eq!(stat.page_size as usize, PAGE_LEN);
    [stat.depth as usize, stat.branch_pages, stat.leaf_pages, stat.overflow_pages, stat.entries]
        .map(|count| count as u64)
}

/// The same numbers as our reader reports them.
fn our_counts(btree: &BtreeFile) -> [u64; 5] {
    let Tree { levels, branch_pages, leaf_pages, overflow_pages, keys, .. } = btree.tree();
    [levels.into(), branch_pages, leaf_pages, overflow_pages, keys]
}

/// The pairs that our reader finds. Each is read in a walk over the tree, and its key looked up.
fn pairs(btree: &BtreeFile) -> Pairs {
    let mut piece = Vec::new();
    let mut pair = |(id, place)| {
        let id: ObjectId = id;
        assert_eq!(btree.find(&id).unwrap(), Some(place), "{id}");
        let mut value = Vec::new();
        btree.read_in_pieces(&place, &mut piece, &mut |bytes| value.extend_from_slice(bytes)).unwrap();
        (id.as_bytes().to_vec(), value)
    };
    places(btree).into_iter().map(&mut pair).collect()
}

/// The pairs that LMDB finds in the same two ways, and its statistics of the tree.
fn by_lmdb(path: &Path) -> (Pairs, [u64; 5]) {
    let env = environment(path, EnvFlags::READ_ONLY, None);
    let tree = main_tree(&env);
    let txn = env.read_txn().unwrap();
    let pairs: Pairs = tree
        .iter(&txn)
        .unwrap()
        .map(|pair| {
            let (key, value) = pair.unwrap();
            assert_eq!(tree.get(&txn, key).unwrap(), Some(value));
            (key.to_vec(), value.to_vec())
        })
        .collect();
    let absent = ObjectId::null(Kind::Sha1);
    assert_eq!(tree.get(&txn, absent.as_bytes()).unwrap(), None);
    (pairs, counts(&tree.stat(&txn).unwrap()))
}

#[test]
fn lmdb_finds_every_key_and_value_of_our_files() {
    for (hash, count, spec, levels) in [
        (Kind::Sha1, 0, "zlib:6", 0),
        (Kind::Sha1, 1, "zlib:6", 1),
        (Kind::Sha256, 5, "zstd:3", 1),
        (Kind::Sha1, 400, "store", 2),
        (Kind::Sha256, 1500, "lz4", 3),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), hash, &objects(count));
        let btree = open(&convert(&source, spec, 2, "variant"));
        let expected = pairs(&btree);
        assert_eq!(expected.len(), count);
        assert_eq!(btree.tree().levels, levels, "{count} objects");
        let (found, counts) = by_lmdb(btree.path());
        assert!(found == expected, "{count} objects: other keys or values");
        assert_eq!(counts, our_counts(&btree), "{count} objects");
    }
}

/// Writes `pairs` with LMDB, one after another. Returns a compacted copy without free pages.
fn written_by_lmdb(folder: &Path, pairs: &[(Vec<u8>, Vec<u8>)], flags: PutFlags) -> BtreeFile {
    let (path, copy) = (folder.join("written"), folder.join("copy"));
    let env = environment(&path, EnvFlags::empty(), Some(MAP_LEN));
    let tree = main_tree(&env);
    let mut txn = env.write_txn().unwrap();
    for (key, value) in pairs {
        tree.put_with_flags(&mut txn, flags, key, value).unwrap();
    }
    txn.commit().unwrap();
    env.copy_to_path(&copy, CompactionOption::Enabled).unwrap();
    // The first meta page of LMDB is that of an empty tree, and the second is valid. Our reader requires both to agree,
    // as in our files.
    let mut bytes = fs::read(&copy).unwrap();
    bytes.copy_within(PAGE_LEN + META_AT..PAGE_LEN + TRANSACTION_AT, META_AT);
    fs::write(&copy, bytes).unwrap();
    BtreeFile::open(&copy, Kind::Sha1).unwrap()
}

#[test]
fn files_of_lmdb_are_read_and_have_as_many_pages_in_key_order() {
    for (count, levels) in [(1, 1), (400, 2), (2500, 3)] {
        let folder = tempfile::tempdir().unwrap();
        let source = source(folder.path(), Kind::Sha1, &objects(count));
        let ours = open(&convert(&source, "zlib:6", 2, "variant"));
        assert_eq!(ours.tree().levels, levels, "{count} objects");
        let mut expected = pairs(&ours);
        let appended = tempfile::tempdir().unwrap();
        let theirs = written_by_lmdb(appended.path(), &expected, PutFlags::APPEND);
        assert!(pairs(&theirs) == expected, "{count} objects: other keys or values");
        assert_eq!(our_counts(&theirs), our_counts(&ours), "{count} objects");

        // In the order of values, which is unrelated to that of keys.
        let in_order = expected.clone();
        expected.sort_by(|(_, one), (_, other)| one.cmp(other));
        let scattered = tempfile::tempdir().unwrap();
        let theirs = written_by_lmdb(scattered.path(), &expected, PutFlags::empty());
        assert!(pairs(&theirs) == in_order, "{count} objects: other keys or values");
        assert_eq!(theirs.tree().overflow_pages, ours.tree().overflow_pages, "{count} objects");
        if count > 1 {
            let (more, leaves) = (theirs.tree().leaf_pages, ours.tree().leaf_pages);
            assert!(more > leaves, "{count} objects: {more} leaves, and {leaves} where they are full");
        }
    }
}
