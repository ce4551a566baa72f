//! `zlib-vs-lz4-revlog` (O'Sullivan, 2012): what lz4 instead of zlib changes for the size of revlogs, `update` and
//! `clone --pull`.
//!
//! The hg of 2012 was patched; here it is not, and an extension brings the codecs. Repositories of 2012 had neither
//! general deltas nor sparse revlogs, and their manifests were stored differently, so a copy in that layout is measured
//! beside the repository as found.
//!
//! - [`layout`]: the copy in the layout of 2012;
//! - [`findings`]: the figures of one layout; [`shares`]: zlib's share of the CPU time; [`memory`]: memory;
//! - [`claims`]: the verdict on each claim; [`several`]: the verdict that takes several repositories;
//! - [`tables`]: the figures beside the published ones, differences and notes.

mod claims;
mod findings;
mod layout;
mod memory;
mod several;
mod shares;
mod tables;

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{Experiment, SizeRecord, Statement, StatementValue, StoredStatement};
use repackbench_timing::{
    arms::stock::{Receiver, StockWorkload},
    sizes::measure,
    workloads::{Exchange, WorkloadSpec},
};
use repackbench_writer::cache::GetOrMakeError;

pub(crate) use self::several::compare_repositories;
use self::{findings::LayoutFindings, layout::OldLayout};
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

/// The codec that all others are compared with.
const BASELINE: &str = "zlib:6";
/// The codecs that were published, those that most claims are about first.
const CODECS: [&str; 2] = ["lz4", "lz4hc:9"];
/// The codec that hg writes today; every benchmark of Mercurial has a row of it.
const TODAY: &str = "zstd:3";
/// No compression: its rows show the cost of any.
const STORE: &str = "store";
/// The number of new changesets in a pull.
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

/// The layout of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayoutKind {
    /// The repository's own.
    AsFound,
    /// That of 2012.
    Of2012,
}

impl LayoutKind {
    /// Its name in the names of repositories.
    fn name(self) -> &'static str {
        match self {
            LayoutKind::AsFound => "as found",
            LayoutKind::Of2012 => "in the layout of 2012",
        }
    }

    /// A statement about the layout.
    fn says(self, id: &str) -> Statement {
        let layout = match self {
            LayoutKind::AsFound => "as-found",
            LayoutKind::Of2012 => "in-the-layout-of-2012",
        };
        Statement::new(id).with("layout", Statement::new(layout))
    }
}

/// A repository in one layout, with its variants.
struct Layout<'a> {
    kind: LayoutKind,
    source: &'a Repository,
    as_found: SizeRecord,
    baseline: Sized,
    /// The variants of [`CODECS`], then of [`TODAY`] and [`STORE`].
    codecs: Vec<Sized>,
}

impl<'a> Layout<'a> {
    fn make(context: &Context<'_>, kind: LayoutKind, source: &'a Repository) -> Result<Self, ExperimentError> {
        let codecs = CODECS.iter().chain([&TODAY, &STORE]).map(|text| Sized::make(context, source, text));
        Ok(Layout {
            kind,
            source,
            as_found: measure(source, kind.name())?,
            baseline: Sized::make(context, source, BASELINE)?,
            codecs: codecs.collect::<Result<_, _>>()?,
        })
    }

    /// The name of the repository in this layout.
    fn repository(&self, context: &Context<'_>) -> String {
        match self.kind {
            LayoutKind::AsFound => context.name.to_owned(),
            kind => format!("{}, {}", context.name, kind.name()),
        }
    }
}

pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    let mut notes = Vec::new();
    let found = Layout::make(context, LayoutKind::AsFound, context.source)?;
    let old_layout = layout::make(context, &mut notes)?;
    let old = match &old_layout {
        Some(OldLayout { repository, .. }) => Some(Layout::make(context, LayoutKind::Of2012, repository)?),
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
    experiment.notes = tables::notes();
    if let Some(deltas) = &deltas {
        experiment.tables.push(deltas::table(deltas));
        experiment.notes.extend(deltas::note(deltas).map(StoredStatement::from));
    }
    let is_interrupted = measuring.is_interrupted || of_old.as_ref().is_some_and(|of_old| of_old.is_interrupted);
    experiment.notes.extend(notes.into_iter().map(StoredStatement::from));
    experiment.notes.append(&mut measuring.left_out);
    experiment.notes.extend(of_old.into_iter().flat_map(|of_old| of_old.left_out));
    if is_interrupted {
        experiment.notes.push(Statement::new("user-stopped").into());
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
    let what = Statement::new("replays-of-update-and-codecs");
    let job = Job::new(what, Work::Replays(replays), weight::REPLAYS, &specs);
    measuring.measure(&job.with_rows(3, 1), &mut budget)?;
    let newest = vec![floor_of(WorkloadSpec::Serve(Exchange::Zlib)), floor_of(WorkloadSpec::Ingest)];
    let job = Job::new(Statement::new("codecs-in-a-pull"), Work::Replays(newest), weight::NEWEST, &specs);
    measuring.measure(&job.with_rows(3, 1).of_newest(NEW_CHANGESETS), &mut budget)?;
    let (update, clone) = look(measuring, found, &budget, [weight::UPDATE, weight::CLONE])?;
    measuring.measure(&rows.update("hg update", weight::UPDATE).taking(update), &mut budget)?;
    measuring.measure(&rows.clone_pull("hg clone --pull", weight::CLONE).taking(clone), &mut budget)?;
    let pull = rows.exchange("hg pull", StockWorkload::Fetch(Receiver::Same), weight::PULL).taking(update);
    measuring.measure(&pull.of_newest(NEW_CHANGESETS), &mut budget)?;
    let Some((measuring_old, old)) = old else { return Ok(()) };
    measuring_old.is_interrupted = measuring.is_interrupted;
    let replays = vec![WorkloadSpec::Checkout, floor_of(WorkloadSpec::Checkout)];
    let in_old_layout = |what: StatementValue| LayoutKind::Of2012.says("in-layout").with("what", what);
    let what = in_old_layout(Statement::new("replays-of-update").into());
    let job = Job::new(what, Work::Replays(replays), weight::OLD_REPLAYS, &specs);
    measuring_old.measure(&job.with_rows(3, 1), &mut budget)?;
    let (update, clone) = look(measuring_old, old, &budget, [weight::OLD_UPDATE, weight::OLD_CLONE])?;
    let job = rows.update(in_old_layout("hg update".into()), weight::OLD_UPDATE).taking(update);
    measuring_old.measure(&job, &mut budget)?;
    let job = rows.clone_pull(in_old_layout("hg clone --pull".into()), weight::OLD_CLONE).taking(clone);
    measuring_old.measure(&job, &mut budget)
}

/// The rows of hg's commands.
struct RowsOfHg {
    /// Codecs other than the baseline and today's, those that most claims are about first.
    codecs: Vec<CodecSpec>,
    /// Rows of an update other than one of each codec.
    others: usize,
}

impl RowsOfHg {
    /// Without the extension hg reads only zlib, zstd and what is not compressed.
    fn new(context: &Context<'_>, specs: &[CodecSpec]) -> Result<Self, ExperimentError> {
        let has_extension = context.options.hg_extension.is_some();
        let specs = if has_extension { specs } else { &[] };
        // As found, zlib and zstd; with the extension, zlib, zstd and store once more.
        let others = if has_extension { 6 } else { 3 };
        Ok(RowsOfHg { codecs: specs.iter().cloned().chain([spec(STORE)?]).collect(), others })
    }

    fn update(&self, what: impl Into<StatementValue>, weight: u32) -> Job<'_> {
        let work = Work::Commands(vec![StockWorkload::Replayed(WorkloadSpec::Checkout)]);
        Job::new(what, work, weight, &self.codecs).with_rows(self.others, 1)
    }

    fn clone_pull(&self, what: impl Into<StatementValue>, weight: u32) -> Job<'_> {
        self.exchange(what, StockWorkload::Clone(Receiver::Same), weight)
    }

    /// A command without a row of the source as found, which may be under several codecs.
    fn exchange(&self, what: impl Into<StatementValue>, workload: StockWorkload, weight: u32) -> Job<'_> {
        Job::new(what, Work::Commands(vec![workload]), weight, &self.codecs).with_rows(self.others - 1, 1)
    }
}

fn floor_of(workload: WorkloadSpec) -> WorkloadSpec {
    WorkloadSpec::Floor(Box::new(workload))
}

/// The times of `hg update` and `hg clone --pull` on the baseline, in copies because hg writes caches beside what it
/// reads. Each may take the share of a job of its weight.
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
    let copy = probe::copy_for_hg(layout.baseline.variant.path(), scratch.path())?;
    let mut command = probe::hg(context, scratch.path());
    if layout.kind == LayoutKind::Of2012 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        tests::{Setting, assert_all_worded, blocks, by_client, files_of},
        zlib_vs_lz4_revlog::{
            claims::tests::size,
            findings::{LZ4, LZ4HC, ZLIB},
        },
    };

    #[test]
    fn whole_result_has_words_for_all_statements() {
        let mut records = by_client("checkout", &[("zlib:6", 0.9), ("lz4", 0.8), ("lz4hc:9", 0.8), ("store", 0.5)]);
        records.extend(by_client("clone:same", &[("zlib:6", 1.0), ("lz4", 0.6), ("lz4hc:9", 1.0)]));
        for record in &mut records {
            record.usage.peak_resident_bytes = Some(100_000_000);
        }
        for workload in ["checkout", "floor:checkout", "encode", "floor:traverse"] {
            records.extend(blocks(workload, "zlib:6", "lz4", 0.5));
            records.extend(blocks(workload, "zlib:6", "lz4hc:9", 0.5));
        }
        let sizes = || vec![(ZLIB, size(40, 60)), (LZ4, size(60, 60)), (LZ4HC, size(50, 60))];
        let published = published(NAME).unwrap();
        let setting = Setting::new(&files_of(1), 1);
        for kinds in [&[LayoutKind::AsFound][..], &[LayoutKind::AsFound, LayoutKind::Of2012]] {
            let layouts: Vec<LayoutFindings<'_>> =
                kinds.iter().map(|kind| LayoutFindings::of(*kind, published, &records, sizes())).collect();
            let result = setting.run(|context| {
                let mut result = begin(context, published)?;
                result.differences = tables::differences(context, &layouts);
                result.tables = tables::tables(&layouts);
                result.claims = claims::claims(published, &layouts);
                result.notes = tables::notes();
                Ok(result)
            });
            let result = result.unwrap();
            assert_all_worded(&result);
            assert_eq!(result.tables.len(), 5 * layouts.len());
            assert_eq!(result.claims.len(), published.claims.len());
        }
    }
}
