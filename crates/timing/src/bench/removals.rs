//! File systems on which the time to make files tells what was removed before.

use std::env;

use repackbench_records::{Host, Storage};
use repackbench_writer::Progress;

use super::BenchPlan;
use crate::{stock::StockWorkload, workloads::WorkloadSpec};

/// Notes that files are made where that takes longer after others were removed, as they are after each run.
pub(super) fn warn(plan: &BenchPlan, host: &Host, progress: &dyn Progress) {
    let replays = plan.workloads.contains(&WorkloadSpec::Checkout).then(|| Storage::of(&env::temp_dir())).flatten();
    let commands = plan.stock.as_ref().is_some_and(|stock| stock.workloads.iter().any(makes_files));
    let commands = host.variant_storage.as_ref().filter(|_| commands);
    for (storage, what, variable) in
        [(replays.as_ref(), "checkout", "TMPDIR"), (commands, "the user's own client", "XDG_CACHE_HOME")]
    {
        if storage.is_some_and(Storage::is_slow_after_removals) {
            progress.note(&format!(
                "{what} makes files on ext4 without a journal, which takes many times as long for minutes after others were \
                 removed there: set {variable} to a folder elsewhere"
            ));
        }
    }
}

/// Whether there are as many as in a work tree or, for hg, in a store.
fn makes_files(workload: &StockWorkload) -> bool {
    matches!(
        workload,
        StockWorkload::Replayed(WorkloadSpec::Checkout) | StockWorkload::Clone(_) | StockWorkload::Repack
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_and_clones_are_made_of_files_and_a_traversal_is_not() {
        assert!(makes_files(&StockWorkload::Replayed(WorkloadSpec::Checkout)));
        assert!(!makes_files(&StockWorkload::Replayed(WorkloadSpec::Traverse)));
    }
}
