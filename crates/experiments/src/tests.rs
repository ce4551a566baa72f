//! What tests of whole experiments have in common: a small repository that git wrote, and a cache beside it on a disk.

use std::{fs, io, path::Path, process::Command, sync::Mutex};

use repackbench_codec::CodecSpec;
use repackbench_reader::Repository;
use repackbench_records::{
    ClaimOutcome, Experiment, JudgedClaim, Outcome, Published, Record, Statement, StoredStatement,
};
use repackbench_report::sections::{sentence, wording_problems};
use repackbench_timing::{bench::Recorder, clock::SystemClock};
use repackbench_writer::{NoProgress, cache::Cache};

use crate::{Context, ExperimentError, Options};
use serde_json::json;

/// A repository, and what the user chose.
pub(crate) struct Setting {
    folder: tempfile::TempDir,
    pub(crate) options: Options,
}

struct KeepsNothing;

impl Recorder for KeepsNothing {
    fn keep(&mut self, _earlier: &[Record]) -> io::Result<()> {
        Ok(())
    }

    fn record(&mut self, _record: &Record) -> io::Result<()> {
        Ok(())
    }
}

/// `count` files whose contents compress.
pub(crate) fn files_of(count: usize) -> Vec<(String, Vec<u8>)> {
    let line =
        |number: usize, line: usize| format!("int function_{number}_{line}(void) {{ return {}; }}\n", number * line);
    let content = |number: usize| (0..=number % 20).map(|at| line(number, at)).collect::<String>();
    (0..count).map(|number| (format!("sub-{}/file {number}.c", number % 7), content(number).into_bytes())).collect()
}

impl Setting {
    /// A repository of one commit with `files`, for `runs` runs.
    pub(crate) fn new(files: &[(String, Vec<u8>)], runs: u32) -> Self {
        // On a disk: what lies in memory has nothing to be evicted to.
        let folder = crate::on_disk::folder();
        let path = folder.path().join("source");
        fs::create_dir(&path).unwrap();
        git(&path, &["init", "-q", "-b", "main"]);
        for (name, content) in files {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "--allow-empty", "-m", "all"]);
        let options = Options {
            budget: None,
            runs: Some(runs),
            min_run_time: None,
            revision: None,
            is_repacked: false,
            // Those who run tests have other work on their machine.
            keeps_caches: true,
            git: "git".into(),
            hg: "hg".into(),
            hg_extension: None,
            meter: None,
            threads: 2,
            seed: 1,
            command: None,
        };
        Setting { folder, options }
    }

    /// Adds a commit of what `change` makes of the work tree.
    pub(crate) fn commit(&self, change: impl FnOnce(&Path)) {
        let path = self.folder.path().join("source");
        change(&path);
        git(&path, &["add", "."]);
        git(&path, &["commit", "-q", "-m", "more"]);
    }

    /// Puts all objects into one pack.
    pub(crate) fn repack(&self) {
        git(&self.folder.path().join("source"), &["repack", "-a", "-d", "-q"]);
    }

    fn cache(&self) -> Cache {
        Cache::open(Some(self.folder.path().join("cache"))).unwrap()
    }

    /// Runs `experiment`.
    pub(crate) fn run(
        &self,
        experiment: impl FnOnce(&Context<'_>) -> Result<Experiment, ExperimentError>,
    ) -> Result<Experiment, ExperimentError> {
        let source = Repository::open(&self.folder.path().join("source")).unwrap();
        experiment(&Context {
            source: &source,
            name: "sample",
            cache: &self.cache(),
            clock: &SystemClock::new(),
            progress: &NoProgress,
            options: &self.options,
            recorder: &Mutex::new(KeepsNothing),
        })
    }

    /// How many folders of copies are in the cache.
    pub(crate) fn left_in_cache(&self) -> usize {
        self.cache().cold_copies().unwrap().len()
    }
}

/// Runs git in `folder`, untouched by the user's configuration; returns what it prints.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "A")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@example.com")))
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?} in {}: {output:?}", folder.display());
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// Statements as the sentences that a reader sees.
pub(crate) fn words(statements: &[StoredStatement]) -> Vec<String> {
    let words = |statement: &StoredStatement| match statement {
        StoredStatement::Statement(statement) => {
            assert_eq!(wording_problems(statement), [""; 0]);
            sentence(statement)
        }
        StoredStatement::Text(text) => text.clone(),
    };
    statements.iter().map(words).collect()
}

/// The claim `id` among `outcomes`.
#[track_caller]
pub(crate) fn outcome_of(id: &str, outcomes: Vec<ClaimOutcome>) -> JudgedClaim {
    outcomes.iter().for_each(assert_worded);
    let judged = outcomes.into_iter().filter_map(|outcome| match outcome {
        ClaimOutcome::Judged(claim) => Some(claim),
        ClaimOutcome::Text(_) => None,
    });
    judged.into_iter().find(|claim| claim.id == id).unwrap()
}

/// Each claim has an outcome, and none rests on a measurement.
#[track_caller]
pub(crate) fn assert_all_are_undecided(published: &Published, outcomes: &[ClaimOutcome]) {
    assert_eq!(outcomes.len(), published.claims.len());
    for outcome in outcomes {
        assert_worded(outcome);
        let is_undecided = matches!(outcome, ClaimOutcome::Judged(claim) if claim.outcome == Outcome::Undecided && claim.measured.is_empty());
        assert!(is_undecided, "{outcome:?}");
    }
}

/// Every statement of the result can be shown in full.
#[track_caller]
pub(crate) fn assert_all_worded(experiment: &Experiment) {
    words(&experiment.differences);
    words(&experiment.notes);
    experiment.claims.iter().for_each(assert_worded);
    for table in experiment.tables.iter().chain(&experiment.listings) {
        words(std::slice::from_ref(&table.title));
    }
}

#[track_caller]
fn assert_worded(outcome: &ClaimOutcome) {
    let ClaimOutcome::Judged(claim) = outcome else { panic!("{outcome:?} is text") };
    for statement in claim.measured.iter().chain(&claim.reasons) {
        assert_eq!(wording_problems(statement), [""; 0], "{}", claim.id);
    }
}

/// The reasons of a claim or a judgement as a paragraph.
pub(crate) fn reason(reasons: &[Statement]) -> String {
    reasons.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

/// A run that took `ms` milliseconds.
pub(crate) fn run(workload: &str, role: &str, spec: &str, client: Option<bool>, block: u32, ms: u64) -> Record {
    let canonical = spec.parse::<CodecSpec>().unwrap().for_revlogs().canonical();
    let mut record = json!({
        "schema": 2, "program_version": "0", "started_unix_ms": 0, "host": {},
        "repository": {"name": "sample", "fingerprint": "f", "head": null},
        "variant": {"role": role, "row": 0, "spec": {"typed": spec, "canonical": canonical}, "checksum": true},
        "decoder": "", "workload": {"name": workload, "parameters": {}}, "compared_time": "cpu",
        "place": {"block": block, "position": 0, "seed": 1, "session": 7},
        "sample": {"wall_ns": ms * 2_000_000, "user_ns": ms * 1_000_000, "sys_ns": 0}, "iterations": 1, "counts": {},
        "digest": {"algorithm": "none", "hex": ""}, "size": repackbench_records::SizeRecord::default()
    });
    if let Some(library) = client {
        record["variant"]["client"] =
            json!({"kind": "stock", "program": "git", "version": "2", "library": library, "zlib": "host"});
    }
    serde_json::from_value(record).unwrap()
}

/// Seven blocks in which one codec takes `part` of the baseline's time.
pub(crate) fn blocks(workload: &str, baseline: &str, codec: &str, part: f64) -> Vec<Record> {
    let mut records = Vec::new();
    for block in 0..7 {
        let base = 100 + u64::from(block);
        records.push(run(workload, "baseline", baseline, None, block, base));
        records.push(run(workload, "baseline-again", baseline, None, block, base));
        records.push(run(workload, "candidate", codec, None, block, (base as f64 * part) as u64));
    }
    records
}

/// Seven blocks of a stock client's rows: zlib by the plain one, and codecs by the one with the library, or the extension, each with its
/// part of zlib's time.
pub(crate) fn by_client(workload: &str, codecs: &[(&str, f64)]) -> Vec<Record> {
    let mut records = Vec::new();
    for block in 0..7 {
        let base = 1000 + u64::from(block);
        for role in ["baseline", "baseline-again"] {
            records.push(run(workload, role, "zlib:6", Some(false), block, base));
        }
        for (codec, part) in codecs {
            records.push(run(workload, "candidate", codec, Some(true), block, (base as f64 * part) as u64));
        }
    }
    records
}
