//! `repackbench serve`.

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::ResultLine;
use repackbench_report::{Article, sections};
use repackbench_timing::{
    arms::{
        load::{LoadPlan, serving_load},
        serve::{RolloutPlan, rollout},
    },
    clock::SystemClock,
};
use repackbench_writer::cache::Cache;

use crate::{
    failure::{FAILED, Failure},
    options::{
        EXPERT, Effort, HOW_LONG, MemoryArguments, RangeArguments, RecordArguments, Span, SpecArguments, WHAT, located,
        meter,
    },
    output::{record_file::RecordFile, table_output::TableArguments},
    progress::Bar,
    repository::{name_of, open_with_commits, print_notes},
};

/// Show what a server pays while clients move to another codec
///
/// Makes the pack for a clone, or with --commits N for a fetch of the last N commits, as a server does
/// that reuses what it has stored, and shows CPU time and bytes on the wire:
///   - from a repository under zlib to a client of zlib: stored bytes unchanged, the baseline;
///   - from the converted one to a client with the codec: stored bytes unchanged;
///   - from the converted one to a client of zlib: every entry decoded and compressed again under
///     zlib:6, a delta as a delta;
///   - the last two again from a mixed one, in which every second entry is converted.
///
/// A Mercurial server sends its files unchanged to a client that clones and reads all of them (a
/// stream clone). A converted one sends a client of zlib a bundle (a pull): it decodes every delta and
/// compresses all of them as one stream. With --commits, every exchange is a pull. In the mixed one
/// every second revlog is converted.
///
/// With --rollout it also shows the mean for 0, 10, ... 100 % upgraded clients.
///
/// With --clients, unpatched git serves several clients at once, with commit-graph, bitmaps,
/// multi-pack-index and pack reuse: clones, and fetches of the newest 1, 10 and 100 commits.
/// The table has elapsed time (median and 99th percentile), CPU time, peak memory and bytes for
///   - zlib to clients of zlib: stored bytes are reused, the baseline;
///   - the codec to clients of the codec: the same;
///   - the codec to clients of zlib: each entry compressed again, deltas kept;
///   - the codec to clients of zlib: by git alone, which searches for deltas again;
///   - zlib to clients of zlib, with deltas searched for again.
///
/// Every different pack is checked as the client would.
///
/// Examples:
///   repackbench serve repo --codec zstd:5 --rollout
///   repackbench serve repo --codec balanced --commits 100 --rollout --json serve.json
///   repackbench serve repo --codec zstd:3 --clients 1,8,32 --time 10m
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServeArguments {
    /// Repository.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// Codec that clients move to.
    #[arg(long, value_name = "SPEC", help_heading = WHAT)]
    codec: CodecSpec,

    #[command(flatten)]
    with: SpecArguments,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    /// Also show the mean for each share of upgraded clients.
    #[arg(long, help_heading = WHAT)]
    pub(crate) rollout: bool,

    /// Let unpatched git serve this many clients at once; each number, after a comma, is measured in turn.
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = WHAT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with_all = ["rollout", "commits", "blocks"])]
    clients: Vec<u32>,

    /// Measure --clients for this time.
    ///
    /// Such as 90s, 10m or 1h; making variants and checking packs does not count. What takes too long for it is left
    /// out and named.
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "clients", help_heading = HOW_LONG)]
    time: Span,

    /// git program for --clients.
    #[arg(long, value_name = "PROGRAM", default_value = "git", requires = "clients", help_heading = EXPERT)]
    git: OsString,

    /// Make each pack N times.
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = HOW_LONG, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) blocks: u32,

    /// Seed of the random order of runs, and of the requests of --clients.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = EXPERT)]
    pub(crate) seed: u64,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    output: TableArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    let output = arguments.output.create(arguments.records.json.as_ref())?;
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let source = open_with_commits(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet());
    let mut json = RecordFile::open(&arguments.records)?;
    let (line, article) = match arguments.clients.is_empty() {
        true => show_rollout(arguments, &source)?,
        false => show_load(arguments, &source)?,
    };
    json.append(&line)?;
    output.write(&[article])?;
    Ok(ExitCode::SUCCESS)
}

fn show_rollout(arguments: &ServeArguments, source: &Repository) -> Result<(ResultLine, Article), Failure> {
    let plan = RolloutPlan {
        codec: arguments.with.apply(&arguments.codec)?,
        range: arguments.range.range(source, None)?,
        runs: arguments.blocks,
        seed: arguments.seed,
        threads: arguments.effort.threads(),
    };
    let bar = Bar::new(arguments.effort.quiet());
    let name = name_of(&arguments.repository);
    let measured = rollout(source, &name, &plan, &Cache::open(None)?, &SystemClock::new(), &bar)?;
    let article = sections::rollout(&measured, arguments.rollout);
    Ok((ResultLine::Rollout(Box::new(measured)), article))
}

fn show_load(arguments: &ServeArguments, source: &Repository) -> Result<(ResultLine, Article), Failure> {
    let program = meter().ok_or_else(|| Failure::new(FAILED, "cannot find this program's own file"))?;
    let plan = LoadPlan {
        codec: arguments.with.apply(&arguments.codec)?,
        revision: arguments.range.range(source, None)?.revision,
        clients: arguments.clients.clone(),
        time: arguments.time.0,
        seed: arguments.seed,
        threads: arguments.effort.threads(),
        git: arguments.git.clone(),
        program,
    };
    let bar = Bar::new(arguments.effort.quiet());
    let name = name_of(&arguments.repository);
    let measured = serving_load(source, &name, &plan, &Cache::open(None)?, &SystemClock::new(), &bar)?;
    let article = sections::serving_load(&measured);
    Ok((ResultLine::ServingLoad(Box::new(measured)), article))
}
