//! Options that several commands share, each declared once, and the types of their values.

mod byte_size;
mod client;
mod hg_extension;
mod layout;
mod measure;
mod output;
mod pace;
mod programs;
mod repository_path;
mod spec;

use std::num::NonZeroUsize;

use clap::Args;
use repackbench_reader::memory::Ceiling;
use repackbench_timing::workloads::HistoryRange;
use repackbench_writer::JobControl;

pub(crate) use self::{
    byte_size::ByteSize,
    client::{BenchWorkload, ClientArguments, Implementation, other_zlibs},
    hg_extension::find_hg_extension,
    layout::{LayoutArguments, LayoutAxes, Written},
    measure::MeasureArguments,
    output::OutputArguments,
    pace::{PaceArguments, Percent, Span},
    programs::{ProgramArguments, meter},
    repository_path::located,
    spec::SpecArguments,
};

use crate::progress::Bar;

/// What a repository may lack.
#[derive(Debug, Args)]
pub(crate) struct Completeness {
    /// Go on, with a note, where object directories of alternates or objects that refs name are not there. Shallow and partial clones may
    /// lack objects in any case.
    #[arg(long)]
    pub(crate) allow_missing: bool,
}

/// How much of the machine to use, and how much to say.
#[derive(Debug, Args)]
pub(crate) struct Effort {
    /// Threads, at most 256; all cores by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Show no progress, no notes and no summary.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Effort {
    pub(crate) fn threads(&self) -> usize {
        let all_cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all_cores, usize::from)
    }

    /// How a job runs that `bar` follows.
    pub(crate) fn control<'a>(&self, bar: &'a Bar) -> JobControl<'a> {
        JobControl { threads: self.threads(), progress: bar }
    }
}

/// How much memory to use.
#[derive(Debug, Args)]
pub(crate) struct MemoryArguments {
    /// The most memory that decoded objects take at once: bytes, or with K, M or G [default: half of what the machine, or its memory
    /// group (cgroup), has]. One object may take an eighth of it, but always 64M; a larger one is an error, unless it can be streamed:
    /// convert and cat-all stream whole objects above 64M.
    #[arg(long, value_name = "SIZE")]
    memory: Option<ByteSize>,
}

impl MemoryArguments {
    /// The ceiling, shared by `threads` threads.
    pub(crate) fn ceiling(&self, threads: usize) -> Ceiling {
        Ceiling::new(self.memory.map(|ByteSize(bytes)| bytes), threads)
    }
}

/// What part of history to look at.
#[derive(Debug, Args)]
pub(crate) struct RangeArguments {
    /// The revision that checkout, diff, ingest and serve start from [default: HEAD, or Mercurial's tip]. In Mercurial a
    /// number, node, bookmark, tag or branch; no revset.
    #[arg(long, value_name = "REV", allow_negative_numbers = true)]
    rev: Option<String>,

    /// Let diff, ingest and serve look at the newest N commits only. For Mercurial's ingest and serve these are the N changesets up
    /// to --rev, by number.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    commits: Option<u64>,
}

impl RangeArguments {
    pub(crate) fn range(&self, default_revision: &str) -> HistoryRange {
        let revision = self.rev.as_deref().unwrap_or(default_revision).to_owned();
        HistoryRange { revision, commits: self.commits }
    }
}
