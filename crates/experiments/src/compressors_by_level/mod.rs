//! `compressors-by-level` (Suetterlin, 2005): which compressor and level suits a store of one file per object, with a warm cache, and
//! whether compression matters beside the file system.
//!
//! - [`corpus`]: which files;
//! - [`arms`]: which compressors, timed in place as the programs were, and from memory to memory;
//! - [`phases`]: what opening, writing and closing files takes, each;
//! - [`commits`]: the processor time of a big commit by level;
//! - [`stores`]: a B-tree beside files;
//! - [`verdicts`]: what the figures say of each claim;
//! - [`tables`]: the figures beside the published ones.

mod arms;
mod commits;
mod corpus;
mod phases;
mod stores;
mod tables;
mod verdicts;

use repackbench_records::Experiment;
use repackbench_writer::cache::GetOrMakeError;

use self::{
    arms::{ARMS, Timings, time_compressors},
    corpus::{Corpus, SECOND_CORPUS},
};
use crate::{
    Context, ExperimentError,
    budget::Budget,
    interleaved::{Runs, part},
    setting::{begin, published},
};

/// The experiment's name.
pub(crate) const NAME: &str = "compressors-by-level";

/// How many times each compressor is run unless the user says otherwise: as few as give an interval.
const DEFAULT_RUNS: u32 = 6;

/// The parts of the budget: compressors, the same on the second corpus, phases, commits, stores.
const WEIGHTS: [u32; 5] = [6, 3, 1, 2, 1];

/// All that was measured.
#[derive(Debug, Default)]
struct Figures {
    /// The revision's id.
    revision: String,
    /// For each corpus its name, its extent, and what each arm took.
    compressors: Vec<Compressors>,
    phases: phases::Phases,
    commits: commits::Commits,
    stores: stores::Stores,
    /// What was left out, and why, a sentence each.
    left_out: Vec<String>,
}

/// What compressors made of one corpus.
#[derive(Debug)]
struct Compressors {
    files: u64,
    bytes: u64,
    /// One for each of [`ARMS`].
    timings: Vec<Timings>,
}

/// Runs the experiment.
pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    run_with(context, phases::MANY)
}

/// Runs it with so many files in the phases.
fn run_with(context: &Context<'_>, many: u32) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    let mut budget = Budget::new(context.clock, context.options.budget, WEIGHTS.iter().sum())?;
    let mut figures = Figures::default();
    let is_interrupted = measure(context, many, &mut budget, &mut figures)?;
    if figures.compressors.iter().all(|corpus| corpus.timings.iter().all(Timings::is_empty)) {
        return Err(ExperimentError::Interrupted);
    }
    experiment.repository.head = Some(figures.revision.clone());
    experiment.tables = tables::tables(published, &figures);
    experiment.claims = verdicts::claims(published, &figures);
    experiment.differences = tables::differences(&figures);
    experiment.notes = published.remarks.clone();
    experiment.notes.extend(tables::notes());
    experiment.notes.append(&mut figures.left_out);
    if is_interrupted {
        experiment.notes.push("The user stopped it: what came after is not measured.".to_owned());
    }
    Ok(experiment)
}

/// Measures one part after another; says whether the user stopped it.
fn measure(
    context: &Context<'_>,
    many: u32,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<bool, ExperimentError> {
    let [first, second, of_phases, of_commits, of_stores] = WEIGHTS;
    let scratch = context.cache.scratch();
    let scratch = scratch.map_err(|error| {
        ExperimentError::from(repackbench_timing::bench::BenchError::from(GetOrMakeError::Cache(error)))
    })?;
    let wanted = context.options.runs.unwrap_or(DEFAULT_RUNS).max(1);
    let corpora = Corpus::choose(context)?;
    figures.revision = corpora.revision;
    figures.left_out.extend(corpora.left_out);
    for (corpus, (weight, name)) in corpora.all.into_iter().zip([(first, "compressors"), (second, SECOND_CORPUS)]) {
        let share = budget.share(weight)?;
        let folder = scratch.path().join(name.replace(' ', "-"));
        let measured = time_compressors(context, name, &corpus, &folder, wanted, share);
        if figures.compressors.is_empty() && measured.is_err() {
            return measured.map(|_| false);
        }
        let (files, bytes) = (corpus.files.len() as u64, corpus.bytes());
        let taken = measured.map(|(timings, runs)| {
            figures.compressors.push(Compressors { files, bytes, timings });
            runs
        });
        if keep(figures, part(context, name, taken)) {
            return Ok(true);
        }
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
    let taken = measured.map(|is_interrupted| Runs { done: 0, left_out: None, is_interrupted });
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

/// Keeps what runs left out; says whether the user stopped them.
fn keep(figures: &mut Figures, runs: Runs) -> bool {
    figures.left_out.extend(runs.left_out);
    runs.is_interrupted
}

/// The place of an arm among [`ARMS`].
fn arm(label: &str) -> Option<usize> {
    ARMS.iter().position(|(known, _)| *known == label)
}

#[cfg(test)]
mod tests;
