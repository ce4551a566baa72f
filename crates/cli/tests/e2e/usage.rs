//! The command line itself: what is typed wrong is answered with what is right.

use super::support::program::{self, command, exit};
use super::support::{Fixture, Scratch, git, repackbench};

#[test]
fn a_bad_spec_is_answered_with_the_nearest_and_the_valid() {
    for (spec, expected) in [
        ("zsdt:5", &["zstd"][..]),
        ("libdeflat", &["libdeflate"]),
        ("zstd:99", &["-131072", "22"]),
        ("zlib:10", &["0", "9"]),
        ("libdeflate:0", &["1", "12"]),
        ("lz4:0", &["1", "65537"]),
        ("lz4_flex:3", &["lz4_flex"]),
        ("zstd:fast", &["zstd"]),
        ("zstd:5,chekcsum=no", &["checksum"]),
        ("", &["zstd", "zlib", "store"]),
    ] {
        let outcome = repackbench(["convert", "--codec", spec, "."]).exits(exit::USAGE);
        for word in expected {
            assert!(outcome.stderr.contains(word), "{spec:?}: {word} is not in {}", outcome.stderr);
        }
        assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    }
}

#[test]
fn wrong_arguments_exit_with_2() {
    for arguments in [
        &["convert"][..],
        &["convert", "--codec", "zstd:5"],
        &["verify", "one"],
        &["bench", ".", "--codec", "zstd:5", "--workload", "no-such-workload"],
        &["convert", "--codec", "zstd:5", "--threads", "none", "."],
        &["bench", ".", "--codec", "zstd:5", "--blocks", "0"],
        &["chains"],
        &["payloads", "."],
        &["payloads", ".", "--export", "out", "--every", "0"],
        &["payloads", ".", "--export", "out", "--kind", "no-such-kind"],
        &["payloads", ".", "--export", "out", "--limit", "1x"],
        &["train", "-o", "out"],
        &["train", ".", "-o", "out", "--size", "511"],
        &["train", ".", "-o", "out", "--level", "0"],
        &["no-such-command"],
        &[],
    ] {
        repackbench(arguments).exits(exit::USAGE);
    }
}

#[test]
fn help_teaches_every_subcommand() {
    let help = repackbench(["--help"]).exits(exit::OK).text();
    for subcommand in ["convert", "verify", "size", "bench", "cache", "chains", "codecs", "replay", "payloads", "train"]
    {
        assert!(help.contains(subcommand), "{subcommand} is not in\n{help}");
        let own = repackbench([subcommand, "--help"]).exits(exit::OK).text();
        assert!(own.contains("Usage"), "{own}");
    }
    let words = help.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    for code in [exit::FAILURE, exit::USAGE, exit::BAD_INPUT, exit::TRY_AGAIN, 130] {
        assert!(words.contains(&format!(" {code} ")), "exit code {code} is not in\n{help}");
    }
    repackbench(["--version"]).exits(exit::OK);
}

#[test]
fn codecs_lists_every_codec_with_what_reads_it() {
    let listed = repackbench(["codecs"]).exits(exit::OK).text();
    for codec in ["store", "zlib", "zlib-rs", "libdeflate", "zstd", "lz4", "lz4hc", "lz4_flex", "snappy", "lzo"] {
        let names_it = |line: &&str| {
            line.split(|letter: char| letter.is_whitespace() || "|│┆".contains(letter)).any(|word| word == codec)
        };
        assert!(listed.lines().find(names_it).is_some(), "{codec} is not in\n{listed}");
    }
    assert!(listed.contains("1.3"), "stock zlib's version is shown:\n{listed}");
}

#[test]
fn codecs_tells_levels_origin_dictionaries_and_readers() {
    let listed = repackbench(["codecs"]).exits(exit::OK).text();
    let line = |codec: &str| {
        let found = listed.lines().find(|line| line.split_whitespace().next() == Some(codec));
        found.unwrap_or_else(|| panic!("{codec} is not in\n{listed}"))
    };
    for (codec, words) in [
        ("zlib", &["0..9 (6)", "stock zlib", " C ", "Zlib", "32 KiB", "git, hg"][..]),
        ("zstd", &["-131072..22 without 0 (3)", "libzstd", "BSD-3-Clause", "16 MiB", "  hg"]),
        ("lz4hc", &["1..12 (9)", "liblz4", "BSD-2-Clause", "64 KiB", "none"]),
        ("lzo", &["1..9 (3)", "repackbench", "Rust", "MIT OR Apache-2.0"]),
        ("snappy", &["none", "snap", "BSD-3-Clause"]),
    ] {
        for word in words {
            assert!(line(codec).contains(word), "{word} is not in the line of {codec} in\n{listed}");
        }
    }
    assert!(!line("lzo").contains("git"), "{listed}");
    assert!(listed.contains("Nothing under the GPL is linked"), "{listed}");
    for (name, codec) in [("best-size", "zstd:"), ("best-read", "lz4hc:"), ("balanced", "zstd:")] {
        assert!(line(name).contains(codec), "{listed}");
    }
    for line in listed.lines() {
        assert!(line.chars().count() <= 120, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn what_is_left_aside_is_said_once_unless_quiet() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    std::fs::create_dir_all(git::path(&repo, "worktrees/other")).expect("a folder");
    let (path, cache) = (repo.to_str().expect("a path in UTF-8"), scratch.join("cache"));
    for arguments in [
        &["size", path][..],
        &["verify", path, path],
        &["bench", path, "--codec", "store", "--workload", "traverse", "--blocks", "1", "--min-run-time", "1ms"],
    ] {
        let told = program::run(command().env("XDG_CACHE_HOME", &cache).args(arguments)).exits(exit::OK);
        let notes: Vec<&str> = told.stderr.lines().collect();
        let repositories = arguments.iter().filter(|argument| **argument == path).count();
        assert_eq!(notes.len(), repositories, "{}", told.stderr);
        for note in notes {
            assert!(note.starts_with("repackbench: note: ") && note.contains("1 other linked work tree"), "{note}");
        }
        let quiet = program::run(command().env("XDG_CACHE_HOME", &cache).args(arguments).arg("--quiet"));
        assert_eq!(quiet.exits(exit::OK).stderr, "");
    }
}

/// `repackbench replay ... | head`.
#[test]
fn replay_ends_well_when_nobody_reads_on() {
    let repo = Fixture::get("bare").repo();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut replay = command();
    replay
        .arg("replay")
        .arg(&repo)
        .args(["--workload", "traverse"])
        .stdout(writer)
        .stderr(std::process::Stdio::piped());
    let outcome = replay.spawn().expect("the program").wait_with_output().expect("its end");
    assert_eq!(String::from_utf8_lossy(&outcome.stderr), "");
    assert_eq!(outcome.status.code(), Some(exit::OK));
}

/// The output is whole by the time that the summary is printed.
#[test]
fn a_conversion_whose_summary_cannot_be_printed_is_no_failure() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let out = scratch.join("variant");
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
    let mut convert = command();
    convert.args(["convert", "--codec", "store"]).arg(&repo).arg("-o").arg(&out);
    let ended = convert.stdout(full).output().expect("the program");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(exit::OK), "{said}");
    assert!(said.starts_with("repackbench: note: ") && said.contains("is complete"), "{said}");
    repackbench(["verify".as_ref(), repo.as_os_str(), out.as_os_str()]).exits(exit::OK);
}
