//! `checkout-page-trace` (Torvalds, 2007): how a cold checkout reads a pack and its index, page by page.
//!
//! - [`arms`]: the variants that are read, and what each workload reads of them; [`history`]: the file whose history is
//!   read;
//! - [`rounds`]: the measured runs; [`lookups`]: looking for files that do not exist, in every folder;
//! - [`touches`], [`figures`], [`findings`]: the figures of it; [`published`], [`nominal`]: what they are compared
//!   with, in cycles;
//! - [`claims`], [`verdicts`]: the verdict on each claim, from figures and by rules;
//! - [`tables`], [`remarks`]: the figures beside the published ones, differences and notes.

mod arms;
mod claims;
mod figures;
mod findings;
mod history;
mod lookups;
mod nominal;
mod published;
mod remarks;
mod rounds;
mod tables;
mod touches;
mod verdicts;

use repackbench_codec::Decoders;
use repackbench_reader::{AccessTrace, Repository};
use repackbench_records::{Experiment, StoredStatement};
use repackbench_timing::{BenchError, workloads::HistoryRange};
use repackbench_writer::StoreKind;

use self::{
    arms::{CHECKOUT, Jobs, TREES, VariantArm},
    findings::Findings,
    history::MostChanged,
    lookups::Folders,
    nominal::NominalClock,
    rounds::{LOOKED_FOR, Plan, measure_rounds},
};
use crate::{Context, ExperimentError, setting};

/// The experiment's name.
pub(crate) const NAME: &str = "checkout-page-trace";

/// Runs it on a Git repository.
///
/// # Errors
/// See [`ExperimentError`]. If nothing becomes cold, it goes on without measured times, and says so.
pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    let refuse = |why: &str| ExperimentError::Refused { experiment: NAME, why: why.to_owned() };
    let published = setting::published(NAME)?;
    if !matches!(context.source, Repository::Git(_)) {
        return Err(refuse("it is about packs, which only Git has"));
    }
    let snapshot = context.source.snapshot()?;
    let revision = context.options.revision.clone().unwrap_or_else(|| context.source.default_revision().to_owned());
    let range = HistoryRange { revision: revision.clone(), commits: None, seed: 0 };
    let decoders = context.source.recorded_spec().as_ref().map_or_else(Decoders::default, Decoders::for_spec);
    let mut history = context.source.history(decoders)?;
    let head = history.resolve(&revision)?.to_string();
    let (files, most_changed) = history::look(history.as_mut(), &range)?;
    drop(history);
    let names = LOOKED_FOR.last().copied().unwrap_or_default();
    let folders = Folders::of(&files, names);

    let mut experiment = setting::begin(context, published)?;
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
    let found = Findings {
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
    experiment.tables = tables::tables(&found);
    experiment.listings = tables::listings(&found);
    experiment.claims = claims::claims(&found);
    experiment.differences = remarks::differences(&found).into_iter().map(StoredStatement::from).collect();
    experiment.notes = remarks::notes(&found).into_iter().map(StoredStatement::from).collect();
    Ok(experiment)
}

/// The two ways to count the changes of a file have to agree.
fn check_blame(arms: &[VariantArm], jobs: &Jobs, most_changed: Option<&MostChanged>) -> Result<(), ExperimentError> {
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
        expected: format!("{} changes", expected.changes),
        found: format!("{found} changes"),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Statement, published_experiment};

    use super::*;
    use crate::tests::{Setting, assert_all_worded, files_of, words};

    #[test]
    fn every_arm_is_read_cold_and_every_statement_has_words() {
        let setting = Setting::new(&files_of(40), 2);
        setting.commit(|path| std::fs::write(path.join("sub-1/file 1.c"), "int main(void) { return 0; }\n").unwrap());
        setting.repack();
        let result = setting.run(run).unwrap();
        assert_all_worded(&result);
        assert_eq!(result.claims.len(), published_experiment(NAME).unwrap().claims.len());
        let cold = Statement::new("cold-in-each-order");
        let cold = result.tables.iter().find(|table| table.is_titled(&cold)).unwrap();
        for row in &cold.rows {
            assert_eq!(row.measured[CHECKOUT].as_ref().unwrap().samples.len(), 2, "{}", row.label);
        }
        let notes = words(&result.notes);
        assert!(notes.iter().any(|note| note.starts_with("The blame is of sub-1/file 1.c, the file")), "{notes:?}");
        assert_eq!(setting.left_in_cache(), 0);
    }
}
