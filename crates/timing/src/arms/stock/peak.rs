//! The peak memory of a command.
//!
//! The kernel tells one number for all children that a process has ever waited for, and counts as a child's own what its parent held
//! when it started it. So it takes a program in between that is small and starts nothing else: the meter.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

use super::{Prepared, StockError};

/// What the meter is told to do: `METER peak-memory FILE COMMAND...` runs the command, writes the most bytes of memory that any of its
/// processes held to the file, if that is known, and ends as the command does.
pub const METER_COMMAND: &str = "peak-memory";

/// The command of `prepared` by way of `meter`, which writes the peak to the file `told`.
pub(crate) fn metered(meter: &Path, prepared: &Prepared, told: &Path) -> Result<Command, StockError> {
    let command = &prepared.command;
    let mut metered = Command::new(meter);
    // The meter itself has no part in the command's surroundings, such as libraries that are preloaded.
    metered.arg(METER_COMMAND).arg(told).arg("env");
    for (name, _) in command.get_envs().filter(|(_, value)| value.is_none()) {
        metered.arg("-u").arg(name);
    }
    for (name, value) in command.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        let mut assignment = OsString::from(name);
        assignment.push("=");
        assignment.push(value);
        metered.arg(assignment);
    }
    if command.get_program().as_bytes().contains(&b'=') {
        // env would take it for another assignment.
        metered.args(["sh", "-c", "exec \"$0\" \"$@\""]);
    }
    metered.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        metered.current_dir(folder);
    }
    metered.stdin(match &prepared.input {
        Some(file) => fs::File::open(file).map_err(|error| StockError::files("read", file, error))?.into(),
        None => Stdio::null(),
    });
    Ok(metered)
}

/// What the meter wrote to `told`; `None` where it knew nothing.
pub(crate) fn peak(told: &Path) -> Option<u64> {
    fs::read_to_string(told).ok()?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use repackbench_writer::NoProgress;

    use super::*;
    use crate::{
        arms::stock::{Made, child, output::OutputForm},
        clock::SystemClock,
        executable,
    };

    #[test]
    fn a_metered_command_has_the_surroundings_that_it_has_without() {
        let folder = tempfile::tempdir().unwrap();
        let (meter, input) = (folder.path().join("meter"), folder.path().join("input"));
        let text = "#!/bin/sh\ntest \"$1\" = peak-memory && test -z \"$PRELOADED\" || exit 9\n\
                    told=$2\nshift 2\n\"$@\" || exit\necho 4096 > \"$told\"\n";
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
            let input = Some(input.clone());
            let prepared = Prepared { command, input, form: OutputForm::Text, made: Made::Nothing };
            let told = folder.path().join("told");
            let (clock, mut out) = (SystemClock::new(), Vec::new());
            child::run(&mut metered(&meter, &prepared, &told).unwrap(), &clock, &NoProgress, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), "from stdin with = and spaces no home / a b=c");
            assert_eq!((peak(&told), peak(&folder.path().join("none"))), (Some(4096), None));
            fs::remove_file(told).unwrap();
        }
    }
}
