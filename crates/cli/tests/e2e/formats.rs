//! Commands that measure, on repositories with SHA-256 object names and with reftables, which most of their own tests do
//! not have.

use std::fs;
use std::path::Path;

use crate::support::program::{self, cached, each, exit, text, words};
use crate::support::records::{self, assert_same_results};
use crate::support::{Fixture, Scratch, git, preload, snapshot};

/// The fixtures.
const FORMATS: [&str; 3] = ["sha256", "reftable", "reftable-sha256"];

/// The one with both formats, for commands that take long.
const BOTH: [&str; 1] = ["reftable-sha256"];

/// Runs a command that measures on `fixtures`. The records have to be of this many workloads, with the same results in
/// all rows.
#[track_caller]
fn measures(fixtures: &[&str], command: &[&str], workloads: usize) {
    for name in fixtures {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let before = snapshot::state(&repo);
        let file = scratch.join("records.jsonl");
        let mut measuring = cached(&scratch);
        measuring.env("REPACKBENCH_PRELOAD", preload::stand_in()).args(command);
        measuring.args(words("--min-run-time 1ms --quiet --blocks 1 --json")).arg(&file).arg(&repo);
        program::run(&mut measuring).exits(exit::OK);
        assert_eq!(snapshot::state(&repo), before, "{name} was written to");
        assert_same_results(&records::read(&file), workloads);
    }
}

#[test]
fn bench_runs_every_workload() {
    measures(&FORMATS, &words("bench --codec zstd:3"), 5);
    let named = [
        "checkout",
        "sizes",
        "cat-all",
        "web:file",
        "encode",
        "ingest",
        "serve:same",
        "serve:zlib",
        "serve:push",
        "floor:traverse",
    ];
    let options = words("bench --codec zstd:3 --store pack --commits 4");
    measures(&FORMATS, &[&options[..], &each("--workload", &named)].concat(), named.len());
}

#[test]
fn bench_runs_every_command_of_stock_git() {
    let reading = ["checkout", "traverse", "diff:raw", "diff:pickaxe=a", "diff:patch", "sizes", "cat-all", "fsck"];
    let writing = ["repack", "repack:incremental", "clone:zlib", "clone:same", "fetch:zlib", "fetch:same"];
    let workloads = [&reading[..], &writing].concat();
    let options = words("bench --codec zstd:3 --client stock --commits 2");
    measures(&BOTH, &[&options[..], &each("--workload", &workloads)].concat(), workloads.len());
}

#[test]
fn bench_runs_the_jobs_of_a_forge() {
    let web = ["web:file", "web:file:batch", "web:blame", "web:log", "web:archive"];
    let maintenance = ["index-pack", "repack:geometric", "repack:cruft", "multi-pack-index", "multi-pack-index:bitmap"];
    let workloads = [web, maintenance].concat();
    let options = words("bench --codec zstd:3 --client stock --commits 4");
    measures(&BOTH, &[&options[..], &each("--workload", &workloads)].concat(), workloads.len());
}

#[test]
fn other_sessions_measure_the_same_work() {
    measures(&FORMATS, &words("alternatives --codec zstd:3 --workload traverse"), 1);
    measures(&FORMATS, &words("bench --codec zstd:3 --rechosen --workload traverse"), 1);
    measures(&FORMATS, &words("explain --codec zstd:3 --workload traverse"), 1);
}

/// Commands that have other output than records of runs.
#[test]
fn other_commands_succeed() {
    for name in BOTH {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::on_disk());
        let before = snapshot::state(&repo);
        let [dictionary, reports] = ["dictionary", "reports"].map(|name| scratch.join(name));
        for command in [
            words("serve --codec zstd:3 --commits 2 --blocks 1 --quiet"),
            words("trace --workload traverse --codec zstd:3 --quiet"),
            [
                &words("experiment all --keep-caches --min-run-time 1ms --blocks 1 --time 1s --quiet --output"),
                &[text(&reports)][..],
            ]
            .concat(),
            vec!["train", "--size", "4k", "--quiet", "--output", text(&dictionary)],
        ] {
            let mut succeeding = cached(&scratch);
            succeeding.env("REPACKBENCH_PRELOAD", preload::stand_in()).args(&command).arg(&repo);
            program::run(&mut succeeding).exits(exit::OK);
        }
        assert!(dictionary.exists() && reports.exists());
        assert_eq!(snapshot::state(&repo), before, "{name} was written to");
    }
}

/// The reflog entries of `name`.
#[track_caller]
fn reflog(repo: &Path, name: &str) -> String {
    git::output(repo, ["reflog", "show", "--date=raw", name])
}

/// A fast-import writes a pack and then reflogs, which zlib compresses too. Only objects may have another codec.
#[test]
fn exec_writes_reflogs_of_tables_with_zlib() {
    for name in ["reftable-work-tree", "reftable-sha256"] {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let [variant, back] = ["variant", "back"].map(|name| scratch.join(name));
        program::convert(&repo, "zstd:5", &variant);
        let script = "
            git config core.logAllRefUpdates always
            git fast-import --quiet < $0
            git commit-tree -m more -p imported 'imported^{tree}' > $1
            git update-ref -m later refs/heads/imported $(cat $1)
            git branch side imported~1
            git symbolic-ref refs/heads/link refs/heads/side
            git reflog show imported
            git pack-refs --all
            git gc --quiet --prune=now
            git fsck --strict";
        let stream = scratch.join("stream");
        let text_of =
            |number: u32| git::stream_commit(1_700_000_000 + number, "imported") + &git::stream_file("a", "b");
        let stream_of = |branch: &str| (0..40).map(text_of).collect::<String>().replace("refs/heads/main", branch);
        fs::write(&stream, stream_of("refs/heads/imported")).unwrap();
        let commit = scratch.join("commit");
        let words = ["sh", "-ec", script, text(&stream), text(&commit)];
        let mut exec = preload::exec(&variant, &["--codec", "zstd:3"], &words);
        let said = program::run(&mut exec).exits(exit::OK).text();
        assert!(said.contains("imported@{0}: later") && said.contains("imported@{1}: "), "{said}");
        git::assert_refuses_plainly(&variant);
        // Plain git reads the tables of the variant after a conversion, which copies them.
        program::convert(&variant, "zlib:6", &back);
        git::git(&back, ["fsck", "--strict"]).exits(exit::OK);
        let entries = reflog(&back, "refs/heads/imported");
        assert_eq!(entries.lines().count(), 2, "{entries}");
        assert!(git::output(&back, ["rev-parse", "--symbolic-full-name", "link"]).contains("refs/heads/side"));
        program::repackbench([Path::new("verify"), &variant, &back]).exits(exit::OK);
    }
}

/// git migrates a variant under `exec`, in both directions.
#[test]
fn exec_migrates_refs_of_variants() {
    let (repo, scratch) = (Fixture::get("sha256").repo(), Scratch::new());
    let variant = scratch.join("variant");
    program::convert(&repo, "zstd:5", &variant);
    let refs = git::refs(&repo);
    // git before 2.48 does not migrate reflogs.
    fs::remove_dir_all(variant.join("logs")).unwrap();
    for format in ["reftable", "files"] {
        let migrate = ["git", "refs", "migrate", &format!("--ref-format={format}")];
        program::run(&mut preload::exec(&variant, &[], &migrate)).exits(exit::OK);
        git::assert_refuses_plainly(&variant);
        let back = scratch.join(format);
        program::convert(&variant, "zlib:6", &back);
        assert_eq!(git::refs(&back), refs);
        assert_eq!(git::output(&back, ["rev-parse", "--show-ref-format"]).trim(), format);
        program::repackbench([Path::new("verify"), &repo, &variant]).exits(exit::OK);
    }
}
