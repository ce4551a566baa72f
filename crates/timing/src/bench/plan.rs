//! What a benchmark measures, and the checks that it can be measured.

mod stock;

use std::{ffi::OsString, time::Duration};

use repackbench_analysis::blocks_for_verdicts;
use repackbench_codec::{CodecSpec, DecoderChoice};
use repackbench_reader::{DEFAULT_DELTA_CACHE, Repository};
use repackbench_records::{ChunkSizes, Record};
use repackbench_writer::{DeltaRecomputer, Layout, StoreKind};

use crate::{
    BenchError,
    arms::stock::StockPlan,
    delta_search,
    session::StopRule,
    trace::Device,
    workloads::{HistoryRange, WorkloadSpec, refuse_numbers},
};

/// The fewest blocks that give an interval.
const BLOCKS_FOR_INTERVALS: u32 = 6;

/// The fewest blocks that can decide each of this many ratios: there is an interval, and blocks that all agree leave 5 %
/// or less after Holm's correction.
pub(super) fn deciding_blocks(ratios: usize) -> u32 {
    BLOCKS_FOR_INTERVALS.max(blocks_for_verdicts(ratios))
}

/// How many times each variant does each job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Blocks {
    /// A fixed number of times.
    Exactly(u32),
    /// Until every ratio is precise enough.
    UntilPrecise {
        /// At least this number of times; `None` for as many as verdicts on all ratios of the session take.
        min: Option<u32>,
        /// At most this number of times.
        max: u32,
        /// Half of the widest interval that is precise enough, as a part of 1.
        precision: f64,
    },
}

impl Blocks {
    /// The rule for a session with this many ratios.
    pub(super) fn rule(self, ratios: usize) -> StopRule {
        match self {
            Blocks::Exactly(blocks) => StopRule::exactly(blocks),
            Blocks::UntilPrecise { min, max, precision } => {
                let min = min.unwrap_or_else(|| deciding_blocks(ratios));
                StopRule { min_blocks: min.min(max), max_blocks: max, precision: precision.ln_1p() }
            }
        }
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct BenchPlan {
    /// The codecs to measure, in the order of the table. A codec that means the same as an earlier one, or as the
    /// baseline, is measured once.
    pub codecs: Vec<CodecSpec>,
    /// The codec that the others are compared with.
    pub baseline: CodecSpec,
    /// How variants are laid out on disk: each codec in each layout, the first of which is the baseline's. Empty for
    /// the layout of the source only.
    pub layouts: Vec<Layout>,
    /// Who computes the deltas of a second variant of each codec; `None` for the source's deltas only.
    pub recomputer: Option<DeltaRecomputer>,
    /// A git that searches harder, for a third variant of each codec.
    pub harder: Option<DeltaRecomputer>,
    /// Whether [`Self::recomputer`] is left out where it is predicted to take too much of [`Self::time`].
    pub searches_if_fits: bool,
    /// Other implementations that read variants once more: a row for each variant with chunks that they can read.
    pub decoders: Vec<DecoderChoice>,
    /// The jobs that are replayed in-process. Empty if the user's own client does them all.
    pub workloads: Vec<WorkloadSpec>,
    /// The jobs that the user's own client does; `None` if it does none.
    pub stock: Option<StockPlan>,
    /// The revision that checkout and diff start from, and how far diff goes.
    pub range: HistoryRange,
    /// How many times each variant does each job.
    pub blocks: Blocks,
    /// How long measuring may take, from the first look at the contents on: no block begins that would end later,
    /// except the first of each workload. Making variants does not count. `None` for no limit.
    pub time: Option<Duration>,
    /// Whether the work is fitted to [`Self::time`]: workloads that read commits read the newest ones that fit, and runs
    /// get shorter, so that each workload has its fewest blocks. Otherwise the time only limits the number of blocks.
    pub is_fitted: bool,
    /// How long a run lasts at least: the job is repeated within it. `None` for as long as the compared time takes to
    /// be exact.
    pub min_run_time: Option<Duration>,
    /// The limits of the cache of delta bases, in bytes, `None` for no limit: the first for all rows, each further one
    /// for one more row of each variant. Empty for the default.
    pub delta_caches: Vec<Option<u64>>,
    /// How many copies of a job run at once, each in its own thread.
    pub jobs: u32,
    /// Whether each run reads a copy of its own that is not in the page cache.
    pub is_cold: bool,
    /// The devices to model a cold start on, for workloads that have an access trace.
    pub devices: Vec<Device>,
    /// The user's own git, whose time is compared with the share of decoding; `None` not to run it.
    pub own_git: Option<OsString>,
    /// Whether to measure only the baseline, under several names.
    pub is_self_test: bool,
    /// The records of a session that was stopped and that this one continues.
    pub earlier: Vec<Record>,
    /// The seed of the random order.
    pub seed: u64,
    /// Threads for making variants.
    pub threads: usize,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
}

impl BenchPlan {
    /// The codecs of the variants of `source`: the baseline, then what hg itself writes, then the others, each meaning
    /// once, however it was typed.
    pub(super) fn specs(&self, source: &Repository) -> Vec<CodecSpec> {
        let mut specs = Vec::new();
        for spec in std::iter::once(&self.baseline).chain(&second_reference(source)).chain(&self.codecs) {
            let spec = match source {
                Repository::Git(_) => spec.clone(),
                Repository::Hg(_) => spec.for_revlogs(),
            };
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        specs
    }

    /// How variants are laid out on disk.
    pub(super) fn layouts(&self) -> Vec<Layout> {
        if self.layouts.is_empty() { vec![Layout::default()] } else { self.layouts.clone() }
    }

    /// Refuses what would be measured wrongly.
    pub(super) fn check(&self, source: &Repository) -> Result<(), BenchError> {
        let refused = |why: String| Err(BenchError::Plan { why });
        for spec in self.specs(source) {
            for layout in self.layouts() {
                layout.check(source, &spec)?;
                if self.recomputers().next().is_some() {
                    layout.check_recomputed(&spec)?;
                }
            }
        }
        if self.stock.is_some() {
            stock::check(self, source)?;
        }
        // The other workloads prepare their data again in each copy, and the time of that would be measured.
        if let Some(workload) = self.workloads.iter().find(|workload| self.jobs > 1 && !workload.is_traced()) {
            return refused(format!("{workload} cannot run as several jobs at once"));
        }
        check_payloads(&self.workloads, &self.layouts()).or_else(refused)?;
        if let Some(workload) = self.workloads.iter().find(|workload| workload.compresses_payloads()) {
            check_numbers(workload, &self.specs(source)).or_else(refused)?;
            refuse_numbers(source, &workload.to_string())?;
        }
        if self.is_cold && !self.earlier.is_empty() {
            // New copies are in other places of the disk, which the statistics would take for the old ones.
            return refused("a session of cold runs cannot be resumed: its copies are gone".to_owned());
        }
        Ok(())
    }

    /// The plan for a source of these chunks, without a search for deltas that would take too long.
    pub(super) fn fitted_to(&self, source: &Repository, chunks: &ChunkSizes) -> BenchPlan {
        let window = self.recomputer.as_ref().and_then(|recomputer| recomputer.window(source));
        let takes = delta_search::predicted_time(chunks, window, self.threads);
        let fits = !self.searches_if_fits || self.time.is_none_or(|time| delta_search::fits(takes, time));
        BenchPlan { recomputer: self.recomputer.clone().filter(|_| fits), ..self.clone() }
    }

    /// Whether the session ends in an answer, with what else it says: the share of decoding, the user's own git, and memory.
    pub(super) fn has_answer(&self) -> bool {
        self.is_fitted && self.time.is_some() && self.jobs <= 1 && !self.is_cold && !self.is_self_test
    }

    /// The number of variants that are made or taken from the cache.
    pub(super) fn variants(&self, source: &Repository) -> usize {
        let of_each = self.layouts().len() + self.recomputers().count();
        if self.is_self_test { 1 } else { self.specs(source).len() * of_each }
    }

    /// Who searches for the deltas of further variants of each codec.
    pub(super) fn recomputers(&self) -> impl Iterator<Item = &DeltaRecomputer> {
        self.recomputer.iter().chain(&self.harder)
    }

    /// The limit for all rows, and those that make more rows.
    pub(super) fn delta_caches(&self) -> (Option<u64>, &[Option<u64>]) {
        self.delta_caches.split_first().map_or((Some(DEFAULT_DELTA_CACHE), &[]), |(first, others)| (*first, others))
    }

    /// The workloads for which further limits of the cache of delta bases make no rows, if there are further limits.
    pub fn without_cache_rows(&self) -> impl Iterator<Item = &WorkloadSpec> {
        let has_more = self.delta_caches.len() > 1;
        self.workloads.iter().filter(move |workload| has_more && !workload.uses_delta_cache())
    }

    /// Whether some job starts from [`Self::range`]'s revision. A traversal starts from all refs.
    pub(super) fn needs_revision(&self) -> bool {
        let stock = self.stock.iter().flat_map(|stock| &stock.workloads);
        self.workloads.iter().any(WorkloadSpec::needs_revision)
            || stock.into_iter().any(|workload| workload.needs_revision())
    }
}

/// Refuses to compare how fast payloads are compressed where the payloads differ: other stores hold whole objects, each
/// once, instead of deltas.
fn check_payloads(workloads: &[WorkloadSpec], layouts: &[Layout]) -> Result<(), String> {
    let Some(workload) = workloads.iter().find(|workload| workload.compresses_stored_payloads()) else { return Ok(()) };
    let Some(layout) = layouts.iter().find(|layout| layout.store != StoreKind::AsFound) else { return Ok(()) };
    Err(format!(
        "{workload} compresses the same payloads under each codec, but --store {} holds others: expected only --store pack, or no {workload}",
        layout.store
    ))
}

/// What hg itself writes today, if `source` is Mercurial's: a row beside the baseline.
fn second_reference(source: &Repository) -> Option<CodecSpec> {
    match source {
        Repository::Git(_) => None,
        Repository::Hg(_) => "zstd:3".parse().ok(),
    }
}

/// Refuses `workload`, which compresses payloads, where a variant has others than git: before any variant is made.
fn check_numbers(workload: &WorkloadSpec, specs: &[CodecSpec]) -> Result<(), String> {
    let Some(spec) = specs.iter().find(|spec| spec.uses_numbers()) else { return Ok(()) };
    Err(format!(
        "{workload} compresses the payloads that git has, but {spec} changes them: expected a spec without ids=number, or no {workload}"
    ))
}

#[cfg(test)]
mod tests {
    use repackbench_writer::Order;

    use super::*;

    #[test]
    fn a_session_has_at_least_as_many_blocks_as_verdicts_take() {
        let until = |min, max| Blocks::UntilPrecise { min, max, precision: 0.01 };
        assert_eq!(until(None, 40).rule(1).min_blocks, 6);
        assert_eq!(until(None, 40).rule(30).min_blocks, blocks_for_verdicts(30));
        assert!(blocks_for_verdicts(30) > 6);
        assert_eq!(until(Some(3), 40).rule(30).min_blocks, 3, "the user knows");
        assert_eq!(until(None, 4).rule(30), StopRule { min_blocks: 4, max_blocks: 4, precision: 0.01_f64.ln_1p() });
        assert_eq!(Blocks::Exactly(2).rule(30), StopRule::exactly(2));
    }

    #[test]
    fn encoding_is_not_compared_across_stores() {
        let check = |workload: &str, stores: &[StoreKind]| {
            let layouts: Vec<Layout> =
                stores.iter().map(|store| Layout { store: *store, ..Layout::default() }).collect();
            check_payloads(&["traverse".parse().unwrap(), workload.parse().unwrap()], &layouts)
        };
        let refused = check("encode", &StoreKind::ALL).unwrap_err();
        assert!(refused.contains("--store loose holds others: expected only --store pack"), "{refused}");
        assert!(check("encode", &[StoreKind::Btree]).is_err(), "the source is measured beside it");
        assert_eq!(check("encode", &[StoreKind::AsFound]), Ok(()));
        assert_eq!(check("ingest", &StoreKind::ALL), Ok(()), "new objects are loose ones everywhere");
        let orders = Order::ALL.map(Layout::in_order);
        assert_eq!(check_payloads(&[WorkloadSpec::Encode], &orders), Ok(()), "the same payloads in another order");
    }

    #[test]
    fn numbered_payloads_are_not_compressed_again() {
        let specs: Vec<CodecSpec> = ["zlib:6", "zstd:3,ids=number"].map(|spec| spec.parse().unwrap()).to_vec();
        for workload in ["encode", "ingest", "floor:ingest"] {
            let spec: WorkloadSpec = workload.parse().unwrap();
            assert!(spec.compresses_payloads());
            let refused = check_numbers(&spec, &specs).unwrap_err();
            assert!(refused.starts_with(&format!("{workload} compresses")), "{refused}");
            assert!(refused.contains("zstd:3,ids=number changes them"), "{refused}");
        }
        assert!(!"traverse:count".parse::<WorkloadSpec>().unwrap().compresses_payloads());
        assert_eq!(check_numbers(&WorkloadSpec::Encode, &specs[..1]), Ok(()));
    }
}
