//! `hg repackbench`: the program as a command of hg, by the extension.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::hg::{VERSIONS, Version};
use crate::support::program::{self, Outcome, Scratch, exit};
use crate::support::{hg_extension, repackbench};

/// Runs hg with the extension in `folder`.
fn hg<I: AsRef<OsStr>>(version: Version, folder: &Path, words: impl IntoIterator<Item = I>) -> Outcome {
    program::run(command(version, folder).args(words))
}

fn command(version: Version, folder: &Path) -> Command {
    let mut command = Command::new(version.program());
    program::isolate(&mut command);
    command.env("LC_ALL", "C.UTF-8").env("HGRCPATH", "").env_remove("HGPLAIN").current_dir(folder);
    command.arg("--config").arg(format!("extensions.repackbench={}", hg_extension::folder().display()));
    command.arg("--config").arg(format!("repackbench.program={}", env!("CARGO_BIN_EXE_repackbench")));
    command
}

/// The rows without lines that name the repository and without the width of columns, which depends on it.
fn rows(outcome: Outcome) -> Vec<String> {
    let text = outcome.exits(exit::OK).text();
    let rows = text.lines().filter(|line| !line.ends_with(" MB") && !line.starts_with("---"));
    rows.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn runs_on_the_repository_of_hg() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("branches", &scratch).repo();
    let inside = repo.join("in/side");
    fs::create_dir_all(&inside).unwrap();
    let expected = rows(repackbench(["size".as_ref(), repo.as_os_str()]));
    assert!(expected.iter().any(|line| line.starts_with("manifest")), "{expected:?}");
    for version in VERSIONS {
        for folder in [&repo, &inside] {
            assert_eq!(rows(hg(version, folder, ["repackbench", "size", "."])), expected);
        }
        let elsewhere = [OsStr::new("-R"), repo.as_os_str(), "repackbench".as_ref(), "size".as_ref(), ".".as_ref()];
        assert_eq!(rows(hg(version, scratch.path(), elsewhere)), expected);
        let after = ["repackbench".as_ref(), "--cwd".as_ref(), repo.as_os_str(), "size".as_ref(), ".".as_ref()];
        assert_eq!(rows(hg(version, scratch.path(), after)), expected);
    }
}

#[test]
fn passes_on_arguments_and_exit_status() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("branches", &scratch).repo();
    for version in VERSIONS {
        let out = format!("../an 'odd' $name {version:?}");
        let words = ["repackbench", "convert", "--quiet", "--codec", "zstd:3", ".", "-o", &out];
        assert_eq!(hg(version, &repo, words).exits(exit::OK).stderr, "");
        let made = repo.join(&out);
        hg(version, &repo, [OsStr::new("repackbench"), "verify".as_ref(), ".".as_ref(), made.as_os_str()])
            .exits(exit::OK);

        assert_eq!(hg(version, &repo, ["repackbench", "no-such-command"]).code, Some(exit::USAGE));
        assert_eq!(hg(version, &repo, ["repackbench", "size", "/nonexistent"]).code, Some(exit::BAD_INPUT));
        let help = hg(version, &repo, ["repackbench", "size", "--help"]).exits(exit::OK).text();
        assert_eq!(help, repackbench(["size", "--help"]).text());
    }
}

#[test]
fn shows_help_and_reports_missing_programs() {
    let scratch = Scratch::new();
    // hg may need the PATH to find its Python, so it only lacks the program.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("repackbench").exists());
    let path = std::env::join_paths(folders).unwrap();
    for version in VERSIONS {
        let help = hg(version, scratch.path(), ["help", "repackbench"]).exits(exit::OK).text();
        for word in ["hg [-R REPO] repackbench", "hg repackbench bench . --codec", "exit status", "repackbench.program"]
        {
            assert!(help.contains(word), "{word} is not in\n{help}");
        }
        let words = ["--config", "repackbench.program=", "repackbench", "codecs"];
        let nowhere = program::run(command(version, scratch.path()).env("PATH", &path).args(words));
        assert_eq!(nowhere.code, Some(255), "{nowhere:?}");
        assert!(nowhere.stderr.contains("repackbench: not found on PATH"), "{}", nowhere.stderr);
        let words = ["-R", "no-such-repository", "repackbench", "size", "."];
        let nowhere = hg(version, scratch.path(), words);
        assert_eq!(nowhere.code, Some(255), "{nowhere:?}");
        assert!(nowhere.stderr.contains("no-such-repository"), "{}", nowhere.stderr);
    }
}

#[test]
fn installed_extension_finds_the_program_beside_it() {
    let scratch = Scratch::new();
    let [bin, extension] = ["bin", "lib/mercurial/repackbench"].map(|folder| scratch.join(folder));
    for folder in [&bin, &extension] {
        fs::create_dir_all(folder).unwrap();
    }
    for name in ["__init__.py", "_native.abi3.so"] {
        fs::copy(hg_extension::folder().join(name), extension.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_repackbench"), bin.join("repackbench")).unwrap();
    let setting = format!("extensions.repackbench={}", extension.display());
    for version in VERSIONS {
        let words = ["--config", &setting, "--config", "repackbench.program=", "repackbench", "--version"];
        assert!(hg(version, scratch.path(), words).exits(exit::OK).text().starts_with("repackbench "));
    }
}
