//! `repackbench replay`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use repackbench_codec::DecoderChoice;
use repackbench_timing::workloads::{VariantPlace, WorkloadSpec};

use crate::{
    failure::Failure,
    options::{EXPERT, MemoryArguments, OUTPUT, RangeArguments, WHAT, chosen_decoders, located},
    output::{print, replay_printer::ReplayPrinter},
    progress::{Bar, stop::set_last_line},
    repository::open,
};

/// Run one workload once and print what it saw
///
/// The output is for comparison with that of git or hg.
///
/// traverse prints object ids, as `git rev-list --objects --all --no-object-names` does; diff:raw prints what
/// `git log --raw --no-abbrev --no-renames --format='commit %H'` does, without blank lines; diff:pickaxe=STRING prints
/// the ids that `git log -SSTRING --no-renames --format=%H` does; diff:patch prints patches, as
/// `git log -p --no-renames --full-index --format='commit %H'` does, without blank lines; checkout writes files to the
/// folder that --output names. web:file prints the file of each request as diff:raw does, and traverse:count how many
/// ids traverse prints.
/// sizes prints what `git cat-file --batch-check --batch-all-objects` does, cat-all what
/// `git cat-file --batch --batch-all-objects --unordered` does, with packs in another order. encode, ingest and serve
/// print counts. ingest writes to the folder that --output names. serve:zlib and serve:push write to the file that it
/// names: a pack for `git index-pack --stdin` (with `--fix-thin` if --commits is given), or a bundle for `hg unbundle`.
///
/// For a Mercurial repository the output has the same form, with nodes for ids: traverse prints the nodes of all
/// changesets, manifests and file revisions, as `hg debugindex` lists them; diff:raw prints where `hg manifest --debug`
/// differs between a changeset and its first parent; diff:pickaxe prints what counting in `hg cat` finds; diff:patch
/// prints patches from the files of the one to those of the other; checkout writes what `hg archive` writes.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// Repository, as found or a variant.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// Workload to run.
    #[arg(long, value_name = "W", help_heading = WHAT)]
    pub(crate) workload: WorkloadSpec,

    /// Implementation that decodes a format, such as zlib=libdeflate, deflate=zlib-rs or lz4=lz4_flex; may be given
    /// once for each format.
    #[arg(long = "decoder", value_name = "FORMAT=NAME", help_heading = EXPERT)]
    pub(crate) decoders: Vec<DecoderChoice>,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    /// What checkout, ingest or serve writes.
    ///
    /// An empty or new folder for checkout and ingest, a new file for serve.
    #[arg(short, long, help_heading = OUTPUT, value_name = "PATH", required_if_eq("workload", "checkout"))]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,
}

pub(crate) fn run(arguments: &ReplayArguments) -> Result<ExitCode, Failure> {
    arguments.memory.ceiling(1).set();
    let repository = open(&arguments.repository)?;
    let decoders = chosen_decoders(&repository, &arguments.decoders)?;
    let mut history = repository.history(decoders)?;
    let range = arguments.range.range(&repository, None)?;
    let mut workload = arguments.workload.build(&range, arguments.output.clone());
    // A signal ends what only prints at once and without a word, as it does git.
    let _job = arguments.output.is_some().then(|| {
        let job = Bar::new(true);
        set_last_line(|| "interrupted; what --output names is incomplete");
        job
    });
    let mut printer = ReplayPrinter::new(&arguments.workload);
    workload.prepare(&VariantPlace::of(&repository, decoders))?;
    workload.run(history.as_mut(), &mut printer)?;
    let extra = workload.extra();
    workload.clean_up()?;
    printer.finish()?;
    print(&extra.iter().map(|(name, count)| format!("{name}: {count}\n")).collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
