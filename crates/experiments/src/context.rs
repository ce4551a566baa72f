//! What every experiment works with.

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

/// What every experiment works with.
pub struct Context<'a> {
    /// The repository.
    pub source: &'a Repository,
    /// What tables call it.
    pub name: &'a str,
    /// Where variants are kept, and copies are made that are removed again: on the disk to be measured.
    pub cache: &'a Cache,
    /// The clock.
    pub clock: &'a (dyn Clock + Sync),
    /// Told what is going on, and asked whether the user wants it to end.
    pub progress: &'a dyn Progress,
    /// What the user chose.
    pub options: &'a Options,
    /// Told of every run of the benchmarks that an experiment is made of.
    pub recorder: &'a Mutex<dyn Recorder + Send>,
}

impl Context<'_> {
    /// How conversions run.
    pub(crate) fn control(&self) -> JobControl<'_> {
        JobControl { threads: self.options.threads, progress: self.progress }
    }

    /// Carries `plan` out on `source`, which tables call `name`: the repository itself, or one that was made of it.
    ///
    /// # Errors
    /// What stopped it.
    pub(crate) fn bench(&self, source: &Repository, name: &str, plan: &BenchPlan) -> Result<Measured, Box<BenchError>> {
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(bench(source, name, plan, self.cache, self.clock, self.progress, &mut *recorder)?)
    }

    /// Whether the whole machine's caches will be dropped: this process may, and the user has not forbidden it.
    pub(crate) fn may_drop_all_caches(&self) -> bool {
        !self.options.keeps_caches && may_drop_all_caches()
    }

    /// Writes out what is dirty on the file system of `folder`, and drops the whole machine's caches; `false` where that must not be.
    ///
    /// # Errors
    /// The kernel or the file system refuses what is permitted.
    pub(crate) fn drop_all_caches(&self, folder: &Path) -> io::Result<bool> {
        if self.options.keeps_caches { sync_file_system(folder).map(|()| false) } else { drop_all_caches(folder) }
    }
}

/// What the user chose.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long the measured runs of one experiment may take; what does not fit is left out, and the result says so. `None` for no limit.
    pub budget: Option<Duration>,
    /// How many times each arm is run; `None` for what the experiment takes by itself.
    pub runs: Option<u32>,
    /// How long a run lasts at least; `None` for what the compared time takes to be exact.
    pub min_run_time: Option<Duration>,
    /// The revision whose files are meant; `None` for the repository's own default.
    pub revision: Option<String>,
    /// Whether to measure a second baseline, too: the repository after git, or hg, has searched for deltas again.
    pub is_repacked: bool,
    /// Whether the caches of the whole machine stay as they are, even where this process may drop them: then folders and inodes are warm.
    pub keeps_caches: bool,
    /// The git to run.
    pub git: PathBuf,
    /// The hg to run.
    pub hg: PathBuf,
    /// The extension that hg needs for codecs it does not have.
    pub hg_extension: Option<PathBuf>,
    /// A program that tells the peak memory of git's and hg's commands; see [`StockPlan::meter`](repackbench_timing::arms::stock::StockPlan::meter).
    pub meter: Option<PathBuf>,
    /// Threads for making variants.
    pub threads: usize,
    /// The seed of random orders.
    pub seed: u64,
    /// The command that asked for it, as a shell reads it.
    pub command: Option<String>,
}
