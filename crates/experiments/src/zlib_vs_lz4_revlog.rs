//! What lz4 in place of zlib changes for the size of revlogs, `update` and `clone --pull`: the experiment of 2012.
//!
//! Its hg was patched; here it is not, and an extension brings the codecs. Repositories of 2012 had neither general deltas nor sparse
//! revlogs, and their manifests were stored otherwise, so that a copy in that layout is measured beside the repository as found.

mod claims;
mod layout;
mod memory;
mod several;
mod shares;
mod tables;

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{Experiment, SizeRecord};
use repackbench_timing::{
    BenchError,
    arms::stock::{Receiver, StockWorkload, copy_repository},
    sizes::measure,
    workloads::{Exchange, WorkloadSpec},
};
use repackbench_writer::cache::GetOrMakeError;

pub(crate) use self::several::compare_repositories;
use self::{layout::OldLayout, tables::LayoutFindings};
use crate::{
    Context, ExperimentError,
    budget::{Budget, time_to_look},
    deltas,
    measuring::{Job, Measuring, Work},
    probe::{self, Probe},
    setting::{begin, complete, published},
    variants::{Sized, of_variant, spec},
};

pub(crate) const NAME: &str = "zlib-vs-lz4-revlog";

/// What all are compared with.
const BASELINE: &str = "zlib:6";
/// The codecs that were published, those that most claims are about first.
const CODECS: [&str; 2] = ["lz4", "lz4hc:9"];
/// What hg writes today, which every benchmark of Mercurial has a row of.
const TODAY: &str = "zstd:3";
/// Whose rows tell what any compression costs.
const STORE: &str = "store";
/// How many changesets come anew.
const NEW_CHANGESETS: u64 = 100;

/// The parts of the budget.
mod weight {
    pub(super) const REPLAYS: u32 = 16;
    pub(super) const NEWEST: u32 = 4;
    pub(super) const UPDATE: u32 = 14;
    pub(super) const CLONE: u32 = 18;
    pub(super) const PULL: u32 = 8;
    pub(super) const OLD_REPLAYS: u32 = 6;
    pub(super) const OLD_UPDATE: u32 = 12;
    pub(super) const OLD_CLONE: u32 = 22;
    pub(super) const ALL: u32 = REPLAYS + NEWEST + UPDATE + CLONE + PULL + OLD_REPLAYS + OLD_UPDATE + OLD_CLONE;
}

/// A repository in one layout, with its variants.
pub(super) struct Layout<'a> {
    /// What tables call it.
    pub(super) name: &'static str,
    source: &'a Repository,
    pub(super) as_found: SizeRecord,
    pub(super) baseline: Sized,
    /// Those of [`CODECS`], then [`TODAY`]'s and [`STORE`]'s.
    pub(super) codecs: Vec<Sized>,
}

impl<'a> Layout<'a> {
    fn make(context: &Context<'_>, name: &'static str, source: &'a Repository) -> Result<Self, ExperimentError> {
        let codecs = CODECS.iter().chain([&TODAY, &STORE]).map(|text| Sized::make(context, source, text));
        Ok(Layout {
            name,
            source,
            as_found: measure(source, name)?,
            baseline: Sized::make(context, source, BASELINE)?,
            codecs: codecs.collect::<Result<_, _>>()?,
        })
    }

    /// The whole of its name for tables.
    fn repository(&self, context: &Context<'_>) -> String {
        if self.name == AS_FOUND { context.name.to_owned() } else { format!("{}, {}", context.name, self.name) }
    }
}

pub(super) const AS_FOUND: &str = "as found";
pub(super) const OLD: &str = "in the layout of 2012";

pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    let mut notes = Vec::new();
    let found = Layout::make(context, AS_FOUND, context.source)?;
    let old_layout = layout::make(context, &mut notes)?;
    let old = match &old_layout {
        Some(OldLayout { repository, .. }) => Some(Layout::make(context, OLD, repository)?),
        None => None,
    };
    let deltas = if context.options.is_repacked { Some(deltas::measure(context)?) } else { None };
    let baseline = spec(BASELINE)?;
    let new = |layout: &Layout<'_>| layout.repository(context);
    let mut measuring = Measuring::new(context, found.source, new(&found), baseline.clone());
    let mut of_old = old.as_ref().map(|old| Measuring::new(context, old.source, new(old), baseline.clone()));
    match measure_all(&mut measuring, &found, of_old.as_mut().zip(old.as_ref())) {
        Err(ExperimentError::Interrupted) => measuring.is_interrupted = true,
        result => result?,
    }
    complete(&mut experiment, &measuring.records, &found.as_found);
    let mut layouts = vec![LayoutFindings::new(published, &found, &measuring.records)];
    if let (Some(old), Some(of_old)) = (&old, &of_old) {
        layouts.push(LayoutFindings::new(published, old, &of_old.records));
    }
    experiment.differences = tables::differences(context, &layouts);
    experiment.tables = tables::tables(&layouts);
    experiment.claims = claims::claims(published, &layouts);
    experiment.notes = tables::notes(published);
    if let Some(deltas) = &deltas {
        experiment.tables.push(deltas::table(deltas));
        experiment.notes.extend(deltas::note(deltas));
    }
    let is_interrupted = measuring.is_interrupted || of_old.as_ref().is_some_and(|of_old| of_old.is_interrupted);
    experiment.notes.extend(notes);
    experiment.notes.append(&mut measuring.left_out);
    experiment.notes.extend(of_old.into_iter().flat_map(|of_old| of_old.left_out));
    if is_interrupted {
        experiment.notes.push("The user stopped it: what comes after is not there.".to_owned());
    }
    Ok(experiment)
}

/// Measures what fits into the budget: replays first, then hg's own commands, then the layout of 2012.
fn measure_all(
    measuring: &mut Measuring<'_>,
    found: &Layout<'_>,
    old: Option<(&mut Measuring<'_>, &Layout<'_>)>,
) -> Result<(), ExperimentError> {
    let context = measuring.context;
    let specs = CODECS.iter().map(|text| spec(text)).collect::<Result<Vec<CodecSpec>, _>>()?;
    let rows = RowsOfHg::new(context, &specs)?;
    let mut budget = Budget::new(context.clock, context.options.budget, weight::ALL)?;
    let replays = vec![
        WorkloadSpec::Checkout,
        floor_of(WorkloadSpec::Checkout),
        WorkloadSpec::Encode,
        floor_of(WorkloadSpec::Traverse),
        floor_of(WorkloadSpec::Serve(Exchange::Zlib)),
    ];
    let job = Job::new("Replays of update, and the codecs alone", Work::Replays(replays), weight::REPLAYS, &specs);
    measuring.measure(&job.with_rows(3, 1), &mut budget)?;
    let newest = vec![floor_of(WorkloadSpec::Serve(Exchange::Zlib)), floor_of(WorkloadSpec::Ingest)];
    let job = Job::new("The codecs alone in a pull", Work::Replays(newest), weight::NEWEST, &specs);
    measuring.measure(&job.with_rows(3, 1).of_newest(NEW_CHANGESETS), &mut budget)?;
    let (update, clone) = look(measuring, found, &budget, [weight::UPDATE, weight::CLONE])?;
    measuring.measure(&rows.update("hg update", weight::UPDATE).taking(update), &mut budget)?;
    measuring.measure(&rows.clone_pull("hg clone --pull", weight::CLONE).taking(clone), &mut budget)?;
    let pull = rows.exchange("hg pull", StockWorkload::Fetch(Receiver::Same), weight::PULL).taking(update);
    measuring.measure(&pull.of_newest(NEW_CHANGESETS), &mut budget)?;
    let Some((measuring_old, old)) = old else { return Ok(()) };
    measuring_old.is_interrupted = measuring.is_interrupted;
    let replays = vec![WorkloadSpec::Checkout, floor_of(WorkloadSpec::Checkout)];
    let what = "Replays of update in the layout of 2012";
    let job = Job::new(what, Work::Replays(replays), weight::OLD_REPLAYS, &specs);
    measuring_old.measure(&job.with_rows(3, 1), &mut budget)?;
    let (update, clone) = look(measuring_old, old, &budget, [weight::OLD_UPDATE, weight::OLD_CLONE])?;
    let job = rows.update("hg update in the layout of 2012", weight::OLD_UPDATE).taking(update);
    measuring_old.measure(&job, &mut budget)?;
    let job = rows.clone_pull("hg clone --pull in the layout of 2012", weight::OLD_CLONE).taking(clone);
    measuring_old.measure(&job, &mut budget)
}

/// The rows that hg's commands have.
struct RowsOfHg {
    /// Codecs besides the baseline and today's, those that most claims are about first.
    codecs: Vec<CodecSpec>,
    /// Rows of an update besides one of each codec.
    others: usize,
}

impl RowsOfHg {
    /// Without the extension hg reads zlib, zstd and what is not compressed alone.
    fn new(context: &Context<'_>, specs: &[CodecSpec]) -> Result<Self, ExperimentError> {
        let has_extension = context.options.hg_extension.is_some();
        let specs = if has_extension { specs } else { &[] };
        // As found, zlib and zstd; with the extension zlib, zstd and store once more.
        let others = if has_extension { 6 } else { 3 };
        Ok(RowsOfHg { codecs: specs.iter().cloned().chain([spec(STORE)?]).collect(), others })
    }

    fn update<'a>(&'a self, what: &'a str, weight: u32) -> Job<'a> {
        let work = Work::Commands(vec![StockWorkload::Replayed(WorkloadSpec::Checkout)]);
        Job::new(what, work, weight, &self.codecs).with_rows(self.others, 1)
    }

    fn clone_pull<'a>(&'a self, what: &'a str, weight: u32) -> Job<'a> {
        self.exchange(what, StockWorkload::Clone(Receiver::Same), weight)
    }

    /// What has no row of the source as found, as that may be under several codecs.
    fn exchange<'a>(&'a self, what: &'a str, workload: StockWorkload, weight: u32) -> Job<'a> {
        Job::new(what, Work::Commands(vec![workload]), weight, &self.codecs).with_rows(self.others - 1, 1)
    }
}

fn floor_of(workload: WorkloadSpec) -> WorkloadSpec {
    WorkloadSpec::Floor(Box::new(workload))
}

/// How long `hg update` and `hg clone --pull` take on the baseline, in copies: hg writes caches beside what it reads. Each may take what is
/// due to a job of its weight.
fn look(
    measuring: &Measuring<'_>,
    layout: &Layout<'_>,
    budget: &Budget<'_>,
    [update_weight, clone_weight]: [u32; 2],
) -> Result<(Probe, Probe), ExperimentError> {
    let context = measuring.context;
    if measuring.is_interrupted {
        return Ok((Probe::Unknown, Probe::Unknown));
    }
    let scratch = context.cache.scratch().map_err(|error| of_variant(GetOrMakeError::Cache(error)))?;
    let copy = scratch.path().join("copy");
    let made = std::fs::create_dir(&copy);
    made.map_err(|source| ExperimentError::Io { action: "create", path: copy.clone(), source })?;
    let from = layout.baseline.variant.path().join(".hg");
    copy_repository(&from, &copy.join(".hg")).map_err(BenchError::from)?;
    let mut command = probe::hg(context, scratch.path());
    if layout.name == OLD {
        layout::write_as_then(&mut command);
    }
    command.args(["clone", "-q", "--pull", "-U"]).arg(&copy).arg(scratch.path().join("clone"));
    let cloned = probe::time_of(context, command, "hg clone --pull", time_to_look(budget, clone_weight)?)?;
    let revision = context.options.revision.as_deref().unwrap_or(context.source.default_revision());
    let mut command = probe::hg(context, scratch.path());
    command.arg("-R").arg(&copy).args(["update", "-q", "-r", revision]);
    let updated = probe::time_of(context, command, "hg update", time_to_look(budget, update_weight)?)?;
    Ok((updated, cloned))
}
