//! The CPU time that the user's own git takes for a workload.

use std::{ffi::OsStr, rc::Rc};

use repackbench_reader::{History, Repository};
use repackbench_writer::cache::{Cache, GetOrMakeError, ScratchFolder};

use crate::{
    BenchError,
    arms::stock::{Caches, Git, GitReader, GitRow, RowClient, StockRunner, StockWorkload},
    workloads::{HistoryRange, WorkloadError, WorkloadSpec},
};

/// The user's own git on one repository.
pub(super) struct OwnGit {
    git: Rc<Git>,
    client: RowClient,
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
        let plain = GitReader { zlib: None, features: Vec::new() };
        let row = GitRow::new(&git, repository, None, &plain, 0, true)?;
        let client = RowClient { client: Box::new(row), start: Default::default() };
        Ok(Some(OwnGit { git, client, _folder: folder }))
    }

    /// CPU seconds of the command for `spec` over `range`, run once; `None` if there is no such command.
    ///
    /// # Errors
    /// The command fails, or the user stops it.
    pub(super) fn seconds(
        &self,
        spec: &WorkloadSpec,
        range: &HistoryRange,
        history: &mut dyn History,
        runner: StockRunner<'_>,
    ) -> Result<Option<f64>, BenchError> {
        let Ok(workload) = StockWorkload::try_from(spec.clone()) else { return Ok(None) };
        let head = match workload.needs_revision() {
            true => Some(history.resolve(&range.revision).map_err(WorkloadError::from)?.to_string()),
            false => None,
        };
        let name = (self.git.name(), repackbench_records::Vcs::Git);
        let Some(job) = workload.jobs(name, &[Caches::Off], range, head.as_deref()).pop() else { return Ok(None) };
        let sample = runner.time(&job, &self.client)?.sample;
        Ok(Some(sample.user.saturating_add(sample.sys).as_secs_f64()))
    }
}
