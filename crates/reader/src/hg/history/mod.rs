//! A Mercurial repository as revisions and content.
//!
//! Hidden changesets are read like all others, as with `hg --hidden`, but names and `tip` do not lead to them.

mod manifests;
mod open_logs;
mod revision_name;
mod visibility;

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc};

use gix_hash::{ObjectId, oid};
use repackbench_codec::{DecodeMemo, Decoders};

use self::{manifests::Manifests, open_logs::OpenLogs};
use super::{
    HgRepository, changeset, filelog, lfs,
    revlog::{NodeMap, Revlog, TextReader},
};
use crate::{
    AccessTrace, CacheLookups, Changes, ChunkInMemory, Content, ContentVisitor, FileRole, FileVersion, History,
    ObjectKind, Place, ReaderError, Recording, Result, Revision, SizeVisitor, TraverseVisitor,
    access::{Access, AccessLog, AccessPart},
};

/// The number of the changelog. The number of any other revlog is its position in [`HgRepository::revlogs`].
const CHANGELOG: usize = usize::MAX;

/// The history of a Mercurial repository.
#[derive(Debug)]
pub struct HgHistory {
    hg_dir: PathBuf,
    changelog: Revlog,
    nodes: NodeMap,
    logs: OpenLogs,
    texts: TextReader,
    manifests: Manifests,
    log: Log,
    text: Vec<u8>,
    missing: BTreeSet<ObjectId>,
    /// The access log while accesses are recorded. Open revlogs have it too.
    log_of_accesses: Option<Arc<AccessLog>>,
}

/// The state of a log: the revisions still to be listed, all reachable from the start of the log.
#[derive(Debug, Default)]
struct Log {
    is_reached: Vec<bool>,
    /// One above the next revision to check.
    next: usize,
}

impl HgHistory {
    /// The history of `repository`. `decoders` names the implementations that decode chunks.
    ///
    /// # Errors
    /// The changelog cannot be opened, or a dictionary cannot be read.
    pub fn new(repository: &HgRepository, decoders: impl Into<Decoders>) -> Result<Self> {
        let changelog = match repository.revlogs().iter().find(|files| files.kind == ObjectKind::Changelog) {
            Some(files) => Revlog::open(files)?,
            // The repository has no commits.
            None => Revlog::empty(),
        };
        Ok(HgHistory {
            hg_dir: repository.hg_dir().to_owned(),
            nodes: NodeMap::new(&changelog),
            changelog,
            logs: OpenLogs::new(repository),
            texts: TextReader::new(repository.decoder(decoders)?),
            manifests: Manifests::default(),
            log: Log::default(),
            text: Vec::new(),
            missing: BTreeSet::new(),
            log_of_accesses: None,
        })
    }

    /// The changelog revision of the changeset `id`.
    fn changeset(&self, id: &oid) -> Result<usize> {
        self.nodes.get(id).ok_or_else(|| ReaderError::Missing { path: self.changelog_path(), id: id.to_owned() })
    }

    fn changelog_path(&self) -> PathBuf {
        self.hg_dir.join("store/00changelog.i")
    }

    /// The manifest of the changeset `revision`.
    fn manifest_of(&mut self, revision: usize) -> Result<ObjectId> {
        self.texts.read(&self.changelog, CHANGELOG, revision, &mut self.text)?;
        changeset::manifest(&self.text).ok_or_else(|| self.changelog.corrupt(revision, "a changeset", "another text"))
    }

    /// Replaces the pointer in `content` by the content that it refers to; `false` if that is not in this repository.
    fn follow_pointer(&self, content: &mut Vec<u8>) -> Result<bool> {
        let Some(path) = lfs::content_path(&self.hg_dir, content) else { return Ok(false) };
        match fs::read(&path) {
            Ok(object) => *content = object,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(ReaderError::io("read", path, error)),
        }
        if let Some(log) = &self.log_of_accesses {
            let len = content.len() as u64;
            let file = log.file(&path, FileRole::External, len);
            log.access(Access { file, part: AccessPart::Chunk, kind: None, offset: 0, len });
        }
        Ok(true)
    }

    /// Lists every revision of every revlog except the changelog as (changeset, revlog, revision), ordered by
    /// changeset.
    fn introductions(&mut self) -> Result<Vec<(u32, u32, u32)>> {
        let mut introductions = Vec::new();
        for number in self.logs.numbers() {
            let revlog = self.logs.open(number)?;
            for (revision, entry) in (0_u32..).zip(revlog.entries()) {
                let link = u32::try_from(entry.link).ok().filter(|link| (*link as usize) < self.changelog.len());
                let Some(link) = link else {
                    let place = Place::Revision(revision as usize);
                    let expected = format!("a changeset below {}", self.changelog.len());
                    return Err(ReaderError::corrupt(&revlog.files().index, place, expected, entry.link.to_string()));
                };
                introductions.push((link, u32::try_from(number).unwrap_or(u32::MAX), revision));
            }
        }
        introductions.sort_unstable();
        Ok(introductions)
    }
}

impl History for HgHistory {
    fn resolve(&mut self, name: &str) -> Result<ObjectId> {
        self.revision_named(name)
    }

    /// Visits and decodes the last changesets, with the manifests and file revisions that they introduced.
    fn traverse_newest(&mut self, commits: u64, visit: &mut TraverseVisitor<'_>) -> Result<()> {
        let introductions = self.introductions()?;
        let first = self.changelog.len().saturating_sub(usize::try_from(commits).unwrap_or(usize::MAX));
        let before = introductions.partition_point(|(link, _, _)| (*link as usize) < first);
        let (_, mut rest) = introductions.split_at(before);
        for changeset in first..self.changelog.len() {
            self.texts.read(&self.changelog, CHANGELOG, changeset, &mut self.text)?;
            visit(ObjectKind::Changelog, &self.changelog.entry(changeset)?.node);
            let introduced = rest.partition_point(|(link, _, _)| *link as usize <= changeset);
            let (now, later) = rest.split_at(introduced);
            rest = later;
            for (_, number, revision) in now {
                let (number, revision) = (*number as usize, *revision as usize);
                let revlog = self.logs.open(number)?;
                self.texts.read(revlog, number, revision, &mut self.text)?;
                visit(revlog.files().kind, &revlog.entry(revision)?.node);
            }
        }
        Ok(())
    }

    fn sizes(&mut self, visit: &mut SizeVisitor<'_>) -> Result<()> {
        for number in self.logs.all_numbers() {
            let revlog = self.logs.open(number)?;
            for entry in revlog.entries() {
                visit(revlog.files().kind, &entry.node, u64::from(entry.text_len));
            }
        }
        Ok(())
    }

    fn contents(&mut self, visit: &mut ContentVisitor<'_>) -> Result<()> {
        for number in self.logs.all_numbers() {
            let revlog = self.logs.open(number)?;
            for (revision, entry) in revlog.entries().iter().enumerate() {
                self.texts.read(revlog, number, revision, &mut self.text)?;
                visit(revlog.files().kind, &entry.node, Content::Whole(&self.text));
            }
        }
        Ok(())
    }

    fn start_log(&mut self, from: ObjectId) -> Result<()> {
        let start = self.changeset(&from)?;
        self.log.is_reached.clear();
        self.log.is_reached.resize(start + 1, false);
        self.log.next = start + 1;
        if let Some(reached) = self.log.is_reached.last_mut() {
            *reached = true;
        }
        Ok(())
    }

    /// The next ancestor by descending revision number, as `hg log -r 'reverse(::START)'` lists them.
    fn next_revision(&mut self) -> Result<Option<Revision>> {
        let Log { is_reached, next } = &mut self.log;
        let Some(at) = is_reached.get(..*next).and_then(|left| left.iter().rposition(|reached| *reached)) else {
            return Ok(None);
        };
        *next = at;
        let entry = *self.changelog.entry(at)?;
        for parent in entry.parents.into_iter().filter_map(|parent| usize::try_from(parent).ok()) {
            // A parent is an earlier revision. A later one would never be listed.
            if let Some(reached) = is_reached.get_mut(parent).filter(|_| parent < at) {
                *reached = true;
            }
        }
        let parent_manifest = match usize::try_from(entry.parents[0]) {
            Ok(parent) => Some(self.manifest_of(parent)?),
            Err(_) => None,
        };
        let manifest = self.manifest_of(at)?;
        Ok(Some(Revision { id: entry.node, manifest, parent_manifest, is_compared: true }))
    }

    fn changes(&mut self, revision: &Revision, changes: &mut Changes) -> Result<()> {
        changes.clear();
        let HgHistory { manifests, logs, texts, .. } = self;
        manifests.compare(revision.parent_manifest.as_ref(), &revision.manifest, logs, texts, changes)
    }

    fn manifest(&mut self, id: &oid, files: &mut Changes) -> Result<()> {
        files.clear();
        let revision = self.changeset(id)?;
        let manifest = self.manifest_of(revision)?;
        let HgHistory { manifests, logs, texts, .. } = self;
        manifests.compare(None, &manifest, logs, texts, files)
    }

    /// The content as hg writes it to a work tree: without metadata, and with pointers resolved. A censored file is
    /// missing.
    fn content(&mut self, path: &[u8], file: &FileVersion, content: &mut Vec<u8>) -> Result<bool> {
        let Some(number) = self.logs.filelog(path) else {
            self.missing.insert(file.id);
            return Ok(false);
        };
        let Some(revision) = self.logs.find(number, &file.id)? else {
            self.missing.insert(file.id);
            return Ok(false);
        };
        let revlog = self.logs.open(number)?;
        let entry = *revlog.entry(revision)?;
        self.texts.read(revlog, number, revision, content)?;
        let is_here = if entry.is_stored_externally() {
            self.follow_pointer(content)?
        } else {
            content.drain(..filelog::metadata_len(content));
            !entry.is_censored()
        };
        if !is_here {
            content.clear();
            self.missing.insert(file.id);
        }
        Ok(is_here)
    }

    fn clear_caches(&mut self) {
        self.texts.clear_caches();
        self.logs.close();
        self.missing.clear();
    }

    fn set_delta_cache(&mut self, limit_bytes: Option<u64>) {
        self.texts.set_cache_limit(limit_bytes);
    }

    fn delta_cache_lookups(&self) -> CacheLookups {
        self.texts.cache_lookups()
    }

    fn missing(&self) -> u64 {
        self.missing.len() as u64
    }

    fn record_accesses(&mut self, recording: Recording) {
        let log = AccessLog::new(recording);
        self.logs.set_log(Some(Arc::clone(&log)));
        self.changelog.set_log(Some(&log));
        self.log_of_accesses = Some(log);
    }

    fn take_accesses(&mut self) -> AccessTrace {
        self.logs.set_log(None);
        self.changelog.set_log(None);
        self.log_of_accesses.take().map(|log| log.take()).unwrap_or_default()
    }

    fn decode_again(&mut self, chunk: &ChunkInMemory<'_>, payload: &mut Vec<u8>) -> Result<()> {
        self.texts.decode_again(chunk, payload)
    }

    fn set_memo(&mut self, memo: Option<Box<DecodeMemo>>) -> Option<Box<DecodeMemo>> {
        self.texts.set_memo(memo)
    }
}
