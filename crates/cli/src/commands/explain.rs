//! `repackbench explain`.

use std::process::ExitCode;

use repackbench_report::explain_table;
use repackbench_timing::{
    bench::{BenchPlan, bench},
    clock::SystemClock,
    explain::ExplainPlan,
};
use repackbench_writer::cache::Cache;

use super::{
    bench::{RecordFile, seed_of_now},
    name_of, open, print, print_notes,
};
use crate::{
    explain_arguments::ExplainArguments,
    failure::{Failure, USAGE},
    progress::Bar,
};

pub(crate) fn run(arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let explain = ExplainPlan::new(&arguments.codec, &arguments.baseline, &source)
        .map_err(|error| Failure::new(USAGE, error.to_string()))?;
    let plan = BenchPlan {
        rechooser: None,
        codecs: explain.codecs(),
        baseline: arguments.baseline.clone(),
        decoders: explain.decoders(),
        workloads: arguments.workloads.clone(),
        range: arguments.range.range(source.default_revision()),
        blocks: arguments.blocks,
        seed: arguments.seed.unwrap_or_else(seed_of_now),
        threads: arguments.effort.threads(),
    };
    let mut json = RecordFile::create(arguments.json.as_deref())?;
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let on_record = &mut |record: &_| json.write(record);
    let records = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, on_record)?;
    print(&explain_table(&explain.explain(&records)))?;
    Ok(ExitCode::SUCCESS)
}
