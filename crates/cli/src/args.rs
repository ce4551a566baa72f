//! The command line. Strings end here: everything behind it is parsed and checked.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use repackbench_codec::{CodecSpec, CodecSpecs, DecoderChoice, DecoderChoices};
use repackbench_timing::{trace::Device, workloads::WorkloadSpec};

use crate::{
    alternatives_arguments::AlternativesArguments,
    client_arguments::{BenchWorkload, ClientArguments},
    compare_arguments::CompareArguments,
    exec_arguments::{EnvArguments, ExecArguments},
    experiment_arguments::ExperimentArguments,
    explain_arguments::ExplainArguments,
    failure::Failure,
    layout_arguments::{LayoutArguments, LayoutAxes},
    output_arguments::OutputArguments,
    pace_arguments::PaceArguments,
    payload_arguments::{PayloadsArguments, TrainArguments},
    report_arguments::ReportArguments,
    repository_path::located,
    serve_arguments::ServeArguments,
    shared_arguments::{Completeness, Effort, MemoryArguments, ProgramArguments, RangeArguments},
    spec_arguments::SpecArguments,
    trace_arguments::TraceArguments,
};

/// What if a repository's objects were compressed with something other than zlib?
///
/// repackbench rewrites a real Git or Mercurial repository under another codec and level, with the delta structure untouched, and
/// replays checkout, history traversal and diff on each variant, so that the codec is the only difference.
#[derive(Debug, Parser)]
#[command(name = "repackbench", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes: 0 done, 1 failure, 2 usage, 3 a gate tripped, 65 the input repository is bad, 75 try again, 130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Convert(ConvertArguments),
    Verify(VerifyArguments),
    Size(SizeArguments),
    Bench(Box<BenchArguments>),
    Compare(CompareArguments),
    Alternatives(Box<AlternativesArguments>),
    Experiment(Box<ExperimentArguments>),
    Explain(Box<ExplainArguments>),
    Report(ReportArguments),
    Replay(ReplayArguments),
    Serve(ServeArguments),
    Exec(ExecArguments),
    Env(EnvArguments),
    Chains(ChainsArguments),
    Trace(Box<TraceArguments>),
    Payloads(PayloadsArguments),
    Train(TrainArguments),
    /// List every codec: levels, implementation and version, and who reads what it writes.
    Codecs,
    Cache(CacheArguments),
    /// Print the JSON Schema of the records that `bench --json` writes, one a line.
    Schema,
}

/// Rewrite a repository under another codec.
///
/// Of a Git repository the result is a new bare one: the same refs, the same objects, each pack
/// entry in its place with the same delta base. Under the zlib family (zlib, zlib-rs, miniz,
/// sirocco, libdeflate, zopfli) without dictionaries stock git reads it; under the others it
/// stops with "unknown repository extension found".
///
/// Of a Mercurial repository it is a new one without a checkout: the same revlogs, each revision
/// with the same delta base. Under the zlib family, zstd and store, without dictionaries and
/// bases, stock hg reads it; under the others it stops and names a requirement, such as
/// exp-compression-lz4. Mercurial guards whole texts by hashes, which a conversion does not
/// compute: `repackbench verify` does.
///
/// The source is only read. Every chunk is decoded again and compared before the result gets its
/// name.
///
/// Examples:
///   repackbench convert --codec zstd:5 ~/src/linux         writes ~/src/linux.zstd-5
///   repackbench convert --codec zlib:9 repo.git -o best.git
///   repackbench convert --codec zlib:6 repo.zstd-5         back to what stock git reads
///   repackbench convert --codec zstd:19 hgrepo             stock hg reads it
///   repackbench convert --codec zlib:6 --order checkout repo.git
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConvertArguments {
    /// Codec, level and options, such as zstd:5 or zstd:5,checksum=no; see `repackbench codecs`. checksum=,
    /// frame=, loose= and store-if-larger= mean nothing in Mercurial repositories.
    #[arg(long, value_name = "SPEC")]
    codec: CodecSpec,

    #[command(flatten)]
    with: SpecArguments,

    #[command(flatten)]
    pub(crate) layout: LayoutArguments,

    /// The repository: a work tree's root, a git directory or `.hg`.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// Where to write; by default a sibling of the source, named after codec and layout.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Replace a repository that is at OUT.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    /// Let git (repack -adF, which no codec changes) or hg (under the codec) choose the deltas again.
    #[arg(long)]
    pub(crate) rechosen: bool,

    #[command(flatten)]
    pub(crate) programs: ProgramArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

impl ConvertArguments {
    pub(crate) fn codec(&self) -> Result<CodecSpec, Failure> {
        self.with.apply(&self.codec)
    }
}

/// Compare two repositories object by object.
///
/// Reads and re-hashes every object of both, whatever their codecs, and compares ids, refs and what else decides what
/// git or hg shows, such as shallow, grafts, phases and lists of files. Prints what differs, one line each, and exits
/// with 1 if anything does.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The first repository.
    #[arg(value_parser = located())]
    pub(crate) first: PathBuf,
    /// The second repository.
    #[arg(value_parser = located())]
    pub(crate) second: PathBuf,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

/// Show where the bytes of repositories go, side by side.
///
/// Stored bytes by object kind, whole and delta, pack entry headers, indexes and other files, with ratios to the first
/// repository; then payload bytes, before compression, and how many chunks are stored in which form: compressed by
/// themselves, with a dictionary, with their base's content, or as they are. Of Mercurial repositories: manifests, changelog and filelogs,
/// snapshots and deltas, revlog indexes, the list of files and the rest, and the manifest's share of the growth.
#[derive(Debug, Args)]
pub(crate) struct SizeArguments {
    /// The repositories; ratios are to the first one.
    #[arg(required = true, value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) completeness: Completeness,

    /// Write the figures to FILE, one line of JSON for each repository: what `report` reads.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    /// Show no notes.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Replay workloads on a repository under several codecs, and compare.
///
/// Makes a variant for each codec (kept in the cache), runs each workload on each in random
/// blocks until the intervals are narrow, and prints times, ratios to the baseline with
/// intervals, verdicts, and sizes. The repository as found is a row too. METHODOLOGY.md says how
/// the figures come about. Ctrl-C ends it with a table of what was measured; --resume goes on.
///
/// --self-test measures the baseline under four more names instead, and prints how often it finds
/// a difference where there is none, beside what measuring one after another would have found.
///
/// Workloads: checkout, checkout:sink, traverse, diff:raw, diff:pickaxe=STRING, diff:patch; all
/// of them by default. Named only, what servers and repacks do:
///   sizes        kind and size of every object
///   cat-all      the content of every object
///   encode       compress every payload again, from memory; with --store pack alone
///   ingest       write the objects of the last N commits (--commits, 100)
///   serve:same   the pack for a clone, or with --commits N a fetch, by a client of the codec
///   serve:zlib   the same for a client that only reads zlib
///   serve:push   the last N commits (--commits, 100) to a server that only reads zlib
/// floor: before the name of any but sizes and encode is what its codec alone costs.
///
/// --client stock lets commands of git or hg do the jobs of the same names, and those below, each
/// in a process of its own. Its defaults are those that only read: checkout, traverse, diff:raw,
/// diff:pickaxe, diff:patch, sizes, cat-all, fsck. Named only:
///   repack              git repack -adF in a copy, written with the variant's codec
///   repack:incremental  git repack -d where the newest commits (--commits, 100) are loose
///   clone:zlib          a bare clone by a client without the library
///   clone:same          the same by one that has it where the sender does
///   fetch:zlib          the newest commits (--commits, 100), as clone:zlib
///   fetch:same          the same as clone:same
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
pub(crate) struct BenchArguments {
    /// The repository.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// A codec to measure, or several levels of one, such as zlib:1..9 and zstd:1,3,5; may be given several times. One that is
    /// repeated, in whatever spelling, is measured once.
    #[arg(long = "codec", value_name = "SPEC", required_unless_present_any = ["self_test", "zlibs"])]
    codecs: Vec<CodecSpecs>,

    /// Measure the same files under several names: every difference is a false one.
    #[arg(long, conflicts_with_all = ["codecs", "stores", "orders", "decoders", "rechosen", "html", "svg", "markdown", "csv"])]
    pub(crate) self_test: bool,

    #[command(flatten)]
    with: SpecArguments,

    /// Let another implementation read the same bytes, such as zlib=libdeflate, deflate=libdeflate,zlib-rs or lz4=lz4_flex: one more
    /// row for each variant that it can read. May be given several times.
    #[arg(long = "decoder", value_name = "FORMAT=NAME")]
    decoders: Vec<DecoderChoices>,

    #[command(flatten)]
    pub(crate) layouts: LayoutAxes,

    /// The codec that the others are compared with.
    #[arg(long, value_name = "SPEC", default_value = "zlib:6")]
    pub(crate) baseline: CodecSpec,

    /// A workload to run; may be given several times.
    #[arg(long = "workload", value_name = "W")]
    pub(crate) workloads: Vec<BenchWorkload>,

    #[command(flatten)]
    pub(crate) client: ClientArguments,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    /// Also model a cold start on this device, a column for each: hdd, sata-ssd, nvme, or its latency, bandwidth and readahead, as in
    /// latency=8ms,bandwidth=200MB/s,readahead=128k; may be given several times. Modelled times come from an untimed access trace, as
    /// those of `trace` do, and get no verdict.
    #[arg(long = "device", value_name = "DEVICE", conflicts_with = "self_test")]
    devices: Vec<Device>,

    /// Show each codec twice: with the source's deltas, and with those that git (repack -adF) or hg (under the codec) chooses.
    #[arg(long)]
    pub(crate) rechosen: bool,

    #[command(flatten)]
    pub(crate) programs: ProgramArguments,

    #[command(flatten)]
    pub(crate) pace: PaceArguments,

    /// The seed of the random order; by default another one each time.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Write one JSON record per run to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: OutputArguments,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    #[command(flatten)]
    pub(crate) effort: Effort,
}

impl BenchArguments {
    pub(crate) fn codecs(&self) -> Result<Vec<CodecSpec>, Failure> {
        self.codecs.iter().flat_map(CodecSpecs::specs).map(|spec| self.with.apply(spec)).collect()
    }

    /// Every choice of a decoder, once.
    pub(crate) fn decoders(&self) -> Vec<DecoderChoice> {
        let mut choices = Vec::new();
        for choice in self.decoders.iter().flat_map(DecoderChoices::choices) {
            if !choices.contains(choice) {
                choices.push(*choice);
            }
        }
        choices
    }

    /// Every device, once.
    pub(crate) fn devices(&self) -> Vec<Device> {
        let mut devices: Vec<Device> = Vec::new();
        for device in &self.devices {
            if !devices.contains(device) {
                devices.push(device.clone());
            }
        }
        devices
    }
}

/// Run one workload once and print what it saw, to be held against git's or hg's own output.
///
/// traverse prints object ids, as `git rev-list --objects --all --no-object-names` does; diff:raw prints what
/// `git log --raw --no-abbrev --no-renames --format='commit %H'` does, but for blank lines; diff:pickaxe=STRING prints
/// the ids that `git log -SSTRING --no-renames --format=%H` does; diff:patch prints patches, as
/// `git log -p --no-renames --full-index --format='commit %H'` does but for blank lines; checkout writes files into the
/// folder that --into names. sizes prints what `git cat-file --batch-check --batch-all-objects` does, cat-all what
/// `git cat-file --batch --batch-all-objects --unordered` does, with packs in an order of its own. encode, ingest and serve print
/// counts; ingest writes into the folder that --into names, serve:zlib and serve:push write into the file that it names a pack, which
/// `git index-pack --stdin` takes (with `--fix-thin` where --commits is given), or a bundle, which `hg unbundle` takes.
///
/// Of a Mercurial repository they print the same in the same form, with nodes for ids: traverse the nodes of all changesets,
/// manifests and file revisions, as `hg debugindex` lists them; diff:raw what `hg manifest --debug` tells to differ between
/// a changeset and its first parent; diff:pickaxe what counting in `hg cat` finds; diff:patch what turns the one's files
/// into the other's; checkout what `hg archive` writes.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The repository, as found or a variant.
    #[arg(value_parser = located())]
    pub(crate) repository: PathBuf,

    /// The workload.
    #[arg(long, value_name = "W")]
    pub(crate) workload: WorkloadSpec,

    /// The implementation that reads a format, such as zlib=libdeflate, deflate=zlib-rs or lz4=lz4_flex; may be given once for each format.
    #[arg(long = "decoder", value_name = "FORMAT=NAME")]
    pub(crate) decoders: Vec<DecoderChoice>,

    #[command(flatten)]
    pub(crate) range: RangeArguments,

    /// The empty or new folder that checkout or ingest writes into, or the new file that serve does.
    #[arg(long, value_name = "PATH", required_if_eq("workload", "checkout"))]
    pub(crate) into: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,
}

/// Show what it costs to read an object, by the length of its delta chain.
///
/// Sorts the objects of a repository's packs or revlogs by the number of deltas that lead to
/// them, and shows for each group how many there are, their stored bytes, and the median CPU
/// time to read one from empty caches, whole chain included. At most 500 objects of a group
/// are read, with at most 500,000 deltas, the same each time, and short ones many times over, so
/// that the processor's own caches are warm. Loose objects are left out.
///
/// Variants of the repository stand beside it, with ratios to it. They are read in turn,
/// object by object, must hold the same objects at the end of the same deltas, and give the
/// same content. So this tells what prefix and patch cost, which need every base on the way,
/// and what --max-chain saves.
///
/// Examples:
///   repackbench chains repo
///   repackbench chains repo repo.zstd-9 repo.zstd-9-prefix
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ChainsArguments {
    /// The repository, then variants of it.
    #[arg(required = true, value_name = "REPO", value_parser = located())]
    pub(crate) repositories: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) memory: MemoryArguments,

    /// Show no progress and no notes.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// List or remove the variants that bench keeps, and remove what killed runs left: copies for cold runs, unfinished
/// output, temporary files.
#[derive(Debug, Args)]
pub(crate) struct CacheArguments {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// List cached variants: size, last use, codec and source. Copies that a run works on are listed, too.
    List,
    Prune(PruneArguments),
}

/// Remove cached variants that no process is using: all of them, unless an option keeps some. What killed runs left
/// goes in any case: their copies, their unfinished output wherever it lies, and their temporary files.
#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// Remove only variants that were not used for so many days.
    #[arg(long, value_name = "DAYS", conflicts_with = "keep_bytes")]
    pub(crate) unused_for: Option<u64>,

    /// Remove the longest unused ones until the rest fit into so many bytes.
    #[arg(long, value_name = "BYTES")]
    pub(crate) keep_bytes: Option<u64>,
}
