//! `flat-vs-gzip-tree` (Molnar, 2005): reading every file of a tree from a cold disk, flat or each compressed.
//!
//! - [`trees`]: the trees, and how they are laid out on the disk;
//! - [`reading`]: the published reading, which decompresses nothing, and one that decompresses;
//! - [`git_arm`]: loose objects of a real checkout, flat and compressed;
//! - [`seeks`]: the places of the files, and their modelled reading time;
//! - [`figures`]: all measured figures and the ratios of them; [`copies`]: ratios over several copies;
//! - [`verdicts`]: the verdict on each claim;
//! - [`tables`]: the figures beside the published ones.

mod copies;
mod figures;
mod git_arm;
mod reading;
mod seeks;
mod tables;
mod trees;
mod verdicts;

use std::collections::BTreeMap;

use repackbench_records::{Experiment, Statement, StoredStatement};

use self::{
    figures::Figures,
    git_arm::measure_checkouts,
    reading::{How, chill, read_by_command, read_cold},
    seeks::DiskReads,
    trees::{COPIES, Kind, Trees},
};
use crate::{
    Context, ExperimentError,
    budget::Budget,
    interleaved::{Runs, interleaved, part},
    setting::{begin, published},
};

/// The experiment's name.
pub(crate) const NAME: &str = "flat-vs-gzip-tree";

/// The default number of readings of each tree, which is that of the published values.
const DEFAULT_RUNS: u32 = 12;

/// The weights of the parts of the budget: the published reading, one that decodes, the published command once, and checkouts.
const WEIGHTS: [u32; 4] = [6, 3, 1, 6];

/// Runs the experiment.
pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    run_with(context, context.may_drop_all_caches())
}

/// Runs the experiment; with `drops_all` the kernel drops the caches of the whole machine before each reading.
fn run_with(context: &Context<'_>, drops_all: bool) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    if drops_all {
        context.progress.note(
            "reading cold: all that the whole machine has cached of files and folders will be dropped before each reading, which slows down others",
        );
    }
    let trees = Trees::make(context)?;
    let mut figures = Figures { drops_all, ..Figures::default() };
    for tree in &trees.all {
        figures.disk.insert(tree.label(), DiskReads::of(tree)?);
    }
    let mut budget = Budget::new(context.clock, context.options.budget, WEIGHTS.iter().sum())?;
    let raw = read_published(context, &trees, &mut budget, &mut figures)?;
    if raw.done == 0 {
        return Err(ExperimentError::Interrupted);
    }
    let mut left_out = Vec::new();
    let mut is_interrupted = keep(raw, &mut left_out);
    for (what, measure) in LATER_PARTS {
        if !is_interrupted {
            let runs = part(context, what, measure(context, &trees, &mut budget, &mut figures));
            is_interrupted = keep(runs, &mut left_out);
        }
    }
    experiment.repository.head = trees.all.first().map(|tree| tree.descriptor()).transpose()?.map(|flat| flat.revision);
    experiment.tables = tables::tables(published, &trees, &figures)?;
    experiment.claims = verdicts::claims(published, &figures);
    experiment.differences = tables::differences(&trees, &figures)?;
    experiment.notes = tables::notes(&trees)?;
    experiment.notes.append(&mut left_out);
    if is_interrupted {
        experiment.notes.push(Statement::new("user-stopped").into());
    }
    Ok(experiment)
}

/// Collects what runs left out; returns whether the user stopped them.
fn keep(runs: Runs, left_out: &mut Vec<StoredStatement>) -> bool {
    left_out.extend(runs.left_out);
    runs.is_interrupted
}

/// A part that adds to the figures.
type Measure = fn(&Context<'_>, &Trees, &mut Budget<'_>, &mut Figures) -> Result<Runs, ExperimentError>;

/// The parts after the published reading, which does not depend on them.
const LATER_PARTS: [(&str, Measure); 3] =
    [(DECODING, read_decoding), (COMMAND, read_as_published), (git_arm::WHAT, check_out)];

/// The names of these parts in messages.
const DECODING: &str = "reading cold and decompressing";
const COMMAND: &str = "find | xargs cat, cold";

/// The published reading of every tree except those of zstd.
fn read_published(
    context: &Context<'_>,
    trees: &Trees,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<Runs, ExperimentError> {
    let [weight, ..] = WEIGHTS;
    let arms: Vec<_> = trees.all.iter().filter(|tree| tree.kind != Kind::Zstd).collect();
    let wanted = context.options.runs.unwrap_or(DEFAULT_RUNS).max(1);
    let share = budget.share(weight)?;
    let what = "reading cold, nothing decompressed";
    let runs = interleaved(context, what, arms.len(), wanted, share, &mut |_, arm| {
        let Some(tree) = arms.get(arm) else { return Ok(()) };
        chill(&tree.files(), figures.drops_all)?;
        let sample = read_cold(tree, How::Raw, context.clock)?;
        figures.raw.entry(tree.label()).or_default().push_times(sample);
        Ok(())
    })?;
    figures.raw.values_mut().for_each(|readings| readings.truncate(runs.done));
    Ok(runs)
}

/// Reading and decompressing one copy in each run, and reading the same copies without decompressing.
fn read_decoding(
    context: &Context<'_>,
    trees: &Trees,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<Runs, ExperimentError> {
    let [_, weight, ..] = WEIGHTS;
    let arms = [
        (Kind::Flat, How::Raw),
        (Kind::Gzip, How::Raw),
        (Kind::Zstd, How::Raw),
        (Kind::Gzip, How::Decoded),
        (Kind::Zstd, How::Decoded),
    ];
    let wanted = context.options.runs.unwrap_or(DEFAULT_RUNS).max(1);
    let share = budget.share(weight)?;
    let runs = interleaved(context, DECODING, arms.len(), wanted, share, &mut |run, arm| {
        let Some((kind, how)) = arms.get(arm) else { return Ok(()) };
        let Some(tree) = trees.get(*kind, 2 + run % COPIES) else { return Ok(()) };
        chill(&tree.files(), figures.drops_all)?;
        let sample = read_cold(tree, *how, context.clock)?;
        let of = if *how == How::Decoded { &mut figures.decoded } else { &mut figures.beside_decoded };
        of.entry(*kind).or_default().push_times(sample);
        Ok(())
    })?;
    let both = [&mut figures.decoded, &mut figures.beside_decoded];
    both.into_iter().flat_map(BTreeMap::values_mut).for_each(|readings| readings.truncate(runs.done));
    Ok(runs)
}

/// The published command, once.
fn read_as_published(
    context: &Context<'_>,
    trees: &Trees,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<Runs, ExperimentError> {
    let [_, _, weight, _] = WEIGHTS;
    let arms: Vec<_> = trees.all.iter().filter(|tree| tree.kind != Kind::Zstd && tree.number <= 3).collect();
    let share = budget.share(weight)?;
    let what = COMMAND;
    if share.is_some_and(|share| share.is_zero()) {
        return Ok(Runs::left_out(Statement::new("left-out-budget-used").with("what", what)));
    }
    let mut is_missing = false;
    let mut runs = interleaved(context, what, arms.len(), 1, share, &mut |_, arm| {
        let Some(tree) = arms.get(arm).filter(|_| !is_missing) else { return Ok(()) };
        chill(&tree.files(), figures.drops_all)?;
        match read_by_command(tree, context.clock)? {
            Some(sample) => figures.by_command.entry(tree.label()).or_default().push_times(sample),
            None => is_missing = true,
        }
        Ok(())
    })?;
    if is_missing {
        figures.by_command.clear();
        runs.left_out = vec![Statement::new("left-out-no-command").with("what", what).into()];
    }
    Ok(runs)
}

/// The checkouts.
fn check_out(
    context: &Context<'_>,
    trees: &Trees,
    budget: &mut Budget<'_>,
    figures: &mut Figures,
) -> Result<Runs, ExperimentError> {
    let [.., weight] = WEIGHTS;
    let Some(flat) = trees.get(Kind::Flat, 1) else {
        return Ok(Runs { done: 0, left_out: Vec::new(), is_interrupted: false });
    };
    let wanted = context.options.runs.unwrap_or(DEFAULT_RUNS).max(1);
    let (arm, runs) =
        measure_checkouts(context, &flat.descriptor()?, figures.drops_all, wanted, budget.share(weight)?)?;
    figures.git = arm;
    Ok(runs)
}

#[cfg(test)]
mod tests;
