//! The time that the user's own git takes for a workload, and what a commit-graph changes.

use std::{cell::Cell, ffi::OsStr, rc::Rc, time::Duration};

use repackbench_analysis::mean_ratio;
use repackbench_reader::{History, Repository};
use repackbench_records::{OwnGitCost, Predicted, Vcs};
use repackbench_writer::{
    Progress,
    cache::{Cache, GetOrMakeError, ScratchFolder},
};

use crate::{
    BenchError,
    arms::stock::{
        Caches, Git, GitFeature, GitReader, GitRow, RowClient, StockError, StockJob, StockRunner, StockWorkload,
    },
    clock::Clock,
    decode_share::{DecodeShare, Took},
    session::Session,
    workloads::{HistoryRange, WorkloadError, WorkloadSpec},
};

/// How often git is run with and without a commit-graph.
const PAIRS: usize = 5;

/// The number of all these runs, with some room for writing the commit-graph.
pub(crate) const GRAPH_RUNS: u32 = 2 * PAIRS as u32 + 2;

/// The elapsed time for each commit that writing a commit-graph is predicted to take. git 2.47 took 5 to 9 microseconds
/// on five repositories of 2,000 to 27,000 commits whose packs were in the page cache.
const GRAPH_FOR_A_COMMIT: Duration = Duration::from_micros(50);

/// Whether `spec` is tried with a commit-graph: the workload that git reads most commits for.
pub(crate) fn is_tried_with_graph(spec: &WorkloadSpec) -> bool {
    *spec == WorkloadSpec::Traverse
}

/// Whether git finds a commit-graph in `repository`: one file, or a chain. A conversion or a search for deltas leaves it
/// out, so what a graph gains is only of interest if the user's own repository has none.
pub(crate) fn has_commit_graph(repository: &Repository) -> bool {
    let Repository::Git(repository) = repository else { return false };
    let names = ["commit-graph", "commit-graphs/commit-graph-chain"];
    let folders = repository.object_dirs().iter();
    folders.map(|folder| folder.join("info")).any(|info| names.iter().any(|name| info.join(name).is_file()))
}

/// Why `error` came about, without the command line, which is long.
fn reason(error: &BenchError) -> String {
    match error {
        BenchError::Stock(StockError::Failed { why, .. }) => why.clone(),
        error => error.to_string(),
    }
}

/// The user's own git on one repository.
pub(crate) struct OwnGit {
    git: Rc<Git>,
    plain: RowClient,
    /// The same on a copy with a commit-graph, which is made when it is first used.
    with_graph: RowClient,
    /// The number of stored commits.
    commits: u64,
    /// Whether what a commit-graph gains is of interest.
    wants_graph: bool,
    /// Whether a note has said that it fails. On a source with missing objects it fails at every workload.
    has_failed: Cell<bool>,
    /// Removed at the end.
    _folder: ScratchFolder,
}

impl OwnGit {
    /// The git that `program` names, on `repository` of this many `commits`. It is tried with a commit-graph if
    /// `wants_graph`. `None`, with a note, if it does not read the repository.
    ///
    /// # Errors
    /// The user stops it.
    pub(crate) fn find(
        program: &OsStr,
        (repository, commits): (&Repository, u64),
        wants_graph: bool,
        cache: &Cache,
        progress: &dyn Progress,
    ) -> Result<Option<Self>, BenchError> {
        match OwnGit::new(program, (repository, commits), wants_graph, cache) {
            Err(BenchError::Interrupted) => Err(BenchError::Interrupted),
            Err(error) => {
                progress.note(&format!("no comparison with your own git: {error}"));
                Ok(None)
            }
            own => own,
        }
    }

    fn new(
        program: &OsStr,
        (repository, commits): (&Repository, u64),
        wants_graph: bool,
        cache: &Cache,
    ) -> Result<Option<Self>, BenchError> {
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
        Ok(Some(OwnGit { git, plain, with_graph, commits, wants_graph, has_failed: Cell::new(false), _folder: folder }))
    }

    /// Whether `spec` is tried with a commit-graph.
    pub(crate) fn tries_graph(&self, spec: &WorkloadSpec) -> bool {
        self.wants_graph && is_tried_with_graph(spec)
    }

    /// The cost of what a replay of `spec` over `range` does, in which decoding took a share of the time. The trial
    /// with a commit-graph, over `with_graph`, is left out if it does not end before `end`. `None`, with a note, if git
    /// fails or has no command for it.
    ///
    /// # Errors
    /// The user stops it.
    pub(crate) fn cost(
        &self,
        (spec, range, decoding): (&WorkloadSpec, &HistoryRange, &DecodeShare),
        with_graph: Option<&HistoryRange>,
        history: &mut dyn History,
        (clock, progress): (&dyn Clock, &dyn Progress),
        end: Duration,
    ) -> Result<Option<OwnGitCost>, BenchError> {
        let (runner, session) = (StockRunner::new(clock, progress, None), Session::new(clock, progress));
        let graph_takes = GRAPH_FOR_A_COMMIT.saturating_mul(u32::try_from(self.commits).unwrap_or(u32::MAX));
        let is_over = || Ok(session.now()? >= end);
        let mut measure = || -> Result<_, BenchError> {
            let Some(job) = self.job(spec, range, history)? else { return Ok(None) };
            let plain = took(&job, &self.plain, runner)?;
            let has_time = session.now()?.saturating_add(graph_takes) < end;
            let graph_job = match with_graph.filter(|_| has_time) {
                Some(range) => self.job(spec, range, history)?,
                None => None,
            };
            let [graph_ratio, graph_elapsed_ratio] = match graph_job {
                Some(job) => self.graph_ratios(&job, runner, &is_over)?,
                None => [None, None],
            };
            let decode_share = (decoding.share * decoding.seconds / plain.cpu.max(f64::MIN_POSITIVE)).min(1.0);
            Ok(Some(OwnGitCost { decode_share, graph_ratio, graph_elapsed_ratio }))
        };
        let measured = measure();
        session.go_on()?;
        Ok(measured.unwrap_or_else(|error| {
            if !self.has_failed.replace(true) {
                progress.note(&format!("your own git is not timed where it fails: {}", reason(&error)));
            }
            None
        }))
    }

    /// The command for `spec` over `range`; `None` if there is none.
    ///
    /// # Errors
    /// The history cannot be read.
    fn job(
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

    /// The CPU time, then the elapsed time, of `job` with a commit-graph as multiples of those without; `None` if
    /// `is_over` says that the time is up before they are known.
    ///
    /// # Errors
    /// A command fails, or the user stops it.
    fn graph_ratios(
        &self,
        job: &StockJob,
        runner: StockRunner<'_>,
        is_over: &dyn Fn() -> Result<bool, BenchError>,
    ) -> Result<[Option<Predicted>; 2], BenchError> {
        let mut ratios = [Vec::new(), Vec::new()];
        for _ in 0..PAIRS {
            if is_over()? {
                return Ok([None, None]);
            }
            let with = took(job, &self.with_graph, runner)?;
            let without = took(job, &self.plain, runner)?;
            let [cpu, elapsed] = &mut ratios;
            cpu.push(with.cpu / without.cpu.max(f64::MIN_POSITIVE));
            elapsed.push(with.elapsed / without.elapsed.max(f64::MIN_POSITIVE));
        }
        Ok(ratios.map(|ratios| mean_ratio(&ratios)))
    }
}

fn took(job: &StockJob, client: &RowClient, runner: StockRunner<'_>) -> Result<Took, BenchError> {
    Ok(Took::of(&runner.time(job, client)?.sample))
}
