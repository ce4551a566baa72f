//! `diff:raw` and `diff:pickaxe`: every commit compared with its parent, newest first.
//!
//! Like `git log --raw --no-renames` and `git log -S<string> --no-renames`: in Git, merges are listed but not compared,
//! roots are compared with nothing, and renames are not detected. (Mercurial's log compares merges with their first
//! parents; the history knows which revisions are compared.)

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use repackbench_reader::{Changes, FileVersion, History, Revision, traits::FileMode};
use repackbench_records::WorkloadLabel;

use super::{HistoryRange, Observer, Workload, WorkloadError, start};

/// The label of a workload over `range` with `parameters` of its own.
pub(super) fn label(name: &str, range: &HistoryRange, parameters: &[(&str, &str)]) -> WorkloadLabel {
    let mut parameters: BTreeMap<String, String> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    parameters.insert("rev".into(), range.revision.clone());
    if let Some(commits) = range.commits {
        parameters.insert("commits".into(), commits.to_string());
    }
    WorkloadLabel { name: name.to_owned(), parameters }
}

/// Calls `visit` on every commit of `range` with its changes; a commit that is not compared has none.
pub(super) fn log(
    history: &mut dyn History,
    range: &HistoryRange,
    changes: &mut Changes,
    mut visit: impl FnMut(&mut dyn History, &Revision, &Changes) -> Result<(), WorkloadError>,
) -> Result<(), WorkloadError> {
    let tip = start(history, &range.revision)?;
    history.start_log(tip)?;
    let mut left = range.commits.unwrap_or(u64::MAX);
    while left > 0
        && let Some(revision) = history.next_revision()?
    {
        left -= 1;
        changes.clear();
        if revision.is_compared {
            history.changes(&revision, changes)?;
        }
        visit(history, &revision, changes)?;
    }
    Ok(())
}

#[derive(Debug)]
pub(super) struct RawDiff {
    range: HistoryRange,
    changes: Changes,
}

impl RawDiff {
    pub(super) fn new(range: HistoryRange) -> Self {
        RawDiff { range, changes: Changes::default() }
    }
}

impl Workload for RawDiff {
    fn label(&self) -> WorkloadLabel {
        label("diff:raw", &self.range, &[])
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        log(history, &self.range, &mut self.changes, |_, revision, changes| {
            observer.commit(&revision.id);
            for (path, change) in changes.iter() {
                observer.change(path, change);
            }
            Ok(())
        })?;
        observer.missing(history.missing());
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct PickaxeDiff {
    range: HistoryRange,
    needle: String,
    finder: Finder<'static>,
    changes: Changes,
    content: Vec<u8>,
}

impl PickaxeDiff {
    pub(super) fn new(range: HistoryRange, needle: &str) -> Self {
        PickaxeDiff {
            range,
            needle: needle.to_owned(),
            finder: Finder::new(needle).into_owned(),
            changes: Changes::default(),
            content: Vec::new(),
        }
    }
}

impl Workload for PickaxeDiff {
    fn label(&self) -> WorkloadLabel {
        label("diff:pickaxe", &self.range, &[("string", &self.needle)])
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let (finder, content) = (&self.finder, &mut self.content);
        log(history, &self.range, &mut self.changes, |history, revision, changes| {
            observer.commit(&revision.id);
            let mut is_hit = false;
            // git searches every changed file even after the first hit, since it would list them all.
            for (path, change) in changes.iter() {
                let mut count = |version: &Option<FileVersion>| match version {
                    Some(version) => occurrences(history, finder, path, version, content, observer),
                    None => Ok(0),
                };
                is_hit |= count(&change.old)? != count(&change.new)?;
            }
            if is_hit {
                observer.hit(&revision.id);
            }
            Ok(())
        })?;
        observer.missing(history.missing());
        Ok(())
    }
}

/// The number of non-overlapping occurrences of the needle in one version of a file; 0 if the version is missing.
fn occurrences(
    history: &mut dyn History,
    finder: &Finder<'_>,
    path: &[u8],
    version: &FileVersion,
    content: &mut Vec<u8>,
    observer: &mut dyn Observer,
) -> Result<usize, WorkloadError> {
    let is_there = read_content(history, path, version, content, observer)?;
    Ok(if is_there { finder.find_iter(content).count() } else { 0 })
}

/// Reads the content of `version` for a diff into `content`, and reports it to the observer; `false` if it is missing.
pub(super) fn read_content(
    history: &mut dyn History,
    path: &[u8],
    version: &FileVersion,
    content: &mut Vec<u8>,
    observer: &mut dyn Observer,
) -> Result<bool, WorkloadError> {
    if version.mode == FileMode::Gitlink {
        // The content that git gives a submodule in a diff (diff_populate_gitlink() in diff.c).
        content.clear();
        content.extend_from_slice(format!("Subproject commit {}\n", version.id).as_bytes());
    } else if !history.content(path, version, content)? {
        return Ok(false);
    }
    observer.content(content);
    Ok(true)
}
