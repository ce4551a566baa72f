//! Cold runs: each reads a copy of its variant that is not in the page cache.

use std::path::{Path, PathBuf};

use repackbench_reader::Repository;
use repackbench_writer::{
    Progress,
    cache::{Cache, GetOrMakeError, ScratchFolder},
};

use super::{
    BenchError, BenchPlan,
    job_run::{JobRun, clock_error},
    rows::Subject,
};
use crate::{
    arms::cold::{ColdCopies, ColdError, FEWEST_COPIES, make_cold},
    clock::{Clock, Sample, measure},
    probe::{Faults, JobUsage, ReadCalls},
    session::{BASELINE, Slot, Turn},
    workloads::{Counter, VariantPlace, Workload, WorkloadError},
};

/// The copies of all rows.
#[derive(Debug)]
pub(super) struct ColdRuns {
    copies: ColdCopies,
    /// Where they lie; removed after them.
    _folder: ScratchFolder,
    /// Which copies A' reads: its own, or the noise line would not show what the place of a copy does.
    again: usize,
}

impl ColdRuns {
    /// Copies every row's repository into a new folder of `cache`.
    pub(super) fn new(
        plan: &BenchPlan,
        subjects: &[Subject],
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Self, BenchError> {
        if let Some(workload) = plan.workloads.iter().find(|workload| !workload.is_traced()) {
            let why =
                format!("{workload} has no cold runs: it reads other files than those of the repository, or none");
            return Err(WorkloadError::Refused { why }.into());
        }
        let mut folders: Vec<PathBuf> = subjects.iter().map(|subject| subject.place.folder.clone()).collect();
        folders.extend(folders.get(BASELINE).cloned());
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let folder = cache.scratch().map_err(GetOrMakeError::Cache)?;
        let copies = ColdCopies::make(&folders, FEWEST_COPIES, folder.path(), progress)?;
        Ok(ColdRuns { copies, _folder: folder, again: subjects.len() })
    }

    /// The copy that is read in `turn`, and its number: the same for all rows of a block.
    pub(super) fn copy(&self, turn: Turn) -> Option<(u32, &Path)> {
        let of = if turn.slot == Slot::BaselineAgain { self.again } else { turn.slot.variant() };
        let copies = self.copies.of(of);
        let number = turn.block.checked_rem(u32::try_from(copies.len()).ok()?)?;
        copies.get(number as usize).map(|copy| (number, copy.as_path()))
    }
}

/// Does the job once on `copy`, of which nothing is in memory. Opening it is part of the job: that reads, too.
pub(super) fn run(
    workload: &mut dyn Workload,
    subject: &Subject,
    copy: &Path,
    clock: &dyn Clock,
) -> Result<JobRun, BenchError> {
    let place = VariantPlace { folder: copy.to_owned(), ..subject.place.clone() };
    let mut counter = Counter::timing_writes(clock);
    workload.prepare(&place)?;
    make_cold(copy).map_err(|error: ColdError| BenchError::Cold(error))?;
    let (calls, faults) = (ReadCalls::now(), Faults::now());
    let (result, sample) = measure(clock, || {
        let mut history = Repository::open(copy)?.history(place.decoders)?;
        history.set_delta_cache(subject.delta_cache);
        workload.run(history.as_mut(), &mut counter)?;
        Ok::<_, WorkloadError>(history)
    })
    .map_err(clock_error)?;
    let usage = faults.until(Faults::now());
    let usage = JobUsage { read_calls: calls.until(ReadCalls::now()), ..usage };
    let lookups = result?.delta_cache_lookups();
    let extra = workload.extra();
    workload.clean_up()?;
    let sample = Sample { writing: counter.writing().map_err(clock_error)?, ..sample };
    Ok(JobRun { counts: vec![counter.counts()], extra, sample, usage, lookups })
}
