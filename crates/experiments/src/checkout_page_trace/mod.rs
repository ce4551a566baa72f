//! `checkout-page-trace`: how a cold checkout reads a pack and its index, page by page.
//!
//! - `arms`: the variants that are read, and what each workload reads of them;
//! - `rounds`: the measured runs;
//! - `opens`: looking for files that are not there, in every folder;
//! - `shares`, `figures`, `samples`: what comes of it;
//! - `telling`, `tables`, `verdicts`: how it is told.

mod arms;
mod figures;
mod history;
mod nominal;
mod opens;
mod rounds;
mod samples;
mod shares;
mod tables;
mod telling;
mod verdicts;

use repackbench_codec::Decoders;
use repackbench_reader::{AccessTrace, Repository};
use repackbench_records::Experiment;
use repackbench_timing::{BenchError, workloads::HistoryRange};
use repackbench_writer::StoreKind;

use self::{
    arms::{Arm, CHECKOUT, Jobs, TREES},
    history::MostChanged,
    nominal::NominalClock,
    opens::Folders,
    rounds::{LOOKED_FOR, Plan, measure_rounds},
    telling::Results,
};
use crate::{
    Context, ExperimentError,
    setting::{begin, published},
    text::count,
};

/// The name that it goes by.
pub(crate) const NAME: &str = "checkout-page-trace";

/// Runs it on a Git repository.
///
/// # Errors
/// See [`ExperimentError`]. Where nothing becomes cold, it goes on without measured times, and says so.
pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    let refuse = |why: &str| ExperimentError::Refused { experiment: NAME, why: why.to_owned() };
    let published = published(NAME)?;
    if !matches!(context.source, Repository::Git(_)) {
        return Err(refuse("it is about packs, which only Git has"));
    }
    let snapshot = context.source.snapshot()?;
    let revision = context.options.revision.clone().unwrap_or_else(|| context.source.default_revision().to_owned());
    let range = HistoryRange { revision: revision.clone(), commits: None };
    let decoders = context.source.recorded_spec().as_ref().map_or_else(Decoders::default, Decoders::for_spec);
    let mut history = context.source.history(decoders)?;
    let head = history.resolve(&revision)?.to_string();
    let (files, most_changed) = history::look(history.as_mut(), &range)?;
    drop(history);
    let names = LOOKED_FOR.last().copied().unwrap_or_default();
    let folders = Folders::of(&files, names);

    let mut experiment = begin(context, published)?;
    experiment.repository.head = Some(head);
    let mut jobs = Jobs::new(&revision, most_changed.as_ref());
    let (arms, left_out) = arms::make(context, &mut jobs)?;
    check_blame(&arms, &jobs, most_changed.as_ref())?;
    let loose = arms.iter().position(|arm| arm.layout.store == StoreKind::Loose);
    let mut faulting = |job: usize| match arms.first() {
        Some(first) => arms::faulting(first, &mut jobs, job),
        None => Ok(AccessTrace::default()),
    };
    let (checkout, trees) = (faulting(CHECKOUT)?, faulting(TREES)?);
    let plan = Plan { arms: &arms, loose, checkout: &checkout, trees: &trees, folders: &folders, revision: &revision };
    let measured = measure_rounds(context, &plan, &mut jobs)?;
    snapshot.check()?;
    let results = Results {
        published,
        arms: &arms,
        loose,
        jobs: &jobs,
        folders: &folders,
        checkout: &checkout,
        trees: &trees,
        measured: &measured,
        clock: NominalClock::current(),
        readahead: experiment.host.variant_storage.as_ref().and_then(|storage| storage.readahead_bytes),
        revision: context.options.revision.as_deref(),
        left_out: &left_out,
        most_changed: most_changed.as_ref(),
    };
    experiment.differences = results.differences();
    experiment.tables = results.tables();
    experiment.listings = results.listings();
    experiment.claims = results.claims();
    experiment.notes = results.notes();
    Ok(experiment)
}

/// Both ways to find what changed a file have to come to the same.
fn check_blame(arms: &[Arm], jobs: &Jobs, most_changed: Option<&MostChanged>) -> Result<(), ExperimentError> {
    let (Some(arm), Some(expected)) = (arms.first(), most_changed) else { return Ok(()) };
    let last = jobs.len() - 1;
    let found = arm.reads.get(last).and_then(|reads| reads.counts.get("changes")).copied().unwrap_or_default();
    if found == expected.changes {
        return Ok(());
    }
    Err(BenchError::Differs {
        workload: jobs.name(last).to_owned(),
        variant: arm.label.clone(),
        reference: "a comparison of whole trees".to_owned(),
        expected: count(expected.changes, "change", "changes"),
        found: count(found, "change", "changes"),
    }
    .into())
}
