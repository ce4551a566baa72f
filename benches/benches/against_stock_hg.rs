//! Compares the program's speed on a Mercurial repository with that of stock hg, and conversion with the mere work of
//! its codecs.
//!
//! It is a plain program: `cargo bench --package repackbench-benches --bench against_stock_hg -- REPOSITORY`. It
//! measures everything in one run on one machine, in pairs of ours and hg, and the median of the pairs' ratios counts.
//!
//! hg works on the variant with zlib:6, from which `convert` starts too. It runs in one process, without configuration
//! and with empty caches of its own. The CPU time of `hg version` is subtracted from hg's times, and nothing from ours.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use repackbench_benches::{
    BenchError, Comparison, Result, StoredChunks, build_program, cores, count_lines, cpu_of_this_process, exit_code,
    median_time, path_argument, repetitions, spec, table, time_child,
};
use repackbench_reader::Repository;
use repackbench_writer::{ConvertJob, JobControl, Layout, convert};

/// The maximum time of a conversion, as a multiple of its codecs' work divided by the cores.
const CONVERT_TARGET: f64 = 1.3;
/// The same, as a multiple of the time of hg's own conversion.
const UPGRADE_TARGET: f64 = 1.0 / 20.0;
/// The maximum CPU time of a replay, as a multiple of stock hg's.
const REPLAY_TARGET: f64 = 1.0;

/// The codec of the timed conversions, which is the default of current hg.
const CONVERT_TO: &str = "zstd:3";

/// Every ancestor of the tip, newest first, as a replayed log lists them.
const LOG: &str = "reverse(::tip)";

fn main() -> ExitCode {
    exit_code("against_stock_hg", run())
}

fn run() -> Result<()> {
    let path = path_argument();
    let Some(path) = path else {
        return Err(BenchError::Setup("name a Mercurial repository of 20 MB or more to measure".into()));
    };
    let bench = Bench::set_up(&path)?;
    bench.print_circumstances(&path)?;
    // hg needs many minutes for the replays of a large repository, so the first table is printed before.
    println!("\n{}", table(&bench.compare_conversion()?));
    println!("\n{}", table(&bench.compare_replays()?));
    Ok(())
}

struct Bench {
    scratch: tempfile::TempDir,
    /// The variant of the repository with zlib:6.
    baseline: PathBuf,
    program: PathBuf,
    repetitions: usize,
    start_up: Duration,
}

impl Bench {
    fn set_up(path: &Path) -> Result<Self> {
        let source = Repository::open(path)?;
        if matches!(source, Repository::Git(_)) {
            return Err(BenchError::Setup(format!("{}: a Git repository", path.display())));
        }
        let program = build_program()?;
        let repetitions = repetitions()?;
        let scratch = tempfile::Builder::new()
            .prefix("repackbench-benches-")
            .tempdir()
            .map_err(|e| BenchError::io("make a folder in", env::temp_dir(), e))?;
        let baseline = scratch.path().join("baseline");
        convert(&source, &spec("zlib:6")?, Layout::default(), &ConvertJob::new(&baseline, JobControl::quiet(cores())))?;
        let mut bench = Bench { scratch, baseline, program, repetitions, start_up: Duration::ZERO };
        let versions = bench.pairs(|| time_child(bench.hg(&bench.baseline).args(["version", "--quiet"])))?;
        bench.start_up = median_time(versions.into_iter().map(|time| time.cpu).collect());
        Ok(bench)
    }

    fn print_circumstances(&self, path: &Path) -> Result<()> {
        println!("repository   {}", path.display());
        println!("cores        {}", cores());
        if let Ok(load) = fs::read_to_string("/proc/loadavg") {
            println!("load         {}", load.trim());
        }
        let version = self.hg(&self.baseline).args(["version", "--quiet"]).output();
        let version = version.map_err(|e| BenchError::io("run", "hg", e))?;
        println!("stock hg     {}", String::from_utf8_lossy(&version.stdout).trim());
        println!("start-up     {:.3} s of CPU, subtracted from hg's", self.start_up.as_secs_f64());
        println!("pairs        {}", self.repetitions);
        Ok(())
    }

    /// Compares the elapsed time of a conversion with the CPU time of its codecs on one thread, divided by the cores,
    /// and with the elapsed time of hg's own conversion of the same repository to the same codec.
    fn compare_conversion(&self) -> Result<Vec<Comparison>> {
        let to = spec(CONVERT_TO)?;
        let source = Repository::open(&self.baseline)?;
        let chunks = StoredChunks::load(&source)?;
        println!("chunks       {}, {:.1} MB of payload", chunks.len(), chunks.payload_bytes() as f64 / 1e6);
        let (mut codecs, mut cpu, mut upgrades, mut syncs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // Nothing is removed before the end: file systems avoid inodes that have just been freed, and the next
        // repetition would pay for the search for others.
        for repetition in 0..self.repetitions {
            let target = self.scratch.path().join(format!("converted-{repetition}"));
            let before = cpu_of_this_process()?;
            let job = ConvertJob::new(&target, JobControl::quiet(cores()));
            let (conversion, _) = convert(&source, &to, Layout::default(), &job)?;
            let used = cpu_of_this_process()?.saturating_sub(before);
            let alone = chunks.cpu_time(&to)?;
            codecs.push((conversion.elapsed, alone / u32::try_from(cores()).unwrap_or(u32::MAX)));
            cpu.push((used, alone));
            // hg does not sync, so neither time includes that.
            upgrades.push((conversion.elapsed, self.upgrade(repetition)?));
            syncs.push(conversion.sync);
        }
        println!("final sync   {:.3} s (not part of the conversion's time)", median_time(syncs).as_secs_f64());
        let comparison = |against: &str, time, pairs, target| Comparison {
            name: format!("convert --codec {CONVERT_TO}"),
            against: against.into(),
            time,
            pairs,
            target,
        };
        Ok(vec![
            comparison("codecs' CPU / cores", "wall", codecs, Some(CONVERT_TARGET)),
            comparison("codecs on one thread", "CPU", cpu, None),
            comparison("hg debugupgraderepo", "wall", upgrades, Some(UPGRADE_TARGET)),
        ])
    }

    /// The time that hg takes to convert a new copy of the baseline, without its start-up.
    fn upgrade(&self, repetition: usize) -> Result<Duration> {
        let copy = self.scratch.path().join(format!("upgraded-{repetition}"));
        let mut command = Command::new("cp");
        time_child(command.arg("-R").arg(&self.baseline).arg(&copy))?;
        let mut upgrade = self.hg(&copy);
        upgrade.args(["--config", "format.revlog-compression=zstd", "--config", "storage.revlog.zstd.level=3"]);
        let time = time_child(upgrade.args(["debugupgraderepo", "--run", "--no-backup"]))?;
        Ok(time.wall.saturating_sub(self.start_up))
    }

    fn compare_replays(&self) -> Result<Vec<Comparison>> {
        let changes = "{file_adds % 'A {file}\\n'}{file_dels % 'D {file}\\n'}{file_mods % 'M {file}\\n'}";
        let raw = ["log", "-r", LOG, "-T", changes];
        let patch = ["log", "-r", LOG, "--patch", "--git"];
        self.check_same_changesets()?;
        Ok(vec![
            self.compare_checkout()?,
            self.compare_replay("traverse", "hg verify", &["verify", "--quiet"])?,
            self.compare_replay("diff:raw", "hg log, changed files", &raw)?,
            self.compare_replay("diff:patch", "hg log --patch --git", &patch)?,
        ])
    }

    /// Checks that both list the same number of changesets. Otherwise their times could not be compared.
    fn check_same_changesets(&self) -> Result<()> {
        let is_commit = |line: &[u8]| line.starts_with(b"commit ");
        let expected =
            count_lines(self.hg(&self.baseline).args(["log", "-r", LOG, "-T", "commit {node}\\n"]), is_commit)?;
        let found = count_lines(&mut self.replay("diff:raw"), is_commit)?;
        match expected == found {
            true => Ok(()),
            false => Err(BenchError::OtherWork { name: "diff:raw".into(), expected, found }),
        }
    }

    /// Compares the checkout of the tip into an empty work tree.
    fn compare_checkout(&self) -> Result<Comparison> {
        let into = self.scratch.path().join("files");
        let pairs = self.pairs(|| {
            let ours = time_child(self.replay("checkout").arg("--output").arg(&into))?;
            remove(&into)?;
            let stock = self.time_hg(&["update", "--quiet", "--rev", "tip"])?;
            time_child(self.hg(&self.baseline).args(["update", "--quiet", "--rev", "null"]))?;
            Ok((ours.cpu, stock))
        })?;
        let (name, against) = ("checkout".to_owned(), "hg update".to_owned());
        Ok(Comparison { name, against, time: "CPU", pairs, target: Some(REPLAY_TARGET) })
    }

    fn compare_replay(&self, workload: &str, against: &str, arguments: &[&str]) -> Result<Comparison> {
        let pairs = self.pairs(|| Ok((time_child(&mut self.replay(workload))?.cpu, self.time_hg(arguments)?)))?;
        let (name, against) = (workload.to_owned(), against.to_owned());
        Ok(Comparison { name, against, time: "CPU", pairs, target: Some(REPLAY_TARGET) })
    }

    /// The CPU time of hg on the baseline, without its start-up.
    fn time_hg(&self, arguments: &[&str]) -> Result<Duration> {
        let caches = self.baseline.join(".hg/wcache/manifestfulltextcache");
        match fs::remove_file(&caches) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(BenchError::io("remove", caches, error));
            }
            _ => {}
        }
        Ok(time_child(self.hg(&self.baseline).args(arguments))?.cpu.saturating_sub(self.start_up))
    }

    fn replay(&self, workload: &str) -> Command {
        let mut ours = Command::new(&self.program);
        ours.arg("replay").arg(&self.baseline).args(["--workload", workload]);
        ours
    }

    /// Stock hg without configuration, in one process.
    fn hg(&self, repository: &Path) -> Command {
        let mut hg = Command::new(env::var_os("REPACKBENCH_HG").unwrap_or_else(|| "hg".into()));
        hg.env_clear();
        hg.envs(env::vars_os().filter(|(name, _)| name == "PATH" || name == "TMPDIR"));
        hg.env("HGRCPATH", "").env("HGPLAIN", "1").env("LC_ALL", "C.UTF-8");
        hg.arg("-R").arg(repository).args(["--config", "worker.enabled=no"]);
        hg
    }

    /// Calls `time_pair` once per repetition.
    fn pairs<T>(&self, mut time_pair: impl FnMut() -> Result<T>) -> Result<Vec<T>> {
        (0..self.repetitions).map(|_| time_pair()).collect()
    }
}

fn remove(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).map_err(|e| BenchError::io("remove", folder, e))
}
