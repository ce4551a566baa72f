//! `blame:PATH`: what finding out who wrote the lines of one file reads at least.
//!
//! Every commit is held against its first parent at that path alone, newest first, merges left out, and each version of the file is read.
//! No lines are compared, which is what `git blame` then does with them, and the walk goes on to the end of history, while `git blame` stops
//! where it has found an author for every line. It lists what `git log --full-history --no-merges --no-renames --raw -- PATH` does.

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
    /// That of the file at `path` from the root of the repository on, as far as `range` goes.
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
                // The older version is read as the newer one of the commit that brought it.
                if let Some(version) = &change.new {
                    read_content(history, path, version, &mut self.content, observer)?;
                }
            }
        }
        observer.missing(history.missing());
        Ok(())
    }
}
