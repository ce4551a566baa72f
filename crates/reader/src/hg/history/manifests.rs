//! Comparing manifests: of the whole repository, or one per directory.

use gix_hash::ObjectId;

use super::open_logs::OpenLogs;
use crate::{
    Changes, FileVersion, Place, ReaderError, Result,
    hg::{
        manifest::{self, BadLine, Line},
        revlog::TextReader,
    },
};

/// Compares manifests and reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    path: Vec<u8>,
    spare: Vec<Vec<u8>>,
}

/// Why manifests cannot be compared. The caller adds which of them has the bad line.
enum Failure {
    BadLine(BadLine),
    Reader(ReaderError),
}

impl From<BadLine> for Failure {
    fn from(line: BadLine) -> Self {
        Failure::BadLine(line)
    }
}

impl Manifests {
    /// Adds the differences between two root manifests to `changes`. There may be no old one.
    pub(super) fn compare(
        &mut self,
        old: Option<&ObjectId>,
        new: &ObjectId,
        logs: &mut OpenLogs,
        texts: &mut TextReader,
        changes: &mut Changes,
    ) -> Result<()> {
        self.path.clear();
        if old == Some(new) {
            return Ok(());
        }
        self.compare_directory(old, Some(new), logs, texts, changes)
    }

    /// Compares the manifests of the directory `self.path`.
    fn compare_directory(
        &mut self,
        old: Option<&ObjectId>,
        new: Option<&ObjectId>,
        logs: &mut OpenLogs,
        texts: &mut TextReader,
        changes: &mut Changes,
    ) -> Result<()> {
        let (mut old_text, mut new_text) = (self.spare.pop().unwrap_or_default(), self.spare.pop().unwrap_or_default());
        self.read(old, logs, texts, &mut old_text)?;
        self.read(new, logs, texts, &mut new_text)?;
        let base_len = self.path.len();
        let compared = manifest::differences(&old_text, &new_text, |old, new| {
            self.compare_lines(old, new, logs, texts, changes).map_err(Failure::Reader)
        });
        self.path.truncate(base_len);
        self.spare.extend([old_text, new_text]);
        compared.map_err(|failure| match failure {
            Failure::Reader(error) => error,
            Failure::BadLine(line) => damaged(line, new.or(old), logs),
        })
    }

    fn compare_lines(
        &mut self,
        old: Option<Line<'_>>,
        new: Option<Line<'_>>,
        logs: &mut OpenLogs,
        texts: &mut TextReader,
        changes: &mut Changes,
    ) -> Result<()> {
        let Some(name) = old.or(new).map(|line| line.path) else { return Ok(()) };
        let base_len = self.path.len();
        self.path.extend_from_slice(name);
        let file = |line: Option<Line<'_>>| line.and_then(|line| line.version());
        let directory = |line: Option<Line<'_>>| line.filter(|line| line.mode.is_none()).map(|line| line.node);
        let (old_file, new_file): (Option<FileVersion>, Option<FileVersion>) = (file(old), file(new));
        if old_file.is_some() || new_file.is_some() {
            changes.push(&self.path, old_file, new_file);
        }
        let (old, new) = (directory(old), directory(new));
        if old.is_some() || new.is_some() {
            self.path.push(b'/');
            self.compare_directory(old.as_ref(), new.as_ref(), logs, texts, changes)?;
        }
        self.path.truncate(base_len);
        Ok(())
    }

    /// Replaces `text` by the manifest `node` of the directory `self.path`, or clears it without a node.
    fn read(
        &self,
        node: Option<&ObjectId>,
        logs: &mut OpenLogs,
        texts: &mut TextReader,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        text.clear();
        // A changeset without files has the null manifest.
        let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(()) };
        let missing = |logs: &OpenLogs| ReaderError::Missing { path: logs.store_dir().to_owned(), id: *node };
        let Some(number) = logs.manifest(&self.path) else { return Err(missing(logs)) };
        let Some(revision) = logs.find(number, node)? else { return Err(missing(logs)) };
        texts.read(logs.open(number)?, number, revision, text)
    }
}

fn damaged(line: BadLine, node: Option<&ObjectId>, logs: &OpenLogs) -> ReaderError {
    let place = node.map_or(Place::Whole, |node| Place::Object(*node));
    ReaderError::corrupt(&logs.store_dir().join("00manifest.i"), place, line.expected(), line.found())
}
