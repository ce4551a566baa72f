//! `compressors-by-level` (Suetterlin, 2005): the best compressor and level for a store of one file per object, with a warm
//! cache, and whether compression matters compared with the file system.
//!
//! - [`corpus`]: the files;
//! - [`arms`]: the compressors, timed in place like the published programs, and from memory to memory;
//! - [`phases`]: the times of opening, writing and closing files;
//! - [`commits`]: the CPU time of a big commit by level;
//! - [`stores`]: a B-tree beside files, of all of them and of [a few](few_files);
//! - [`little_memory`]: the same work with too little memory for the page cache;
//! - [`verdicts`]: the verdict on each claim;
//! - [`tables`]: the figures beside the published ones.

mod arms;
mod commits;
mod corpus;
mod few_files;
mod little_memory;
mod phases;
mod stores;
mod tables;
mod verdicts;

use std::{path::Path, time::Duration};

use repackbench_pagecache::MemoryGroups;
use repackbench_records::{Experiment, Figure, Statement, StoredStatement};
use repackbench_writer::cache::GetOrMakeError;

use self::{
    arms::{ARMS, Timings, time_compressors},
    corpus::{Corpus, SECOND_CORPUS},
};
use crate::{
    Context, ExperimentError,
    budget::{Budget, now},
    interleaved::{Runs, part},
    setting::{begin, published},
};

/// The experiment's name.
pub(crate) const NAME: &str = "compressors-by-level";

/// The default number of runs of each compressor: the fewest that give an interval.
const DEFAULT_RUNS: u32 = 6;

/// The weights of the parts of the budget: compressors, the same on the second corpus, little memory, phases, commits, stores.
const WEIGHTS: [u32; 6] = [6, 3, 2, 1, 2, 1];

/// All measured figures.
#[derive(Debug, Default)]
struct Figures {
    /// The revision's id.
    revision: String,
    /// The extent of each corpus and the figures of each arm on it.
    compressors: Vec<Compressors>,
    little_memory: little_memory::LittleMemory,
    phases: phases::Phases,
    commits: commits::Commits,
    stores: stores::Stores,
    /// What was left out, and why.
    left_out: Vec<StoredStatement>,
}

/// The figures of the compressors on one corpus.
#[derive(Debug)]
struct Compressors {
    files: u64,
    bytes: u64,
    /// One for each of [`ARMS`].
    timings: Vec<Timings>,
}

/// Runs the experiment.
pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    run_with(context, phases::MANY, MemoryGroups::find)
}

/// Runs the experiment with `many` files in the phases, and in memory groups that `groups` finds.
fn run_with(
    context: &Context<'_>,
    many: u32,
    groups: little_memory::FindGroups,
) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    let mut budget = Budget::new(context.clock, context.options.budget, WEIGHTS.iter().sum())?;
    let mut figures = Figures::default();
    let is_interrupted = measure(context, many, groups, &mut budget, &mut figures)?;
    if figures.compressors.iter().all(|corpus| corpus.timings.iter().all(Timings::is_empty)) {
        return Err(ExperimentError::Interrupted);
    }
    experiment.repository.head = Some(figures.revision.clone());
    experiment.tables = tables::tables(published, &figures);
    experiment.claims = verdicts::claims(published, &figures);
    experiment.differences = tables::differences(&figures);
    experiment.notes = tables::notes(&figures);
    experiment.notes.append(&mut figures.left_out);
    if is_interrupted {
        experiment.notes.push(Statement::new("user-stopped").into());
    }
    Ok(experiment)
}

/// Measures one part after another; returns whether the user stopped it.
fn measure(
    context: &Context<'_>,
    many: u32,
    groups: little_memory::FindGroups,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<bool, ExperimentError> {
    let [first, second, of_little_memory, of_phases, of_commits, of_stores] = WEIGHTS;
    let scratch = context.cache.scratch();
    let scratch = scratch
        .map_err(|error| ExperimentError::from(repackbench_timing::BenchError::from(GetOrMakeError::Cache(error))))?;
    let wanted = context.options.runs.unwrap_or(DEFAULT_RUNS).max(1);
    let corpora = Corpus::choose(context)?;
    figures.revision = corpora.revision;
    figures.left_out.extend(corpora.left_out);
    let Some(corpus) = compressors(context, corpora.all, [first, second], scratch.path(), budget, figures)? else {
        return Ok(true);
    };
    let (folder, share) = (scratch.path().join("little-memory"), budget.share(of_little_memory)?);
    let measured = little_memory::measure_little_memory(context, &corpus, &folder, groups, wanted, share);
    drop(corpus);
    let taken = measured.map(|(found, runs)| {
        figures.little_memory = found;
        runs
    });
    if keep(figures, part(context, little_memory::WHAT, taken)) {
        return Ok(true);
    }
    let measured = phases::time_phases(context, scratch.path(), many, wanted, budget.share(of_phases)?);
    let taken = measured.map(|(found, runs)| {
        figures.phases = found;
        runs
    });
    if keep(figures, part(context, phases::WHAT, taken)) {
        return Ok(true);
    }
    let measured = commits::measure(context, wanted, budget.share(of_commits)?, figures);
    let taken = measured.map(|is_interrupted| Runs { done: 0, left_out: Vec::new(), is_interrupted });
    if keep(figures, part(context, commits::WHAT, taken)) {
        return Ok(true);
    }
    let revision = figures.revision.clone();
    let measured = stores::measure_stores(context, &revision, scratch.path(), wanted, budget.share(of_stores)?);
    let taken = measured.map(|(stores, runs)| {
        figures.stores = stores;
        runs
    });
    Ok(keep(figures, part(context, stores::WHAT, taken)))
}

/// Times the compressors on each corpus and returns the first corpus; `None` if the user stopped it.
fn compressors(
    context: &Context<'_>,
    corpora: Vec<Corpus>,
    weights: [u32; 2],
    scratch: &Path,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<Option<Corpus>, ExperimentError> {
    let wanted = context.options.runs.unwrap_or(DEFAULT_RUNS).max(1);
    let mut first = None;
    let mut one_run = None;
    for (corpus, (weight, name)) in corpora.into_iter().zip(weights.into_iter().zip(["compressors", SECOND_CORPUS])) {
        let share = budget.share(weight)?;
        if let Some(why) = too_long(first.as_ref().zip(one_run), &corpus, share) {
            figures.left_out.push(why.with("what", name).into());
            continue;
        }
        let began = now(context.clock)?;
        let folder = scratch.join(name.replace(' ', "-"));
        let measured = time_compressors(context, name, &corpus, &folder, wanted, share);
        if figures.compressors.is_empty() && measured.is_err() {
            return measured.map(|_| None);
        }
        let (files, bytes) = (corpus.files.len() as u64, corpus.bytes());
        let taken = measured.map(|(timings, runs)| {
            figures.compressors.push(Compressors { files, bytes, timings });
            runs
        });
        let runs = part(context, name, taken);
        one_run = one_run.or(now(context.clock)?.saturating_sub(began).checked_div(runs.done));
        if keep(figures, runs) {
            return Ok(None);
        }
        first.get_or_insert(corpus);
    }
    Ok(first)
}

/// Why a further corpus is not started: one run of it is predicted, from a run of an `earlier` corpus, to take longer than its share.
fn too_long(earlier: Option<(&Corpus, Duration)>, corpus: &Corpus, share: Option<Duration>) -> Option<Statement> {
    let ((earlier, one_run), share) = earlier.zip(share)?;
    let ratio = |of: u64, to: u64| of as f64 / to.max(1) as f64;
    // Compression time grows with bytes, opening and closing with files; the file system decides which prevails.
    let times =
        ratio(corpus.bytes(), earlier.bytes()).max(ratio(corpus.files.len() as u64, earlier.files.len() as u64));
    let predicted = Duration::try_from_secs_f64(one_run.as_secs_f64() * times).unwrap_or(Duration::MAX);
    does_not_fit(predicted, share)
}

/// Why a part is not started: one run is `predicted` to take longer than its share. The caller adds the part's name as `what`.
fn does_not_fit(predicted: Duration, share: Duration) -> Option<Statement> {
    let seconds = |time: Duration| Figure::seconds(time.as_secs_f64());
    let statement = Statement::new("left-out-does-not-fit").with("predicted", seconds(predicted));
    (predicted > share).then(|| statement.with("share", seconds(share)))
}

/// Collects what runs left out; returns whether the user stopped them.
fn keep(figures: &mut Figures, runs: Runs) -> bool {
    figures.left_out.extend(runs.left_out);
    runs.is_interrupted
}

/// The index of an arm in [`ARMS`].
fn arm(label: &str) -> Option<usize> {
    ARMS.iter().position(|(known, _)| *known == label)
}

#[cfg(test)]
mod tests;
