//! The copies of each row that cold runs read.

use std::path::{Path, PathBuf};

use repackbench_writer::{
    Progress,
    cache::{Cache, GetOrMakeError, ScratchFolder},
};

use super::{plan::BenchPlan, rows::Row};
use crate::{
    BenchError,
    arms::cold::{ColdCopies, FEWEST_COPIES},
    session::{BASELINE, Slot, Turn},
};

/// The copies of all rows.
#[derive(Debug)]
pub(super) struct RowCopies {
    copies: ColdCopies,
    /// The folder that they are in; removed after them.
    _folder: ScratchFolder,
    /// The number of the copies that A' reads. They are its own: otherwise the noise line would not show how much the
    /// place of a copy on the disk matters.
    again: usize,
}

impl RowCopies {
    /// Copies every row's repository into a new folder of `cache`.
    pub(super) fn new(
        plan: &BenchPlan,
        rows: &[Row],
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        if let Some(workload) = plan.workloads.iter().find(|workload| !workload.is_traced()) {
            let why = format!("{workload} has no cold runs: it reads files outside of the repository, or none");
            return Err(BenchError::Plan { why });
        }
        let mut folders: Vec<PathBuf> = rows.iter().map(|row| row.place.folder.clone()).collect();
        folders.extend(folders.get(BASELINE).cloned());
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let folder = cache.scratch().map_err(GetOrMakeError::Cache)?;
        let copies = ColdCopies::make(&folders, FEWEST_COPIES, folder.path(), progress)?;
        Ok(RowCopies { copies, _folder: folder, again: rows.len() })
    }

    /// The copy that is read in `turn`, and its number: the same number for all rows of a block.
    pub(super) fn copy(&self, turn: Turn) -> Option<(u32, &Path)> {
        let of = if turn.slot == Slot::BaselineAgain { self.again } else { turn.slot.variant() };
        let copies = self.copies.of(of);
        let number = turn.block.checked_rem(u32::try_from(copies.len()).ok()?)?;
        copies.get(number as usize).map(|copy| (number, copy.as_path()))
    }
}
