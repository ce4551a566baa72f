//! B-tree files beside LMDB itself: it finds in ours what our reader finds, and our reader finds in its what was put there.

mod support;

use std::{fs, path::Path};

use gix_hash::{Kind, ObjectId};
use heed::{
    CommitOrAbort, CompactionOption, Database, DatabaseStat, Env, EnvFlags, EnvOpenOptions, PutFlags, types::Bytes,
};
use repackbench_reader::git::btree::{
    BtreeFile,
    layout::{META_AT, PAGE_LEN, TRANSACTION_AT, Tree},
};

use support::{convert, objects, open, places, source};

/// Keys and values, by key.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Room for what LMDB writes, in bytes: address space, and nothing of the disk.
const MAP_LEN: usize = 64 << 20;

/// LMDB's view of the file at `path`, which has to lie in a folder of the test's own.
fn environment(path: &Path, flags: EnvFlags, map_len: Option<usize>) -> Env {
    let mut options = EnvOpenOptions::new();
    if let Some(len) = map_len {
        options.map_size(len);
    }
    // SAFETY: LMDB maps the file. Nobody else knows of it or writes to it while it is mapped, so that no lock is needed either.
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

/// Levels, branch, leaf and overflow pages, and keys, as LMDB tells them.
fn counts(stat: &DatabaseStat) -> [u64; 5] {
    assert_eq!(stat.page_size as usize, PAGE_LEN);
    [stat.depth as usize, stat.branch_pages, stat.leaf_pages, stat.overflow_pages, stat.entries]
        .map(|count| count as u64)
}

/// The same as our reader tells them.
fn our_counts(btree: &BtreeFile) -> [u64; 5] {
    let Tree { levels, branch_pages, leaf_pages, overflow_pages, keys, .. } = btree.tree();
    [levels.into(), branch_pages, leaf_pages, overflow_pages, keys]
}

/// What our reader finds when it goes through the whole tree, and by looking up each key.
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

/// What LMDB finds in the file at `path`, in the same two ways, and what it says of the tree.
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
fn lmdb_finds_every_key_and_value_in_what_is_written() {
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

/// What LMDB makes of `pairs`, given one after the other: a compacted copy, in which nothing is free.
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
    // Its first meta page is that of an empty tree, and the second counts. Ours say the same, and our reader insists on it.
    let mut bytes = fs::read(&copy).unwrap();
    bytes.copy_within(PAGE_LEN + META_AT..PAGE_LEN + TRANSACTION_AT, META_AT);
    fs::write(&copy, bytes).unwrap();
    BtreeFile::open(&copy, Kind::Sha1).unwrap()
}

#[test]
fn what_lmdb_writes_is_read_and_in_the_order_of_keys_it_takes_as_many_pages() {
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

        // In an order that has nothing to do with the keys: that of values.
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
