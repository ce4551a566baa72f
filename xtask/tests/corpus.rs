//! Tests `cargo xtask corpus` on small repositories and manifests of their own. No test needs a network.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "../../fixtures/built.rs"]
mod built;
#[path = "../../fixtures/executable.rs"]
mod executable;

/// The id of a commit that does not exist.
const NO_COMMIT: &str = "0123456789012345678901234567890123456789";

/// A folder with a repository from a fixture script, a manifest, and a folder to fetch into.
struct Corpus {
    folder: TempDir,
    /// A commit that does not reach every object of the repository.
    commit: String,
    /// The number of objects that it reaches, counted by git.
    objects: u64,
}

/// The result of running the chore.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Corpus {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        make("git-history.sh", &folder.path().join("history"));
        let source = folder.path().join("history/repo");
        let commit = git(&source, ["rev-parse", "main~1"]).trim_end().to_owned();
        let objects = lines(&git(&source, ["rev-list", "--objects", &commit]));
        assert!(objects < lines(&git(&source, ["rev-list", "--objects", "--all"])));
        Corpus { folder, commit, objects }
    }

    fn join(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An entry of the repository without figures.
    fn entry(&self, name: &str) -> Value {
        let url = format!("file://{}", self.join("history/repo").display());
        json!({"name": name, "kind": "git", "role": "held-out", "url": url, "commit": self.commit, "note": "made by a test"})
    }

    fn write(&self, entries: &[Value]) {
        let manifest = json!({"about": [], "specs": ["zlib:6", "zstd:5"], "repositories": entries});
        fs::write(self.join("corpus.json"), manifest.to_string()).expect("a manifest");
    }

    /// The names in the folder to fetch into, without the lock.
    fn made(&self) -> Vec<String> {
        let entries = fs::read_dir(self.join("out")).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        names.filter(|name| name != "lock").collect()
    }

    /// The entry of that name in the current manifest.
    fn written(&self, name: &str) -> Value {
        let text = fs::read(self.join("corpus.json")).expect("the manifest");
        let mut manifest: Value = serde_json::from_slice(&text).expect("JSON");
        let entries = manifest["repositories"].as_array_mut().expect("entries");
        entries.iter_mut().find(|entry| entry["name"] == name).expect("the entry").take()
    }

    fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Outcome {
        self.run_with(&[], arguments)
    }

    /// Like [`run`](Self::run), with environment variables.
    fn run_with<I: AsRef<OsStr>>(&self, variables: &[(&str, &str)], arguments: impl IntoIterator<Item = I>) -> Outcome {
        let output = self.command(variables, arguments).output().expect("to start the chore");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Outcome { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The command that runs the chore.
    fn command<I: AsRef<OsStr>>(&self, variables: &[(&str, &str)], arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        isolate(&mut command);
        command.envs(variables.iter().copied());
        command.arg("corpus").arg("--manifest").arg(self.join("corpus.json")).arg("--out").arg(self.join("out"));
        command.args(arguments);
        command
    }
}

impl Outcome {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        self
    }

    /// The line about a repository.
    #[track_caller]
    fn line(&self, name: &str) -> &str {
        let start = format!("{name}: ");
        let mut lines = self.stdout.lines().filter_map(|line| line.strip_prefix(&start));
        let line = lines.next().unwrap_or_else(|| panic!("no line about {name}: {}{}", self.stdout, self.stderr));
        assert_eq!(lines.next(), None);
        line
    }
}

fn make(script: &str, folder: &Path) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut command = Command::new("bash");
    isolate(&mut command);
    succeed(command.arg(scripts.join(script)).arg(folder));
}

/// Isolates a command from the user's git configuration and from a git that runs the tests.
fn isolate(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/gitconfig");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", config).env("TZ", "UTC");
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("to start it");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

#[track_caller]
fn git<I: AsRef<OsStr>>(repo: &Path, arguments: impl IntoIterator<Item = I>) -> String {
    let mut command = Command::new("git");
    isolate(&mut command);
    String::from_utf8(succeed(command.arg("-C").arg(repo).args(arguments)).stdout).expect("text")
}

fn lines(text: &str) -> u64 {
    text.lines().count() as u64
}

/// The program that makes variants, built with the profile of these tests.
fn repackbench() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built::file("repackbench"))
}

#[test]
fn commit_and_its_objects_are_fetched_once() {
    let corpus = Corpus::new();
    let mut entry = corpus.entry("small");
    entry["objects"] = corpus.objects.into();
    corpus.write(&[entry]);
    let outcome = corpus.run(["small"]).exits(0);
    let expected = format!("as expected: {} objects; figures compared: 1", corpus.objects);
    assert_eq!(outcome.line("small"), expected);
    let fetched = corpus.join("out/small");
    assert_eq!(git(&fetched, ["rev-parse", "HEAD"]).trim_end(), corpus.commit);
    let held = git(&fetched, ["cat-file", "--batch-all-objects", "--batch-check"]);
    assert_eq!(lines(&held), corpus.objects);
    fs::remove_dir_all(corpus.join("history")).expect("to remove the source");
    assert_eq!(corpus.run::<&str>([]).exits(0).line("small"), expected);
}

#[test]
fn fetched_repository_stores_refs_in_files() {
    let corpus = Corpus::new();
    corpus.write(&[corpus.entry("small")]);
    let reftable = [
        ("GIT_DEFAULT_REF_FORMAT", "reftable"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "init.defaultRefFormat"),
        ("GIT_CONFIG_VALUE_0", "reftable"),
    ];
    corpus.run_with(&reftable, ["small"]).exits(0);
    assert!(!corpus.join("out/small/reftable").exists());
    let branch = fs::read_to_string(corpus.join("out/small/refs/heads/corpus")).expect("the branch's file");
    assert_eq!(branch.trim_end(), corpus.commit);
}

#[test]
fn different_number_of_objects_is_reported() {
    let corpus = Corpus::new();
    let mut entry = corpus.entry("small");
    entry["objects"] = (corpus.objects + 1).into();
    corpus.write(&[entry]);
    let outcome = corpus.run(["small"]).exits(1);
    let expected = format!("differs: objects: expected {}, found {}", corpus.objects + 1, corpus.objects);
    assert_eq!(outcome.line("small"), expected);
}

#[test]
fn missing_or_different_commit_fails() {
    let corpus = Corpus::new();
    let mut entry = corpus.entry("small");
    entry["commit"] = NO_COMMIT.into();
    corpus.write(&[entry, corpus.entry("other")]);
    let outcome = corpus.run(["small", "other"]).exits(1);
    assert!(outcome.line("small").starts_with("failed: ") && outcome.line("small").contains(NO_COMMIT));
    fs::remove_dir_all(corpus.join("out/other")).expect("to remove what was fetched");
    assert_eq!(corpus.made(), [""; 0], "something is left");

    corpus.write(&[corpus.entry("small")]);
    corpus.run(["small"]).exits(0);
    let mut entry = corpus.entry("small");
    entry["commit"] = NO_COMMIT.into();
    corpus.write(&[entry]);
    let outcome = corpus.run(["small"]).exits(1);
    let line = outcome.line("small");
    assert!(line.starts_with("differs: ") && line.contains(NO_COMMIT) && line.contains(&corpus.commit), "{line}");
}

#[test]
fn unreachable_source_fails_only_without_others() {
    let corpus = Corpus::new();
    let mut away = corpus.entry("away");
    away["url"] = "file:///nonexistent/repo.git".into();
    corpus.write(&[away, corpus.entry("small")]);
    let outcome = corpus.run::<&str>([]).exits(0);
    assert!(outcome.line("away").starts_with("not fetched: fatal: "), "{}", outcome.stdout);
    assert!(outcome.line("away").contains("/nonexistent/repo.git"), "{}", outcome.stdout);
    let expected = format!("fetched: {} objects; the manifest has no figures to compare", corpus.objects);
    assert_eq!(outcome.line("small"), expected);
    let outcome = corpus.run(["away"]).exits(75);
    assert!(outcome.stderr.contains("nothing could be compared"), "{}", outcome.stderr);
}

#[test]
fn sizes_do_not_depend_on_packing_of_the_source() {
    let corpus = Corpus::new();
    corpus.write(&[corpus.entry("small")]);
    let outcome = corpus.run(check_and_update()).exits(0);
    let expected = format!("updated: {} objects; there were no figures before", corpus.objects);
    assert_eq!(outcome.line("small"), expected);
    let entry = corpus.written("small");
    assert_eq!(entry["objects"], corpus.objects);
    let sizes = git(&corpus.join("out/small"), ["cat-file", "--batch-all-objects", "--batch-check=%(objectsize)"]);
    let payload: u64 = sizes.lines().map(|size| size.parse::<u64>().expect("a size")).sum();
    assert_eq!(entry["payload_bytes"], payload);
    for spec in ["zlib:6", "zstd:5"] {
        let stored = entry["stored_bytes"][spec].as_u64().expect("a figure");
        assert!(stored > 0 && stored < payload, "{spec}: {stored} of {payload}");
    }

    // Without deltas, and from a folder instead of the URL.
    fs::remove_dir_all(corpus.join("out")).expect("to remove what was fetched");
    let source = corpus.join("history/repo");
    git(&source, ["repack", "-adfq", "--depth=0"]);
    let mut named = "small=".to_owned();
    named.push_str(source.to_str().expect("a path that is text"));
    let mut unreachable = entry.clone();
    unreachable["url"] = "file:///nonexistent/repo.git".into();
    corpus.write(&[unreachable]);
    let outcome = corpus.run(check().into_iter().chain(["--source".as_ref(), named.as_ref()])).exits(0);
    assert_eq!(outcome.line("small"), format!("as expected: {} objects; figures compared: 4", corpus.objects));
    assert_eq!(corpus.made(), ["small"], "something is left");

    let mut other = entry.clone();
    let stored = entry["stored_bytes"]["zstd:5"].as_u64().expect("a figure");
    other["stored_bytes"]["zstd:5"] = (stored + 1).into();
    corpus.write(&[other]);
    let outcome = corpus.run(check()).exits(1);
    let expected = format!("stored bytes under zstd:5: expected {}, found {stored}", stored + 1);
    assert_eq!(outcome.line("small"), format!("differs: {expected}"));
    let outcome = corpus.run(check_and_update()).exits(0);
    assert_eq!(outcome.line("small"), format!("updated: {} objects; {expected}", corpus.objects));
    assert_eq!(corpus.written("small"), entry);
}

#[test]
fn update_drops_sizes_of_another_commit() {
    let corpus = Corpus::new();
    let mut entry = corpus.entry("small");
    entry["payload_bytes"] = 7.into();
    entry["stored_bytes"] = json!({"zlib:6": 5});
    for (objects, stay) in [(corpus.objects, true), (corpus.objects + 1, false)] {
        entry["objects"] = objects.into();
        corpus.write(&[entry.clone()]);
        let outcome = corpus.run(["small", "--update"]).exits(0);
        let dropped = outcome.line("small").ends_with("; old sizes were dropped; --check measures new ones");
        let written = corpus.written("small");
        let has_sizes = written.get("payload_bytes").is_some() && written.get("stored_bytes").is_some();
        assert_eq!((written["objects"].as_u64(), has_sizes, dropped), (Some(corpus.objects), stay, !stay));
    }
}

/// The PATH has a git that edits the manifest before it fetches.
#[test]
fn update_keeps_entries_edited_meanwhile() {
    let corpus = Corpus::new();
    let path = std::env::var("PATH").expect("a PATH");
    let programs = corpus.join("programs");
    fs::create_dir(&programs).expect("a folder");
    let edit = programs.join("git");
    let (manifest, edited) = (corpus.join("corpus.json"), corpus.join("edited.json"));
    let script = format!(
        "#!/bin/sh\nPATH='{path}'\ncase \" $* \" in *' fetch '*) cp '{}' '{}';; esac\nexec git \"$@\"\n",
        edited.display(),
        manifest.display()
    );
    executable::write(&edit, &script);
    let variable = format!("{}:{path}", programs.display());
    let mut other = corpus.entry("other");
    let entries = [corpus.entry("small"), other.clone()];
    other["objects"] = 9.into();
    corpus.write(&[corpus.entry("small"), other.clone()]);
    fs::rename(&manifest, &edited).expect("to put it aside");
    corpus.write(&entries);
    corpus.run_with(&[("PATH", &variable)], ["small", "--update"]).exits(0);
    assert_eq!(corpus.written("small")["objects"], corpus.objects);
    assert_eq!(corpus.written("other"), other);

    let mut changed = corpus.entry("small");
    changed["commit"] = NO_COMMIT.into();
    corpus.write(&[changed.clone()]);
    fs::rename(&manifest, &edited).expect("to put it aside");
    corpus.write(&entries);
    fs::remove_dir_all(corpus.join("out/small")).expect("to remove what was fetched");
    let outcome = corpus.run_with(&[("PATH", &variable)], ["small", "--update"]).exits(1);
    assert!(outcome.line("small").starts_with("not updated: "), "{}", outcome.stdout);
    assert_eq!(corpus.written("small"), changed);
}

#[test]
fn second_call_waits_for_the_lock() {
    let corpus = Corpus::new();
    corpus.write(&[corpus.entry("small")]);
    fs::create_dir(corpus.join("out")).expect("a folder");
    let lock = fs::File::create(corpus.join("out/lock")).expect("the lock");
    lock.lock().expect("to lock it");
    let mut command = corpus.command(&[], ["small"]);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("to start the chore");
    let mut said = BufReader::new(child.stderr.take().expect("what it says"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    assert!(line.starts_with("waiting for another `cargo xtask corpus`"), "{line}");
    assert_eq!(corpus.made(), [""; 0]);
    drop(lock);
    said.read_to_string(&mut line).expect("the rest");
    assert!(child.wait().expect("its end").success(), "{line}");
    assert_eq!(corpus.made(), ["small"]);
}

#[test]
fn missing_objects_of_a_partial_source_are_named() {
    let corpus = Corpus::new();
    make("git-partial-clone-bare.sh", &corpus.join("partial"));
    let source = corpus.join("partial/repo");
    let commit = git(&source, ["rev-parse", "HEAD"]).trim_end().to_owned();
    let complete = corpus.join("partial/complete.git");
    // The source has only the commits, so only their trees are known to be missing.
    let trees: BTreeSet<String> = git(&complete, ["log", "--format=%T", &commit]).lines().map(str::to_owned).collect();
    let mut entry = corpus.entry("small");
    entry["commit"] = commit.into();
    corpus.write(&[entry]);
    let outcome = corpus.run(["--source", &format!("small={}", source.display())]).exits(75);
    let line = outcome.line("small");
    let (before, named) = line.rsplit_once(": ").expect("names");
    let count = trees.len();
    assert!(before.ends_with(&format!("lacks at least {count} objects that the commit reaches")), "{line}");
    let named: Vec<&str> = named.trim_end_matches(", ...").split(", ").collect();
    assert!(named.len() == 5 && named.iter().all(|id| trees.contains(*id)), "{line}");
}

/// The release of the hg that converts. These tests do not install it, since that would need a network.
fn hg_release() -> String {
    let hg = std::env::var_os("REPACKBENCH_HG").expect("REPACKBENCH_HG, which `cargo xtask test` sets");
    let mut version = Command::new(&hg);
    version.args(["version", "--quiet"]).env("HGRCPATH", "").env("HGPLAIN", "1");
    let version = String::from_utf8(succeed(&mut version).stdout).expect("text");
    let release = version.split_once("(version ").and_then(|(_, rest)| rest.split_once(')')).expect("a release").0;
    release.to_owned()
}

impl Corpus {
    /// An entry without figures that the given release of hg converts.
    fn converted_entry(&self, release: &str) -> Value {
        let mut entry = self.entry("small");
        entry["kind"] = "converted-mercurial".into();
        entry["conversion"] = json!({"hg": release});
        entry
    }

    /// Converts the history and puts the figures into the manifest. Returns the entry.
    fn convert(&self, release: &str) -> Value {
        self.write(&[self.converted_entry(release)]);
        self.run(check_and_update()).exits(0);
        self.written("small")
    }
}

fn check() -> [&'static OsStr; 3] {
    ["--check".as_ref(), "--program".as_ref(), repackbench().as_os_str()]
}

fn check_and_update() -> impl Iterator<Item = &'static OsStr> {
    check().into_iter().chain(["--update".as_ref()])
}

#[test]
fn conversion_needs_the_release_of_hg_in_the_manifest() {
    hg_release();
    let corpus = Corpus::new();
    corpus.write(&[corpus.converted_entry("0.1")]);
    let outcome = corpus.run(["small"]).exits(75);
    assert!(outcome.line("small").starts_with("fetched, but not converted: expected hg 0.1"), "{}", outcome.stdout);
    assert!(outcome.stderr.contains("nothing could be compared"), "{}", outcome.stderr);
}

#[test]
fn conversion_gives_the_same_figures_in_any_environment() {
    let release = hg_release();
    let corpus = Corpus::new();
    let mut entry = corpus.convert(&release);
    // A changeset has at most two parents, so hg makes several of an octopus merge.
    let commits = git(&corpus.join("history/repo"), ["rev-list", "--parents", &corpus.commit]);
    let parents = commits.lines().map(|line| line.split(' ').count() - 1);
    let changesets: usize = parents.map(|parents| parents.saturating_sub(1).max(1)).sum();
    assert_eq!(entry["conversion"]["changesets"], changesets);
    assert_eq!(entry["objects"], corpus.objects);
    // A second conversion, in another place, with settings that would make git read other objects and find no renames.
    fs::rename(corpus.join("out"), corpus.join("first")).expect("to move the first one away");
    let misleading = [
        ("GIT_OBJECT_DIRECTORY", "/nonexistent"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "diff.renames"),
        ("GIT_CONFIG_VALUE_0", "false"),
    ];
    let outcome = corpus.run_with(&misleading, check()).exits(0);
    assert_eq!(outcome.line("small"), format!("as expected: {} objects; figures compared: 6", corpus.objects));
    entry["conversion"]["tip"] = NO_COMMIT.into();
    corpus.write(&[entry.clone()]);
    let outcome = corpus.run(["small"]).exits(1);
    assert!(outcome.line("small").starts_with(&format!("differs: tip: expected {NO_COMMIT}, found ")));
}

#[test]
fn conversion_of_another_commit_or_hg_is_not_reused() {
    let release = hg_release();
    let corpus = Corpus::new();
    let entry = corpus.convert(&release);
    let mut older = entry.clone();
    older["commit"] = git(&corpus.join("history/repo"), ["rev-parse", "main~2"]).trim_end().into();
    let mut other_hg = entry;
    other_hg["conversion"]["hg"] = "0.1".into();
    for (entry, meant) in [(older, format!("by hg {release}")), (other_hg, "by hg 0.1".to_owned())] {
        corpus.write(std::slice::from_ref(&entry));
        let git_folder = corpus.join("out/small.git");
        fs::remove_dir_all(git_folder).expect("to remove what is converted");
        let outcome = corpus.run(check_and_update()).exits(1);
        let line = outcome.line("small");
        let commit = entry["commit"].as_str().expect("a commit");
        assert!(
            line.contains(&format!("expected a conversion of {commit} {meant}, found {}", corpus.commit)),
            "{line}"
        );
        assert!(line.ends_with("remove the folder to convert it again"), "{line}");
        assert_eq!(corpus.written("small"), entry, "figures of another conversion");
    }
}

#[test]
fn misspelt_names_and_fields_are_refused() {
    let corpus = Corpus::new();
    corpus.write(&[corpus.entry("small")]);
    let outcome = corpus.run(["smal"]).exits(1);
    assert!(
        outcome.stderr.contains("no repository of the corpus is named smal; expected one of small"),
        "{}",
        outcome.stderr
    );
    for (field, value) in
        [("object", json!(5)), ("commit", json!("main")), ("name", json!("../small")), ("url", json!("-x"))]
    {
        let mut entry = corpus.entry("small");
        entry[field] = value;
        corpus.write(&[entry]);
        let outcome = corpus.run::<&str>([]).exits(1);
        assert!(outcome.stderr.contains("corpus.json: "), "{field}: {}", outcome.stderr);
        assert!(!corpus.join("out").exists(), "{field}");
    }
}

#[test]
fn list_fetches_nothing() {
    let corpus = Corpus::new();
    let mut entry = corpus.entry("small");
    entry["objects"] = 7.into();
    corpus.write(&[entry, corpus.entry("other")]);
    let outcome = corpus.run(["--list", "small"]).exits(0);
    let words: Vec<&str> = outcome.stdout.split_whitespace().collect();
    assert!(words.starts_with(&["small", "git", "held-out", "7", "objects", &corpus.commit]), "{}", outcome.stdout);
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert!(!corpus.join("out").exists());
}
