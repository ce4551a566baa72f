//! `diff:patch`: the patch of every commit, newest first.
//!
//! Like the output of `git log -p --no-renames` and `hg log -p --git`: merges are listed, and compared only if the
//! system's own log does; roots are compared with nothing; renames are not detected. The patch of each file is
//! formatted in memory, as both programs do, and reported to the observer.

mod format;
mod hunks;
mod lines;
mod quote;
#[cfg(test)]
mod tests;

use repackbench_reader::{Change, Changes, FileVersion, History, traits::FileMode};
use repackbench_records::WorkloadLabel;

use self::format::{FileContent, PatchWriter, Style};
pub use self::quote::put_quoted;
use super::{HistoryRange, Observer, Workload, WorkloadError, diff};

#[derive(Debug)]
pub(super) struct PatchDiff {
    range: HistoryRange,
    changes: Changes,
    differ: FileDiffer,
}

impl PatchDiff {
    pub(super) fn new(range: HistoryRange) -> Self {
        PatchDiff { range, changes: Changes::default(), differ: FileDiffer::default() }
    }
}

impl Workload for PatchDiff {
    fn label(&self) -> WorkloadLabel {
        diff::label("diff:patch", &self.range, &[])
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let differ = &mut self.differ;
        let style = if history.git_objects().is_some() { Style::Git } else { Style::Hg };
        diff::log(history, &self.range, &mut self.changes, |history, revision, changes| {
            observer.commit(&revision.id);
            for (path, change) in changes.iter() {
                differ.writer.clear();
                differ.add(history, path, change, style, observer)?;
                if !differ.writer.patch().is_empty() {
                    observer.patch(path, change, differ.writer.patch());
                }
            }
            Ok(())
        })?;
        observer.missing(history.missing());
        Ok(())
    }
}

/// Makes the patches of changes, reusing its buffers.
#[derive(Debug, Default)]
struct FileDiffer {
    writer: PatchWriter,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl FileDiffer {
    /// Adds the patch of `change`. A change of type, such as from a file to a symbolic link, is a deletion and an
    /// addition.
    fn add(
        &mut self,
        history: &mut dyn History,
        path: &[u8],
        change: &Change,
        style: Style,
        observer: &mut dyn Observer,
    ) -> Result<(), WorkloadError> {
        let mut add = |old, new| self.add_one(history, path, [old, new], style, observer);
        match (change.old, change.new) {
            (Some(old), Some(new)) if sort(old.mode) != sort(new.mode) => {
                add(Some(old), None)?;
                add(None, Some(new))
            }
            (old, new) => add(old, new),
        }
    }

    /// Leaves out changes of content that a partial clone lacks.
    fn add_one(
        &mut self,
        history: &mut dyn History,
        path: &[u8],
        [old, new]: [Option<FileVersion>; 2],
        style: Style,
        observer: &mut dyn Observer,
    ) -> Result<(), WorkloadError> {
        // If only the mode differs, git reads no content either.
        let has_same_content = old.zip(new).is_some_and(|(old, new)| old.id == new.id);
        for (version, content) in [(old, &mut self.old), (new, &mut self.new)] {
            content.clear();
            if let Some(version) = version.filter(|_| !has_same_content)
                && !diff::read_content(history, path, &version, content, observer)?
            {
                return Ok(());
            }
        }
        let old = old.map(|version| FileContent { version, content: &self.old });
        let new = new.map(|version| FileContent { version, content: &self.new });
        self.writer.add(path, &[old, new], style);
        Ok(())
    }
}

/// The type of a version, without its permissions.
fn sort(mode: FileMode) -> FileMode {
    if mode == FileMode::Executable { FileMode::Regular } else { mode }
}
