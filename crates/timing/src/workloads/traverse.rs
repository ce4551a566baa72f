//! `traverse`: what `git rev-list --objects --all` visits. Trees are parsed, blobs are not decoded.

use std::collections::BTreeMap;

use repackbench_reader::History;
use repackbench_records::WorkloadLabel;

use super::{Observer, Workload, WorkloadError};

#[derive(Debug)]
pub(super) struct Traverse;

impl Workload for Traverse {
    fn label(&self) -> WorkloadLabel {
        WorkloadLabel { name: "traverse".into(), parameters: BTreeMap::new() }
    }

    fn run(&mut self, history: &mut dyn History, observer: &mut dyn Observer) -> Result<(), WorkloadError> {
        history.traverse(&mut |kind, id| observer.object(kind, id))?;
        observer.missing(history.missing());
        Ok(())
    }
}
