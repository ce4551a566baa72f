//! Counts the instructions of the parts that every measurement depends on, and compares them with a committed baseline.
//!
//! On a busy machine, times vary by more than most regressions. Counts of instructions by valgrind do not vary at all.
//! They ignore memory and vector width, so they protect our own code but cannot rank codecs.
//!
//! The program runs itself under valgrind once for each scenario, and valgrind counts only in [`measured`]. Counts
//! depend on the compiler, the C library and the programs that make the fixtures, so the baseline names those. On
//! another machine counts are printed but not judged.
//!
//! `cargo xtask instructions` makes the fixtures and runs it. `cargo xtask instructions --update` writes a new
//! baseline.

#[allow(dead_code, reason = "only the stand-in is counted")]
#[path = "shared/zlib.rs"]
mod zlib;

use std::{
    collections::BTreeMap,
    env, fs,
    num::NonZero,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use repackbench_benches::{BenchError, PayloadSample, Result, SizeClass, build_stand_in_for_benches, spec};
use repackbench_codec::{ChunkDecoder, ChunkEncoder, Decoders};
use repackbench_reader::{Repository, git::GitRepository, git::delta};
use repackbench_timing::workloads::{Counter, HistoryRange, VariantPlace, WorkloadSpec};

/// How much a scenario may exceed the baseline, as a share.
const TOLERANCE: f64 = 0.02;

/// The exit code for a regression, as in the program.
const REGRESSION: u8 = 3;

/// The codecs whose chunks are decoded and encoded.
const CODECS: [&str; 4] = ["zlib:6", "zstd:5", "lz4", "store"];

/// The codecs whose chunks are read through the stand-in for zlib, as git does.
const THROUGH_ZLIB: [&str; 2] = ["zlib:6", "zstd:5"];

/// The workloads that walk packs and revlogs.
const WORKLOADS: [&str; 3] = ["traverse", "diff:raw", "checkout:sink"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["--scenario", scenario, git, hg] => run_scenario(scenario, Path::new(git), Path::new(hg)),
        [git, hg] => judge(Path::new(git), Path::new(hg), false),
        [git, hg, "--update"] => judge(Path::new(git), Path::new(hg), true),
        _ => Err(BenchError::Setup("expected a Git and a Mercurial fixture: run cargo xtask instructions".to_owned())),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("instructions: {error}");
        ExitCode::FAILURE
    })
}

/// Valgrind counts only in this function, which it finds by name.
#[inline(never)]
fn measured(work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    work()
}

fn scenarios() -> Vec<String> {
    let codecs = CODECS.iter().flat_map(|codec| [format!("decode/{codec}"), format!("encode/{codec}")]);
    let walks = WORKLOADS.iter().flat_map(|workload| [format!("git/{workload}"), format!("hg/{workload}")]);
    let codecs = codecs.chain(THROUGH_ZLIB.iter().map(|codec| format!("through-zlib/{codec}")));
    codecs.chain(walks).chain(["delta".to_owned(), "walk/git".to_owned(), "walk/hg".to_owned()]).collect()
}

fn run_scenario(scenario: &str, git: &Path, hg: &Path) -> Result<ExitCode> {
    match scenario.split_once('/') {
        Some(("decode", codec)) => decode(codec, git)?,
        Some(("encode", codec)) => encode(codec, git)?,
        Some(("through-zlib", codec)) => read_through_zlib(codec, git)?,
        Some(("walk", "git")) => walk(&Repository::open(git)?)?,
        Some(("walk", "hg")) => walk(&Repository::open(hg)?)?,
        Some(("git", workload)) => replay(&Repository::open(git)?, workload)?,
        Some(("hg", workload)) => replay(&Repository::open(hg)?, workload)?,
        None if scenario == "delta" => apply_delta()?,
        _ => return Err(BenchError::Setup(format!("unknown scenario {scenario}"))),
    }
    Ok(ExitCode::SUCCESS)
}

fn payloads(git: &Path) -> Result<PayloadSample> {
    PayloadSample::collect(&GitRepository::open(git)?, SizeClass::EVERY, 1 << 20)
}

fn decode(codec: &str, git: &Path) -> Result<()> {
    let (payloads, mut encoder) = (payloads(git)?, ChunkEncoder::new(&spec(codec)?)?);
    let mut chunks = Vec::new();
    for payload in payloads.iter() {
        let mut stored = Vec::new();
        encoder.encode(payload, &mut stored)?;
        chunks.push((stored, vec![0; payload.len()]));
    }
    let mut decoder = ChunkDecoder::for_spec(&spec(codec)?);
    measured(&mut || {
        for (stored, payload) in &mut chunks {
            decoder.decode(stored, payload)?;
        }
        Ok(())
    })
}

/// Reads chunks through the functions of zlib in the stand-in, which must have been built.
fn read_through_zlib(codec: &str, git: &Path) -> Result<()> {
    let mut chunks = zlib::Chunks::encode(codec, &payloads(git)?)?;
    let stand_in = zlib::stand_in(&build_stand_in_for_benches()?)?;
    // The first pass does what is done once per process.
    chunks.read(&stand_in)?;
    measured(&mut || chunks.read(&stand_in))
}

fn encode(codec: &str, git: &Path) -> Result<()> {
    let (payloads, mut encoder) = (payloads(git)?, ChunkEncoder::new(&spec(codec)?)?);
    let mut stored = Vec::new();
    measured(&mut || {
        for payload in payloads.iter() {
            stored.clear();
            encoder.encode(payload, &mut stored)?;
        }
        Ok(())
    })
}

/// Applies a delta of many short pieces, as in trees, repeatedly.
fn apply_delta() -> Result<()> {
    const PIECES: u32 = 500;
    let base: Vec<u8> = (0..PIECES * 40).map(|at| (at % 251) as u8).collect();
    let mut instructions = Vec::new();
    for piece in 0..PIECES {
        // Copies 36 bytes, with an offset of two bytes and a size of one, then inserts four.
        let [low, high, ..] = (piece * 40).to_le_bytes();
        instructions.extend([0b1001_0011, low, high, 36, 4, b'n', b'e', b'w', b'!']);
    }
    let mut sizes = Vec::new();
    for _ in 0..2 {
        // Both sizes are equal, and take three groups of seven bits.
        let len = PIECES * 40;
        sizes.extend([(len & 0x7f) as u8 | 0x80, (len >> 7 & 0x7f) as u8 | 0x80, (len >> 14) as u8]);
    }
    let delta = [sizes, instructions].concat();
    let mut result = Vec::new();
    measured(&mut || {
        for _ in 0..200 {
            delta::apply(&base, &delta, &mut result).map_err(|error| BenchError::Setup(error.to_string()))?;
        }
        Ok(())
    })
}

/// Reads every chunk in file order, like a conversion.
fn walk(repository: &Repository) -> Result<()> {
    let store = repository.store();
    let mut stored_bytes = 0;
    measured(&mut || {
        for _ in 0..10 {
            store.for_each_chunk(&mut |chunk| {
                stored_bytes += chunk.stored_len;
                Ok(())
            })?;
        }
        Ok(())
    })
}

fn replay(repository: &Repository, workload: &str) -> Result<()> {
    let setup = |error: &dyn std::fmt::Display| BenchError::Setup(format!("{workload}: {error}"));
    let workload: WorkloadSpec = workload.parse().map_err(|error| setup(&error))?;
    let range = HistoryRange { revision: repository.default_revision().to_owned(), commits: None, seed: 0 };
    let mut workload = workload.build(&range, None);
    let mut history = repository.history(Decoders::default())?;
    workload.prepare(&VariantPlace::of(repository, Decoders::default()))?;
    measured(&mut || {
        let mut counter = Counter::default();
        for _ in 0..5 {
            history.clear_caches();
            workload.run(history.as_mut(), &mut counter)?;
        }
        Ok(())
    })
}

/// Counts every scenario and compares the counts with the baseline.
fn judge(git: &Path, hg: &Path, update: bool) -> Result<ExitCode> {
    let machine = machine()?;
    build_stand_in_for_benches()?;
    let baseline = if update { None } else { Baseline::load()?.filter(|baseline| baseline.machine == machine) };
    if baseline.is_none() && !update {
        println!("no baseline for {machine}: counts are printed, nothing is judged");
    }
    let mut counts = BTreeMap::new();
    let mut worse = Vec::new();
    for (scenario, count) in count_all(git, hg)? {
        let before = baseline.as_ref().and_then(|baseline| baseline.counts.get(&scenario).copied());
        let change = before.map(|before| count as f64 / before as f64 - 1.0);
        match change {
            Some(change) => println!("{scenario:<20} {count:>13} {:>+8.2} %", 100.0 * change),
            None => println!("{scenario:<20} {count:>13}"),
        }
        if baseline.is_some() && change.is_none_or(|change| change > TOLERANCE) {
            worse.push(scenario.clone());
        }
        counts.insert(scenario, count);
    }
    if update {
        Baseline { machine, counts }.save()?;
    }
    if worse.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "instructions: {} exceed the baseline by more than {:.0} %, or have none; if that is intended, run cargo xtask \
         instructions --update",
        worse.join(", "),
        100.0 * TOLERANCE
    );
    Ok(ExitCode::from(REGRESSION))
}

/// Every scenario with its number of instructions, which does not depend on what else runs: each processor counts one at
/// a time.
fn count_all(git: &Path, hg: &Path) -> Result<Vec<(String, u64)>> {
    let scenarios = scenarios();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, u64)>> {
        let mut counted = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(at) else { return Ok(counted) };
            counted.push((at, count(scenario, git, hg)?));
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut counted = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(|thread| thread.join().expect("a thread that only counts"));
        ended.collect::<Result<Vec<_>>>()
    })?
    .concat();
    counted.sort_unstable();
    Ok(scenarios.into_iter().zip(counted).map(|(scenario, (_, count))| (scenario, count)).collect())
}

/// The number of instructions of `scenario`. The repositories get the same names everywhere, because opening a file
/// takes more instructions if its path is longer.
fn count(scenario: &str, git: &Path, hg: &Path) -> Result<u64> {
    let setup = |what: String| BenchError::Setup(format!("{scenario}: {what}"));
    let folder = tempfile::tempdir().map_err(|error| setup(error.to_string()))?;
    for (repository, name) in [(git, "git"), (hg, "hg")] {
        let repository =
            fs::canonicalize(repository).map_err(|error| setup(format!("{}: {error}", repository.display())))?;
        symlink(repository, folder.path().join(name)).map_err(|error| setup(error.to_string()))?;
    }
    let report = folder.path().join("counts");
    let this = env::current_exe().map_err(|error| setup(error.to_string()))?;
    let mut out_file = std::ffi::OsString::from("--callgrind-out-file=");
    out_file.push(&report);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*instructions*measured*"])
        .arg(out_file)
        .arg(this)
        // The stand-in is already built, and is loaded from there.
        .env_remove("CARGO")
        .args(["--scenario", scenario, "git", "hg"])
        .current_dir(folder.path())
        .output()
        .map_err(|error| setup(format!("valgrind: {error}")))?;
    if !output.status.success() {
        return Err(setup(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let report = fs::read_to_string(report).map_err(|error| setup(error.to_string()))?;
    let total = report.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.filter(|total| *total > 0).ok_or_else(|| setup("valgrind counted nothing".to_owned()))
}

/// The versions that counts depend on, in addition to the code.
fn machine() -> Result<String> {
    let mut versions = Vec::new();
    let hg = env::var_os("REPACKBENCH_HG").unwrap_or_else(|| "hg".into());
    let programs =
        [("rustc".into(), "-V"), ("valgrind".into(), "--version"), ("git".into(), "--version"), (hg, "--version")];
    for (program, option) in programs.into_iter().chain([("getconf".into(), "GNU_LIBC_VERSION")]) {
        let output = Command::new(&program).arg(option).output();
        let output = output.map_err(|error| BenchError::Setup(format!("{}: {error}", program.display())))?;
        let text = String::from_utf8_lossy(&output.stdout);
        versions.push(text.lines().next().unwrap_or_default().to_owned());
    }
    versions.push(format!("zlib {}", zlib::version()?));
    Ok(versions.join("; "))
}

/// Committed counts, and the machine that they are valid for.
struct Baseline {
    machine: String,
    counts: BTreeMap<String, u64>,
}

impl Baseline {
    fn path() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.tsv")
    }

    /// Loads the file. Its first line names the machine, and each other line has a scenario and its count.
    fn load() -> Result<Option<Self>> {
        let path = Baseline::path();
        let refuse = |what: &str| BenchError::Setup(format!("{}: {what}", path.display()));
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| refuse(&error.to_string()))?,
        };
        let mut lines = text.lines();
        let machine = lines.next().unwrap_or_default().to_owned();
        let counts = lines.map(|line| {
            let (scenario, count) = line.split_once('\t')?;
            Some((scenario.to_owned(), count.parse().ok()?))
        });
        let counts =
            counts.collect::<Option<_>>().ok_or_else(|| refuse("expected a scenario and a count in each line"))?;
        Ok(Some(Baseline { machine, counts }))
    }

    fn save(&self) -> Result<()> {
        let lines = self.counts.iter().map(|(scenario, count)| format!("{scenario}\t{count}\n"));
        let text = format!("{}\n{}", self.machine, lines.collect::<String>());
        fs::write(Baseline::path(), text).map_err(|error| BenchError::Setup(error.to_string()))
    }
}
