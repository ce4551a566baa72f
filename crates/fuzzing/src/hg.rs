//! The formats of Mercurial repositories.

use std::fs;
use std::path::Path;

use repackbench_codec::{Decoders, RevlogDecoder};
use repackbench_reader::hg::delta::{DeltaApplier, Deltas, apply_one};
use repackbench_reader::hg::revlog::{NodeMap, Revlog, RevlogFiles, TextReader};
use repackbench_reader::hg::store_names::{NameEncoding, decode, hashed_names, hashed_tracked_paths};
use repackbench_reader::hg::{HgHistory, HgRepository};
use repackbench_reader::{History, ObjectKind, Result};

use crate::input::Input;

/// The limit for texts and payloads in bytes.
const LIMIT: usize = 1 << 20;

/// A revlog: a byte that says whether it has a data file, its index, and the data file.
pub fn revlog(data: &[u8]) {
    let mut input = Input::new(data);
    let has_data = input.byte() & 1 != 0;
    let index = if has_data { input.part() } else { input.rest() };
    let folder = tempfile::tempdir().expect("a folder");
    let name = |name: &str| folder.path().join(name);
    let files =
        RevlogFiles { index: name("a.i"), data: name("a.d"), has_data, kind: ObjectKind::Filelog, path: b"a".to_vec() };
    fs::write(&files.index, index).expect("to write");
    if has_data {
        fs::write(&files.data, input.rest()).expect("to write");
    }
    let _ = read_revlog(&files);
}

fn read_revlog(files: &RevlogFiles) -> Result<()> {
    let revlog = Revlog::open(files)?;
    let mut decoder = RevlogDecoder::new(Decoders::default());
    let mut texts = TextReader::new(RevlogDecoder::new(Decoders::default()));
    let nodes = NodeMap::new(&revlog);
    let (mut payload, mut stored, mut text) = (Vec::new(), Vec::new(), Vec::new());
    for (revision, entry) in revlog.entries().iter().enumerate() {
        let _ = (revlog.chain_length(revision), revlog.place(revision));
        assert!(nodes.get(&entry.node).is_some());
        let run = revlog.chunks(revision, revision, &mut stored)?;
        let _ = revlog.decode(&mut decoder, revision, run.get(revision)?, LIMIT, &mut payload);
        if texts.read(&revlog, 0, revision, &mut text).is_ok() && entry.is_hashed() {
            assert_eq!(text.len(), entry.text_len as usize, "revision {revision}");
        }
    }
    if let Some(last) = revlog.len().checked_sub(1) {
        let run = revlog.chunks(0, last, &mut stored)?;
        for revision in 0..=last {
            let _ = run.get(revision);
        }
    }
    revlog.index_bytes().map(drop)
}

/// Deltas of Mercurial: a base, and deltas to apply one after another.
pub fn delta(data: &[u8]) {
    let mut input = Input::new(data);
    let base = input.part();
    let (mut payloads, mut ends) = (Vec::new(), Vec::new());
    while !input.is_empty() {
        payloads.extend_from_slice(input.part());
        ends.push(payloads.len());
    }
    let mut expected = Ok(base.to_vec());
    let mut start = 0;
    for end in &ends {
        expected = expected.and_then(|base: Vec<u8>| {
            let mut text = Vec::new();
            apply_one(&base, &payloads[start..*end], LIMIT, &mut text).map(|()| text)
        });
        start = *end;
    }
    let mut text = base.to_vec();
    let applied = DeltaApplier::default().apply(&mut text, Deltas::new(&payloads, &ends), LIMIT).map(|()| text);
    // Of several faults, the two may find another one first.
    assert_eq!(applied.ok(), expected.ok());
}

/// The requirements of a repository: those of the work tree, and those of the store.
pub fn requires(data: &[u8]) {
    let mut input = Input::new(data);
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), ".hg/requires", input.part());
    write(folder.path(), ".hg/store/requires", input.rest());
    let Ok(repository) = HgRepository::open(folder.path()) else { return };
    let requirements = repository.requirements();
    for name in requirements.work_tree.iter().chain(&requirements.store) {
        assert!(requirements.contains(name));
    }
    let replaced = requirements.with_compression(["revlog-compression-zstd"]);
    assert_eq!(replaced.is_share_safe(), requirements.is_share_safe());
    assert_eq!(format!("{:?}", replaced.name_encoding()), format!("{:?}", requirements.name_encoding()));
}

/// What decides which changesets are hidden, in a repository without any: the roots of phases, and the markers.
pub fn visibility(data: &[u8]) {
    let mut input = Input::new(data);
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), ".hg/requires", b"revlogv1\nstore\n");
    write(folder.path(), ".hg/store/phaseroots", input.part());
    write(folder.path(), ".hg/store/obsstore", input.rest());
    let Ok(repository) = HgRepository::open(folder.path()) else { return };
    let mut history = HgHistory::new(&repository, Decoders::default()).expect("an empty history");
    assert!(history.resolve("default").is_err());
}

fn write(folder: &Path, name: &str, content: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
    fs::write(path, content).expect("to write");
}

/// Names in a store: lines of an `fncache`, which are paths of tracked files and names of theirs as well.
pub fn fncache(data: &[u8]) {
    let encodings = [true, false].map(|dots| NameEncoding::Hybrid { dots });
    for encoding in encodings.into_iter().chain([NameEncoding::Plain]) {
        for name in hashed_names(data, encoding).into_keys().chain(hashed_tracked_paths(data, encoding).into_keys()) {
            assert!(name.starts_with(b"dh/"), "{name:?}");
        }
        for line in data.split(|byte| *byte == b'\n') {
            let path = [b"data/", line, b".i"].concat();
            let name = encoding.encode(&path);
            assert!(name.starts_with(b"dh/") || decode(&name).as_deref() == Some(&path), "{line:?}: {name:?}");
        }
    }
    for line in data.split(|byte| *byte == b'\n') {
        let _ = decode(line);
    }
}
