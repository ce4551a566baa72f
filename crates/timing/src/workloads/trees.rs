//! A checkout that reads only the trees of its revision, and no files.

use std::collections::BTreeMap;

use repackbench_reader::{Changes, History};
use repackbench_records::WorkloadLabel;

use super::{Observer, Workload, WorkloadError, start};

/// The trees of one revision.
#[derive(Debug)]
pub struct Trees {
    revision: String,
    files: Changes,
}

impl Trees {
    /// The trees of `revision`.
    pub fn new(revision: &str) -> Self {
        Trees { revision: revision.to_owned(), files: Changes::default() }
    }
}

impl Workload for Trees {
    fn label(&self) -> WorkloadLabel {
        let parameters = BTreeMap::from([("rev".to_owned(), self.revision.clone())]);
        WorkloadLabel { name: "trees".to_owned(), parameters }
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        let revision = start(history, &self.revision)?;
        history.manifest(&revision, &mut self.files)?;
        for (path, change) in self.files.iter() {
            observer.change(path, change);
        }
        observer.missing(history.missing());
        Ok(())
    }
}
