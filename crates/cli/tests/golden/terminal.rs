//! A terminal of a given width that the program prints to.

use std::process::Command;

use super::program::{Outcome, isolate, run};

/// Runs a command with its standard output on a new terminal, whose width is the first argument, and prints its output.
const TERMINAL: &str = r#"
import errno, fcntl, os, pty, struct, subprocess, sys, termios
columns, command = int(sys.argv[1]), sys.argv[2:]
shown, terminal = pty.openpty()
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
# No translation of line ends.
settings = termios.tcgetattr(terminal)
settings[1] &= ~termios.OPOST
termios.tcsetattr(terminal, termios.TCSANOW, settings)
child = subprocess.Popen(command, stdout=terminal)
os.close(terminal)
while True:
    try:
        text = os.read(shown, 65536)
    except OSError as error:
        # Linux reports this when all programs have closed the terminal.
        if error.errno != errno.EIO:
            raise
        break
    if not text:
        break
    sys.stdout.buffer.write(text)
sys.stdout.buffer.flush()
sys.exit(child.wait())
"#;

/// Whether the user wants colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// The default.
    Wanted,
    /// `NO_COLOR` is set.
    Refused,
}

/// Runs `command` to its end with its standard output on a terminal of `columns` columns.
#[track_caller]
pub(crate) fn run_on_terminal(command: &Command, columns: u16, colours: Colours) -> Outcome {
    let mut python = Command::new("python3");
    isolate(&mut python);
    python.args(["-I", "-c", TERMINAL, &columns.to_string()]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        python.current_dir(folder);
    }
    python.env("TERM", "xterm-256color");
    if colours == Colours::Refused {
        python.env("NO_COLOR", "1");
    }
    run(&mut python)
}
