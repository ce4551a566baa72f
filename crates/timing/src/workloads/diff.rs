//! `diff:raw` and `diff:pickaxe`: every commit compared with its parent, newest first.
//!
//! Merges are listed and not compared, roots are compared with nothing, renames are not looked for: what
//! `git log --raw --no-renames` and `git log -S<string> --no-renames` do.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use repackbench_reader::{Changes, FileVersion, History, Revision, git::GitHistory, traits::FileMode};
use repackbench_records::WorkloadLabel;

use super::{Observer, Workload, WorkloadError, start};

fn label(name: &str, parameters: &[(&str, &str)]) -> WorkloadLabel {
    let parameters: BTreeMap<String, String> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    WorkloadLabel { name: name.to_owned(), parameters }
}

/// Calls `visit` on every commit reachable from `revision` with its changes, which are none for a merge.
fn log(
    history: &mut GitHistory,
    revision: &str,
    changes: &mut Changes,
    mut visit: impl FnMut(&mut GitHistory, &Revision, &Changes) -> Result<(), WorkloadError>,
) -> Result<(), WorkloadError> {
    let tip = start(history, revision)?;
    history.start_log(tip)?;
    while let Some(revision) = history.next_revision()? {
        changes.clear();
        if revision.parents < 2 {
            history.changes(&revision, changes)?;
        }
        visit(history, &revision, changes)?;
    }
    Ok(())
}

#[derive(Debug)]
pub(super) struct RawDiff {
    revision: String,
    changes: Changes,
}

impl RawDiff {
    pub(super) fn new(revision: &str) -> Self {
        RawDiff { revision: revision.to_owned(), changes: Changes::default() }
    }
}

impl Workload for RawDiff {
    fn label(&self) -> WorkloadLabel {
        label("diff:raw", &[("rev", &self.revision)])
    }

    fn prepare(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn run(&mut self, history: &mut GitHistory, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        log(history, &self.revision, &mut self.changes, |_, revision, changes| {
            observer.commit(&revision.id);
            for (path, change) in changes.iter() {
                observer.change(path, change);
            }
            Ok(())
        })?;
        observer.missing(history.missing());
        Ok(())
    }

    fn clean_up(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct PickaxeDiff {
    revision: String,
    needle: String,
    finder: Finder<'static>,
    changes: Changes,
    content: Vec<u8>,
}

impl PickaxeDiff {
    pub(super) fn new(revision: &str, needle: &str) -> Self {
        PickaxeDiff {
            revision: revision.to_owned(),
            needle: needle.to_owned(),
            finder: Finder::new(needle).into_owned(),
            changes: Changes::default(),
            content: Vec::new(),
        }
    }
}

impl Workload for PickaxeDiff {
    fn label(&self) -> WorkloadLabel {
        label("diff:pickaxe", &[("string", &self.needle), ("rev", &self.revision)])
    }

    fn prepare(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }

    fn run(&mut self, history: &mut GitHistory, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let (finder, content) = (&self.finder, &mut self.content);
        log(history, &self.revision, &mut self.changes, |history, revision, changes| {
            observer.commit(&revision.id);
            let mut is_hit = false;
            // git looks at every changed file even after the first hit, since it would list them all.
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

    fn clean_up(&mut self) -> Result<(), WorkloadError> {
        Ok(())
    }
}

/// How often the needle occurs in one version of a file, not overlapping itself; 0 if the version is missing.
fn occurrences(
    history: &mut GitHistory,
    finder: &Finder<'_>,
    path: &[u8],
    version: &FileVersion,
    content: &mut Vec<u8>,
    observer: &mut dyn Observer,
) -> Result<usize, WorkloadError> {
    if version.mode == FileMode::Gitlink {
        // What git makes of a submodule in a diff (diff_populate_gitlink() in diff.c).
        content.clear();
        content.extend_from_slice(format!("Subproject commit {}\n", version.id).as_bytes());
    } else if !history.content(path, version, content)? {
        return Ok(0);
    }
    observer.content(content);
    Ok(finder.find_iter(content).count())
}
