//! Runs a program under limits of time and memory, and judges its manners: how it ends, and what it says.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::files::failed;
use crate::process::Outcome;

/// What a program may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// CPU time in seconds. The system ends the program then.
    cpu: &'static str,
    /// Address space in KiB.
    memory: &'static str,
    /// Elapsed time: much more than the CPU time of a small repository, since other programs may be running.
    elapsed: Duration,
}

impl Limits {
    /// For a small damaged repository. A few hundred MiB are needed: threads reserve stacks.
    pub(crate) const SMALL: Limits = Limits { cpu: "60", memory: "3145728", elapsed: Duration::from_secs(900) };
    /// For a sound repository of any size.
    pub(crate) const NONE: Limits =
        Limits { cpu: "unlimited", memory: "unlimited", elapsed: Duration::from_secs(7200) };
}

const POLL: Duration = Duration::from_millis(1);
/// Lowers the limits of memory and CPU time, and becomes the program. A shell does it, since Rust needs unsafe code for
/// that.
const LIMITED: &str = "ulimit -v \"$1\" && ulimit -t \"$2\" && shift 2 && exec \"$@\"";

/// The exit code for bad repositories.
pub(crate) const BAD_INPUT: i32 = 65;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// None: it took too long, and was killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// What is wrong with how the program ended, whatever the repository is like.
    pub(crate) fn misbehaviour(&self) -> Option<String> {
        let Some(status) = self.status else {
            return Some(format!("no end after {} s", Limits::SMALL.elapsed.as_secs()));
        };
        let said = self.stderr.trim_end();
        let Some(code) = status.code() else { return Some(format!("{status}: {said}")) };
        if said.contains("panicked at") {
            return Some(format!("a panic: {said}"));
        }
        let errors = said.lines().filter(|line| line.starts_with("repackbench: ")).count();
        let is_plain = said.lines().all(|line| line.starts_with("repackbench: ") || line.starts_with("hint: "));
        match code {
            0 => None,
            1 | BAD_INPUT if errors == 1 && is_plain => None,
            1 if said.is_empty() && !self.stdout.is_empty() => None,
            1 | BAD_INPUT => Some(format!("exit code {code}, expected one line with the error, found {said:?}")),
            _ => Some(format!("exit code {code}, expected 0, 1 or {BAD_INPUT}: {said}")),
        }
    }

    pub(crate) fn is_accepted(&self) -> bool {
        self.code() == Some(0)
    }
}

/// A command that runs `program` under `limits`.
pub(crate) fn limited(program: impl AsRef<OsStr>, limits: Limits) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", LIMITED, "sh", limits.memory, limits.cpu]).arg(program);
    command
}

/// Runs the command to its end, or kills it when its time is over.
pub(crate) fn end_of(command: &mut Command, limits: Limits) -> Outcome<Ended> {
    let (mut ended, stdout) = read_from(command, limits, |stdout| all_of(Some(stdout)))?;
    ended.stdout = stdout;
    Ok(ended)
}

/// Like [`end_of`], but gives stdout to `read`, whose result it returns. `read` need not read everything.
pub(crate) fn read_from<T: Send>(
    command: &mut Command,
    limits: Limits,
    read: impl FnOnce(ChildStdout) -> T + Send,
) -> Outcome<(Ended, T)> {
    let program = command.get_program().to_owned();
    let failed = |error: io::Error| failed(Path::new(&program), &error);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let stdout = stdout.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
    thread::scope(|scope| {
        let stdout = scope.spawn(move || read(stdout));
        let stderr = scope.spawn(move || all_of(stderr));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break Some(status);
            }
            if start.elapsed() > limits.elapsed {
                child.kill().and_then(|()| child.wait()).map_err(failed)?;
                break None;
            }
            thread::sleep(POLL);
        };
        let stderr = String::from_utf8_lossy(&stderr.join().unwrap_or_default()).into_owned();
        let read = stdout.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((Ended { status, stdout: Vec::new(), stderr }, read))
    })
}

/// All that a pipe gives until its end.
fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before an error is all there is.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str) -> Ended {
        end_of(limited("sh", Limits::SMALL).args(["-c", script]), Limits::SMALL).unwrap()
    }

    #[test]
    fn bad_manners_are_named() {
        for good in [
            "true",
            "echo repackbench: bad >&2; exit 65",
            "printf 'repackbench: a\\nhint: b\\n' >&2; exit 1",
            "echo a; exit 1",
        ] {
            assert_eq!(ended(good).misbehaviour(), None, "{good}");
        }
        for (bad, why) in [
            ("kill -9 $$", "signal: 9"),
            ("kill -6 $$", "signal: 6"),
            ("exit 65", "expected one line"),
            ("exit 1", "expected one line"),
            ("exit 2", "exit code 2"),
            ("printf 'repackbench: a\\nrepackbench: b\\n' >&2; exit 65", "expected one line"),
            ("echo \"thread 'main' panicked at a.rs\" >&2", "a panic"),
        ] {
            let misbehaviour = ended(bad).misbehaviour().unwrap_or_default();
            assert!(misbehaviour.contains(why), "{bad}: {misbehaviour}");
        }
    }

    #[test]
    fn memory_and_time_are_limited() {
        let limits = ended("ulimit -v; ulimit -t");
        assert_eq!(
            String::from_utf8_lossy(&limits.stdout).lines().collect::<Vec<_>>(),
            [Limits::SMALL.memory, Limits::SMALL.cpu]
        );
    }
}
