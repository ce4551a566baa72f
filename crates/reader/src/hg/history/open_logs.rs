//! The revlogs other than the changelog, opened on demand.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use gix_hash::{ObjectId, oid};
use rustc_hash::FxHashMap;

use crate::{
    FileRole, ObjectKind, ReaderError, Result,
    access::AccessLog,
    hg::{
        HgRepository,
        revlog::{ENTRY_LEN, Entry, NodeMap, Revlog, RevlogFiles},
        store_names::NameEncoding,
    },
};

/// Limit on the memory of all open revlogs in bytes, as counted by [`OpenLog::memory`].
const MAX_MEMORY: usize = 128 << 20;

/// Limit on the number of open revlogs with a file handle. Systems allow a process about a thousand handles. Inline
/// revlogs need none.
const MAX_HANDLES: usize = 500;

/// The assumed length of a delta in an inline revlog, in bytes.
const TYPICAL_DELTA_LEN: usize = 512;

/// A revlog with more revisions than this gets a map of its nodes after [some look-ups](LOOKUPS_BEFORE_MAP). Building
/// the map costs as much as a few dozen scans of all entries.
const REVISIONS_WITHOUT_MAP: usize = 256;

/// See [`REVISIONS_WITHOUT_MAP`].
const LOOKUPS_BEFORE_MAP: u32 = 16;

/// Revlogs by number and by the file or directory that they belong to.
#[derive(Debug)]
pub(super) struct OpenLogs {
    files: Vec<RevlogFiles>,
    filelogs: FxHashMap<Vec<u8>, usize>,
    manifests: FxHashMap<Vec<u8>, usize>,
    encoding: NameEncoding,
    store_dir: PathBuf,
    /// Revlogs that were used since the current generation began.
    recent: Generation,
    /// The access log while accesses are recorded.
    log: Option<Arc<AccessLog>>,
    /// Revlogs that were used in the previous generation, but not since. All are closed when the next one begins.
    older: Generation,
}

/// Open revlogs by number, and their total memory and handles.
#[derive(Debug, Default)]
struct Generation {
    open: FxHashMap<usize, OpenLog>,
    memory: usize,
    handles: usize,
}

/// An open revlog.
#[derive(Debug)]
struct OpenLog {
    revlog: Revlog,
    /// Number of look-ups of nodes before there was a map.
    lookups: u32,
    nodes: Option<NodeMap>,
}

impl OpenLog {
    fn new(files: &RevlogFiles) -> Result<Self> {
        Ok(OpenLog { revlog: Revlog::open(files)?, lookups: 0, nodes: None })
    }

    /// Its approximate memory in bytes: entries, a map of nodes even if there is none yet, and the whole file of an
    /// inline revlog. It is the same under every codec, so that the same number of revlogs is open: a snapshot counts
    /// with the length of its text, a delta with a typical length.
    fn memory(&self) -> usize {
        let entries = self.revlog.len() * (size_of::<Entry>() + size_of::<(ObjectId, u32)>());
        if self.handles() > 0 {
            return entries;
        }
        let chunk = |(revision, entry): (usize, &Entry)| match self.revlog.delta_base(revision) {
            Some(_) => TYPICAL_DELTA_LEN,
            None => entry.text_len as usize,
        };
        let chunks: usize = self.revlog.entries().iter().enumerate().map(chunk).sum();
        entries + self.revlog.len() * ENTRY_LEN + chunks
    }

    fn handles(&self) -> usize {
        usize::from(self.revlog.header().is_some_and(|header| !header.is_inline()))
    }

    fn find(&mut self, node: &oid) -> Option<usize> {
        if let Some(nodes) = &self.nodes {
            return nodes.get(node);
        }
        self.lookups += 1;
        if self.revlog.len() <= REVISIONS_WITHOUT_MAP || self.lookups < LOOKUPS_BEFORE_MAP {
            return self.revlog.find(node);
        }
        self.nodes.insert(NodeMap::new(&self.revlog)).get(node)
    }
}

impl Generation {
    fn insert(&mut self, number: usize, log: OpenLog) {
        self.memory += log.memory();
        self.handles += log.handles();
        self.open.insert(number, log);
    }

    /// Whether it reaches half of a limit. There are two generations.
    fn is_full(&self) -> bool {
        self.memory >= MAX_MEMORY / 2 || self.handles >= MAX_HANDLES / 2
    }
}

impl OpenLogs {
    pub(super) fn new(repository: &HgRepository) -> Self {
        let by_path = |kind| {
            let files = repository.revlogs().iter().enumerate().filter(move |(_, files)| files.kind == kind);
            files.map(|(number, files)| (files.path.clone(), number)).collect()
        };
        OpenLogs {
            files: repository.revlogs().to_vec(),
            filelogs: by_path(ObjectKind::Filelog),
            manifests: by_path(ObjectKind::Manifest),
            encoding: repository.requirements().name_encoding(),
            store_dir: repository.store_dir(),
            recent: Generation::default(),
            older: Generation::default(),
            log: None,
        }
    }

    /// Starts recording accesses in `log` and adds every file to it; `None` ends the recording. All revlogs are closed,
    /// so that their indexes are read again.
    pub(super) fn set_log(&mut self, log: Option<Arc<AccessLog>>) {
        self.close();
        if let Some(log) = &log {
            let len = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            for files in &self.files {
                log.file(&files.index, FileRole::RevlogIndex, len(&files.index));
                if files.has_data {
                    log.file(&files.data, FileRole::RevlogData, len(&files.data));
                }
            }
        }
        self.log = log;
    }

    /// The numbers of all revlogs, including the changelog.
    pub(super) fn all_numbers(&self) -> std::ops::Range<usize> {
        0..self.files.len()
    }

    /// The numbers of all revlogs except the changelog.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let numbers = self.files.iter().enumerate().filter(|(_, files)| files.kind != ObjectKind::Changelog);
        numbers.map(|(number, _)| number).collect()
    }

    /// The number of the filelog of the tracked file `path`.
    pub(super) fn filelog(&mut self, path: &[u8]) -> Option<usize> {
        if let Some(number) = self.filelogs.get(path) {
            return Some(*number);
        }
        self.find_hashed(ObjectKind::Filelog, &[b"data/", path, b".i"].concat(), path)
    }

    /// The number of the manifest of the directory `path`, which is empty or ends with a slash.
    pub(super) fn manifest(&mut self, path: &[u8]) -> Option<usize> {
        if let Some(number) = self.manifests.get(path) {
            return Some(*number);
        }
        self.find_hashed(ObjectKind::Manifest, &[b"meta/", path, b"00manifest.i"].concat(), path)
    }

    /// Finds a revlog by its encoded name. It is needed for a hashed name that is in no fncache.
    fn find_hashed(&mut self, kind: ObjectKind, name: &[u8], path: &[u8]) -> Option<usize> {
        use std::os::unix::ffi::OsStrExt;
        let index = self.store_dir.join(std::ffi::OsStr::from_bytes(&self.encoding.encode(name)));
        let number = self.files.iter().position(|files| files.index == index)?;
        let known = if kind == ObjectKind::Manifest { &mut self.manifests } else { &mut self.filelogs };
        known.insert(path.to_owned(), number);
        Some(number)
    }

    /// The revlog with this number.
    pub(super) fn open(&mut self, number: usize) -> Result<&Revlog> {
        self.open_log(number).map(|log| &log.revlog)
    }

    /// The revision of `node` in the revlog with this number.
    pub(super) fn find(&mut self, number: usize, node: &oid) -> Result<Option<usize>> {
        Ok(self.open_log(number)?.find(node))
    }

    fn open_log(&mut self, number: usize) -> Result<&mut OpenLog> {
        let OpenLogs { recent, older, files, store_dir, log: accesses, .. } = self;
        let unknown = || ReaderError::NotARepository {
            path: store_dir.clone(),
            why: format!("it has no revlog number {number}"),
        };
        if !recent.open.contains_key(&number) {
            let log = match older.open.remove(&number) {
                Some(log) => log,
                None => {
                    let mut log = OpenLog::new(files.get(number).ok_or_else(unknown)?)?;
                    log.revlog.set_log(accesses.as_ref());
                    log
                }
            };
            if recent.is_full() {
                *older = std::mem::take(recent);
            }
            recent.insert(number, log);
        }
        recent.open.get_mut(&number).ok_or_else(unknown)
    }

    /// The folder of the revlogs.
    pub(super) fn store_dir(&self) -> &Path {
        &self.store_dir
    }

    /// Closes all revlogs.
    pub(super) fn close(&mut self) {
        self.recent = Generation::default();
        self.older = Generation::default();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The index of a revlog with `count` empty revisions. Their nodes have 1, 2, ... in the first four bytes.
    fn index(count: u32, is_inline: bool) -> Vec<u8> {
        let mut index = Vec::new();
        for revision in 0..count {
            let header: u32 = if is_inline { 0x1_0001 } else { 1 };
            index.extend_from_slice(&if revision == 0 { header } else { 0 }.to_be_bytes());
            let [none, revision_bytes] = [u32::MAX, revision].map(u32::to_be_bytes);
            index.extend_from_slice(&[[0; 4], [0; 4], [0; 4], revision_bytes, [0; 4], none, none].concat());
            index.extend_from_slice(&node(revision).as_bytes().iter().copied().chain([0; 12]).collect::<Vec<_>>());
        }
        index
    }

    fn node(revision: u32) -> ObjectId {
        ObjectId::Sha1([(revision + 1).to_be_bytes().as_slice(), &[0; 16]].concat().try_into().unwrap())
    }

    /// The revlogs of a repository with `count` tracked files that have this index. The folder can be removed.
    fn logs(count: usize, index: &[u8]) -> (tempfile::TempDir, OpenLogs) {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(".hg/store/data");
        fs::create_dir_all(&data).unwrap();
        fs::write(folder.path().join(".hg/requires"), "store\nrevlogv1\n").unwrap();
        for number in 0..count {
            fs::write(data.join(format!("{number}.i")), index).unwrap();
            fs::write(data.join(format!("{number}.d")), b"").unwrap();
        }
        let logs = OpenLogs::new(&HgRepository::open(folder.path()).unwrap());
        (folder, logs)
    }

    #[test]
    fn inline_revlogs_are_opened_once() {
        let (folder, mut logs) = logs(MAX_HANDLES * 3, &index(2, true));
        for number in logs.numbers() {
            assert_eq!(logs.open(number).unwrap().len(), 2);
        }
        drop(folder);
        for number in logs.numbers() {
            assert!(logs.open(number).is_ok(), "revlog {number} was closed");
        }
        logs.close();
        assert!(logs.open(0).is_err());
    }

    #[test]
    fn handles_are_limited_and_recently_used_stay_open() {
        let (folder, mut logs) = logs(MAX_HANDLES * 3, &index(2, false));
        let numbers = logs.numbers();
        for number in &numbers {
            logs.open(*number).unwrap();
            // Used again and again, so it is never closed.
            logs.open(numbers[0]).unwrap();
            assert!(logs.recent.open.len() + logs.older.open.len() <= MAX_HANDLES);
        }
        drop(folder);
        let last = &numbers[numbers.len() - MAX_HANDLES / 2 + 1..];
        for number in last.iter().chain([&numbers[0]]) {
            assert!(logs.open(*number).is_ok(), "revlog {number} was closed");
        }
        assert!(logs.open(numbers[1]).is_err());
    }

    #[test]
    fn node_map_is_built_after_many_lookups() {
        for count in [1, 20, 1000] {
            let (_folder, mut logs) = logs(1, &index(count, true));
            for asked in 0..100 {
                let revision = asked * 7 % count;
                assert_eq!(logs.find(0, &node(revision)).unwrap(), Some(revision as usize));
                assert_eq!(logs.find(0, &node(count)).unwrap(), None);
            }
            let has_map = logs.recent.open.values().any(|log| log.nodes.is_some());
            assert_eq!(has_map, count as usize > REVISIONS_WITHOUT_MAP);
        }
    }
}
