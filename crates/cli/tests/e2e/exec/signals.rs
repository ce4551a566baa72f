//! Signals under `exec`: each reaches the command once, whether it comes from a terminal or from another program.

use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::program::{self, Scratch, convert};
use crate::support::{git, preload};

/// Runs under `exec` and writes a line for each signal, also for one that arrives while it handles another.
const COUNTER: &str = r#"
import os, signal, sys, time
def note(number, frame):
    os.write(out, b"%d\n" % number)
    if number == signal.SIGTERM:
        os._exit(9)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, note)
os.write(out, b"ready\n")
# Not signal.pause(): one that comes just before it would be noted only with the next.
while True:
    time.sleep(0.05)
"#;

/// Starts a command on its own terminal, presses Ctrl-C there, then kills the program itself, and exits as it did. It
/// waits for each signal to arrive before it sends the next, so that no two coincide. Ctrl-C reaches the command
/// directly, while the same signal may still be pending for the program, and then the kernel drops a second one. Once
/// SIGQUIT has arrived, no SIGINT is pending, as the lowest number is delivered first.
const TERMINAL: &str = r#"
import os, pty, signal, sys, time
log, command = sys.argv[1], sys.argv[2:]
def wait_for(lines):
    for _ in range(90000):
        if os.path.exists(log) and len(open(log).read().split()) >= lines:
            return
        time.sleep(0.01)
    sys.exit("nothing has come: " + open(log).read())
(pid, terminal) = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
wait_for(1)
for pressed in range(5):
    os.write(terminal, b"\x03")
    wait_for(2 + pressed)
os.kill(pid, signal.SIGQUIT)
wait_for(7)
os.kill(pid, signal.SIGINT)
wait_for(8)
os.kill(pid, signal.SIGTERM)
(_, status) = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[test]
fn each_signal_reaches_the_command_once() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    for repo in [variant, Fixture::get("history").repo()] {
        let log = scratch.join("log");
        let mut python = Command::new("python3");
        program::isolate(&mut python);
        git::pin(&mut python);
        python.env("REPACKBENCH_PRELOAD", preload::stand_in());
        python.args(["-c", TERMINAL]).arg(&log).arg(env!("CARGO_BIN_EXE_repackbench")).arg("exec").arg(&repo);
        python.args(["--", "python3", "-c", COUNTER]).arg(&log);
        let outcome = program::run(&mut python);
        let arrived = std::fs::read_to_string(&log).unwrap();
        let expected = format!("ready\n{}3\n2\n15\n", "2\n".repeat(5));
        assert_eq!((outcome.code, arrived.as_str()), (Some(9), expected.as_str()), "{}", outcome.stderr);
        std::fs::remove_file(&log).unwrap();
    }
}
