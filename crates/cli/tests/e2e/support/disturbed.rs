//! Conversions that others disturb, or that are killed.

use std::fmt::Debug;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::program::{self, Outcome, command, exit};

/// Stops the thread that disturbs, also when the work fails the test.
struct Finish<'a>(&'a AtomicBool);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` while another thread calls `disturb` again and again, with the number of the call.
pub(crate) fn while_disturbed<T>(disturb: impl FnMut(u32) + Send, work: impl FnOnce() -> T) -> T {
    let finished = AtomicBool::new(false);
    let mut disturb = disturb;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if finished.load(Ordering::Relaxed) {
                    break;
                }
                disturb(round);
            }
        });
        let _finish = Finish(&finished);
        work()
    })
}

/// Converts `repo` in place.
pub(crate) fn in_place(repo: &Path, spec: &str, options: &[&str]) -> Outcome {
    program::run(command().args(["convert", "--in-place", "--codec", spec]).args(options).arg(repo))
}

/// Kills conversions of `repo` in place, each `step` later than the one before, under one of `specs` in turn. After each,
/// and after another run that finishes it, `facts` has to say the same as before, and then `check` has to pass.
#[track_caller]
pub(crate) fn kill_in_place<F: PartialEq + Debug>(
    repo: &Path,
    specs: [&str; 2],
    (kills, step): (u32, Duration),
    facts: impl Fn(&Path) -> F,
    check: impl Fn(&Path),
) {
    let before = facts(repo);
    for (kill, spec) in (0..kills).zip(specs.into_iter().cycle()) {
        let mut convert = command();
        convert.args(["convert", "--quiet", "--in-place", "--codec", spec]).arg(repo);
        let mut child = convert.spawn().expect("the program");
        std::thread::sleep(kill * step);
        child.kill().expect("to kill it");
        child.wait().expect("its end");
        assert_eq!(facts(repo), before, "after kill {kill}");
        in_place(repo, spec, &["--quiet"]).exits(exit::OK);
        assert_eq!(facts(repo), before, "after the end of {kill}");
        check(repo);
    }
}
