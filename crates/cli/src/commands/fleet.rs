//! `repackbench fleet`.

mod summarize;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{Args, Subcommand};
use repackbench_codec::CodecSpecs;
use repackbench_records::{FleetEnd, FleetRun, SCHEMA_VERSION, Vcs};
use repackbench_timing::{host_with_software, workloads::WorkloadSpec};

use self::summarize::SummarizeArguments;
use crate::{
    commands::estimate::check_predictable,
    failure::{Failure, TRY_AGAIN, USAGE, print_note, say},
    fleet::{
        Counts, Fleet, end_line,
        manifest::{FleetMember, members},
        named,
        shard::Shard,
        shard_file::{Existing, ShardFile},
        work::{Work, codec_words, this_program},
    },
    options::{ByteSize, EXPERT, Effort, HOW_LONG, OUTPUT, Percent, TimeLimit, WHAT, WindowArgument},
    output::{cannot_write, command_line},
    progress::Bar,
};

/// Beyond ten times --time, how long a process may take before it is killed.
const GRACE: Duration = Duration::from_secs(600);

/// Estimate many repositories, and summarize what they say together
///
/// Runs `estimate` on each repository in a process of its own, and writes one file of records: a
/// shard. What ends a process is a record, too, and never the end of the run: a bad repository, a
/// crash, a process that takes too long or too much memory. With --bench, `bench` measures a sample of
/// the repositories, so that `fleet summarize` can show how good the estimates are.
///
/// A MANIFEST is a repository, a folder with repositories anywhere below it (symbolic links are not
/// followed), a quoted pattern such as '/srv/git/*.git', a .txt file with a path on each line, or a
/// .jsonl file with lines such as {"name":"linux","path":"/srv/git/linux.git"}. Without a name
/// there, the name of a repository is its path as typed, or below the folder as typed. --shard and
/// --resume go by names, so type paths the same way on every machine and every time.
///
/// A killed or interrupted run goes on with --resume: what is in the file is not done again, but for
/// repositories that may succeed in another try. The exit code is 75 as long as there are any; after
/// three tries, a failure is for good. A try counts when it begins, so a repository that kills the fleet
/// itself is given up, too. So is a damaged repository, and one without commits, which has nothing to
/// estimate.
///
/// Examples:
///   repackbench fleet forge --time 10s --json fleet.jsonl
///   repackbench fleet list.txt --shard 3/16 --json shard-3.jsonl --resume
///   repackbench fleet summarize fleet.jsonl shard-*.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    command: Option<FleetCommand>,

    /// Repositories, folders, patterns or lists.
    #[arg(required = true, value_name = "MANIFEST")]
    manifests: Vec<String>,

    /// Work on part I of N, counted from 1.
    ///
    /// The hash of a repository's name decides: adding a repository moves no other one to another part.
    #[arg(long, value_name = "I/N", default_value = "1/1", help_heading = WHAT)]
    shard: Shard,

    /// Codec to estimate; may be repeated.
    ///
    /// Such as zstd:5 or zstd:1,3,5 [default: those of estimate].
    #[arg(long = "codec", value_name = "SPEC", help_heading = WHAT)]
    codecs: Vec<CodecSpecs>,

    /// Workload to predict; may be repeated.
    ///
    /// The default is that of estimate.
    #[arg(long = "workload", value_name = "W", help_heading = WHAT)]
    workloads: Vec<WorkloadSpec>,

    /// Do not search for deltas anew.
    #[arg(long, help_heading = WHAT)]
    as_found: bool,

    #[command(flatten)]
    window: WindowArgument,

    /// Also measure this share of the repositories.
    ///
    /// With bench, drawn by --seed. For --time each, under the codecs of --bench-codec or --codec, or else zlib:9,
    /// zstd:9 and balanced.
    #[arg(long, value_name = "PERCENT", help_heading = WHAT)]
    bench: Option<Percent>,

    /// Codec that --bench measures; may be repeated.
    ///
    /// For the default, see --bench.
    #[arg(long = "bench-codec", value_name = "SPEC", requires = "bench", help_heading = WHAT)]
    bench_codecs: Vec<CodecSpecs>,

    /// Time for each repository.
    ///
    /// Such as 10s or 1m. A repository can take several seconds longer, because some chunks of each kind are always
    /// encoded under every codec. Fewer codecs (--codec) or --as-found shorten that.
    #[arg(long, value_name = "DURATION", default_value = "60s", help_heading = HOW_LONG)]
    time: TimeLimit,

    /// Kill a process that takes longer.
    ///
    /// The default is ten times --time and 10 minutes more.
    #[arg(long, value_name = "DURATION", help_heading = HOW_LONG)]
    kill_after: Option<TimeLimit>,

    /// Work on N repositories at once.
    ///
    /// Each gets its share of the cores. Sizes stay the same, but CPU times grow when memory or caches are short.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = HOW_LONG)]
    jobs: u16,

    /// Continue the shard in the FILE of --json.
    ///
    /// If there is none, begin it.
    #[arg(long, conflicts_with = "force", help_heading = HOW_LONG)]
    resume: bool,

    /// File of records, one line of JSON each.
    #[arg(long, value_name = "FILE", required = true, help_heading = OUTPUT)]
    json: Option<PathBuf>,

    /// Replace the FILE of --json if it exists.
    #[arg(long, help_heading = OUTPUT)]
    force: bool,

    /// Memory limit of each process, such as 2G; mapped files do not count [default: none].
    ///
    /// Decoded objects may take half of it.
    #[arg(long, value_name = "SIZE", help_heading = EXPERT)]
    memory: Option<ByteSize>,

    /// git program.
    #[arg(long, value_name = "PROGRAM", default_value = "git", help_heading = EXPERT)]
    git: PathBuf,

    /// Seed of samples, and of the order of runs.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = EXPERT)]
    seed: u64,

    #[command(flatten)]
    effort: Effort,
}

/// Commands beside the work itself.
#[derive(Debug, Subcommand)]
enum FleetCommand {
    Summarize(Box<SummarizeArguments>),
}

impl FleetArguments {
    /// The time of each repository as typed.
    fn time(&self) -> String {
        self.time.0.map_or_else(|| "none".to_owned(), |time| format!("{}ms", time.as_millis()))
    }

    /// When a process is killed.
    fn limit(&self) -> Duration {
        let default = self.time.0.map_or(Duration::MAX, |time| time.saturating_mul(10).saturating_add(GRACE));
        self.kill_after.map_or(default, |TimeLimit(limit)| limit.unwrap_or(Duration::MAX))
    }

    /// What is done with each repository, and the options that decide the results.
    fn work(&self, json: PathBuf) -> Result<(Work, String), Failure> {
        check_predictable(&self.workloads)?;
        self.check_bench_codecs()?;
        let seed = self.seed;
        let workloads = self.workloads.iter().flat_map(|workload| ["--workload".to_owned(), workload.to_string()]);
        let common = ["--time".to_owned(), self.time(), "--seed".to_owned(), seed.to_string()];
        let common: Vec<String> = common.into_iter().chain(workloads).collect();
        let as_found = self.as_found.then(|| "--as-found".to_owned());
        let window = self.window.window.map(|window| ["--window".to_owned(), window.to_string()]);
        let estimate: Vec<String> =
            common.iter().cloned().chain(as_found).chain(window.into_iter().flatten()).collect();
        let [codecs, bench_codecs] = [&self.codecs, &self.bench_codecs].map(|named| spelled(named));
        let sample = self.bench.map(|Percent(share)| (share, seed));
        let bench = sample.map(|(share, _)| format!(" --bench {}%", share * 100.0)).unwrap_or_default();
        let bench_words = bench_codecs.iter().map(|codec| format!(" --bench-codec {codec}"));
        let bench: String = std::iter::once(bench).chain(bench_words).collect();
        let settings = [&estimate[..], &codec_words(&codecs)].concat().join(" ") + &bench;
        let machine = self.machine_words();
        let work = Work {
            program: this_program()?,
            json,
            estimate: [&estimate[..], &machine].concat(),
            bench: [&common[..], &["--as-found".to_owned()], &machine].concat(),
            codecs,
            bench_codecs,
            sample,
            memory: self.memory.map(|ByteSize(bytes)| bytes),
            limit: self.limit(),
        };
        Ok((work, settings))
    }

    /// Refuses to measure under a codec that is not estimated: there would be nothing to compare.
    fn check_bench_codecs(&self) -> Result<(), Failure> {
        let (estimated, measured) = (spelled(&self.codecs), spelled(&self.bench_codecs));
        match measured.iter().find(|codec| !estimated.is_empty() && !estimated.contains(codec)) {
            Some(codec) => {
                let why = format!("--bench-codec {codec}: the codec is not estimated; name it with --codec, too");
                Err(Failure::new(USAGE, why))
            }
            None => Ok(()),
        }
    }

    /// Options that depend on the machine and decide no result.
    fn machine_words(&self) -> Vec<String> {
        let threads = (self.effort.threads() / usize::from(self.jobs)).max(1);
        let mut words = vec!["--threads".to_owned(), threads.to_string()];
        words.extend(["--git".to_owned(), self.git.to_string_lossy().into_owned()]);
        if let Some(ByteSize(bytes)) = self.memory {
            words.extend(["--memory".to_owned(), (bytes / 2).to_string()]);
        }
        words
    }
}

/// Every codec of the lists.
fn spelled(codecs: &[CodecSpecs]) -> Vec<String> {
    codecs.iter().flat_map(CodecSpecs::specs).map(ToString::to_string).collect()
}

pub(crate) fn run(arguments: &FleetArguments) -> Result<ExitCode, Failure> {
    if let Some(FleetCommand::Summarize(arguments)) = &arguments.command {
        return summarize::run(arguments);
    }
    let json = arguments.json.clone().ok_or_else(|| Failure::new(USAGE, "expected --json FILE"))?;
    let all = members(&arguments.manifests, arguments.shard)?;
    let (work, settings) = arguments.work(json.clone())?;
    let existing = match (arguments.resume, arguments.force) {
        (true, _) => Existing::Resume,
        (false, true) => Existing::Replace,
        (false, false) => Existing::Refuse,
    };
    let run = FleetRun {
        schema: SCHEMA_VERSION,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command_line(),
        host: host_with_software(&[Vcs::Git, Vcs::Mercurial]),
        settings,
        shard: arguments.shard.number,
        shards: arguments.shard.count,
        repositories: all.len() as u64,
    };
    let (mut file, mut finished) = ShardFile::open(&json, existing, &run)?;
    let quiet = arguments.effort.quiet();
    for member in &all {
        let Some(end) = finished.given_up(&member.name) else { continue };
        let line = end_line(member, Duration::ZERO, end.clone());
        file.append(&[line]).map_err(|error| cannot_write(&json, &error))?;
        if let (FleetEnd::Failed { message }, false) = (&end, quiet) {
            print_note(named(&member.name, message));
        }
        finished.add(member.name.clone(), end);
    }
    let is_final = |member: &&FleetMember| finished.is_final(&member.name);
    let mut counts = Counts::default();
    for end in all.iter().filter(is_final).filter_map(|member| finished.ends.get(&member.name)) {
        match end {
            FleetEnd::TryAgain { .. } => counts.failed += 1,
            end => counts.add(end),
        }
    }
    let left = all.iter().filter(|member| !is_final(member)).cloned();
    let (suspects, members): (Vec<_>, Vec<_>) = left.partition(|member| finished.is_suspect(&member.name));
    if finished.dropped > 0 && !quiet {
        print_note(format!("{}: {} bytes of an unfinished repository removed", json.display(), finished.dropped));
    }
    let jobs = usize::from(arguments.jobs);
    let fleet = Fleet { work, members: &members, suspects: &suspects, jobs, all: all.len() };
    let bar = Bar::new(quiet);
    let counts = fleet.run(file, counts, &bar)?;
    drop(bar);
    if !quiet {
        print_counts(counts, members.len() + suspects.len());
    }
    Ok(ExitCode::from(if counts.try_again > 0 { TRY_AGAIN } else { 0 }))
}

/// The end of a run on stderr.
fn print_counts(counts: Counts, worked_on: usize) {
    let Counts { done, unchecked, empty, failed, try_again } = counts;
    let some = |count: usize, what: &str| if count > 0 { format!("{count} {what}") } else { String::new() };
    let unchecked = some(unchecked, "of them could not be measured with --bench");
    let unchecked = if unchecked.is_empty() { unchecked } else { format!(" ({unchecked})") };
    let others = [
        some(empty, "without commits"),
        format!("{failed} failed"),
        some(try_again, "failed for now (--resume tries those again)"),
    ];
    let others: Vec<String> = others.into_iter().filter(|part| !part.is_empty()).collect();
    say(format_args!(
        "repackbench: fleet: {done} estimated{unchecked}, {}; {worked_on} worked on in this run",
        others.join(", ")
    ));
}
