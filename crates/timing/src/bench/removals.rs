//! File systems on which creating files is slower after others were removed.

use std::env;

use repackbench_records::{Host, Storage, Vcs};
use repackbench_writer::Progress;

use super::plan::BenchPlan;
use crate::{arms::stock::StockWorkload, workloads::WorkloadSpec};

/// Notes if files are created where that is slower after removals. Each run removes its files.
pub(super) fn warn(plan: &BenchPlan, vcs: Vcs, host: &Host, progress: &dyn Progress) {
    let replays = plan.workloads.contains(&WorkloadSpec::Checkout).then(|| Storage::of(&env::temp_dir())).flatten();
    let commands = plan.stock.as_ref().is_some_and(|stock| stock.workloads.iter().any(|job| makes_files(job, vcs)));
    let commands = host.variant_storage.as_ref().filter(|_| commands);
    for (storage, what, variable) in
        [(replays.as_ref(), "checkout", "TMPDIR"), (commands, "the user's own client", "XDG_CACHE_HOME")]
    {
        if storage.is_some_and(Storage::is_slow_after_removals) {
            progress.note(&format!(
                "{what} creates files on ext4 without a journal, which takes many times as long for minutes after files were \
                 removed there: set {variable} to a folder elsewhere"
            ));
        }
    }
}

/// Whether a job creates as many files as a work tree has. A store of hg has about that many; a pack is one file.
fn makes_files(workload: &StockWorkload, vcs: Vcs) -> bool {
    match workload {
        StockWorkload::Replayed(replayed) => *replayed == WorkloadSpec::Checkout,
        StockWorkload::Clone(_) | StockWorkload::Repack => vcs == Vcs::Mercurial,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_and_hg_stores_have_many_files() {
        let [checkout, traversal] = [WorkloadSpec::Checkout, WorkloadSpec::Traverse].map(StockWorkload::Replayed);
        for vcs in [Vcs::Git, Vcs::Mercurial] {
            assert!(makes_files(&checkout, vcs) && !makes_files(&traversal, vcs));
            assert_eq!(makes_files(&StockWorkload::Repack, vcs), vcs == Vcs::Mercurial);
        }
    }
}
