//! About 400 git commands of a day's work on variants and on an ordinary repository: the same output, exit codes and
//! results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::dictionary::convert_with_dictionary;
use crate::support::fixture::Fixture;
use crate::support::program::{self, Outcome, Scratch, exit};
use crate::support::{git, preload};

/// The command lines, with comments.
const STEPS: &str = include_str!("battery.sh");

/// The time of the first step. Each step is a minute later.
const START: u64 = 1_700_000_000;

/// A repository with a work tree, and a separate folder that the steps write to.
struct Arm {
    scratch: Scratch,
    /// The start of the shell script of each step.
    prelude: String,
}

impl Arm {
    /// The `fixture` under `spec`, for the first git on `path`. With `environment`, under the environment of `exec`,
    /// which may name the codec to write with.
    fn new(fixture: &str, spec: &str, path: &str, environment: Option<Option<&str>>) -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.join("tree")).unwrap();
        fs::create_dir(scratch.join("out")).unwrap();
        convert_with_dictionary(&Fixture::get(fixture).repo(), spec, &[], &scratch.join("tree/.git"));
        let environment = environment.map(|codec| {
            let mut command = preload::command();
            command.env("PATH", path).arg("env");
            if let Some(codec) = codec {
                command.args(["--codec", codec]);
            }
            program::run(&mut command).exits(exit::OK).text()
        });
        let prelude = format!("export PATH='{path}'\n{}", environment.unwrap_or_default());
        let arm = Arm { scratch, prelude };
        for step in ["git config core.bare false", "git config gc.autoDetach false", "git reset -q --hard"] {
            arm.run(0, step).exits(exit::OK);
        }
        arm
    }

    fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    /// Runs a step. Its output names the folder of every arm alike.
    fn run(&self, number: usize, step: &str) -> Outcome {
        let mut command = Command::new("sh");
        program::isolate(&mut command);
        git::pin(&mut command);
        let date = format!("{} +0000", START + 60 * number as u64);
        command.env("GIT_COMMITTER_DATE", &date).env("GIT_AUTHOR_DATE", &date).env("OUT", self.scratch.join("out"));
        command.current_dir(self.tree()).arg("-c").arg(format!("{}{step}", self.prelude));
        let outcome = program::run(&mut command);
        let name = self.scratch.path().to_str().unwrap().to_owned();
        let alike = |text: &str| text.replace(&name, "ARM");
        Outcome { stdout: alike(&outcome.text()).into_bytes(), stderr: alike(&outcome.stderr), code: outcome.code }
    }

    /// Whether plain git still stops at the guard.
    fn is_guarded(&self) -> bool {
        let config = fs::read_to_string(self.tree().join(".git/config")).unwrap();
        config.contains("\trepackbench = ") && config.contains("repositoryformatversion = 1")
    }

    /// Everything that remains: objects with their content, references, reflogs and settings.
    fn left(&self) -> BTreeMap<String, String> {
        let questions = [
            "git cat-file --batch-all-objects --batch-check",
            "git cat-file --batch-all-objects --batch | git hash-object --stdin",
            "git for-each-ref",
            "git stash list",
            "git config --list --local | grep -v repositoryformatversion | sort",
            "git status --porcelain",
            "git ls-files -s",
            "git reflog list | while read -r name; do echo $name; git reflog show --date=raw $name; done",
            // Each update of a reftable gives its tables new names.
            "cd .git && find . -type f | grep -v -e /objects/ -e /config$ -e /index$ -e /reftable/0x | sort",
        ];
        questions.map(|question| (question.to_owned(), self.run(0, question).exits(exit::OK).text())).into()
    }
}

fn steps() -> impl Iterator<Item = (usize, &'static str)> {
    let lines = STEPS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.enumerate().map(|(number, line)| (number + 1, line))
}

/// The exit code and output of a step. `git fsck` has no fixed order.
fn said(step: &str, outcome: &Outcome) -> (Option<i32>, Vec<String>) {
    let mut lines: Vec<String> = outcome.text().lines().map(str::to_owned).collect();
    if step.contains("fsck") {
        lines.sort();
    }
    (outcome.code, lines)
}

/// Runs all steps on variants of `fixture` under `specs`, each with the codec to write with, and on an ordinary repository, by the
/// git on `path`.
#[track_caller]
fn does_the_same(fixture: &str, path: &str, specs: &[(&str, Option<&str>)]) {
    let plain = Arm::new(fixture, "zlib:6", path, None);
    let variants = specs.iter().map(|(spec, codec)| (spec, Arm::new(fixture, spec, path, Some(*codec))));
    let variants: Vec<(&&str, Arm)> = variants.collect();
    // Version 0 of the format has neither other hashes nor reftables. git init writes it if the configuration names the
    // default formats.
    let writes_version_0 =
        |step: &str| step.contains("repositoryformatversion 0") || step.starts_with("git init -q .;");
    let fits = |step: &str| fixture == "work-tree" || !writes_version_0(step);
    for (number, step) in steps().filter(|(_, step)| fits(step)) {
        let expected = plain.run(number, step);
        for (spec, variant) in &variants {
            let found = variant.run(number, step);
            assert_eq!(
                said(step, &found),
                said(step, &expected),
                "{spec}: {step}\n{}\n{}",
                found.stderr,
                expected.stderr
            );
            assert!(!found.stderr.contains("repackbench"), "{spec}: {step}\n{}", found.stderr);
            assert!(variant.is_guarded(), "{spec}: {step}");
        }
    }
    let expected = plain.left();
    for (spec, variant) in &variants {
        for (question, found) in variant.left() {
            assert_eq!(found, expected[&question], "{spec}: {question}");
        }
        git::assert_refuses_plainly(&variant.tree());
        git::assert_refuses_plainly(&variant.scratch.join("out/linked"));
    }
}

/// The first git of each version on the PATH: the PATH with the folder of that git in front.
fn gits() -> BTreeMap<String, String> {
    let path = std::env::var("PATH").expect("a PATH");
    let mut gits = BTreeMap::new();
    for folder in std::env::split_paths(&path).filter(|folder| folder.join("git").is_file()) {
        let version = program::run(Command::new(folder.join("git")).arg("--version")).text();
        let folder: &Path = &folder;
        gits.entry(version).or_insert_with(|| format!("{}:{path}", folder.display()));
    }
    gits
}

fn path() -> String {
    std::env::var("PATH").expect("a PATH")
}

#[test]
fn reads_variants_and_writes_zlib() {
    does_the_same("work-tree", &path(), &[("lz4hc:9", None), ("zstd:9,dict=file", None), ("zlib:9,dict=file", None)]);
}

#[test]
fn writes_with_codecs() {
    does_the_same("work-tree", &path(), &[("zstd:5", Some("zstd:5")), ("store", Some("lz4"))]);
}

/// With SHA-256 object names and reftables.
#[test]
fn reads_and_writes_in_newer_formats() {
    does_the_same("reftable-work-tree", &path(), &[("zstd:5", Some("zstd:5")), ("lz4", None)]);
}

#[test]
fn works_with_every_installed_git() {
    for path in gits().values().filter(|other| **other != path()) {
        does_the_same("work-tree", path, &[("zstd:5", Some("zstd:3"))]);
    }
}
