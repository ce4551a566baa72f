//! The revlogs besides the changelog, opened when they are needed.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use rustc_hash::FxHashMap;

use crate::{
    ObjectKind, ReaderError, Result,
    hg::{
        HgRepository,
        revlog::{NodeMap, Revlog, RevlogFiles},
        store_names::NameEncoding,
    },
};

/// How many revlogs are open at once at most. Each holds its index in memory and perhaps a file handle, of which systems give
/// a process about a thousand.
const MOST_OPEN: usize = 500;

/// A revlog with more revisions than this is asked for nodes through a map.
const WORTH_A_MAP: usize = 4096;

/// Revlogs by number and by what they belong to.
#[derive(Debug)]
pub(super) struct OpenLogs {
    files: Vec<RevlogFiles>,
    filelogs: FxHashMap<Vec<u8>, usize>,
    manifests: FxHashMap<Vec<u8>, usize>,
    encoding: NameEncoding,
    store_dir: PathBuf,
    open: FxHashMap<usize, Revlog>,
    node_maps: HashMap<usize, NodeMap>,
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
            open: FxHashMap::default(),
            node_maps: HashMap::new(),
        }
    }

    /// The numbers of all of them.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let numbers = self.files.iter().enumerate().filter(|(_, files)| files.kind != ObjectKind::Changelog);
        numbers.map(|(number, _)| number).collect()
    }

    /// The filelog of the tracked file `path`.
    pub(super) fn filelog(&mut self, path: &[u8]) -> Option<usize> {
        if let Some(number) = self.filelogs.get(path) {
            return Some(*number);
        }
        self.find_hashed(ObjectKind::Filelog, &[b"data/", path, b".i"].concat(), path)
    }

    /// The manifest of the directory `path`, which is empty or ends with a slash.
    pub(super) fn manifest(&mut self, path: &[u8]) -> Option<usize> {
        if let Some(number) = self.manifests.get(path) {
            return Some(*number);
        }
        self.find_hashed(ObjectKind::Manifest, &[b"meta/", path, b"00manifest.i"].concat(), path)
    }

    /// Finds a revlog by the name that the store gives it: a hashed one of which no fncache says what it stands for.
    fn find_hashed(&mut self, kind: ObjectKind, name: &[u8], path: &[u8]) -> Option<usize> {
        use std::os::unix::ffi::OsStrExt;
        let index = self.store_dir.join(std::ffi::OsStr::from_bytes(&self.encoding.encode(name)));
        let number = self.files.iter().position(|files| files.index == index)?;
        let known = if kind == ObjectKind::Manifest { &mut self.manifests } else { &mut self.filelogs };
        known.insert(path.to_owned(), number);
        Some(number)
    }

    /// The revlog of that number.
    pub(super) fn open(&mut self, number: usize) -> Result<&Revlog> {
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&number) {
            self.open.clear();
        }
        match self.open.entry(number) {
            std::collections::hash_map::Entry::Occupied(open) => Ok(open.into_mut()),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                let files = self.files.get(number).ok_or_else(|| ReaderError::NotARepository {
                    path: self.store_dir.clone(),
                    why: format!("it has no revlog number {number}"),
                })?;
                Ok(vacant.insert(Revlog::open(files)?))
            }
        }
    }

    /// The revision of `node` in the revlog of that number.
    pub(super) fn find(&mut self, number: usize, node: &gix_hash::oid) -> Result<Option<usize>> {
        if self.open(number)?.len() <= WORTH_A_MAP {
            return Ok(self.open(number)?.find(node));
        }
        if !self.node_maps.contains_key(&number) {
            let map = NodeMap::new(self.open(number)?);
            self.node_maps.insert(number, map);
        }
        Ok(self.node_maps.get(&number).and_then(|map| map.get(node)))
    }

    /// The folder that they lie in.
    pub(super) fn store_dir(&self) -> &Path {
        &self.store_dir
    }

    /// Closes all of them.
    pub(super) fn close(&mut self) {
        self.open.clear();
        self.node_maps.clear();
    }
}
