//! Builds repositories of chosen objects, and their variants in a B-tree.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix_hash::{Kind, ObjectId};
use repackbench_codec::ChunkEncoder;
use repackbench_reader::{
    ObjectKind,
    git::{
        GitRepository,
        btree::{BtreeFile, BtreePlace, layout::LONGEST_NODE},
        hash::object_id,
    },
};
use repackbench_writer::{ConvertJob, Encoding, JobControl, Layout, StoreKind, git};

/// An object to build.
pub(crate) type Object = (ObjectKind, Vec<u8>);

pub(crate) fn in_store(store: StoreKind) -> Layout {
    Layout { store, ..Layout::default() }
}

/// Bytes that hardly compress.
pub(crate) fn noise(seed: usize, len: usize) -> Vec<u8> {
    let mut state = seed as u64 + 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

/// Objects with values in leaves, on one or several overflow pages, and at the boundary.
pub(crate) fn objects(count: usize) -> Vec<Object> {
    let lens = [0, 1, 30, 700, LONGEST_NODE - 60, LONGEST_NODE - 20, LONGEST_NODE, 4000, 4096, 9000];
    let object = |number: usize| {
        let kind = [ObjectKind::Blob, ObjectKind::Commit, ObjectKind::Tag][number % 3];
        let mut content = format!("object {number}\n").into_bytes();
        content.extend(noise(number, lens[number % lens.len()]));
        (kind, content)
    };
    (0..count).map(object).collect()
}

/// A repository with `objects` as loose objects.
pub(crate) fn source(folder: &Path, hash: Kind, objects: &[Object]) -> GitRepository {
    let repository = folder.join("source.git");
    for name in ["objects", "refs/heads"] {
        fs::create_dir_all(repository.join(name)).unwrap();
    }
    fs::write(repository.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    if hash == Kind::Sha256 {
        let config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n";
        fs::write(repository.join("config"), config).unwrap();
    }
    let mut encoder = ChunkEncoder::new(&"zlib:1".parse().unwrap()).unwrap();
    for (kind, content) in objects {
        let hex = object_id(hash, *kind, content).to_string();
        let folder = repository.join("objects").join(&hex[..2]);
        fs::create_dir_all(&folder).unwrap();
        let payload = [format!("{kind} {}\0", content.len()).as_bytes(), content].concat();
        let mut stored = Vec::new();
        encoder.encode(&payload, &mut stored).unwrap();
        fs::write(folder.join(&hex[2..]), stored).unwrap();
    }
    GitRepository::open(&repository).unwrap()
}

/// Converts `source` into the variant `name` beside it.
pub(crate) fn convert(source: &GitRepository, spec: &str, threads: usize, name: &str) -> PathBuf {
    let target = source.git_dir().with_file_name(name);
    let encoding = Encoding::plain(&spec.parse().unwrap());
    let job = ConvertJob { force: true, ..ConvertJob::new(&target, JobControl::quiet(threads)) };
    git::convert(source, &encoding, in_store(StoreKind::Btree), &job).unwrap();
    target
}

pub(crate) fn open(variant: &Path) -> BtreeFile {
    let repository = GitRepository::open(variant).unwrap();
    BtreeFile::open(repository.btree().unwrap(), repository.object_hash()).unwrap()
}

pub(crate) fn places(btree: &BtreeFile) -> Vec<(ObjectId, BtreePlace)> {
    let mut places = Vec::new();
    btree
        .for_each(&mut |id, place| {
            places.push((id, place));
            Ok(())
        })
        .unwrap();
    places
}
