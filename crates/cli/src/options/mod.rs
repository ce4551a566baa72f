//! Options that several commands share, each declared once, and the types of their values.

mod byte_size;
mod client;
mod codecs;
mod decoders;
mod destination;
mod devices;
mod git_client;
mod headings;
mod hg_extension;
mod kinds;
mod layout;
mod measure;
mod pace;
mod programs;
mod range;
mod records;
mod repository_path;
mod session;
mod spec;

use std::num::NonZeroUsize;

use clap::Args;
use repackbench_reader::memory::Ceiling;
use repackbench_writer::JobControl;

pub(crate) use self::{
    byte_size::ByteSize,
    client::{BenchWorkload, ClientArguments, Implementation, other_zlibs},
    codecs::CodecsArguments,
    decoders::chosen_decoders,
    destination::{Destination, destination},
    devices::DeviceArguments,
    git_client::GitClientArguments,
    headings::{EXPERT, HOW_LONG, OUTPUT, WHAT},
    hg_extension::HgExtensionArgument,
    kinds::{KindArguments, all_kinds},
    layout::{LayoutArguments, LayoutAxes, Written},
    measure::MeasureArguments,
    pace::{MinRunTimeArgument, PaceArguments, Percent, SeedArgument, Span, TimeLimit},
    programs::{ProgramArguments, WindowArgument, meter},
    range::{RangeArguments, changeset_of},
    records::{RecordArguments, RecordWriter, create_json, locked, refuse_existing},
    repository_path::{enclosing_repository, is_repository, located},
    session::SessionArguments,
    spec::SpecArguments,
};

use crate::progress::Bar;

/// Whether a repository may lack objects.
#[derive(Debug, Args)]
pub(crate) struct Completeness {
    /// Continue, with a note, if objects are missing.
    ///
    /// Without it, missing object directories of alternates and missing objects that refs name are errors. Shallow and
    /// partial clones may lack objects in any case.
    #[arg(long, help_heading = EXPERT)]
    pub(crate) allow_missing: bool,
}

/// Threads and verbosity.
#[derive(Debug, Args)]
pub(crate) struct Effort {
    /// Number of threads, at most 256 [default: all cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), help_heading = EXPERT)]
    threads: Option<u16>,

    #[command(flatten)]
    quiet: QuietArgument,
}

/// The option that silences a command.
#[derive(Debug, Args)]
pub(crate) struct QuietArgument {
    /// Print no progress or notes.
    ///
    /// Results on stdout stay. Commands that write repositories, dictionaries or payloads print nothing if all went
    /// well, and so does verify if nothing differs.
    #[arg(short, long, help_heading = OUTPUT)]
    pub(crate) quiet: bool,
}

impl Effort {
    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        let all_cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all_cores, usize::from)
    }

    /// Whether to print no progress, notes or summary of what was written.
    pub(crate) fn quiet(&self) -> bool {
        self.quiet.quiet
    }

    /// The control of a job with the progress bar `bar`.
    pub(crate) fn control<'a>(&self, bar: &'a Bar) -> JobControl<'a> {
        JobControl { threads: self.threads(), progress: bar }
    }
}

/// The ceiling of memory.
#[derive(Debug, Args)]
pub(crate) struct MemoryArguments {
    /// Memory limit of decoded objects: bytes, or with K, M or G [default: half the memory of the machine or its
    /// cgroup]. One object may take an eighth of it, but always 64M; a larger one is an error, unless it can be
    /// streamed: convert and cat-all stream whole objects above 64M.
    #[arg(long, value_name = "SIZE", help_heading = EXPERT)]
    memory: Option<ByteSize>,
}

impl MemoryArguments {
    /// The ceiling for `threads` threads.
    pub(crate) fn ceiling(&self, threads: usize) -> Ceiling {
        Ceiling::new(self.memory.map(|ByteSize(bytes)| bytes), threads)
    }
}
