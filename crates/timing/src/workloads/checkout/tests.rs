//! Checkout of a repository that is not Git's.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use gix_hash::{Kind, ObjectId, oid};
use repackbench_codec::DecodeMemo;
use repackbench_reader::{
    AccessTrace, Changes, ChunkInMemory, ContentVisitor, FileVersion, History, Recording, Result, Revision,
    SizeVisitor, TraverseVisitor, traits::FileMode,
};

use super::{Checkout, Workload};
use crate::workloads::{Counter, Digester, Observer, observer::tests::MadeUpClock};

/// A history of one revision without Git objects. Decoding a file takes a second on its clock, if it has one.
struct Files {
    files: BTreeMap<&'static str, (FileMode, &'static [u8])>,
    clock: Option<Arc<MadeUpClock>>,
}

impl Files {
    fn of<const N: usize>(files: [(&'static str, (FileMode, &'static [u8])); N]) -> Self {
        Files { files: BTreeMap::from(files), clock: None }
    }
}

impl History for Files {
    fn resolve(&mut self, _name: &str) -> Result<ObjectId> {
        Ok(ObjectId::null(Kind::Sha1))
    }

    fn traverse_newest(&mut self, _commits: u64, _visit: &mut TraverseVisitor<'_>) -> Result<()> {
        Ok(())
    }

    fn sizes(&mut self, _visit: &mut SizeVisitor<'_>) -> Result<()> {
        Ok(())
    }

    fn contents(&mut self, _visit: &mut ContentVisitor<'_>) -> Result<()> {
        Ok(())
    }

    fn start_log(&mut self, _from: ObjectId) -> Result<()> {
        Ok(())
    }

    fn next_revision(&mut self) -> Result<Option<Revision>> {
        Ok(None)
    }

    fn changes(&mut self, _revision: &Revision, _changes: &mut Changes) -> Result<()> {
        Ok(())
    }

    fn manifest(&mut self, id: &oid, files: &mut Changes) -> Result<()> {
        files.clear();
        for (path, (mode, _)) in &self.files {
            files.push(path.as_bytes(), None, Some(FileVersion { id: id.to_owned(), mode: *mode }));
        }
        Ok(())
    }

    fn content(&mut self, path: &[u8], _file: &FileVersion, content: &mut Vec<u8>) -> Result<bool> {
        let file = std::str::from_utf8(path).ok().and_then(|path| self.files.get(path));
        self.clock.iter().for_each(|clock| clock.pass(1000));
        content.clear();
        content.extend_from_slice(file.map(|(_, content)| *content).unwrap_or_default());
        Ok(file.is_some())
    }

    fn clear_caches(&mut self) {}

    fn record_accesses(&mut self, _recording: Recording) {}

    fn take_accesses(&mut self) -> AccessTrace {
        AccessTrace::default()
    }

    fn decode_again(&mut self, _chunk: &ChunkInMemory<'_>, _payload: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }

    fn set_memo(&mut self, _memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        None
    }

    fn missing(&self) -> u64 {
        0
    }
}

#[test]
fn only_git_has_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = Files::of([
        (".gitattributes", (FileMode::Regular, &b"* text eol=crlf ident\n"[..])),
        ("dir/text", (FileMode::Executable, b"a\n$Id$\n")),
    ]);
    let mut counter = Counter::default();
    let mut checkout = Checkout::new("tip", Some(folder.path().to_owned()));
    checkout.run(&mut history, &mut counter).unwrap();
    assert_eq!(fs::read(folder.path().join("dir/text")).unwrap(), b"a\n$Id$\n");
    assert_eq!(fs::read(folder.path().join(".gitattributes")).unwrap(), b"* text eol=crlf ident\n");
    assert_eq!(counter.counts(), BTreeMap::from([("files".to_owned(), 2), ("file bytes".to_owned(), 29)]));
}

#[test]
fn links_are_not_followed() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = outside.path().to_str().unwrap().to_owned().leak();
    let mut history =
        Files::of([("a", (FileMode::Symlink, target.as_bytes())), ("a/b", (FileMode::Regular, b"forged"))]);
    let mut checkout = Checkout::new("tip", Some(folder.path().to_owned()));
    let error = checkout.run(&mut history, &mut Counter::default()).unwrap_err();
    assert!(error.to_string().contains("/a/b: "), "{error}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

/// An hgrc in either place could name programs that hg runs.
#[test]
fn nothing_is_written_into_a_repository() {
    for path in [".hg/hgrc", "sub/.hg/hgrc", ".HG/hgrc", "../escaped", "/escaped"] {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("folder");
        fs::create_dir(&folder).unwrap();
        let mut history = Files::of([(path, (FileMode::Regular, &b"[hooks]\n"[..]))]);
        let mut checkout = Checkout::new("tip", Some(folder.clone()));
        let error = checkout.run(&mut history, &mut Counter::default()).unwrap_err();
        assert!(error.to_string().contains("has a component that hg forbids"), "{error}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{path}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "{path}");
    }
}

#[test]
fn names_that_only_git_forbids_are_written_for_hg() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = Files::of([
        (".git/config", (FileMode::Regular, &b"a file as any other\n"[..])),
        (".gitmodules", (FileMode::Symlink, b"elsewhere")),
        ("git~1", (FileMode::Regular, b"")),
    ]);
    let mut checkout = Checkout::new("tip", Some(folder.path().to_owned()));
    checkout.run(&mut history, &mut Counter::default()).unwrap();
    assert_eq!(fs::read(folder.path().join(".git/config")).unwrap(), b"a file as any other\n");
    assert_eq!(fs::read_link(folder.path().join(".gitmodules")).unwrap().to_str(), Some("elsewhere"));
}

#[test]
fn clock_is_read_around_files_but_not_while_decoding() {
    let clock = Arc::new(MadeUpClock::default());
    let mut history = Files::of([
        ("a/b/c", (FileMode::Regular, &b"one"[..])),
        ("a/link", (FileMode::Symlink, b"b/c")),
        ("z", (FileMode::Executable, b"two")),
    ]);
    history.clock = Some(Arc::clone(&clock));
    let mut run = |observer: &mut dyn Observer| {
        let folder = tempfile::tempdir().unwrap();
        let mut checkout = Checkout::new("tip", Some(folder.path().to_owned()));
        checkout.run(&mut history, observer).unwrap();
    };
    let mut counter = Counter::timing_writes(&*clock);
    run(&mut counter);
    // Each file and link takes the millisecond of one reading, and none of the seconds of decoding.
    assert_eq!((clock.readings(), counter.writing().unwrap()), (6, Some(Duration::from_millis(3))));
    run(&mut Digester::default());
    run(&mut Counter::default());
    assert_eq!(clock.readings(), 6, "nobody times these runs");
}
