//! Compares the program's speed with that of stock git, and conversion with the mere work of its codecs.
//!
//! It is a plain program: `cargo bench --package repackbench-benches --bench against_stock [-- REPOSITORY]`. It
//! measures everything in one run on one machine, in pairs of ours and the other program, and the median of the pairs'
//! ratios counts. Before it times a replay, it runs both programs once and counts their lines: programs that do not do
//! the same work are not compared.
//!
//! Start-up counts on both sides, so measure a repository of tens of megabytes or more, on an otherwise idle machine. A
//! missed target does not change the exit code, because a busy machine can cause one. A command that fails does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use repackbench_benches::{
    BenchError, ChildTime, Comparison, Result, StoredChunks, Subject, build_program, cores, count_lines,
    cpu_of_this_process, exit_code, median_time, path_argument, repetitions, spec, stock_git, table, time_child,
};
use repackbench_codec::{CodecSpec, ZlibReader};
use repackbench_reader::{
    History, Repository,
    git::{GitHistory, GitRepository, ObjectStore},
};
use repackbench_writer::{ConvertJob, Encoding, JobControl, Layout, git::convert};

/// The maximum time of a conversion, as a multiple of its codecs' work divided by the cores.
const CONVERT_TARGET: f64 = 1.3;
/// The maximum CPU time of `traverse`, `diff:raw` and `diff:patch`, as a multiple of stock git's.
const REPLAY_TARGET: f64 = 1.0;
/// The same for `diff:pickaxe`.
const PICKAXE_TARGET: f64 = 0.8;
/// The maximum time of `verify`, as a multiple of another program's time for both repositories.
const VERIFY_TARGET: f64 = 1.0;
/// The maximum time of a command without work.
const START_UP_TARGET: Duration = Duration::from_millis(50);

const NEEDLE: &str = "foo";

fn main() -> ExitCode {
    exit_code("against_stock", run())
}

fn run() -> Result<()> {
    let path = path_argument();
    let bench = Bench::set_up(path)?;
    bench.print_circumstances()?;
    let mut comparisons = bench.compare_conversion()?;
    comparisons.extend(bench.compare_replays()?);
    comparisons.extend(bench.compare_verification()?);
    println!("\n{}", table(&comparisons));
    bench.measure_start_up()
}

/// The parts that all comparisons need.
struct Bench {
    subject: Subject,
    /// The variant of the subject with the baseline codec.
    baseline: GitRepository,
    program: PathBuf,
    repetitions: usize,
    /// The number of objects that are reachable in the subject but missing.
    missing: u64,
}

impl Bench {
    fn set_up(path: Option<PathBuf>) -> Result<Self> {
        let repetitions = repetitions()?;
        let program = build_program()?;
        let subject = Subject::open(path)?;
        let baseline = subject.make_variant(&spec("zlib:6")?)?;
        let store = ObjectStore::open(&baseline, ZlibReader::Stock)?;
        let mut history = GitHistory::new(&baseline, store)?;
        history.traverse(&mut |_, _| {})?;
        Ok(Bench { missing: history.missing(), subject, baseline, program, repetitions })
    }

    fn print_circumstances(&self) -> Result<()> {
        println!("repository   {}", self.subject.name());
        println!("missing      {} objects", self.missing);
        println!("cores        {}", cores());
        // Only Linux has this file; the line is omitted elsewhere.
        if let Ok(load) = fs::read_to_string("/proc/loadavg") {
            println!("load         {}", load.trim());
        }
        let version =
            stock_git(self.subject.scratch()).arg("version").output().map_err(|e| BenchError::io("run", "git", e))?;
        println!("stock git    {}", String::from_utf8_lossy(&version.stdout).trim());
        println!("pairs        {}", self.repetitions);
        Ok(())
    }

    /// Compares the elapsed time of a conversion with the CPU time of its codecs on one thread, divided by the cores.
    /// Two more rows explain the result: the CPU time of the conversion compared with that of its codecs, and its
    /// elapsed time compared with that of only its codecs on all cores, which also have to wait on a busy machine.
    fn compare_conversion(&self) -> Result<Vec<Comparison>> {
        let spec = spec("zstd:5")?;
        let cores = cores();
        let chunks = StoredChunks::load(&Repository::open(self.subject.path())?)?;
        let megabytes = chunks.payload_bytes() as f64 / 1e6;
        println!("chunks       {}, {megabytes:.1} MB of payload", chunks.len());
        let (mut over_cores, mut cpu, mut at_once, mut syncs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            let conversion = self.convert(&spec)?;
            let codecs = chunks.cpu_time(&spec)?;
            over_cores.push((conversion.wall, codecs / u32::try_from(cores).unwrap_or(u32::MAX)));
            cpu.push((conversion.cpu, codecs));
            at_once.push((conversion.wall, chunks.wall_time(&spec, cores)?));
            syncs.push(conversion.sync);
        }
        println!("final sync   {:.3} s (not part of the conversion's time)", median_time(syncs).as_secs_f64());
        let comparison = |against: &str, time, pairs, target| Comparison {
            name: format!("convert --codec {spec}"),
            against: against.into(),
            time,
            pairs,
            target,
        };
        Ok(vec![
            comparison("codecs' CPU / cores", "wall", over_cores, Some(CONVERT_TARGET)),
            comparison("codecs on all cores", "wall", at_once, None),
            comparison("codecs on one thread", "CPU", cpu, None),
        ])
    }

    /// Converts the subject once, and removes the result.
    fn convert(&self, spec: &CodecSpec) -> Result<ConversionTime> {
        let target = self.subject.scratch().join("converted");
        let before = cpu_of_this_process()?;
        let job = ConvertJob::new(&target, JobControl::quiet(cores()));
        let (conversion, path) = convert(self.subject.repository(), &Encoding::plain(spec), Layout::default(), &job)?;
        let cpu = cpu_of_this_process()?.saturating_sub(before);
        fs::remove_dir_all(&path).map_err(|e| BenchError::io("remove", path, e))?;
        Ok(ConversionTime { wall: conversion.elapsed, cpu, sync: conversion.sync })
    }

    fn compare_replays(&self) -> Result<Vec<Comparison>> {
        let rev_list: &[&str] = &["rev-list", "--objects", "--all", "--no-object-names"];
        let allow_missing: &[&str] = if self.missing > 0 { &["--missing=allow-any"] } else { &[] };
        let raw = ["log", "--raw", "--no-abbrev", "--no-renames", "--format=commit %H"];
        let pickaxe_option = format!("-S{NEEDLE}");
        let pickaxe = ["log", &pickaxe_option, "--no-renames", "--format=%H"];
        let mut comparisons = vec![
            self.compare_replay("traverse", &[rev_list, allow_missing].concat(), REPLAY_TARGET)?,
            self.compare_replay("diff:raw", &raw, REPLAY_TARGET)?,
        ];
        let workload = format!("diff:pickaxe={NEEDLE}");
        let patch = ["log", "-p", "--no-renames", "--full-index", "--format=commit %H"];
        if self.missing > 0 {
            println!("skipped      {workload}, diff:patch: stock git stops at a missing object");
        } else {
            comparisons.push(self.compare_replay(&workload, &pickaxe, PICKAXE_TARGET)?);
            comparisons.push(self.compare_replay("diff:patch", &patch, REPLAY_TARGET)?);
        }
        Ok(comparisons)
    }

    /// Compares the CPU time of a replay on the baseline with that of the git command that does the same there.
    fn compare_replay(&self, workload: &str, arguments: &[&str], target: f64) -> Result<Comparison> {
        let mut ours = Command::new(&self.program);
        ours.arg("replay").arg(self.baseline.git_dir()).args(["--workload", workload]);
        let mut stock = self.git_on_baseline();
        stock.args(arguments);
        check_same_work(workload, &mut ours, &mut stock)?;
        let pairs = self.pairs(|| Ok((time_child(&mut ours)?.cpu, time_child(&mut stock)?.cpu)))?;
        let command = arguments.first().copied().unwrap_or_default();
        let against = format!("git {command}");
        Ok(Comparison { name: workload.into(), against, time: "CPU", pairs, target: Some(target) })
    }

    /// Compares `verify` of the subject and its baseline with the time of other programs for the packs of both.
    fn compare_verification(&self) -> Result<Vec<Comparison>> {
        let mut ours = Command::new(&self.program);
        ours.arg("verify").arg(self.subject.path()).arg(self.baseline.git_dir());
        let indexes: Vec<&Path> =
            [self.subject.repository(), &self.baseline].iter().flat_map(|r| r.packs()).map(|p| &*p.index).collect();
        let mut stock = self.git_on_baseline();
        stock.arg("verify-pack").args(&indexes);
        let mut comparisons = Vec::new();
        comparisons.extend(self.compare_verify(&mut ours, "git verify-pack", &mut [stock])?);
        let gix = |index: &&Path| {
            let mut gix = Command::new("gix");
            gix.args(["--no-verbose", "free", "pack", "verify"]).arg(index);
            gix
        };
        if Command::new("gix").arg("--version").output().is_ok() {
            let mut commands: Vec<Command> = indexes.iter().map(gix).collect();
            comparisons.extend(self.compare_verify(&mut ours, "gix free pack verify", &mut commands)?);
        } else {
            println!("skipped      gix free pack verify: no gix on PATH");
        }
        Ok(comparisons)
    }

    fn compare_verify(&self, ours: &mut Command, against: &str, others: &mut [Command]) -> Result<[Comparison; 2]> {
        let time_pair = || {
            let mut other = ChildTime { wall: Duration::ZERO, cpu: Duration::ZERO };
            let ours = time_child(ours)?;
            for command in &mut *others {
                let time = time_child(command)?;
                other = ChildTime { wall: other.wall + time.wall, cpu: other.cpu + time.cpu };
            }
            Ok((ours, other))
        };
        // Both repositories are in the page cache: one has been read completely, the other has just been written.
        let pairs = self.pairs(time_pair)?;
        let comparison = |time, pick: fn(&ChildTime) -> Duration| Comparison {
            name: "verify A B".into(),
            against: against.to_owned(),
            time,
            pairs: pairs.iter().map(|(ours, other)| (pick(ours), pick(other))).collect(),
            target: Some(VERIFY_TARGET),
        };
        Ok([comparison("wall", |time| time.wall), comparison("CPU", |time| time.cpu)])
    }

    fn measure_start_up(&self) -> Result<()> {
        for argument in ["--version", "codecs"] {
            let mut command = Command::new(&self.program);
            command.arg(argument);
            time_child(&mut command)?;
            let median = median_time(self.pairs(|| time_child(&mut command).map(|time| time.wall))?);
            let verdict = if median <= START_UP_TARGET { "PASS" } else { "over" };
            let (found, target) = (median.as_secs_f64() * 1e3, START_UP_TARGET.as_millis());
            println!("repackbench {argument}: {found:.1} ms wall, target {target} ms, {verdict}");
        }
        Ok(())
    }

    fn git_on_baseline(&self) -> Command {
        let mut git = stock_git(self.subject.scratch());
        git.arg("--git-dir").arg(self.baseline.git_dir());
        git
    }

    /// Calls `time_pair` once per repetition.
    fn pairs<T>(&self, mut time_pair: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
        (0..self.repetitions).map(|_| time_pair()).collect()
    }
}

/// The times of one conversion.
struct ConversionTime {
    /// Elapsed time without the final sync.
    wall: Duration,
    /// CPU time of all threads, including the final sync, which takes almost none.
    cpu: Duration,
    sync: Duration,
}

/// Runs both commands and compares the numbers of lines that they print. Blank lines do not count: git prints them
/// between a commit and its changes, `replay` does not.
fn check_same_work(name: &str, ours: &mut Command, stock: &mut Command) -> Result<()> {
    let is_not_blank = |line: &[u8]| !line.is_empty();
    let expected = count_lines(stock, is_not_blank)?;
    let found = count_lines(ours, is_not_blank)?;
    if expected == found { Ok(()) } else { Err(BenchError::OtherWork { name: name.into(), expected, found }) }
}
