//! `repackbench bench`.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use repackbench_reader::Repository;
use repackbench_records::{Record, write_record};
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
    let mut json = RecordFile::create(arguments.json.as_deref())?;
    let cache = Cache::open(None)?;
    let bar = Bar::new(arguments.effort.quiet);
    let name = name_of(&arguments.repository);
    let on_record = &mut |record: &_| json.write(record);
    let records = bench(&source, &name, &plan, &cache, &SystemClock::new(), &bar, on_record)?;
    print(&bench_table(&compare_records(&records)))?;
    Ok(ExitCode::SUCCESS)
}

/// Where records go, if the user wants them.
pub(super) struct RecordFile(Option<BufWriter<File>>);

impl RecordFile {
    /// Makes the file before anything else: an hour of measuring should not end in a misspelt folder.
    pub(super) fn create(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(RecordFile(None)) };
        let refused = |error| Failure::new(FAILED, format!("{}: cannot create: {error}", path.display()));
        Ok(RecordFile(Some(BufWriter::new(File::create(path).map_err(refused)?))))
    }

    /// Each record is on its way to disk before the next run starts: what was measured outlives a crash.
    pub(super) fn write(&mut self, record: &Record) -> io::Result<()> {
        match &mut self.0 {
            Some(file) => write_record(&mut *file, record).map_err(io::Error::other).and_then(|()| file.flush()),
            None => Ok(()),
        }
    }
}

/// A seed that no other session has.
pub(super) fn seed_of_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
