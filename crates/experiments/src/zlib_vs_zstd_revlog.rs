//! `zlib-vs-zstd-revlog` (Octobus, 2019): what zstd instead of zlib, and the level of each, change for the size, reading
//! and writing of revlogs.
//!
//! The published figures are of hg's own functions, timed by its `perf` extension. Here every revision is read
//! in-process, and hg writes by `debugupgraderepo`, its own command that chooses all deltas again.
//!
//! - [`findings`]: the figures, and the extreme levels;
//! - [`claims`]: the verdict on each claim;
//! - [`tables`]: the figures beside the published ones, differences and notes.

mod claims;
mod findings;
mod tables;

use repackbench_codec::CodecSpec;
use repackbench_records::{Experiment, SizeRecord, Statement, StoredStatement};
use repackbench_timing::{arms::stock::StockWorkload, sizes::measure, workloads::WorkloadSpec};
use repackbench_writer::cache::GetOrMakeError;

use self::findings::Findings;
use crate::{
    Context, ExperimentError,
    budget::{Budget, time_to_look},
    deltas,
    measuring::{Job, Measuring, Work},
    probe::{self, Probe},
    setting::{begin, complete, published},
    variants::{Sized, of_variant},
};

pub(crate) const NAME: &str = "zlib-vs-zstd-revlog";

/// The codec that all others are compared with: hg's default of 2019.
const BASELINE: &str = "zlib:6";
/// The levels of zlib, the lowest one first.
const ZLIB: [&str; 3] = ["zlib:1", BASELINE, "zlib:9"];
/// The level of zstd that most claims are about: its default in hg.
const ZSTD_DEFAULT: &str = "zstd:3";
/// The levels of zstd, the lowest one first.
const ZSTD: [&str; 6] = ["zstd:1", ZSTD_DEFAULT, "zstd:5", "zstd:10", "zstd:15", "zstd:20"];
/// All codecs but the baseline, those that the claims need first.
const CODECS: [&str; 8] = [ZSTD_DEFAULT, "zlib:1", "zstd:1", "zstd:20", "zlib:9", "zstd:10", "zstd:5", "zstd:15"];

/// The weights of the parts of the budget.
mod weight {
    pub(super) const READ: u32 = 25;
    pub(super) const WRITE: u32 = 45;
    pub(super) const VERIFY: u32 = 20;
    pub(super) const COMPRESS: u32 = 10;
    pub(super) const ALL: u32 = READ + WRITE + VERIFY + COMPRESS;
}

/// Every variant.
struct Variants {
    as_found: SizeRecord,
    baseline: Sized,
    /// In the order of [`CODECS`].
    codecs: Vec<Sized>,
}

impl Variants {
    fn make(context: &Context<'_>) -> Result<Self, ExperimentError> {
        let as_found = measure(context.source, "as found")?;
        let baseline = Sized::make(context, context.source, BASELINE)?;
        let codecs = CODECS.iter().map(|text| Sized::make(context, context.source, text)).collect::<Result<_, _>>()?;
        Ok(Variants { as_found, baseline, codecs })
    }

    fn specs(&self) -> Vec<CodecSpec> {
        self.codecs.iter().map(|codec| codec.spec.clone()).collect()
    }
}

pub(crate) fn run(context: &Context<'_>) -> Result<Experiment, ExperimentError> {
    let published = published(NAME)?;
    let mut experiment = begin(context, published)?;
    let variants = Variants::make(context)?;
    let deltas = if context.options.is_repacked { Some(deltas::measure(context)?) } else { None };
    let mut measuring =
        Measuring::new(context, context.source, context.name.to_owned(), variants.baseline.spec.clone());
    match measure_all(&mut measuring, &variants) {
        Err(ExperimentError::Interrupted) => measuring.is_interrupted = true,
        result => result?,
    }
    complete(&mut experiment, &measuring.records, &variants.as_found);
    let found = Findings::new(published, &measuring.records, &variants);
    experiment.differences = tables::differences(&experiment, &found);
    experiment.tables = tables::tables(&found);
    experiment.claims = claims::claims(&found);
    experiment.notes = tables::notes();
    if let Some(deltas) = &deltas {
        experiment.tables.push(deltas::table(deltas));
        experiment.notes.extend(deltas::note(deltas).map(StoredStatement::from));
    }
    experiment.notes.append(&mut measuring.left_out);
    if measuring.is_interrupted {
        experiment.notes.push(Statement::new("user-stopped").into());
    }
    Ok(experiment)
}

/// Measures what fits into the budget: reading and writing, which was published, before what explains it.
fn measure_all(measuring: &mut Measuring<'_>, variants: &Variants) -> Result<(), ExperimentError> {
    let specs = variants.specs();
    let mut budget = Budget::new(measuring.context.clock, measuring.context.options.budget, weight::ALL)?;
    let read = vec![WorkloadSpec::CatAll, WorkloadSpec::Floor(Box::new(WorkloadSpec::CatAll)), WorkloadSpec::Traverse];
    let read = Job::new(Statement::new("reading-in-process"), Work::Replays(read), weight::READ, &specs);
    measuring.measure(&read, &mut budget)?;
    let (write, verify) = look(measuring, variants, &budget)?;
    let by_hg = |what, workload, weight| Job::new(what, Work::Commands(vec![workload]), weight, &specs).by_plain_hg();
    // Nothing is written under the unknown codec of the repository as found.
    let write = by_hg("hg debugupgraderepo", StockWorkload::Repack, weight::WRITE).taking(write).with_rows(1, 1);
    measuring.measure(&write, &mut budget)?;
    measuring.measure(&by_hg("hg verify", StockWorkload::Fsck, weight::VERIFY).taking(verify), &mut budget)?;
    let compress = Work::Replays(vec![WorkloadSpec::Encode]);
    let compress = Job::new(Statement::new("compressing-in-process"), compress, weight::COMPRESS, &specs);
    measuring.measure(&compress, &mut budget)
}

/// The times of `hg debugupgraderepo` and `hg verify` on the baseline. Each may take the share of a job of its weight.
fn look(
    measuring: &Measuring<'_>,
    variants: &Variants,
    budget: &Budget<'_>,
) -> Result<(Probe, Probe), ExperimentError> {
    let context = measuring.context;
    if measuring.is_interrupted {
        return Ok((Probe::Unknown, Probe::Unknown));
    }
    let scratch = context.cache.scratch().map_err(|error| of_variant(GetOrMakeError::Cache(error)))?;
    let copy = probe::copy_for_hg(variants.baseline.variant.path(), scratch.path())?;
    let hg = |arguments: &[&str]| {
        let mut command = probe::hg(context, scratch.path());
        command.arg("-R").arg(&copy).args(arguments);
        command
    };
    let verified = time_to_look(budget, weight::VERIFY)?;
    let verified = probe::time_of(context, hg(&["verify", "-q"]), "hg verify", verified)?;
    let upgrade = [
        "--config",
        "format.revlog-compression=zlib",
        "debugupgraderepo",
        "-q",
        "--run",
        "--no-backup",
        "--optimize",
        "re-delta-all",
    ];
    let written = time_to_look(budget, weight::WRITE)?;
    let written = probe::time_of(context, hg(&upgrade), "hg debugupgraderepo", written)?;
    Ok((written, verified))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        tests::{Setting, assert_all_worded, files_of},
        zlib_vs_zstd_revlog::findings::tests::{found_of, made_up, sizes_of},
    };

    #[test]
    fn codecs_are_all_levels_but_the_baseline() {
        let mut codecs = [&CODECS[..], &[BASELINE]].concat();
        let mut levels = [&ZLIB[..], &ZSTD].concat();
        codecs.sort_unstable();
        levels.sort_unstable();
        assert_eq!(codecs, levels);
    }

    #[test]
    fn whole_result_has_words_for_all_statements() {
        let records = made_up(&[("zstd:3", 0.6), ("zstd:20", 0.7), ("zlib:1", 0.9)]);
        let sizes = sizes_of(&[("zlib:6", 100), ("zlib:1", 105), ("zstd:3", 102), ("zstd:20", 98)]);
        let published = published(NAME).unwrap();
        let found = found_of(published, &records, sizes);
        let result = Setting::new(&files_of(1), 1).run(|context| {
            let mut result = begin(context, published)?;
            result.differences = tables::differences(&result, &found);
            result.tables = tables::tables(&found);
            result.claims = claims::claims(&found);
            result.notes = tables::notes();
            Ok(result)
        });
        let result = result.unwrap();
        assert_all_worded(&result);
        assert_eq!(result.tables.len(), 3);
        assert_eq!(result.claims.len(), published.claims.len());
        // The published figures are those of four repositories, and of two.
        let defaults = &result.tables[0];
        let count = |at: usize| defaults.rows.iter().filter(|row| row.published[at].is_some()).count();
        assert_eq!([count(0), count(1)], [4, 2]);
        assert_eq!(defaults.rows.iter().filter(|row| row.measured[0].is_some()).count(), 1);
    }
}
