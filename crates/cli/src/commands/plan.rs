//! What `bench` and `explain` ask for in the same words.

use std::time::{SystemTime, UNIX_EPOCH};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::Record;
use repackbench_timing::{bench::BenchPlan, workloads::WorkloadSpec};

use super::command_line;
use crate::options::{Effort, PaceArguments, RangeArguments};

/// The arguments that make a plan.
pub(super) struct PlanParts<'a> {
    pub(super) pace: &'a PaceArguments,
    pub(super) range: &'a RangeArguments,
    pub(super) effort: &'a Effort,
    pub(super) seed: Option<u64>,
    pub(super) baseline: &'a CodecSpec,
    pub(super) workloads: Vec<WorkloadSpec>,
}

/// The plan that `parts` make for `source`, without codecs, decoders and rechosen deltas. It goes on with `earlier`, if there are
/// any, under their seed.
pub(super) fn plan_with(parts: PlanParts<'_>, source: &Repository, earlier: Vec<Record>) -> BenchPlan {
    let PlanParts { pace, range, effort, seed, baseline, workloads } = parts;
    let earlier_seed = earlier.first().map(|record| record.place.seed);
    BenchPlan {
        codecs: Vec::new(),
        baseline: baseline.clone(),
        layouts: Vec::new(),
        rechooser: None,
        decoders: Vec::new(),
        workloads,
        stock: None,
        range: range.range(source.default_revision()),
        blocks: pace.blocks(),
        time: pace.time(),
        min_run_time: pace.min_run_time(),
        delta_caches: pace.delta_caches(),
        jobs: pace.jobs,
        is_cold: pace.is_cold(),
        is_self_test: false,
        earlier,
        seed: seed.or(earlier_seed).unwrap_or_else(seed_of_now),
        threads: effort.threads(),
        devices: Vec::new(),
        command: command_line(),
    }
}

/// A seed that no other session has.
pub(super) fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
