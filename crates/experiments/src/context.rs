//! The surroundings of an experiment: repository, cache, clock and options.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use repackbench_pagecache::{drop_all_caches, may_drop_all_caches, sync_file_system};
use repackbench_reader::Repository;
use repackbench_timing::{
    BenchError,
    bench::{BenchPlan, Measured, Recorder, bench},
    clock::Clock,
};
use repackbench_writer::{JobControl, Progress, cache::Cache};

/// The surroundings of an experiment.
pub struct Context<'a> {
    /// The repository.
    pub source: &'a Repository,
    /// The name that tables show.
    pub name: &'a str,
    /// Keeps variants and holds temporary copies, on the disk to be measured.
    pub cache: &'a Cache,
    /// The clock.
    pub clock: &'a (dyn Clock + Sync),
    /// Shows progress, and says whether the user wants to stop.
    pub progress: &'a dyn Progress,
    /// The options.
    pub options: &'a Options,
    /// Receives the record of every run of a benchmark.
    pub recorder: &'a Mutex<dyn Recorder + Send>,
}

impl Context<'_> {
    /// How conversions run.
    pub(crate) fn control(&self) -> JobControl<'_> {
        JobControl { threads: self.options.threads, progress: self.progress }
    }

    /// Carries out `plan` on `source`, which tables call `name`: the repository itself, or one derived from it.
    ///
    /// # Errors
    /// The error that stopped it.
    pub(crate) fn bench(&self, source: &Repository, name: &str, plan: &BenchPlan) -> Result<Measured, Box<BenchError>> {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(bench(source, name, plan, self.cache, self.clock, self.progress, &mut *recorder)?)
    }

    /// Whether the caches of the whole machine will be dropped: this process has the privilege, and the user has not forbidden it.
    pub(crate) fn may_drop_all_caches(&self) -> bool {
        !self.options.keeps_caches && may_drop_all_caches()
    }

    /// Syncs the file system of `folder` and drops the caches of the whole machine; `false` where these have to stay.
    ///
    /// # Errors
    /// The kernel or the file system refuses a permitted operation.
    pub(crate) fn drop_all_caches(&self, folder: &Path) -> io::Result<bool> {
        if self.options.keeps_caches { sync_file_system(folder).map(|()| false) } else { drop_all_caches(folder) }
    }
}

/// The options of an experiment.
#[derive(Debug, Clone)]
pub struct Options {
    /// The time limit of the measured runs of one experiment; parts that do not fit are left out, and the result names them. `None` for no
    /// limit.
    pub budget: Option<Duration>,
    /// The number of runs of each arm; `None` for the experiment's default.
    pub runs: Option<u32>,
    /// The least length of a run; `None` for the length at which the compared time is exact.
    pub min_run_time: Option<Duration>,
    /// The revision whose files are measured; `None` for the repository's default.
    pub revision: Option<String>,
    /// Whether to measure a second baseline: the repository after git or hg has searched for deltas again.
    pub is_repacked: bool,
    /// Whether the caches of the whole machine are kept even where this process may drop them. Folders and inodes are warm then.
    pub keeps_caches: bool,
    /// The git to run.
    pub git: PathBuf,
    /// The hg to run.
    pub hg: PathBuf,
    /// The extension with which hg reads further codecs.
    pub hg_extension: Option<PathBuf>,
    /// A program that measures the peak memory of git's and hg's commands; see [`StockPlan::meter`](repackbench_timing::arms::stock::StockPlan::meter).
    pub meter: Option<PathBuf>,
    /// Threads for making variants.
    pub threads: usize,
    /// The seed of random orders.
    pub seed: u64,
    /// The command line of the experiment, quoted for a shell.
    pub command: Option<String>,
}
