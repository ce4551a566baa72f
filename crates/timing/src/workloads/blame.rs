//! The minimum that a search for the authors of a file's lines reads.
//!
//! Every commit except merges is compared with its first parent at one path only, newest first, and each version of the
//! file is read. Unlike `git blame`, this compares no lines, and walks to the end of history instead of stopping when
//! every line has an author. It lists the same as `git log --full-history --no-merges --no-renames --raw -- PATH`.

use repackbench_reader::{Changes, History};
use repackbench_records::WorkloadLabel;

use super::{
    HistoryRange, Observer, Workload, WorkloadError,
    diff::{label, read_content},
    start,
};

/// The history of one file.
#[derive(Debug)]
pub struct Blame {
    range: HistoryRange,
    path: String,
    changes: Changes,
    content: Vec<u8>,
}

impl Blame {
    /// The history of the file at `path`, relative to the root of the repository, in `range`.
    pub fn new(range: HistoryRange, path: &str) -> Self {
        Blame { range, path: path.to_owned(), changes: Changes::default(), content: Vec::new() }
    }
}

impl Workload for Blame {
    fn label(&self) -> WorkloadLabel {
        label("blame", &self.range, &[("path", &self.path)])
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let tip = start(history, &self.range.revision)?;
        history.start_log(tip)?;
        let mut left = self.range.commits.unwrap_or(u64::MAX);
        let mut versions = 0u64;
        while left > 0
            && let Some(revision) = history.next_revision()?
        {
            left -= 1;
            if !revision.is_compared {
                continue;
            }
            history.change_of_path(&revision, self.path.as_bytes(), &mut self.changes)?;
            for (path, change) in self.changes.iter() {
                observer.commit(&revision.id);
                observer.change(path, change);
                // The older version is read as the newer version of an earlier commit.
                if let Some(version) = &change.new {
                    versions += 1;
                    read_content(history, path, version, &mut self.content, observer)?;
                }
            }
        }
        observer.missing(history.missing());
        if versions == 0 {
            let HistoryRange { revision, commits, .. } = &self.range;
            let among = commits.map_or_else(|| "no commit".to_owned(), |commits| format!("none of {commits} commits"));
            let why = format!("{among} of {revision} changes {}: expected the path of a file from the root", self.path);
            return Err(WorkloadError::Refused { why });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use repackbench_codec::Decoders;
    use repackbench_reader::Repository;

    use super::*;
    use crate::workloads::Counter;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.current_dir(folder).args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(arguments);
        // The user may have set GIT_DIR or a folder of configuration.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
        assert!(command.status().unwrap().success(), "git {arguments:?}");
    }

    #[test]
    fn paths_without_commits_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "-b", "main"]);
        fs::create_dir(folder.path().join("src")).unwrap();
        for (path, content) in [("src/a", "1"), ("src/a", "2"), ("b", "3")] {
            fs::write(folder.path().join(path), content).unwrap();
            git(folder.path(), &["add", "."]);
            git(folder.path(), &["commit", "-q", "-m", path]);
        }
        let repository = Repository::open(folder.path()).unwrap();
        let mut history = repository.history(Decoders::default()).unwrap();
        let mut blame = |path: &str, commits| {
            let range = HistoryRange { revision: "HEAD".to_owned(), commits, seed: 0 };
            history.clear_caches();
            Blame::new(range, path).run(history.as_mut(), &mut Counter::default()).map_err(|error| error.to_string())
        };
        assert_eq!(blame("src/a", None), Ok(()));
        let error = blame("src/A", None).unwrap_err();
        assert!(error.starts_with("no commit of HEAD changes src/A: expected"), "{error}");
        let error = blame("src/a", Some(1)).unwrap_err();
        assert!(error.starts_with("none of 1 commits of HEAD"), "{error}");
        assert!(blame("src", None).is_err(), "a folder has no lines");
    }
}
