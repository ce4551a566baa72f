//! The peak memory of a command.
//!
//! The kernel reports one number for all children that a process has ever waited for, and counts as a child's own what its parent held
//! when it started the child. So a small program that starts nothing else runs the command: the meter.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

use nix::sys::resource::{UsageWho, getrusage};

/// The command of the meter: `METER peak-memory FILE COMMAND...` runs COMMAND, writes to FILE the most bytes of memory that any of its
/// processes held, if that is known, and ends as COMMAND does.
pub const METER_COMMAND: &str = "peak-memory";

/// How far the kernel's figures for the memory of a process may be off, in KiB: each core counts some pages on its own.
const GRAIN: u64 = 1024;

/// `command`, run by `meter`, which writes the peak to `file`. A command cannot be asked for its stdin: `input` is the file that it
/// reads, or nothing.
///
/// # Errors
/// `input` cannot be opened.
pub fn metered(meter: &Path, command: &Command, input: Option<&Path>, file: &Path) -> io::Result<Command> {
    let mut metered = run_by(meter, &[OsStr::new(METER_COMMAND), file.as_os_str()], command);
    metered.stdin(match input {
        Some(input) => fs::File::open(input)?.into(),
        None => Stdio::null(),
    });
    Ok(metered)
}

/// `command`, started by `program` with the words `first` before it. Its stdin is not taken over.
pub fn run_by(program: &Path, first: &[&OsStr], command: &Command) -> Command {
    let mut started = Command::new(program);
    // The command's environment, such as preloaded libraries, must not affect the program itself.
    started.args(first).arg("env");
    for (name, _) in command.get_envs().filter(|(_, value)| value.is_none()) {
        started.arg("-u").arg(name);
    }
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        let mut assignment = OsString::from(name);
        assignment.push("=");
        assignment.push(value);
        started.arg(assignment);
    }
    if command.get_program().as_bytes().contains(&b'=') {
        // env would take it for another assignment.
        started.args(["sh", "-c", "exec \"$0\" \"$@\""]);
    }
    started.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        started.current_dir(folder);
    }
    started
}

/// The peak that the meter wrote to `file`; `None` if it did not know.
pub fn read_peak(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim_end().parse().ok()
}

/// The peak memory of any child that was waited for, or of its own children, in bytes.
///
/// `None` if the system does not report it, or if it is not above the peak of this program: a child starts with the
/// memory of its parent, and `exec` keeps the peak of the program it replaces, so a smaller peak is invisible.
pub fn peak_of_children() -> Option<u64> {
    if !cfg!(target_os = "linux") {
        // Other systems use other units.
        return None;
    }
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?.max_rss();
    let peak = u64::try_from(kibibytes).ok().filter(|peak| *peak > 0)?;
    // The peak since this program started. That of `getrusage` includes the parent of this program.
    let own = fs::read_to_string("/proc/self/status").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let own: u64 = own.split_whitespace().next()?.parse().ok()?;
    if peak > own.saturating_add(GRAIN) { peak.checked_mul(1024) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{child::output, executable};

    #[test]
    fn a_metered_command_keeps_its_environment() {
        let folder = tempfile::tempdir().unwrap();
        let (meter, input) = (folder.path().join("meter"), folder.path().join("input"));
        let text = "#!/bin/sh\ntest \"$1\" = peak-memory && test -z \"$PRELOADED\" || exit 9\n\
                    peak=$2\nshift 2\n\"$@\" || exit\necho 4096 > \"$peak\"\n";
        executable::write(&meter, text);
        fs::write(&input, "from stdin").unwrap();
        // Its path looks like an assignment.
        let program = folder.path().join("version=1");
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let script = "cat; printf ' %s' \"$PRELOADED\" \"${HOME-no home}\" \"$PWD\" \"$1\"";
        for program in ["sh".as_ref(), program.as_os_str()] {
            let mut command = Command::new(program);
            command.args(["-c", script, "sh", "a b=c"]).env("PRELOADED", "with = and spaces").env_remove("HOME");
            command.current_dir("/");
            let peak = folder.path().join("peak");
            let out = output(&mut metered(&meter, &command, Some(&input), &peak).unwrap()).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), "from stdin with = and spaces no home / a b=c");
            assert_eq!((read_peak(&peak), read_peak(&folder.path().join("none"))), (Some(4096), None));
            fs::remove_file(peak).unwrap();
        }
    }
}
