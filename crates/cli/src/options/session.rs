//! The options of commands that measure a session on one repository: `bench`, `alternatives` and `explain`.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use clap::Args;
use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::Record;
use repackbench_timing::{
    bench::{BenchPlan, Measured, Recorder, bench},
    clock::SystemClock,
    workloads::HistoryRange,
};
use repackbench_writer::cache::Cache;

use super::{Destination, Effort, MeasureArguments, MemoryArguments, RangeArguments, located, records::has_content};
use crate::{
    failure::Failure,
    output::{command_line, record_file::RecordFile},
    progress::{Bar, stop::set_last_words},
    repository::{cannot_convert, name_of, open_with_commits, print_notes},
};

/// A session on one repository.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// The repository.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    #[command(flatten)]
    range: RangeArguments,

    #[command(flatten)]
    pub(crate) measure: MeasureArguments,

    #[command(flatten)]
    memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

impl SessionArguments {
    /// Checks the file of records, sets the ceiling of memory, opens the repository and prints its notes.
    pub(crate) fn open(&self) -> Result<Repository, Failure> {
        self.measure.records.check(true)?;
        self.memory.ceiling(self.effort.threads()).for_histories(self.measure.pace.jobs as usize).set();
        let source = open_with_commits(&self.repository).map_err(|failure| match self.measure.pace.resume {
            Some(_) => failure.with_hint("a session that was begun with a relative path is resumed in the same folder"),
            None => failure,
        })?;
        print_notes(&source, self.effort.quiet());
        Ok(source)
    }

    /// The plan for `source` without codecs, workloads and other rows. A resumed session keeps its seed.
    pub(crate) fn plan(
        &self,
        source: &Repository,
        baseline: &CodecSpec,
        hg: Option<&Path>,
    ) -> Result<BenchPlan, Failure> {
        let earlier = self.measure.earlier()?;
        let earlier_seed = earlier.first().map(|record| record.place.seed);
        let seed = self.measure.seed.given_or(earlier_seed);
        let pace = &self.measure.pace;
        Ok(BenchPlan {
            codecs: Vec::new(),
            baseline: baseline.clone(),
            layouts: Vec::new(),
            recomputer: None,
            harder: None,
            searches_if_fits: false,
            decoders: Vec::new(),
            workloads: Vec::new(),
            stock: None,
            range: HistoryRange { seed, ..self.range.range(source, hg)? },
            blocks: pace.blocks(),
            time: pace.time(),
            is_fitted: true,
            min_run_time: pace.min_run_time.duration(),
            delta_caches: pace.delta_caches(),
            jobs: pace.jobs,
            is_cold: pace.is_cold(),
            own_git: None,
            is_self_test: false,
            earlier,
            seed,
            threads: self.effort.threads(),
            devices: Vec::new(),
            command: self.measure.command.clone().or_else(command_line),
        })
    }

    /// The failure of `command`; after an interrupt, with the command that continues the session, if it has records.
    pub(crate) fn with_way_on(&self, command: &str, failure: Failure) -> Failure {
        let json = self.measure.records.json.as_ref().and_then(Destination::file);
        match self.measure.pace.resume.as_deref().or(json) {
            Some(path) if failure.is_interrupt() && has_content(path) => {
                let file = path.display();
                let hint =
                    format!("what was measured is kept; repackbench {command} --resume {file} continues the session");
                failure.with_hint(hint)
            }
            _ => failure,
        }
    }

    /// Measures `source` by `plan`, and writes every run to `file`. If the process has to end before the session can,
    /// `show` receives what was measured.
    pub(crate) fn run(
        &self,
        source: &Repository,
        plan: &BenchPlan,
        file: &mut RecordFile,
        show: impl FnOnce(Vec<Record>) + Send + 'static,
    ) -> Result<Measured, Failure> {
        let cache = Cache::open(None)?;
        let bar = Bar::new(self.effort.quiet());
        let records = Arc::new(Mutex::new(Vec::new()));
        let measured = Arc::clone(&records);
        set_last_words(move || {
            let records = std::mem::take(&mut *measured.lock().unwrap_or_else(PoisonError::into_inner));
            if !records.is_empty() {
                show(records);
            }
        });
        let mut recorder = SharedRecords { file, records };
        let measured =
            bench(source, &name_of(&self.repository), plan, &cache, &SystemClock::new(), &bar, &mut recorder);
        measured.map_err(|error| cannot_convert(source, error.into()))
    }
}

/// Writes records to a file, and keeps them for the thread that ends the process.
struct SharedRecords<'f> {
    file: &'f mut RecordFile,
    records: Arc<Mutex<Vec<Record>>>,
}

impl Recorder for SharedRecords<'_> {
    fn keep(&mut self, earlier: &[Record]) -> io::Result<()> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(earlier);
        self.file.keep(earlier)
    }

    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        self.file.record(record)
    }
}
