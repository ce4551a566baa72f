//! `repackbench bench` and the cache of variants it keeps.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::support::program::{self, Outcome, command, exit};
use super::support::{Fixture, Scratch, snapshot};

/// Runs the binary with its cache in the scratch folder.
fn cached(scratch: &Scratch, arguments: &[&str], repo: Option<&Path>) -> Outcome {
    program::run(command().env("XDG_CACHE_HOME", scratch.join("cache")).args(arguments).args(repo))
}

fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the records");
    text.lines().map(|line| serde_json::from_str(line).expect("a record on each line")).collect()
}

#[test]
fn every_workload_and_variant_is_in_the_table_and_in_the_records() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let arguments = [
        "bench",
        "--min-run-time",
        "1ms",
        "--codec",
        "zlib:6",
        "--codec",
        "zstd:5",
        "--codec",
        "lz4",
        "--blocks",
        "2",
        "--json",
    ];
    let arguments = [&arguments[..], &[file.to_str().expect("a path in UTF-8")]].concat();
    let table = cached(&scratch, &arguments, Some(&repo)).exits(exit::OK).text();
    for word in
        ["checkout", "traverse", "diff:raw", "diff:pickaxe", "diff:patch", "as found", "zlib:6", "zstd:5", "lz4"]
    {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }

    let mut runs: BTreeMap<(String, u64), Vec<String>> = BTreeMap::new();
    let mut digests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in records(&file) {
        let workload = record["workload"].to_string();
        let block = record["place"]["block"].as_u64().expect("the block's number");
        let spec = record["variant"]["spec"]["typed"].as_str().unwrap_or("as found").to_owned();
        runs.entry((workload.clone(), block)).or_default().push(spec);
        digests.entry(workload).or_default().push(format!("{}{}", record["digest"], record["counts"]));
    }
    for ((workload, block), mut specs) in runs {
        specs.sort();
        assert_eq!(specs, ["as found", "lz4", "zlib:6", "zlib:6", "zstd:5"], "block {block} of {workload}");
    }
    assert_eq!(digests.len(), 6, "checkout, checkout:sink, traverse, diff:raw, diff:pickaxe, diff:patch");
    for (workload, mut seen) in digests {
        seen.dedup();
        assert_eq!(seen.len(), 1, "every variant of {workload} saw the same");
    }
}

#[test]
fn marks_beside_packs_make_another_variant() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let variants = || {
        let arguments = [
            "bench",
            "--min-run-time",
            "1ms",
            "--quiet",
            "--codec",
            "zlib:6",
            "--workload",
            "traverse",
            "--blocks",
            "1",
        ];
        cached(&scratch, &arguments, Some(&repo)).exits(exit::OK);
        cached(&scratch, &["cache", "list"], None).text().matches("zlib:6").count()
    };
    assert_eq!([variants(), variants()], [1, 1]);
    let folders = [repo.join("objects/pack"), repo.join(".git/objects/pack")];
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let mut paths = files.map(|entry| entry.expect("a file").path());
    let pack = paths.find(|path| path.extension().is_some_and(|name| name == "pack")).expect("a pack");
    std::fs::write(pack.with_extension("keep"), "").expect("a mark");
    assert_eq!(variants(), 2);
}

#[test]
fn partial_clones_are_measured_on_what_is_there() {
    let (repo, scratch) = (Fixture::get("partial-clone").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let arguments = [
        "bench",
        "--min-run-time",
        "1ms",
        "--codec",
        "zstd:5",
        "--blocks",
        "1",
        "--json",
        file.to_str().expect("a path in UTF-8"),
    ];
    cached(&scratch, &arguments, Some(&repo)).exits(exit::OK);
    let pickaxe =
        records(&file).into_iter().find(|record| record["workload"]["name"] == "diff:pickaxe").expect("a pickaxe run");
    let missing = pickaxe["counts"]["missing"].as_u64().expect("a count of missing objects");
    assert!(missing > 0);
}

#[test]
fn variants_are_cached_listed_and_pruned() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    let bench = [
        "bench",
        "--min-run-time",
        "1ms",
        "--codec",
        "zlib:6",
        "--codec",
        "zstd:5",
        "--workload",
        "traverse",
        "--blocks",
        "1",
    ];
    cached(&scratch, &bench, Some(&repo)).exits(exit::OK);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");

    let listed = cached(&scratch, &["cache", "list"], None).exits(exit::OK).text();
    assert!(listed.contains("zlib:6") && listed.contains("zstd:5"), "{listed}");

    let packs = |scratch: &Scratch| {
        let mut state = snapshot::state(&scratch.join("cache"));
        state.retain(|path, _| path.extension().is_some_and(|extension| extension == "pack"));
        state
    };
    let kept = packs(&scratch);
    assert_eq!(kept.len(), 2, "a pack for each variant");
    cached(&scratch, &bench, Some(&repo)).exits(exit::OK);
    assert_eq!(packs(&scratch), kept, "the second run makes nothing anew");

    cached(&scratch, &["cache", "prune"], None).exits(exit::OK);
    assert!(packs(&scratch).is_empty(), "nothing is left after pruning");
    let listed = cached(&scratch, &["cache", "list"], None).exits(exit::OK).text();
    assert!(!listed.contains("zstd:5"), "{listed}");
}

/// As a process leaves them that is killed while it copies or reads.
#[test]
fn copies_that_a_killed_run_left_are_listed_and_pruned() {
    let scratch = Scratch::new();
    let left = scratch.join("cache").join("repackbench").join("cold-copies-1-2");
    std::fs::create_dir_all(left.join("0-0")).expect("a folder");
    std::fs::write(left.join("0-0").join("pack"), [0; 321]).expect("a file");
    let listed = cached(&scratch, &["cache", "list"], None).exits(exit::OK).text();
    let line = listed.lines().find(|line| line.contains("copies of a run")).unwrap_or_else(|| panic!("{listed}"));
    assert!(line.contains("321") && line.contains("left by a run that was killed"), "{listed}");
    let pruned = cached(&scratch, &["cache", "prune", "--keep-bytes", "1000000"], None).exits(exit::OK).text();
    assert!(pruned.contains("1 folder of copies that a killed run left removed, 321 bytes freed"), "{pruned}");
    assert!(!left.exists());
}

/// What changes the content of a variant changes its place in the cache.
#[test]
fn a_source_that_changed_gets_variants_of_its_own() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let bench = ["bench", "--min-run-time", "1ms", "--codec", "zstd:5", "--workload", "traverse", "--blocks", "1"];
    cached(&scratch, &bench, Some(&repo)).exits(exit::OK);
    let lines = |scratch: &Scratch| {
        let listed = cached(scratch, &["cache", "list"], None).exits(exit::OK).text();
        listed.lines().filter(|line| line.contains("zstd:5")).count()
    };
    assert_eq!(lines(&scratch), 1);
    super::support::git::output(&repo, ["commit", "--quiet", "--allow-empty", "-m", "one more"]);
    cached(&scratch, &bench, Some(&repo)).exits(exit::OK);
    assert_eq!(lines(&scratch), 2);
}

#[test]
fn a_repeated_codec_is_measured_once() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let mut arguments = vec!["bench", "--min-run-time", "1ms", "--workload", "traverse", "--blocks", "1", "--json"];
    arguments.push(file.to_str().expect("a path in UTF-8"));
    for codec in ["zstd:3", "zlib", "zstd", "zstd:3,loose=3", "zlib:6,loose=1", "lz4"] {
        arguments.extend(["--codec", codec]);
    }
    cached(&scratch, &arguments, Some(&repo)).exits(exit::OK);
    let mut specs: Vec<String> = records(&file)
        .iter()
        .map(|record| record["variant"]["spec"]["typed"].as_str().unwrap_or("as found").to_owned())
        .collect();
    specs.sort();
    assert_eq!(specs, ["as found", "lz4", "zlib:6", "zlib:6", "zstd:3"]);
}

/// Only workloads that start from a revision need one, and they miss it before any variant is made.
#[test]
fn an_unborn_head_stops_only_what_starts_from_it() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    super::support::git::output(&repo, ["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    let file = scratch.join("records.jsonl");
    let path = file.to_str().expect("a path in UTF-8");
    let bench = |workload| {
        ["bench", "--min-run-time", "1ms", "--codec", "zstd:5", "--blocks", "1", "--json", path, "--workload", workload]
    };

    let refused = cached(&scratch, &bench("diff:raw"), Some(&repo)).exits(exit::FAILURE);
    assert!(refused.error_line().contains("HEAD"), "{}", refused.stderr);
    let listed = cached(&scratch, &["cache", "list"], None).exits(exit::OK).text();
    assert!(!listed.contains("zlib:6"), "a variant was made for nothing:\n{listed}");

    cached(&scratch, &bench("traverse"), Some(&repo)).exits(exit::OK);
    let records = records(&file);
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| record["repository"]["head"].is_null()));
}

#[test]
fn the_cache_names_sources_by_their_whole_path() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let bench = ["bench", ".", "--min-run-time", "1ms", "--codec", "store", "--workload", "traverse", "--blocks", "1"];
    let cache = scratch.join("cache");
    program::run(command().env("XDG_CACHE_HOME", cache).current_dir(&repo).args(bench)).exits(exit::OK);
    let listed = cached(&scratch, &["cache", "list"], None).exits(exit::OK).text();
    let whole = repo.canonicalize().expect("the repository's path");
    assert!(listed.contains(whole.to_str().expect("a path in UTF-8")), "{listed}");
}

#[test]
fn an_interrupted_benchmark_says_so_and_keeps_its_records() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let mut bench = command();
    bench
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .args(["bench", "--min-run-time", "1ms"])
        .arg(&repo)
        .arg("--json")
        .arg(&file);
    bench.args(["--codec", "store", "--workload", "traverse", "--blocks", "100000"]);
    let mut running = bench.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program");
    // The first record shows that runs are timed now.
    program::wait_for(&mut running, || std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0));
    let signal = Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill");
    assert!(signal.success());
    let ended = running.wait_with_output().expect("the program's end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.starts_with("repackbench: interrupted") && !said.contains("nothing was written"), "{said}");
    assert!(!records(&file).is_empty());
}

/// The rows in the records, each with the implementation that decoded; the label is that of its size.
fn rows(records: &[Value]) -> BTreeMap<u64, (String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    records
        .iter()
        .map(|record| {
            let row = record["variant"]["row"].as_u64().expect("a row's number");
            (row, (text(&record["size"]["label"]), text(&record["decoder"])))
        })
        .collect()
}

#[test]
fn another_decoder_is_another_row_of_each_variant_that_it_reads() {
    let scratch = Scratch::new();
    let git = ["zlib:6", "zlib:6 by libdeflate", "zlib:6 by zlib-rs", "zstd:5", "lz4hc:9", "lz4hc:9 by lz4_flex"];
    let hg =
        ["zlib:6", "zlib:6 by libdeflate", "zlib:6 by zlib-rs", "zstd:3", "zstd:5", "lz4hc:9", "lz4hc:9 by lz4_flex"];
    // The fixture of hg's was written by today's hg, so with zstd.
    for (repo, variants, found) in [
        (Fixture::get("bare").repo(), &git[..], &["as found", "as found by libdeflate", "as found by zlib-rs"][..]),
        (Fixture::hg("branches").repo(), &hg[..], &["as found"]),
    ] {
        let file = scratch.join("records.jsonl");
        let mut arguments =
            vec!["bench", "--min-run-time", "1ms", "--quiet", "--workload", "traverse", "--blocks", "1"];
        for option in ["zstd:5", "lz4hc:9"] {
            arguments.extend(["--codec", option]);
        }
        // Repeated in another spelling.
        for option in ["zlib=libdeflate,zlib-rs", "lz4=lz4_flex,zlib=libdeflate"] {
            arguments.extend(["--decoder", option]);
        }
        arguments.extend(["--json", file.to_str().expect("a path in UTF-8")]);
        let table = cached(&scratch, &arguments, Some(&repo)).exits(exit::OK).text();
        let records = records(&file);
        let rows = rows(&records);
        let expected: Vec<&str> = found.iter().chain(variants).copied().collect();
        assert_eq!(rows.values().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), expected, "{table}");
        let lines: Vec<&str> = table.lines().collect();
        for (label, decoder) in rows.values() {
            assert!(lines.iter().any(|line| line.contains(&format!("  {label}  "))), "{label} is not in\n{table}");
            let by = label.split_once(" by ").map(|(_, by)| by);
            assert!(by.is_none_or(|by| decoder.starts_with(by)), "{label} was read by {decoder}");
        }
        for record in &records {
            let decoder = &record["variant"]["decoder"];
            let label = record["size"]["label"].as_str().expect("a label");
            assert_eq!(!decoder.is_null(), label.contains(" by "), "{record}");
            assert_eq!(record["digest"], records[0]["digest"], "{label}");
            assert_eq!(record["counts"], records[0]["counts"], "{label}");
        }
    }
}

#[test]
fn a_decoder_without_anything_to_read_is_refused_before_variants_are_made() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    for (decoder, expected) in [
        ("lz4=lz4_flex", "no variant has LZ4 blocks"),
        ("zlib=zlib", "read by zlib anyway"),
        ("zstd=zstd", "zlib, deflate or lz4"),
        ("zlib=zopfli", "libdeflate"),
        ("libdeflate", "zlib=libdeflate"),
    ] {
        let arguments = [
            "bench",
            "--min-run-time",
            "1ms",
            "--codec",
            "zstd:5",
            "--workload",
            "traverse",
            "--blocks",
            "1",
            "--decoder",
            decoder,
        ];
        let refused = cached(&scratch, &arguments, Some(&repo)).exits(exit::USAGE);
        assert!(refused.stderr.contains(expected), "{decoder}: {}", refused.stderr);
    }
    let listed = cached(&scratch, &["cache", "list"], None).exits(exit::OK).text();
    assert!(!listed.contains("zlib:6"), "a variant was made for nothing:\n{listed}");
}
