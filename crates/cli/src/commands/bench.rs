//! `repackbench bench`.

use std::{
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use repackbench_reader::Repository;
use repackbench_records::Record;
use repackbench_report::{Results, self_test_table};
use repackbench_timing::{
    bench::{BenchError, BenchPlan, bench},
    clock::SystemClock,
    statistics::self_test,
};
use repackbench_writer::cache::Cache;

use super::{
    ONLY_MERCURIAL, command_line, name_of, open, print, print_notes,
    report::{Outputs, of_runs, style, tables},
};
use crate::{
    args::BenchArguments,
    failure::{Failure, USAGE},
    progress::Bar,
    record_file::{self, RecordFile},
};

pub(crate) fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let earlier = match &arguments.pace.resume {
        Some(path) => record_file::read(path)?,
        None => Vec::new(),
    };
    let plan = plan(arguments, &source, earlier)?;
    let mut outputs = Outputs::prepare(&arguments.output)?;
    let mut file = RecordFile::of(arguments.json.as_deref(), arguments.pace.resume.as_deref())?;
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let measured = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, &mut file)?;
    if plan.is_self_test {
        print(&self_test_table(&self_test(&measured.records)))?;
    } else {
        let results = of_runs(Results { runs: measured.records, ..Results::default() });
        outputs.write(&results)?;
        outputs.print(&results, &tables(&results, style()))?;
    }
    if measured.is_interrupted { Err(BenchError::Interrupted.into()) } else { Ok(ExitCode::SUCCESS) }
}

fn plan(arguments: &BenchArguments, source: &Repository, earlier: Vec<Record>) -> Result<BenchPlan, Failure> {
    let rechooser = match (source, arguments.rechosen) {
        (Repository::Git(_), true) => return Err(Failure::new(USAGE, ONLY_MERCURIAL)),
        (Repository::Hg(_), true) => Some(arguments.hg.program()?),
        (_, false) => None,
    };
    let earlier_seed = earlier.first().map(|record| record.place.seed);
    Ok(BenchPlan {
        rechooser,
        codecs: arguments.codecs()?,
        baseline: arguments.baseline.clone(),
        decoders: arguments.decoders(),
        workloads: arguments.workloads(),
        range: arguments.range.range(source.default_revision()),
        blocks: arguments.pace.blocks(),
        time: arguments.pace.time(),
        delta_caches: arguments.pace.delta_caches(),
        jobs: arguments.pace.jobs,
        is_cold: arguments.pace.is_cold(),
        devices: arguments.devices(),
        is_self_test: arguments.self_test,
        seed: arguments.seed.or(earlier_seed).unwrap_or_else(seed_of_now),
        earlier,
        threads: arguments.effort.threads(),
        command: command_line(),
    })
}

/// A seed that no other session has.
pub(super) fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
