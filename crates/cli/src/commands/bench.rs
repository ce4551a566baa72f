//! `repackbench bench`.

use std::{
    fs::File,
    io::{BufWriter, Write},
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use repackbench_reader::Repository;
use repackbench_records::write_record;
use repackbench_report::bench_table;
use repackbench_timing::{
    bench::{BenchPlan, bench},
    clock::SystemClock,
    statistics::compare_records,
};
use repackbench_writer::cache::Cache;

use super::{ONLY_MERCURIAL, name_of, open, print, print_notes};
use crate::{
    args::BenchArguments,
    failure::{FAILED, Failure, USAGE},
    progress::Bar,
};

pub(crate) fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let source = open(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet);
    let rechooser = match (&source, arguments.rechosen) {
        (Repository::Git(_), true) => return Err(Failure::new(USAGE, ONLY_MERCURIAL)),
        (Repository::Hg(_), true) => Some(arguments.hg.program()?),
        (_, false) => None,
    };
    let plan = BenchPlan {
        rechooser,
        codecs: arguments.codecs()?,
        baseline: arguments.baseline.clone(),
        decoders: arguments.decoders(),
        workloads: arguments.workloads(),
        range: arguments.range.range(source.default_revision()),
        blocks: arguments.blocks,
        seed: arguments.seed.unwrap_or_else(seed_of_now),
        threads: arguments.effort.threads(),
    };
    // The file is made first: an hour of measuring should not end in a misspelt folder.
    let mut json = match &arguments.json {
        Some(path) => Some(BufWriter::new(
            File::create(path)
                .map_err(|error| Failure::new(FAILED, format!("{}: cannot create: {error}", path.display())))?,
        )),
        None => None,
    };
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let records = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, &mut |record| match &mut json {
        // Each record is on its way to disk before the next run starts: what was measured outlives a crash.
        Some(json) => write_record(&mut *json, record).map_err(std::io::Error::other).and_then(|()| json.flush()),
        None => Ok(()),
    })?;
    print(&bench_table(&compare_records(&records)))?;
    Ok(ExitCode::SUCCESS)
}

fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
