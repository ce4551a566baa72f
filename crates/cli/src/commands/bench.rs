//! `repackbench bench`.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use repackbench_analysis::self_test;
use repackbench_codec::{CodecSpec, DecoderChoice, DecoderChoices};
use repackbench_reader::Repository;
use repackbench_records::Record;
use repackbench_report::sections;
use repackbench_timing::{
    bench::{BenchPlan, Blocks},
    record_names::vcs_of,
};
use repackbench_writer::{DeltaRecomputer, Layout};

use crate::{
    failure::{Failure, USAGE, print_note},
    options::{
        BenchWorkload, ClientArguments, CodecsArguments, DeviceArguments, EXPERT, LayoutAxes, ProgramArguments,
        SessionArguments, WHAT, WindowArgument,
    },
    output::{
        print_article,
        result_output::{OutputArguments, ResultOutput, finish_session},
    },
    repository::{print_numbers_without_effect, print_orders_without_effect},
};

/// Replay workloads under several codecs and compare them
///
/// Makes a variant for each codec (kept in the cache), runs each workload on each variant in random
/// blocks for a minute (--time), and prints times, ratios to the baseline with intervals, verdicts,
/// and sizes. Of a long history the newest commits that fit are read; --precise reads all, until the
/// intervals are narrow. The repository as found is a row too. docs/method.md explains the method.
/// Ctrl-C ends the session with a table of what was measured; --resume continues it.
///
/// --self-test measures the baseline under four more names instead, and prints how often it finds a
/// difference where there is none, and how often measuring one after another would have found one.
///
/// Workloads: checkout:sink, traverse, diff:raw, diff:pickaxe=STRING, diff:patch; all of them by
/// default. These run only if named:
///   checkout        the files of checkout:sink, written into a fresh folder
///   traverse:count  the objects of traverse, counted only
///   sizes           kind and size of every object
///   cat-all         the content of every object
///   web:file        300 files at revisions, drawn from history by --seed
///   encode          compress every payload again, from memory; only with --store pack
///   ingest          write the objects of the last N commits (--commits, 100)
///   serve:same      the pack for a clone, or with --commits N a fetch, by a client with the codec
///   serve:zlib      the same for a client that only reads zlib
///   serve:push      the last N commits (--commits, 100) to a server that only reads zlib
/// floor: before the name of any workload but sizes and encode measures only its codec.
///
/// With --client stock, commands of git or hg run the workloads of the same names and those below,
/// each in its own process. By default they are those that only read: traverse, diff:raw,
/// diff:pickaxe, diff:patch, sizes, cat-all, fsck. These run only if named:
///   checkout            git checkout of all files, or hg update
///   repack              git repack -adF in a copy, written with the codec of the variant
///   repack:incremental  git repack -d with the newest commits (--commits, 100) loose
///   clone:zlib          a bare clone by a client without the library
///   clone:same          a bare clone by a client with the library, if the sender has it
///   fetch:zlib          the newest commits (--commits, 100), as clone:zlib
///   fetch:same          the newest commits (--commits, 100), as clone:same
/// What a forge does, drawn from history by --seed, also only if named and only in Git:
///   web:file            git cat-file blob REV:PATH, a process for each of 40 files
///   web:file:batch      the same by one long-lived git cat-file --batch
///   web:blame           git blame --porcelain REV -- PATH
///   web:log             git log -n 30 REV -- PATH
///   web:archive         git archive REV
///   index-pack          git index-pack --fix-thin of pushes (--commits, 64), one after the other
///   repack:geometric    git repack --geometric=2 -d --write-midx after every 8th of them
///   repack:cruft        git repack --cruft -d after the pushes, half of them unreachable
///   multi-pack-index    git multi-pack-index write after the pushes; multi-pack-index:bitmap too
/// Only in Mercurial, and only if named:
///   unbundle            hg unbundle of the newest changesets (--commits, 100)
///   commit              hg commit of up to three files, drawn from history by --seed
///   annotate            hg annotate of files drawn by --seed, a process for each
///   clone:stream        a stream clone: the files of the store as they are, sent and received
///
/// Examples:
///   repackbench bench . --codec zlib:6 --codec zstd:5
///   repackbench bench . --codec zstd:3 --codec lz4 --workload traverse --blocks 15
///   repackbench bench . --codec zstd:5 --workload diff:pickaxe=malloc --json runs.jsonl
///   repackbench bench . --codec zlib:9 --decoder zlib=libdeflate,zlib-rs
///   repackbench bench . --codec zstd:5 --delta-cache 96M,0,unlimited --time 10m
///   repackbench bench . --codec zstd:5 --workload checkout --device hdd --device nvme
///   repackbench bench . --codec zlib:6 --order source,recency,checkout --workload checkout:sink
///   repackbench bench . --codec zstd:5 --client stock --zlib zlib-rs,libdeflate
///   repackbench bench . --codec zstd:5 --client both --workload traverse
///   repackbench bench . --self-test --workload traverse
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[command(group(ArgGroup::new("rows").args(["codecs", "self_test", "zlibs"]).multiple(true).required(true)))]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    codecs: CodecsArguments,

    /// Measure the same files under several names: every difference found is a false one.
    #[arg(long, help_heading = EXPERT, conflicts_with_all = ["codecs", "stores", "orders", "decoders", "devices", "rechosen", "window", "html", "svg", "markdown", "csv"])]
    self_test: bool,

    /// Decode the same bytes with another implementation too, such as zlib=libdeflate, deflate=libdeflate,zlib-rs or
    /// lz4=lz4_flex: one more row for each variant that it can read. May be repeated.
    #[arg(long = "decoder", value_name = "FORMAT=NAME", help_heading = EXPERT)]
    decoders: Vec<DecoderChoices>,

    #[command(flatten)]
    layouts: LayoutAxes,

    /// Codec to compare with.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6", help_heading = WHAT)]
    baseline: CodecSpec,

    /// Workload to run; may be repeated.
    #[arg(long = "workload", value_name = "W", help_heading = WHAT)]
    workloads: Vec<BenchWorkload>,

    #[command(flatten)]
    client: ClientArguments,

    #[command(flatten)]
    devices: DeviceArguments,

    /// Show each codec with new deltas, too.
    ///
    /// git (repack -adF) or hg (under the codec) finds them in a new search. With git this is the default where the
    /// search is predicted to take at most a third of the time (--time). --window implies this, and adds a search
    /// with that window.
    #[arg(long, help_heading = WHAT)]
    rechosen: bool,

    /// Do not search for deltas anew.
    #[arg(long, help_heading = WHAT, conflicts_with_all = ["rechosen", "window"])]
    as_found: bool,

    #[command(flatten)]
    window: WindowArgument,

    #[command(flatten)]
    programs: ProgramArguments,

    #[command(flatten)]
    pub(crate) session: SessionArguments,

    #[command(flatten)]
    output: OutputArguments,
}

impl BenchArguments {
    /// Every choice of a decoder once.
    fn decoders(&self) -> Vec<DecoderChoice> {
        let mut choices = Vec::new();
        for choice in self.decoders.iter().flat_map(DecoderChoices::choices) {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        choices
    }

    /// A git that searches with the window that the user chose.
    fn harder(&self, source: &Repository) -> Result<Option<DeltaRecomputer>, Failure> {
        match source {
            Repository::Hg(_) if self.window.window.is_some() => {
                Err(Failure::new(USAGE, "--window: hg has no window: it searches as its settings say"))
            }
            _ => Ok(self.window.recomputer(&self.programs)?),
        }
    }

    fn plan(&self, source: &Repository) -> Result<BenchPlan, Failure> {
        let (workloads, stock) = self.client.plans(&self.workloads, vcs_of(source), &self.programs)?;
        let session = self.session.plan(source, &self.baseline, Some(&self.programs.hg))?;
        let layouts = self.layouts.layouts();
        let is_rechosen = self.rechosen || self.window.window.is_some();
        let searches_if_fits = !is_rechosen
            && session.time.is_some()
            && matches!(source, Repository::Git(_))
            && source.recorded_spec().is_none()
            && !(self.as_found || self.self_test || session.is_cold)
            && (layouts.iter().all(Layout::is_default) && self.decoders.is_empty())
            && matches!(session.blocks, Blocks::UntilPrecise { .. });
        let recomputer = match is_rechosen {
            true => Some(self.programs.recomputer(source)?),
            // Without git there is one answer less.
            false if searches_if_fits => self.programs.recomputer(source).ok(),
            false => None,
        };
        Ok(BenchPlan {
            recomputer,
            harder: self.harder(source)?,
            searches_if_fits,
            workloads,
            stock,
            codecs: self.codecs.specs()?,
            layouts,
            decoders: self.decoders(),
            devices: self.devices.devices(),
            own_git: matches!(source, Repository::Git(_)).then(|| self.programs.git.clone().into()),
            is_self_test: self.self_test,
            ..session
        })
    }
}

pub(crate) fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let session = &arguments.session;
    let source = session.open()?;
    let plan = arguments.plan(&source)?;
    print_orders_without_effect(&source, &plan.layouts, session.effort.quiet());
    if plan.recomputer.is_none() {
        print_numbers_without_effect(&source, &plan.codecs, session.effort.quiet());
    }
    let mut output = ResultOutput::create(&arguments.output, session.measure.records.json.as_ref())?;
    let without_cache_rows: Vec<String> = plan.without_cache_rows().map(ToString::to_string).collect();
    if !without_cache_rows.is_empty() && !session.effort.quiet() {
        let names = without_cache_rows.join(", ");
        print_note(format!("{names}: never reads through the delta-base cache, so it has one row for each variant"));
    }
    let mut file = session.measure.record_file()?;
    let is_self_test = plan.is_self_test;
    let last_words = output.last_words();
    let last_words = move |records: Vec<Record>| match is_self_test {
        true => drop(print_article(sections::self_test(&self_test(&records)))),
        false => last_words(records),
    };
    let measured = session.run(&source, &plan, &mut file, last_words)?;
    let ended = match plan.is_self_test {
        true => {
            if !session.measure.records.take_stdout() {
                print_article(sections::self_test(&self_test(&measured.records)))?;
            }
            finish_session(measured.is_interrupted, &measured.failures)
        }
        false => output.show_session(measured),
    };
    ended.map_err(|failure| session.with_way_on("bench", failure))
}
