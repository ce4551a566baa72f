//! `traverse`: what `git rev-list --objects --all` visits. Trees are parsed, blobs are not decoded.

use std::collections::BTreeMap;

use repackbench_reader::History;
use repackbench_records::WorkloadLabel;

use super::{Observer, Workload, WorkloadError};

/// The traversal. It starts from all refs.
#[derive(Debug)]
pub(super) struct Traverse {
    /// The largest number of commits, the newest ones; `None` for all.
    commits: Option<u64>,
}

impl Traverse {
    pub(super) fn new(commits: Option<u64>) -> Self {
        Traverse { commits }
    }
}

impl Workload for Traverse {
    fn label(&self) -> WorkloadLabel {
        let commits = self.commits.map(|commits| ("commits".to_owned(), commits.to_string()));
        WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::from_iter(commits) }
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let mut visit = |kind, id: &gix_hash::oid| observer.object(kind, id);
        match self.commits {
            Some(commits) => history.traverse_newest(commits, &mut visit)?,
            None => history.traverse(&mut visit)?,
        }
        observer.missing(history.missing());
        Ok(())
    }
}
