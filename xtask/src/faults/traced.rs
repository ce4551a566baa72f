//! Runs the program under strace.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::judge::Repository;
use super::plan::Fault;
use crate::files::read_text;
use crate::process::{self, Failure, Outcome};

/// The exit codes that the program promises on errors.
const FAILURES: [i32; 3] = [1, 65, 75];

/// How a run with a fault ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By the fault.
    Killed,
    /// With an error message.
    Failed,
    /// As if nothing had happened.
    Finished,
}

/// A system call of a run: its name, and its number among the calls of that name by one thread, as strace counts.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) number: u64,
}

/// All calls of a run that can have the fault, in order.
pub(super) fn calls(
    program: &Path,
    repository: &Repository,
    work: &Path,
    fault: &Fault,
    trace: &Path,
) -> Outcome<Vec<Call>> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(trace).args(["-e", &format!("trace={}", fault.calls), "-e", "signal=none"]);
    process::output(with_program(&mut strace, program, repository, work))?;
    let mut numbers: HashMap<(String, String), u64> = HashMap::new();
    let mut calls = Vec::new();
    for line in read_text(trace)?.lines().filter(|line| !line.contains(" resumed>")) {
        let Some((thread, (name, _))) = line.split_once(' ').and_then(|(of, call)| Some((of, call.split_once('(')?)))
        else {
            continue;
        };
        let name = name.trim();
        let number = numbers.entry((thread.to_owned(), name.to_owned())).or_default();
        *number += 1;
        calls.push(Call { name: name.to_owned(), number: *number });
    }
    Ok(calls)
}

/// Runs the program with the fault at `call`.
pub(super) fn run_with(
    program: &Path,
    repository: &Repository,
    work: &Path,
    fault: &Fault,
    call: &Call,
) -> Outcome<End> {
    let mut strace = Command::new("strace");
    let inject = format!("inject={}:{}:when={}", call.name, fault.effect, call.number);
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]);
    let command = with_program(&mut strace, program, repository, work);
    let shown = process::shown(command);
    let output = command.stdin(Stdio::null()).output().map_err(|error| Failure(format!("{shown}: {error}")))?;
    let message = String::from_utf8_lossy(&output.stderr);
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => Ok(End::Finished),
        // strace ends as its program did.
        (None, Some(9)) if fault.is_kill() => Ok(End::Killed),
        (Some(code), _) if FAILURES.contains(&code) && is_one_error(&message) => Ok(End::Failed),
        _ => Err(Failure(format!("{shown}: {}: {message}", output.status))),
    }
}

/// Whether the program said in one line what failed.
fn is_one_error(message: &str) -> bool {
    message.lines().filter(|line| line.starts_with("repackbench: ")).count() == 1 || message.is_empty()
}

/// Runs the program without a fault.
pub(super) fn finish(program: &Path, repository: &Repository, work: &Path) -> Outcome<()> {
    let mut command = Command::new(program);
    process::output(convert(&mut command, repository, work)).map(drop)
}

fn with_program<'a>(strace: &'a mut Command, program: &Path, repository: &Repository, work: &Path) -> &'a mut Command {
    strace.arg(program);
    convert(strace, repository, work)
}

fn convert<'a>(command: &'a mut Command, repository: &Repository, work: &Path) -> &'a mut Command {
    let options = ["convert", "--quiet", "--in-place", "--threads", "1", "--codec", repository.codec()];
    command.args(options).arg(work)
}
