//! The CPU time that the user's own git takes for a workload, and what a commit-graph changes.

use std::{ffi::OsStr, rc::Rc};

use repackbench_analysis::mean_ratio;
use repackbench_reader::{History, Repository};
use repackbench_records::{Predicted, Vcs};
use repackbench_writer::cache::{Cache, GetOrMakeError, ScratchFolder};

use crate::{
    BenchError,
    arms::stock::{Caches, Git, GitFeature, GitReader, GitRow, RowClient, StockJob, StockRunner, StockWorkload},
    workloads::{HistoryRange, WorkloadError, WorkloadSpec},
};

/// How often git is run with and without a commit-graph.
const PAIRS: usize = 5;

/// The user's own git on one repository.
pub(super) struct OwnGit {
    git: Rc<Git>,
    plain: RowClient,
    /// The same on a copy with a commit-graph, which is made when it is first used.
    with_graph: RowClient,
    /// Removed at the end.
    _folder: ScratchFolder,
}

impl OwnGit {
    /// The git that `program` names, on `repository`; `None` for a repository that it does not read.
    ///
    /// # Errors
    /// There is no such git, or it refuses the repository.
    pub(super) fn new(program: &OsStr, repository: &Repository, cache: &Cache) -> Result<Option<Self>, BenchError> {
        let Repository::Git(repository) = repository else { return Ok(None) };
        if repository.extension_spec().is_some() {
            return Ok(None);
        }
        let folder = cache.scratch().map_err(GetOrMakeError::Cache)?;
        let git = Rc::new(Git::new(program, folder.path())?);
        let row = |number, features| -> Result<RowClient, BenchError> {
            let row = GitRow::new(&git, repository, None, &GitReader { zlib: None, features }, number, true)?;
            Ok(RowClient { client: Box::new(row), start: Default::default() })
        };
        let (plain, with_graph) = (row(0, Vec::new())?, row(1, vec![GitFeature::CommitGraph])?);
        Ok(Some(OwnGit { git, plain, with_graph, _folder: folder }))
    }

    /// The command for `spec` over `range`; `None` if there is none.
    ///
    /// # Errors
    /// The history cannot be read.
    pub(super) fn job(
        &self,
        spec: &WorkloadSpec,
        range: &HistoryRange,
        history: &mut dyn History,
    ) -> Result<Option<StockJob>, BenchError> {
        let Ok(workload) = StockWorkload::try_from(spec.clone()) else { return Ok(None) };
        let head = match workload.needs_revision() {
            true => Some(history.resolve(&range.revision).map_err(WorkloadError::from)?.to_string()),
            false => None,
        };
        let name = (self.git.name(), Vcs::Git);
        Ok(workload.jobs(name, &[Caches::Off], range, head.as_deref()).pop())
    }

    /// CPU seconds of `job`, run once.
    ///
    /// # Errors
    /// The command fails, or the user stops it.
    pub(super) fn seconds(&self, job: &StockJob, runner: StockRunner<'_>) -> Result<f64, BenchError> {
        cpu_seconds(job, &self.plain, runner)
    }

    /// The CPU time of `job` with a commit-graph as a multiple of that without; `None` if `is_over` says that the time is up
    /// before it is known.
    ///
    /// # Errors
    /// A command fails, or the user stops it.
    pub(super) fn graph_ratio(
        &self,
        job: &StockJob,
        runner: StockRunner<'_>,
        is_over: &dyn Fn() -> Result<bool, BenchError>,
    ) -> Result<Option<Predicted>, BenchError> {
        let mut ratios = Vec::new();
        while ratios.len() < PAIRS {
            if is_over()? {
                return Ok(None);
            }
            let with = cpu_seconds(job, &self.with_graph, runner)?;
            ratios.push(with / cpu_seconds(job, &self.plain, runner)?.max(f64::MIN_POSITIVE));
        }
        Ok(mean_ratio(&ratios))
    }
}

fn cpu_seconds(job: &StockJob, client: &RowClient, runner: StockRunner<'_>) -> Result<f64, BenchError> {
    let sample = runner.time(job, client)?.sample;
    Ok(sample.user.saturating_add(sample.sys).as_secs_f64())
}
