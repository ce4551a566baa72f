//! `repackbench serve`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_codec::CodecSpec;
use repackbench_records::write_rollout;
use repackbench_report::sections;
use repackbench_timing::{
    arms::serve::{RolloutPlan, rollout},
    clock::SystemClock,
};
use repackbench_writer::cache::Cache;

use crate::{
    failure::{FAILED, Failure},
    options::{
        EXPERT, Effort, HOW_LONG, MemoryArguments, RangeArguments, RecordArguments, SpecArguments, WHAT, located,
    },
    output::print_article,
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
/// Examples:
///   repackbench serve repo --codec zstd:5 --rollout
///   repackbench serve repo --codec balanced --commits 100 --rollout --json serve.json
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

    /// Make each pack N times.
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = HOW_LONG, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) blocks: u32,

    /// Seed of the random order of runs.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = EXPERT)]
    pub(crate) seed: u64,

    #[command(flatten)]
    records: RecordArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    effort: Effort,
}

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    arguments.records.check(false)?;
    arguments.memory.ceiling(arguments.effort.threads()).set();
    let source = open_with_commits(&arguments.repository)?;
    print_notes(&source, arguments.effort.quiet());
    let plan = RolloutPlan {
        codec: arguments.with.apply(&arguments.codec)?,
        range: arguments.range.range(source.default_revision()),
        runs: arguments.blocks,
        seed: arguments.seed,
        threads: arguments.effort.threads(),
    };
    let json = arguments.records.open()?;
    let bar = Bar::new(arguments.effort.quiet());
    let name = name_of(&arguments.repository);
    let measured = rollout(&source, &name, &plan, &Cache::open(None)?, &SystemClock::new(), &bar)?;
    if let Some(file) = json {
        write_rollout(file, &measured)
            .map_err(|error| Failure::new(FAILED, format!("--json: cannot write: {error}")))?;
    }
    if arguments.records.take_stdout() {
        return Ok(ExitCode::SUCCESS);
    }
    print_article(sections::rollout(&measured, arguments.rollout))?;
    Ok(ExitCode::SUCCESS)
}
