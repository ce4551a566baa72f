//! Runs one target and reads from libFuzzer's log what it did.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::build::Programs;
use crate::files::{self, failed, make_folder};
use crate::nightly;
use crate::process::{Failure, Outcome};

/// The limits of every run: of memory in MB, of the length of an input in bytes, and of the time for one in seconds.
///
/// Readers hold objects of up to 64 MiB whatever the ceiling of memory is: a base, a delta and a result.
const LIMITS: [&str; 4] = ["-rss_limit_mb=1024", "-malloc_limit_mb=256", "-max_len=8192", "-timeout=25"];

/// What a run of a target did.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    target: String,
    elapsed: Duration,
    seen: Progress,
    pub(super) crashes: Vec<PathBuf>,
}

/// The last line of progress in a log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Progress {
    executions: u64,
    edges: u64,
    inputs: u64,
    memory: u64,
}

impl Campaign {
    pub(super) const HEADING: &'static str = "target        minutes  executions   edges  inputs  memory MB  crashes";
}

impl fmt::Display for Campaign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Progress { executions, edges, inputs, memory } = self.seen;
        let (minutes, crashes) = (self.elapsed.as_secs_f64() / 60.0, self.crashes.len());
        let target = &self.target;
        write!(f, "{target:12} {minutes:8.1} {executions:11} {edges:7} {inputs:7} {memory:10} {crashes:8}")
    }
}

/// Runs `target` for this time, or until it crashes.
pub(super) fn run(programs: &Programs, target: &str, time: Duration) -> Outcome<Campaign> {
    let corpus = grown_corpus(target)?;
    let artifacts = super::folder().join("artifacts").join(target);
    make_folder(&artifacts)?;
    let before = files::entries(&artifacts)?;
    let logs = super::folder().join("logs");
    make_folder(&logs)?;
    let log = logs.join(format!("{target}.log"));
    eprintln!("fuzzing {target} for {} s; its log is {}", time.as_secs(), log.display());
    let started = Instant::now();
    let mut command = program(programs, target);
    command.arg(format!("-max_total_time={}", time.as_secs()));
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
    let status = logged(&mut command, &log)?;
    let elapsed = started.elapsed();
    let mut crashes = files::entries(&artifacts)?;
    crashes.retain(|path| !before.contains(path));
    let content = fs::read(&log).map_err(|error| failed(&log, &error))?;
    let seen = progress(&String::from_utf8_lossy(&content));
    if !status.success() && crashes.is_empty() {
        return Err(Failure(format!("{target}: {status}; see {}", log.display())));
    }
    Ok(Campaign { target: target.to_owned(), elapsed, seen, crashes })
}

/// The program of `target` with its limits and its environment.
pub(super) fn program(programs: &Programs, target: &str) -> Command {
    let mut command = Command::new(programs.path(target));
    command.args(LIMITS).envs(programs.variables.iter().map(|(name, path)| (name, path)));
    command.env("ASAN_OPTIONS", nightly::ADDRESS_OPTIONS);
    // The stand-in for zlib would print a message for each chunk if it were to read another zlib.
    command.env_remove("REPACKBENCH_ZLIB");
    // Targets write files, and a disk would be their slowest part.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        command.env("TMPDIR", memory);
    }
    command
}

/// Runs the command with its messages in the file `log`.
pub(super) fn logged(command: &mut Command, log: &Path) -> Outcome<std::process::ExitStatus> {
    let file = File::create(log).map_err(|error| failed(log, &error))?;
    let again = file.try_clone().map_err(|error| failed(log, &error))?;
    command.stdin(Stdio::null()).stdout(file).stderr(again);
    command.status().map_err(|error| failed(Path::new(command.get_program()), &error))
}

/// The folder of the inputs found so far, which has the committed ones, too.
pub(super) fn grown_corpus(target: &str) -> Outcome<PathBuf> {
    let grown = super::folder().join("corpus").join(target);
    make_folder(&grown)?;
    for committed in ["corpus", "crashes"].map(|folder| super::package().join(folder).join(target)) {
        if !committed.is_dir() {
            continue;
        }
        for path in files::entries(&committed)? {
            let name = path.file_name().unwrap_or_default();
            fs::copy(&path, grown.join(name)).map_err(|error| failed(&path, &error))?;
        }
    }
    Ok(grown)
}

/// The last line of progress, such as `#1024 NEW cov: 42 ft: 60 corp: 12/345b lim: 8192 exec/s: 512 rss: 78Mb`.
fn progress(log: &str) -> Progress {
    let lines = log.lines().rev().filter(|line| line.starts_with('#') && line.contains("cov: "));
    lines.into_iter().find_map(parse).unwrap_or_default()
}

fn parse(line: &str) -> Option<Progress> {
    let number = |text: &str| -> Option<u64> {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse().ok()
    };
    let after = |name: &str| number(line.split_once(name)?.1);
    Some(Progress {
        executions: number(line.strip_prefix('#')?)?,
        edges: after("cov: ")?,
        inputs: after("corp: ")?,
        memory: after("rss: ")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_of_progress_counts() {
        let log = "INFO: Seed: 1\n#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                   #4096\tpulse  cov: 120 ft: 300 corp: 17/2048b lim: 43 exec/s: 2048 rss: 61Mb\n\
                   thread panicked: #1 is wrong\n";
        assert_eq!(progress(log), Progress { executions: 4096, edges: 120, inputs: 17, memory: 61 });
        assert_eq!(progress("nothing\n"), Progress::default());
    }

    #[test]
    fn rows_fit_their_heading() {
        let row = Campaign { target: "container".into(), elapsed: Duration::from_secs(90), ..Campaign::default() };
        assert_eq!(row.to_string().len(), Campaign::HEADING.len());
        assert!(row.to_string().starts_with("container         1.5"), "{row}");
    }
}
