//! Limits of the system: threads that cannot be started, files that may not grow. Fewer threads do the same work. Work
//! that cannot be done gives one error and leaves nothing.

use std::path::Path;
use std::process::Command;

use crate::support::program::{self, Outcome, command, exit};
use crate::support::{Fixture, Scratch, preload, snapshot};

/// Sizes of stacks in a process with 4 GiB of address space: too large for any thread, and small enough for one or two.
/// The limit also holds for root, unlike one on processes, and leaves enough for everything else.
const STACKS: [&str; 2] = ["8589934592", "1610612736"];
const NO_THREAD: &str = STACKS[0];

/// The note about missing threads.
const FEWER: &str = "done on fewer threads";

/// The program under `limit`, which is passed to `ulimit`.
fn limited(limit: &str, stack: &str) -> Command {
    let mut shell = Command::new("sh");
    program::isolate(&mut shell);
    shell.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_repackbench")]);
    shell.env("RUST_MIN_STACK", stack);
    shell
}

fn with_stacks(stack: &str) -> Command {
    limited("-v 4194304", stack)
}

#[track_caller]
fn assert_notes_missing_threads(outcome: &Outcome, stack: &str) {
    let said = outcome.stderr.matches(FEWER).count();
    // With room for some, the first may have ended before the last one starts.
    assert!(said == 1 || said == 0 && stack != NO_THREAD, "{}", outcome.stderr);
}

#[test]
fn convert_needs_no_second_thread() {
    let (git, hg) = (Fixture::get("history").repo(), Fixture::hg("history").repo());
    let loose = Fixture::get("work-tree").repo();
    for (source, options) in [
        (&git, &["--codec", "zstd:5"][..]),
        (&loose, &["--codec", "zstd:5"]),
        (&git, &["--codec", "zstd:5", "--store", "loose"]),
        (&git, &["--codec", "zstd:5", "--store", "btree"]),
        (&git, &["--codec", "zlib:9", "--store", "files"]),
        (&git, &["--codec", "zstd:5,dict=4k"]),
        (&hg, &["--codec", "zstd:5"]),
    ] {
        let scratch = Scratch::new();
        let convert = |mut command: Command, out: &Path| {
            command.args(["convert", "--threads", "4"]).args(options).arg(source).arg("-o").arg(out);
            program::run(&mut command).exits(exit::OK)
        };
        let expected = scratch.join("expected");
        assert!(!convert(command(), &expected).stderr.contains(FEWER));
        for stack in STACKS {
            let found = scratch.join(stack);
            let outcome = convert(with_stacks(stack), &found);
            assert_notes_missing_threads(&outcome, stack);
            snapshot::assert_same(&snapshot::content(&expected), &snapshot::content(&found));
        }
    }
}

#[test]
fn verify_needs_no_second_thread() {
    for repo in [Fixture::get("history").repo(), Fixture::hg("history").repo()] {
        for stack in STACKS {
            let mut verify = with_stacks(stack);
            verify.args(["verify", "--threads", "4"]).arg(&repo).arg(&repo);
            let outcome = program::run(&mut verify).exits(exit::OK);
            assert!(outcome.text().contains("the same"), "{}", outcome.text());
            assert_notes_missing_threads(&outcome, stack);
            assert_eq!(program::run(verify.arg("--quiet")).exits(exit::OK).stderr, "");
        }
    }
}

/// It runs the command and passes signals on.
#[test]
fn peak_memory_needs_no_second_thread() {
    let scratch = Scratch::new();
    let mut meter = with_stacks(NO_THREAD);
    meter.arg("peak-memory").arg(scratch.join("peak"));
    meter.args(["sh", "-c", "trap 'echo passed on; exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"]);
    let outcome = program::run(&mut meter);
    assert_eq!((outcome.code, outcome.text().as_str()), (Some(7), "passed on\n"), "{}", outcome.stderr);
}

/// Streamed payloads pass between two threads, and concurrent jobs are threads.
#[test]
fn work_that_needs_two_threads_fails_and_leaves_nothing() {
    let scratch = Scratch::new();
    for store in ["pack", "loose"] {
        let mut convert = with_stacks(NO_THREAD);
        convert.args(["convert", "--quiet", "--codec", "zlib:1", "--store", store]);
        convert.arg(Fixture::get("large-blob").repo()).arg("-o").arg(scratch.join("variant"));
        let outcome = program::run(&mut convert).exits(exit::TRY_AGAIN);
        let line = outcome.error_line();
        assert!(line.contains("cannot start a thread") && outcome.stderr.contains("ulimit"), "{}", outcome.stderr);
        assert_eq!(scratch.names(), [""; 0]);
    }
    let mut bench = with_stacks(NO_THREAD);
    bench.env("XDG_CACHE_HOME", scratch.join("cache")).args([
        "bench",
        "--quiet",
        "--jobs",
        "2",
        "--workload",
        "traverse",
    ]);
    bench.args(["--codec", "store", "--blocks", "2"]).arg(Fixture::get("bare").repo());
    let outcome = program::run(&mut bench).exits(exit::TRY_AGAIN);
    assert!(outcome.error_line().contains("cannot start a thread"), "{}", outcome.stderr);
}

/// A write beyond the limit raises a signal that ends a process by default. The program handles it, and its children
/// have the default again.
#[test]
fn limit_on_file_size_is_an_error_like_a_full_disk() {
    for (source, options) in [
        (Fixture::get("history"), &[][..]),
        (Fixture::get("history"), &["--store", "btree"]),
        (Fixture::hg("history"), &[]),
    ] {
        let scratch = Scratch::new();
        let mut convert = limited("-f 2", "2097152");
        convert.args(["convert", "--quiet", "--codec", "store"]).args(options);
        convert.arg(source.repo()).arg("-o").arg(scratch.join("variant"));
        let outcome = program::run(&mut convert).exits(exit::FAILURE);
        assert!(outcome.error_line().contains("File too large"), "{}", outcome.stderr);
        assert_eq!(scratch.names(), [""; 0]);
    }
    let mut exec = command();
    exec.env("REPACKBENCH_PRELOAD", preload::stand_in()).arg("exec").arg(Fixture::get("history").repo());
    exec.args(["--", "sh", "-c", "ulimit -c 0; ulimit -f 0; echo much > \"$0\""]);
    let scratch = Scratch::new();
    let outcome = program::run(exec.arg(scratch.join("file")));
    // By signal 25, or by the exit code of a shell for it.
    assert!(matches!(outcome.code, None | Some(153)), "{:?}: {}", outcome.code, outcome.stderr);
}

/// Calls of the system that move one byte less than they could, and at most 999.
const SHORT_CALLS: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <sys/uio.h>
#define LESS(n) ((n) > 1000 ? 999 : (n) > 1 ? (n) - 1 : (n))
#define SHORT(name, arguments, values, ...) \
    ssize_t name arguments { \
        static ssize_t (*real) arguments; \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        return real values; \
    }
SHORT(read, (int file, void *to, size_t n), (file, to, LESS(n)))
SHORT(write, (int file, const void *from, size_t n), (file, from, LESS(n)))
SHORT(pread64, (int file, void *to, size_t n, off64_t at), (file, to, LESS(n), at))
SHORT(pwrite64, (int file, const void *from, size_t n, off64_t at), (file, from, LESS(n), at))
SHORT(readv, (int file, const struct iovec *to, int n), (file, to, n > 0 ? 1 : n))
SHORT(writev, (int file, const struct iovec *from, int n), (file, from, n > 0 ? 1 : n))
SHORT(copy_file_range, (int in, off64_t *from, int out, off64_t *to, size_t n, unsigned flags),
      (in, from, out, to, LESS(n), flags))
"#;

/// The system may always read or write less than it was asked for.
#[test]
fn short_reads_and_writes_change_nothing() {
    let scratch = Scratch::new();
    let (source, library) = (scratch.join("short.c"), scratch.join("short.so"));
    std::fs::write(&source, SHORT_CALLS).expect("a file");
    let mut cc = Command::new("cc");
    program::run(cc.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]).arg("-ldl")).exits(exit::OK);
    for (repo, codec) in [
        (Fixture::get("work-tree"), "zstd:3"),
        (Fixture::get("reftable"), "zlib:1"),
        (Fixture::get("history"), "zstd:3,dict=4k"),
        (Fixture::hg("history"), "zstd:3"),
        (Fixture::hg("lfs"), "zlib:6"),
    ] {
        let [expected, found] = ["expected", "found"].map(|name| scratch.join(&format!("{name}-{codec}")));
        for (out, library) in [(&expected, None), (&found, Some(&library))] {
            let mut convert = command();
            convert.envs(library.map(|path| ("LD_PRELOAD", path)));
            convert.args(["convert", "--check", "--force", "--codec", codec, "-o"]).args([out, &repo.repo()]);
            program::run(&mut convert).exits(exit::OK);
        }
        snapshot::assert_same(&snapshot::content(&expected), &snapshot::content(&found));
        let mut verify = command();
        verify.env("LD_PRELOAD", &library).arg("verify").args([&repo.repo(), &found]);
        program::run(&mut verify).exits(exit::OK);
    }
}

/// One of them makes the result, and the others find it.
#[test]
fn conversions_to_the_same_place_at_once_leave_one_result() {
    for repo in [Fixture::get("history").repo(), Fixture::hg("history").repo()] {
        let scratch = Scratch::new();
        let out = scratch.join("variant");
        let start = || {
            let mut convert = command();
            convert.args(["convert", "--quiet", "--codec", "zstd:3", "-o"]).args([&out, &repo]);
            convert.stderr(std::process::Stdio::piped()).spawn().expect("to start")
        };
        let running: Vec<_> = (0..4).map(|_| start()).collect();
        let ended = running.into_iter().map(|program| program.wait_with_output().expect("its end"));
        let (done, refused): (Vec<_>, Vec<_>) = ended.partition(|ended| ended.status.success());
        assert_eq!(done.len(), 1, "{refused:?}");
        for ended in refused {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(ended.status.code() == Some(exit::FAILURE) && said.contains("variant"), "{said}");
        }
        assert_eq!(scratch.names(), ["variant"]);
        program::run(command().arg("verify").args([&repo, &out])).exits(exit::OK);
    }
}
