//! `traverse`: what `git rev-list --objects --all` visits; `traverse:count`: how many objects that are. Trees are
//! parsed, blobs are not decoded.

use std::collections::BTreeMap;

use repackbench_reader::History;
use repackbench_records::WorkloadLabel;

use super::{Observer, Workload, WorkloadError};

/// The traversal. It starts from all refs.
#[derive(Debug)]
pub(super) struct Traverse {
    /// The largest number of commits, the newest ones; `None` for all.
    commits: Option<u64>,
    /// Whether objects are only counted, so that no ids are needed.
    counts: bool,
}

impl Traverse {
    pub(super) fn listing(commits: Option<u64>) -> Self {
        Traverse { commits, counts: false }
    }

    pub(super) fn counting(commits: Option<u64>) -> Self {
        Traverse { commits, counts: true }
    }
}

impl Workload for Traverse {
    fn label(&self) -> WorkloadLabel {
        let commits = self.commits.map(|commits| ("commits".to_owned(), commits.to_string()));
        let name = if self.counts { "traverse:count" } else { "traverse" };
        WorkloadLabel { name: name.into(), parameters: BTreeMap::from_iter(commits) }
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let commits = self.commits.unwrap_or(u64::MAX);
        if self.counts {
            history.count_newest(commits, &mut |kind| observer.counted(kind))?;
        } else {
            history.traverse_newest(commits, &mut |kind, id| observer.object(kind, id))?;
        }
        observer.missing(history.missing());
        Ok(())
    }
}
