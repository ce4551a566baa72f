//! Measures workloads on the variants of a repository.
//!
//! First each job runs once on every row without a clock: all rows have to see the same, and the files that they read
//! are in the page cache afterwards. Then come the blocks, of one job after another in turn; see `docs/method.md`.
//!
//! - `plan`: what to measure;
//! - `rows`, `decoders`: the variants as this program reads them; `stock_rows`: the same as git or hg read them;
//! - `jobs`: what the rows do;
//! - `making`, `timetable`: how far the session is, and how long the rest takes;
//! - `fit`: fewer commits and shorter runs, so that the session fits its time;
//! - `content`: the untimed pass; `runs`: timed runs, a record each; `job_lanes`: jobs that take turns;
//! - `cold_copies`: the copies that cold runs read;
//! - `resume`: the records of a session that is continued.
//!
//! What an arm does in a run is in [`crate::arms`].

mod cold_copies;
mod content;
mod context;
mod decoders;
mod fit;
mod job_lanes;
mod jobs;
mod making;
mod plan;
mod removals;
mod resume;
mod rows;
mod runs;
mod stock_rows;
mod timetable;

use std::{io, time::Duration};

use repackbench_reader::Repository;
use repackbench_records::{Record, RepositoryState};
use repackbench_writer::{Progress, SessionStatus, cache::Cache, fingerprint};

use self::{
    cold_copies::RowCopies,
    context::BenchContext,
    job_lanes::JobLanes,
    jobs::{RowGroup, WorkloadJob},
    making::MakingProgress,
    resume::Earlier,
    rows::Row,
    stock_rows::StockClients,
    timetable::{JobForecast, Timetable},
};
pub use self::{
    plan::{BenchPlan, Blocks},
    resume::MAX_BLOCKS,
};
use crate::{
    BenchError,
    clock::{Clock, unix_ms},
    own_git::{OwnGit, has_commit_graph},
    record_names::{borrows_objects, codec_of, is_partial_clone, vcs_of},
    session::BASELINE,
};

/// What a benchmark has measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// One record for each run, including those of the session that it continued.
    pub records: Vec<Record>,
    /// Whether the user stopped it before its end.
    pub is_interrupted: bool,
    /// Jobs that a client of the user's own could not do, and why. They were left out, and others were done.
    pub failures: Vec<String>,
}

/// Receives each record when it is measured.
pub trait Recorder {
    /// Before the first run: the records of an earlier session that are still good. All others are dropped.
    ///
    /// # Errors
    /// What stops the benchmark.
    fn keep(&mut self, earlier: &[Record]) -> io::Result<()>;

    /// A run was made.
    ///
    /// # Errors
    /// What stops the benchmark.
    fn record(&mut self, record: &Record) -> io::Result<()>;
}

/// Carries `plan` out on `source`, which tables call `name`. Each record goes to `recorder` as soon as it exists. All
/// are returned as well, even if the user stops the benchmark once runs are timed.
///
/// # Errors
/// See [`BenchError`]; it is [`ReaderError::Changed`](repackbench_reader::ReaderError::Changed) if the source changed
/// meanwhile.
pub fn bench(
    source: &Repository,
    name: &str,
    plan: &BenchPlan,
    cache: &Cache,
    clock: &(dyn Clock + Sync),
    progress: &dyn Progress,
    recorder: &mut dyn Recorder,
) -> Result<Measured, BenchError> {
    let snapshot = source.snapshot()?;
    plan.check(source)?;
    let mut as_found = rows::as_found(source, plan)?;
    // Before variants are made: a misspelt revision or decoder should not cost the time that they take.
    rows::check_decoders(source, plan, &as_found)?;
    let chunks = as_found.first().map(|row| row.size.objects.sum());
    let plan = &plan.fitted_to(source, &chunks.unwrap_or_default());
    let repository = state(source, name, plan, as_found.first_mut())?;
    let clients = plan.stock.as_ref().map(|stock| StockClients::new(stock, source, cache)).transpose()?;
    let commits = as_found.first().map(|row| row.size.objects.commits());
    let making = MakingProgress::new(progress, clock, plan.variants(source), plan.time);
    let mut rows = rows::all(source, as_found, plan, cache, &making)?;
    if plan.has_answer() {
        rows::add_memory(source, &mut rows, progress)?;
    }
    progress.finish();
    let cold = if plan.is_cold { Some(RowCopies::new(plan, &rows, cache, progress)?) } else { None };
    let began_unix_ms = plan.earlier.first().map_or_else(unix_ms, |record| record.place.session);
    let host = crate::host::host(source, cache);
    removals::warn(plan, vcs_of(source), &host, progress);
    let own_git = match (&plan.own_git, rows.get(BASELINE)) {
        (Some(git), Some(baseline)) if plan.has_answer() => {
            let baseline = Repository::open(&baseline.place.folder)?;
            OwnGit::find(git, (&baseline, commits.unwrap_or_default()), !has_commit_graph(source), cache, progress)?
        }
        _ => None,
    };
    let context = BenchContext { plan, clock, progress, host, repository, began_unix_ms, commits, own_git, cold };
    let now = context.session().now()?;
    let end = plan.time.map(|time| now.saturating_add(time));
    let commands = match &clients {
        Some(clients) => Some(clients.group(&context, &rows)?),
        None => None,
    };
    let replays = RowGroup { jobs: plan.workloads.iter().map(|spec| WorkloadJob::replay(spec, plan)).collect(), rows };
    // A group without jobs is kept: the rows of the other one read its variants.
    let mut groups: Vec<RowGroup<'_>> = std::iter::once(replays).chain(commands).collect();
    let measured = measure(&context, &mut groups, end, recorder);
    progress.finish();
    let measured = measured?;
    snapshot.check()?;
    Ok(measured)
}

/// Fits the jobs of `groups` to the time, and measures them until `end`.
fn measure(
    context: &BenchContext<'_>,
    groups: &mut [RowGroup<'_>],
    end: Option<Duration>,
    recorder: &mut dyn Recorder,
) -> Result<Measured, BenchError> {
    let plan = context.plan;
    context.keep_limits(groups);
    let earlier = earlier_of(context, groups)?;
    let kept: Vec<Record> = earlier.iter().flat_map(Earlier::records).cloned().collect();
    recorder.keep(&kept).map_err(|source| BenchError::Io { action: "write a record", source })?;
    let ratios = groups.iter().flat_map(RowGroup::rows_of_jobs).map(|rows| rows.saturating_sub(1)).sum();
    let rule = plan.blocks.rule(ratios);
    // Experiments and the self-test judge intervals, not the verdicts of a table.
    if let Some(why) = fit::too_few_blocks(rule, ratios).filter(|_| plan.is_fitted && !plan.is_self_test) {
        context.progress.note(&why);
    }
    let mut costs = Vec::new();
    if let Some((end, time)) = end.zip(plan.time).filter(|_| plan.is_fitted) {
        let status = SessionStatus { place: "finding out what fits", detail: "trial runs", left: Some(time) };
        context.progress.session(status);
        costs = context.fit(groups, end, rule)?;
        fit::note(context, groups, &costs, rule, time);
    }
    let blocks = costs.iter().map(|cost| Some(cost.block)).chain(std::iter::repeat(None));
    let jobs = groups.iter().map(|group| group.jobs.len()).sum();
    let forecasts = blocks.take(jobs).map(|block| JobForecast { block, blocks_left: rule.max_blocks });
    let timetable = Timetable::new(end, forecasts.collect());
    JobLanes { context, rule, timetable: &timetable }.run(groups, &earlier, end, recorder)
}

/// The records of the earlier session that belong to each group.
fn earlier_of(context: &BenchContext<'_>, groups: &[RowGroup<'_>]) -> Result<Vec<Earlier>, BenchError> {
    let with_jobs = groups.iter().filter(|group| !group.jobs.is_empty()).count();
    let of_group = |group: &RowGroup<'_>| {
        let is_stock = group.rows.iter().any(|row| row.stock.is_some());
        // If only one group has jobs, a record of the other is an error.
        let is_its = |record: &Record| match with_jobs {
            1 => !group.jobs.is_empty(),
            _ => record.variant.client.is_some() == is_stock,
        };
        Earlier::new(context, group, is_its)
    };
    groups.iter().map(of_group).collect()
}

/// What is known of the repository as a whole.
fn state(
    source: &Repository,
    name: &str,
    plan: &BenchPlan,
    as_found: Option<&mut Row>,
) -> Result<RepositoryState, BenchError> {
    let mut state = RepositoryState {
        name: name.to_owned(),
        fingerprint: fingerprint(source)?.to_string(),
        vcs: Some(vcs_of(source)),
        is_partial_clone: is_partial_clone(source),
        borrows_objects: borrows_objects(source),
        codec: codec_of(source),
        ..RepositoryState::default()
    };
    let Some(as_found) = as_found else { return Ok(state) };
    state.objects = Some(as_found.size.objects.sum().entries);
    state.bytes = Some(as_found.size.total_bytes);
    if let Some(history) = as_found.histories.first_mut() {
        // A repository without a commit has none, which only matters to jobs that start from it.
        state.tip = history.resolve(source.default_revision()).ok().map(|id| id.to_string());
        if plan.needs_revision() {
            state.head = Some(history.resolve(&plan.range.revision)?.to_string());
        }
    }
    Ok(state)
}
