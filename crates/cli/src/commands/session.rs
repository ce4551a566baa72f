//! What `bench`, `explain` and `alternatives` do alike: plan a session and run it.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_timing::{
    bench::{BenchPlan, Measured, bench},
    clock::SystemClock,
};
use repackbench_writer::cache::Cache;

use super::{command_line, name_of};
use crate::{
    failure::Failure,
    options::{Effort, MeasureArguments, RangeArguments},
    progress::Bar,
    record_file::RecordFile,
};

/// The plan for `source` without codecs, workloads and other rows. A resumed session keeps its seed.
pub(super) fn plan(
    source: &Repository,
    baseline: &CodecSpec,
    measure: &MeasureArguments,
    range: &RangeArguments,
    effort: &Effort,
) -> Result<BenchPlan, Failure> {
    let earlier = measure.earlier()?;
    let earlier_seed = earlier.first().map(|record| record.place.seed);
    let pace = &measure.pace;
    Ok(BenchPlan {
        codecs: Vec::new(),
        baseline: baseline.clone(),
        layouts: Vec::new(),
        recomputer: None,
        decoders: Vec::new(),
        workloads: Vec::new(),
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
        seed: measure.seed.or(earlier_seed).unwrap_or_else(seed_of_now),
        threads: effort.threads(),
        devices: Vec::new(),
        command: command_line(),
    })
}

/// Runs `plan` on `source`, the repository at `path`, with a progress bar. Each record goes to `file` when it is measured.
pub(super) fn run(
    source: &Repository,
    path: &Path,
    plan: &BenchPlan,
    effort: &Effort,
    file: &mut RecordFile,
) -> Result<Measured, Failure> {
    let cache = Cache::open(None)?;
    let bar = Bar::new(effort.quiet);
    Ok(bench(source, &name_of(path), plan, &cache, &SystemClock::new(), &bar, file)?)
}

/// A seed that no other session has.
pub(super) fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
