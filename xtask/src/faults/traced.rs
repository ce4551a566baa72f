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

/// The exit code after Ctrl-C.
const INTERRUPTED: i32 = 130;

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

/// How a repository is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The repository itself.
    InPlace,
    /// Into a new folder.
    Output,
    /// Into a new folder, in which every object is loose.
    Loose,
    /// Into a new folder, with all objects in a B-tree.
    Btree,
}

impl Way {
    pub(super) const ALL: [Way; 4] = [Way::InPlace, Way::Output, Way::Loose, Way::Btree];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::InPlace => "in-place",
            Way::Output => "output",
            Way::Loose => "loose",
            Way::Btree => "btree",
        }
    }

    /// Whether `repository` can be converted so: only Git has several stores.
    pub(super) fn is_for(self, repository: &Repository) -> bool {
        matches!(self, Way::InPlace | Way::Output) || repository.is_git()
    }
}

/// A conversion that the chore runs again and again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion<'a> {
    pub(super) program: &'a Path,
    pub(super) repository: &'a Repository,
    pub(super) way: Way,
    /// The copy that is converted.
    pub(super) work: &'a Path,
    /// The new folder, if there is one.
    pub(super) variant: &'a Path,
}

impl Conversion<'_> {
    fn arguments<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.args(["convert", "--quiet", "--threads", "1", "--codec", self.repository.codec()]).arg(self.work);
        match self.way {
            Way::InPlace => command.arg("--in-place"),
            Way::Output => command.arg("-o").arg(self.variant),
            Way::Loose | Way::Btree => command.args(["--store", self.way.name(), "-o"]).arg(self.variant),
        }
    }

    fn traced<'a>(&self, strace: &'a mut Command) -> &'a mut Command {
        self.arguments(strace.arg(self.program))
    }

    /// Runs it without a fault. A new folder may be there already.
    pub(super) fn finish(&self) -> Outcome<()> {
        let mut command = Command::new(self.program);
        self.arguments(&mut command).args((self.way != Way::InPlace).then_some("--force"));
        process::output(&mut command).map(drop)
    }

    /// Fails unless the variant has every object of the copy; there may be none before the conversion is finished.
    pub(super) fn check_variant(&self, is_finished: bool) -> Outcome<()> {
        if self.way == Way::InPlace || !is_finished && !self.variant.exists() {
            return Ok(());
        }
        process::output(Command::new(self.program).args(["verify", "--quiet"]).arg(self.work).arg(self.variant))
            .map(drop)
    }
}

/// All calls of a run that can have the fault, in order.
pub(super) fn calls(conversion: Conversion<'_>, fault: &Fault, trace: &Path) -> Outcome<Vec<Call>> {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o"]).arg(trace).args(["-e", &format!("trace={}", fault.calls), "-e", "signal=none"]);
    process::output(conversion.traced(&mut strace))?;
    let mut numbers: HashMap<(String, String), u64> = HashMap::new();
    let mut calls = Vec::new();
    let text = read_text(trace)?;
    // Before that the loader and the runtime work, which end the process by a signal if they have no memory.
    let place = conversion.work.parent().unwrap_or(conversion.work).to_string_lossy().into_owned();
    let first = text.lines().position(|line| line.contains(&place)).unwrap_or_default();
    // Every thread counts its own calls, so a fault at a small number would also hit the main thread at its start.
    let mut at_start: HashMap<String, u64> = HashMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.contains(" resumed>")) {
        let Some((thread, (name, _))) = line.split_once(' ').and_then(|(of, call)| Some((of, call.split_once('(')?)))
        else {
            continue;
        };
        let name = name.trim();
        let number = numbers.entry((thread.to_owned(), name.to_owned())).or_default();
        *number += 1;
        let started = at_start.entry(name.to_owned()).or_default();
        if at < first {
            *started = (*started).max(*number);
        } else if *number > *started {
            calls.push(Call { name: name.to_owned(), number: *number });
        }
    }
    Ok(calls)
}

/// Runs the program with the fault at `call`.
pub(super) fn run_with(conversion: Conversion<'_>, fault: &Fault, call: &Call) -> Outcome<End> {
    let mut strace = Command::new("strace");
    let inject = format!("inject={}:{}:when={}", call.name, fault.effect, call.number);
    strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &inject]);
    strace.args(fault.slow.iter().flat_map(|slow| ["-e", slow]));
    let command = conversion.traced(&mut strace);
    let shown = process::shown(command);
    let output = command.stdin(Stdio::null()).output().map_err(|error| Failure(format!("{shown}: {error}")))?;
    let message = String::from_utf8_lossy(&output.stderr);
    match (output.status.code(), output.status.signal()) {
        (Some(0), _) => Ok(End::Finished),
        // strace ends as its program did.
        (None, Some(9)) if fault.is_kill() => Ok(End::Killed),
        (Some(INTERRUPTED), _) if fault.is_interrupt() => Ok(End::Failed),
        // Before the program handles signals.
        (None, Some(2)) if fault.is_interrupt() => Ok(End::Killed),
        (Some(code), _) if FAILURES.contains(&code) && is_one_error(&message) => Ok(End::Failed),
        _ => Err(Failure(format!("{shown}: {}: {message}", output.status))),
    }
}

/// Whether the program said in one line what failed.
fn is_one_error(message: &str) -> bool {
    message.lines().filter(|line| line.starts_with("repackbench: ")).count() == 1 || message.is_empty()
}
