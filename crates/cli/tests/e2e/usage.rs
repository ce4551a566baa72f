//! The command line: errors say what is valid, and help covers every subcommand.

use crate::generate::subcommands;
use crate::support::program::{self, cached, command, exit, text};
use crate::support::{Fixture, Scratch, git, repackbench};

#[test]
fn invalid_spec_suggests_the_nearest_and_lists_the_valid() {
    for (spec, expected) in [
        ("zsdt:5", &["zstd"][..]),
        ("gzip", &["did you mean zlib?"]),
        ("zstd-5", &["did you mean zstd:5?"]),
        ("zstd:5,zstd:9", &["--codec zstd:5 --codec zstd:9"]),
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
fn invalid_arguments_exit_with_2() {
    for arguments in [
        &["convert"][..],
        &["convert", "--codec", "zstd:5"],
        &["verify", "one"],
        &["bench", ".", "--codec", "zstd:5", "--workload", "no-such-workload"],
        &["convert", "--codec", "zstd:5", "--threads", "none", "."],
        &["bench", ".", "--codec", "zstd:5", "--blocks", "0"],
        &["chains"],
        &["payloads", "."],
        &["payloads", ".", "--output", "out", "--every", "0"],
        &["payloads", ".", "--output", "out", "--kind", "no-such-kind"],
        &["payloads", ".", "--output", "out", "--limit", "1x"],
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
fn short_help_fits_a_screen() {
    for words in std::iter::once(Vec::new()).chain(subcommands()) {
        for columns in [80, 100] {
            let help = program::run(command().args(&words).arg("-h").env("COLUMNS", columns.to_string()));
            let help = help.exits(exit::OK).text();
            assert!(help.lines().count() <= 40, "{} lines:\n{help}", help.lines().count());
            // A terminal wraps the line of the usage, as it does any command.
            let fits = |line: &str| line.starts_with("Usage: ") || line.chars().count() <= columns;
            assert!(help.lines().all(fits), "{help}");
        }
    }
}

#[test]
fn former_names_work_with_a_note() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let folder = scratch.join("payloads");
    let outcome = program::run(command().args(["payloads", "--export"]).arg(&folder).arg(&repo)).exits(exit::OK);
    assert!(folder.join("payloads.tsv").exists());
    assert!(outcome.stderr.contains("repackbench: note: --export is now --output\n"), "{}", outcome.stderr);
    let folder = scratch.join("quiet");
    let quiet = program::run(command().args(["payloads", "-q", "--export"]).arg(&folder).arg(&repo)).exits(exit::OK);
    assert_eq!(quiet.stderr, "");
    let help = repackbench(["compare", "--help"]).exits(exit::OK);
    assert!(help.text().contains("Usage: repackbench diff") && help.stderr.contains("compare is now diff"));
}

#[test]
fn former_names_of_other_commands_are_answered() {
    let repo = Fixture::get("bare").repo();
    let refused = repackbench(["bench", text(&repo), "--codec", "zstd:5", "--budget", "1m"]).exits(exit::USAGE);
    assert_eq!(refused.error_line(), "repackbench: bench has no --budget: the option is --time");
    let line = format!("repackbench bench {} --codec zstd:5 --time 1m", text(&repo));
    assert!(refused.stderr.contains(&format!("hint: {line}\n")), "{}", refused.stderr);
    let convert = repackbench(["convert", "--codec", "zstd:5", text(&repo), "--into=x"]).exits(exit::USAGE);
    assert!(convert.stderr.contains("--codec zstd:5") && convert.stderr.contains("--output=x"), "{}", convert.stderr);
}

#[test]
fn unknown_workloads_suggest_the_nearest() {
    for (typed, meant) in [("checkot", "checkout"), ("traverse:cont", "traverse:count"), ("repak", "repack")] {
        let refused = repackbench(["bench", ".", "--codec", "zstd:5", "--workload", typed]).exits(exit::USAGE);
        assert!(refused.stderr.contains(&format!("(did you mean {meant}?)")), "{}", refused.stderr);
    }
}

/// Results stay on stdout, and a summary of what was written is not one.
#[test]
fn quiet_commands_print_results_alone() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let variant = scratch.join("variant");
    let quiet = |line: &str, paths: &[&str]| {
        let outcome = program::run(cached(&scratch).args(program::words(line)).arg("-q").args(paths)).exits(exit::OK);
        assert_eq!(outcome.stderr, "", "{line}");
        outcome.text()
    };
    assert!(quiet("size --as-found", &[text(&repo)]).contains("MB"));
    let bench = "bench --codec zstd:5 --workload traverse --blocks 1 --min-run-time 1ms";
    assert!(quiet(bench, &[text(&repo)]).contains("zstd:5"));
    let estimate = "estimate --codec zstd:5 --workload traverse --as-found --time 2s";
    assert!(quiet(estimate, &[text(&repo)]).contains("zstd:5"));
    assert_eq!(quiet("convert --codec zstd:5", &["-o", text(&variant), text(&repo)]), "");
    assert_eq!(quiet("verify", &[text(&repo), text(&variant)]), "");
}

#[test]
fn exec_without_a_command_shows_an_example() {
    let repo = Fixture::get("bare").repo();
    let line = format!("hint: repackbench exec {} -- git log\n", text(&repo));
    for words in [&["exec", text(&repo), "--"][..], &["exec", text(&repo)]] {
        let refused = repackbench(words).exits(exit::USAGE);
        assert_eq!(refused.error_line(), "repackbench: exec: expected a command after --");
        assert!(refused.stderr.contains(&line), "{}", refused.stderr);
    }
    let bare = repackbench(["exec"]).exits(exit::USAGE);
    assert!(bare.stderr.contains("hint: repackbench exec -- git log\n"), "{}", bare.stderr);
}

#[test]
fn exec_without_a_separator_shows_the_right_line() {
    let repo = Fixture::get("bare").repo();
    let refused = repackbench(["exec", text(&repo), "git", "log", "--oneline"]).exits(exit::USAGE);
    assert_eq!(refused.error_line(), "repackbench: exec: expected -- before the command");
    let line = format!("repackbench exec {} -- git log --oneline", text(&repo));
    assert!(refused.stderr.contains(&format!("hint: {line}\n")), "{}", refused.stderr);
    let unknown = repackbench(["exec", "--no-such", "--", "git", "log"]).exits(exit::USAGE);
    assert!(unknown.stderr.contains("--no-such"), "{}", unknown.stderr);
}

#[test]
fn folder_in_a_repository_stands_for_it() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    let folder = repo.join("some/folder");
    std::fs::create_dir_all(&folder).expect("a folder");
    let figures = |path| repackbench(["size", "--csv", "-", path]).exits(exit::OK).text();
    assert_eq!(figures(text(&folder)), figures(text(&repo)));
    // What looks like a damaged repository is not replaced by the one around it.
    std::fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    let refused = repackbench(["size", text(&folder)]).exits(exit::BAD_INPUT);
    assert!(refused.error_line().contains("some/folder"), "{}", refused.stderr);
}

#[test]
fn repository_without_commits_is_named() {
    let scratch = Scratch::new();
    let repo = scratch.join("empty");
    std::fs::create_dir(&repo).expect("a folder");
    git::git(&repo, ["init", "-q"]).exits(exit::OK);
    for arguments in [
        &["bench", "--codec", "zstd:5"][..],
        &["explain", "--codec", "zstd:5", "--workload", "traverse"],
        &["serve", "--codec", "zstd:5"],
        &["trace", "--workload", "traverse"],
    ] {
        let refused = program::run(cached(&scratch).args(arguments).arg(&repo)).exits(exit::BAD_INPUT);
        assert!(refused.error_line().contains("the repository has no commits"), "{}", refused.stderr);
    }
    repackbench(["size", text(&repo)]).exits(exit::OK);
}

#[test]
fn help_covers_every_subcommand_and_exit_code() {
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
fn notes_ignored_work_trees_once_unless_quiet() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    std::fs::create_dir_all(git::path(&repo, "worktrees/other")).expect("a folder");
    let path = text(&repo);
    for arguments in [
        &["size", path][..],
        &["verify", path, path],
        &["bench", path, "--codec", "store", "--workload", "traverse", "--blocks", "1", "--min-run-time", "1ms"],
    ] {
        let loud = program::run(cached(&scratch).args(arguments)).exits(exit::OK);
        let notes: Vec<&str> = loud.stderr.lines().filter(|line| line.contains("worktrees: ignored")).collect();
        let repositories = arguments.iter().filter(|argument| **argument == path).count();
        assert_eq!(notes.len(), repositories, "{}", loud.stderr);
        for note in notes {
            assert!(note.starts_with("repackbench: note: ") && note.contains("1 other linked work tree"), "{note}");
        }
        let quiet = program::run(cached(&scratch).args(arguments).arg("--quiet"));
        assert_eq!(quiet.exits(exit::OK).stderr, "");
    }
}

/// `repackbench replay ... | head`.
#[test]
fn replay_succeeds_when_its_reader_stops() {
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

/// The output is complete before the summary is printed.
#[test]
fn conversion_succeeds_if_its_summary_cannot_be_printed() {
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

#[test]
fn invalid_part_of_a_spec_is_marked() {
    for (subcommand, spec, pointed_at) in [
        ("convert", "zstd:5,chekcsum=no", "chekcsum=no"),
        ("convert", "zstd:5,blob=zsdt", "zsdt"),
        ("convert", "zstd:5,tree=store,tree=lz4", "tree=lz4"),
        ("convert", "zstd:1..3", "1..3"),
        ("convert", "lz4,prefix", "prefix"),
        ("convert", "zstd:3,frame=standard,dict=8k", "dict=8k"),
        ("bench", "zlib:1..10", "zlib:1..10"),
        ("bench", "zstd:1,3,99", "99"),
    ] {
        let refused = repackbench([subcommand, "--codec", spec, "."]).exits(exit::USAGE);
        let mut lines = refused.stderr.lines().skip_while(|line| !line.starts_with("  "));
        let (typed, caret) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
        assert_eq!(typed.trim_start(), spec, "{}", refused.stderr);
        let column = caret.find('^').expect("a caret");
        assert_eq!(&typed[column..], &spec[spec.len() - pointed_at.len()..], "{}", refused.stderr);
        assert!(spec.ends_with(pointed_at));
    }
}
