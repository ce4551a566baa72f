//! What is done with one repository of a fleet: `estimate`, and `bench` for those of a sample, each in a process of its own.
//! A crash, a hang or the end of memory ends that process, and becomes the end of the work on this repository alone.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use repackbench_client::{ChildError, WORKER_COMMAND, run_child};
use repackbench_records::{FleetEnd, RepositoryEstimate, ResultLine, read_results};
use repackbench_writer::{Progress, cache::Cache};

use super::{manifest::FleetMember, shard::is_in_sample};
use crate::{
    failure::{BAD_INPUT, Failure, INTERRUPTED},
    repository::NO_COMMITS,
};

/// The codecs that `bench` checks if the user names none. All that are estimated would take too long.
const CHECKED_CODECS: [&str; 3] = ["zlib:9", "zstd:9", "balanced"];

/// What is done with each repository.
#[derive(Debug)]
pub(crate) struct Work {
    /// This program.
    pub(crate) program: PathBuf,
    /// The file of results.
    pub(crate) json: PathBuf,
    /// Options of `estimate`.
    pub(crate) estimate: Vec<String>,
    /// Options of `bench` other than codecs.
    pub(crate) bench: Vec<String>,
    /// The codecs that the user named.
    pub(crate) codecs: Vec<String>,
    /// The codecs that `bench` measures, if the user named some for it alone.
    pub(crate) bench_codecs: Vec<String>,
    /// The share of repositories that `bench` measures, and the seed that draws them.
    pub(crate) sample: Option<(f64, u64)>,
    /// The most memory of each process in bytes; `None` for no limit.
    pub(crate) memory: Option<u64>,
    /// When a process is killed.
    pub(crate) limit: Duration,
}

/// The user stopped the work.
#[derive(Debug)]
pub(crate) struct Stopped;

impl From<Stopped> for Failure {
    fn from(_: Stopped) -> Self {
        Failure::new(INTERRUPTED, "interrupted").with_hint("the same command with --resume goes on")
    }
}

impl Work {
    /// Works on `member`: its records, and how the work ended.
    pub(crate) fn on(
        &self,
        member: &FleetMember,
        progress: &dyn Progress,
    ) -> Result<(Vec<ResultLine>, FleetEnd), Stopped> {
        // A file system that is not mounted may be in the next try.
        if let Err(error) = member.path.metadata() {
            let message = format!("{}: {error}", member.path.display());
            return Ok((Vec::new(), FleetEnd::TryAgain { message }));
        }
        let options = [&self.estimate[..], &codec_words(&self.codecs)].concat();
        let estimated = match self.lines_of(("estimate", None), &options, member, progress)? {
            Ok(lines) => lines.into_iter().find_map(|line| match line {
                ResultLine::Estimate(estimate) => Some(*estimate),
                _ => None,
            }),
            Err(end) => return Ok((Vec::new(), end)),
        };
        let Some(mut estimate) = estimated else {
            return Ok((Vec::new(), FleetEnd::TryAgain { message: "estimate wrote no result".to_owned() }));
        };
        estimate.repository.name.clone_from(&member.name);
        estimate.command = shown(&["estimate"], &options, member);
        let (mut lines, unchecked) = self.check(&estimate, member, progress)?;
        lines.insert(0, ResultLine::Estimate(Box::new(estimate)));
        Ok((lines, FleetEnd::Done { unchecked }))
    }

    /// Measures with `bench` if the repository is in the sample. Returns the records, and why there are none.
    fn check(
        &self,
        estimate: &RepositoryEstimate,
        member: &FleetMember,
        progress: &dyn Progress,
    ) -> Result<(Vec<ResultLine>, Option<String>), Stopped> {
        let is_drawn = self.sample.is_some_and(|(share, seed)| is_in_sample(&member.name, seed, share));
        if !is_drawn {
            return Ok((Vec::new(), None));
        }
        let specs = estimate.as_found.specs.iter().skip(1).map(|spec| spec.spec.typed.clone());
        let is_checked = |spec: &String| !self.codecs.is_empty() || CHECKED_CODECS.contains(&spec.as_str());
        let codecs: Vec<String> =
            if self.bench_codecs.is_empty() { specs.filter(is_checked).collect() } else { self.bench_codecs.clone() };
        let options = [&self.bench[..], &codec_words(&codecs)].concat();
        // Variants of a whole forge would fill the disk.
        let scratch = match Cache::open(None).and_then(|cache| cache.scratch()) {
            Ok(scratch) => scratch,
            Err(error) => return Ok((Vec::new(), Some(error.to_string()))),
        };
        let lines = match self.lines_of(("bench", Some(scratch.path())), &options, member, progress)? {
            Ok(lines) => lines,
            Err(end) => return Ok((Vec::new(), end.why_not().map(str::to_owned))),
        };
        let named = lines.into_iter().map(|line| match line {
            ResultLine::Run(mut run) => {
                run.repository.name.clone_from(&member.name);
                run.command = shown(&["bench"], &options, member);
                ResultLine::Run(run)
            }
            other => other,
        });
        Ok((named.collect(), None))
    }

    /// The records that this program writes about `member`, by the command of this name with its variants in this folder
    /// if one is given, or how it ended without.
    fn lines_of(
        &self,
        (name, cache): (&str, Option<&Path>),
        options: &[String],
        member: &FleetMember,
        progress: &dyn Progress,
    ) -> Result<Result<Vec<ResultLine>, FleetEnd>, Stopped> {
        let mut command = Command::new(&self.program);
        if let Some(cache) = cache {
            command.env("XDG_CACHE_HOME", cache);
        }
        command.arg(WORKER_COMMAND);
        if let Some(bytes) = self.memory {
            command.arg("--memory").arg(bytes.to_string());
        }
        command.args([name, "--json", "-", "--quiet"]).args(options).arg("--").arg(&member.path);
        // The record of a crash holds a sentence.
        command.stdin(Stdio::piped()).env("RUST_BACKTRACE", "0");
        let deadline = Instant::now().checked_add(self.limit);
        let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let mut output = Vec::new();
        let ended = run_child(&mut command, &|| progress.is_cancelled() || is_over(), Some(&mut output), &mut ());
        let again = |message: String| Ok(Err(FleetEnd::TryAgain { message: format!("{name}: {message}") }));
        match ended {
            _ if progress.is_cancelled() => Err(Stopped),
            Ok(()) => match read_results(&output[..]).collect::<Result<Vec<_>, _>>() {
                Ok(lines) => Ok(Ok(lines)),
                Err(error) => again(error.to_string()),
            },
            Err(ChildError::Interrupted) => again(format!("killed after {} s", self.limit.as_secs_f64())),
            Err(ChildError::Ended { status, said }) => Ok(Err(end_of(name, status, &said, self.memory))),
            Err(error) => again(error.to_string()),
        }
    }
}

/// How the work ends if the process, within `memory`, ended with this status. Only a bad repository stays bad.
fn end_of(name: &str, status: ExitStatus, said: &str, memory: Option<u64>) -> FleetEnd {
    let own = said.lines().find_map(|line| line.strip_prefix("repackbench: "));
    match status.code() {
        Some(code) if code == i32::from(BAD_INPUT) => match own {
            Some(own) if own.ends_with(NO_COMMITS) => FleetEnd::Empty,
            _ => FleetEnd::Failed { message: own.unwrap_or(said).to_owned() },
        },
        Some(_) if own.is_some() => FleetEnd::TryAgain { message: own.unwrap_or_default().to_owned() },
        _ => FleetEnd::TryAgain { message: format!("{name}: {}", crash(status, said, memory)) },
    }
}

/// What a process without a message of its own died of.
fn crash(status: ExitStatus, said: &str, memory: Option<u64>) -> String {
    // What Rust and its libraries in C++ say before they abort.
    if said.contains("memory allocation of") || said.contains("std::bad_alloc") {
        return match memory {
            Some(bytes) => format!("needs more memory than --memory allows ({bytes} bytes)"),
            None => "needs more memory than there is".to_owned(),
        };
    }
    // Of a panic, the place and the message; nothing that follows.
    let words: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).take(2).collect();
    match words.as_slice() {
        [] => status.to_string(),
        words => format!("{status}: {}", words.join(" ")),
    }
}

/// Codecs as words of a command line.
pub(crate) fn codec_words(codecs: &[String]) -> Vec<String> {
    codecs.iter().flat_map(|codec| ["--codec".to_owned(), codec.clone()]).collect()
}

/// The command that does the same without a fleet.
fn shown(name: &[&str], options: &[String], member: &FleetMember) -> Option<String> {
    let path = member.path.to_string_lossy();
    let words = [env!("CARGO_BIN_NAME")].into_iter().chain(name.iter().copied());
    shlex::try_join(words.chain(options.iter().map(String::as_str)).chain([&*path])).ok()
}

/// This program.
pub(crate) fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// How the work ends if `estimate` ended with this wait status, without a limit of memory.
    fn ended(status: i32, said: &str) -> FleetEnd {
        end_of("estimate", ExitStatus::from_raw(status), said, None)
    }

    fn again(message: &str) -> FleetEnd {
        FleetEnd::TryAgain { message: message.to_owned() }
    }

    #[test]
    fn only_bad_repositories_are_final() {
        let exited = |code: i32, said: &str| ended(code << 8, said);
        let failed = |message: &str| FleetEnd::Failed { message: message.to_owned() };
        assert_eq!(exited(65, "repackbench: a.git: no HEAD\nhint: look"), failed("a.git: no HEAD"));
        assert_eq!(exited(65, &format!("repackbench: a.git: {NO_COMMITS}\nhint: commit")), FleetEnd::Empty);
        assert_eq!(exited(75, "repackbench: a.git changed\nhint: wait"), again("a.git changed"));
        assert_eq!(exited(1, "repackbench: disk full"), again("disk full"));
    }

    #[test]
    fn crash_is_one_sentence() {
        assert_eq!(ended(9, ""), again("estimate: signal: 9 (SIGKILL)"));
        let panicked = ended(101 << 8, "\nthread 'main' panicked at x.rs:1:2:\nno room\nnote: run with\nmore");
        assert_eq!(panicked, again("estimate: exit status: 101: thread 'main' panicked at x.rs:1:2: no room"));
        let said = "memory allocation of 12156928 bytes failed\nstack backtrace:\n   0: std::alloc::rust_oom";
        assert_eq!(ended(6, said), again("estimate: needs more memory than there is"));
        let limited = end_of("estimate", ExitStatus::from_raw(6), said, Some(20_000_000));
        assert_eq!(limited, again("estimate: needs more memory than --memory allows (20000000 bytes)"));
    }
}
