//! `repackbench trace` and `floor:`: what a workload reads and decodes agrees with git and hg.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::hg::{self, HgServer};
use crate::support::program::{self, Outcome, bench, cached, convert, exit, text, words};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch, git};

fn trace(repo: &Path, scratch: &Scratch, options: &[&str]) -> Outcome {
    program::run(&mut trace_command(repo, scratch, options))
}

fn trace_command(repo: &Path, scratch: &Scratch, options: &[&str]) -> Command {
    let mut trace = cached(scratch);
    trace.args(["trace", "--quiet"]).args(options).arg(repo);
    trace
}

/// Traces and returns the records.
#[track_caller]
fn traced(repo: &Path, scratch: &Scratch, options: &[&str]) -> Vec<Value> {
    let file = scratch.join("trace.jsonl");
    trace(repo, scratch, &[options, &["--force", "--json", text(&file)]].concat()).exits(exit::OK);
    records::read(&file)
}

/// The sum of `field` over the parts of a record whose names `wanted` accepts.
fn sum(record: &Value, field: &str, wanted: impl Fn(&str) -> bool) -> u64 {
    let parts = record["parts"].as_array().expect("parts");
    let is_wanted = |part: &&Value| wanted(part["part"].as_str().expect("a name"));
    parts.iter().filter(is_wanted).map(|part| number(&part[field])).sum()
}

fn pack_bytes(repo: &Path, extension: &str) -> Vec<u64> {
    let length = |path: &PathBuf| std::fs::metadata(path).expect("a pack").len();
    git::pack_files(repo, extension).iter().map(length).collect()
}

#[test]
fn git_traversal_reads_each_tree_once() {
    for name in ["history", "sha256", "ref-delta", "index-v1", "reftable-sha256"] {
        let scratch = Scratch::new();
        let repo = Fixture::copy(name, &scratch).repo();
        // Loose objects are in no listing of a pack.
        git::output(&repo, ["repack", "-dq"]);
        let [record] = traced(&repo, &scratch, &["--workload", "traverse"]).try_into().expect("one record");
        let trees: Vec<git::PackEntry> = git::packed(&repo).into_iter().filter(|entry| entry.kind == "tree").collect();
        let bytes: u64 = trees.iter().map(|entry| entry.packed_len).sum();
        assert!(!trees.is_empty(), "{name}");
        assert_eq!(sum(&record, "decodes", |part| part.starts_with("tree")), trees.len() as u64, "{name}: {record}");
        assert_eq!(sum(&record, "bytes", |part| part.starts_with("tree")), bytes, "{name}: {record}");
    }
}

#[test]
fn reading_all_objects_touches_each_page_once() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let map = scratch.join("pages.tsv");
    let options = ["--workload", "cat-all", "--pages", text(&map)];
    let [record] = traced(&repo, &scratch, &options).try_into().expect("one record");
    let pages = |extension| pack_bytes(&repo, extension).iter().map(|len| len.div_ceil(4096)).sum::<u64>();
    let row = |role: &str| record["files"].as_array().expect("files").iter().find(|row| row["role"] == role).cloned();
    let pack = row("pack").expect("a pack");
    assert_eq!((number(&pack["pages"]), number(&pack["touched"])), (pages("pack"), pages("pack")), "{record}");
    assert_eq!(number(&row("pack index").expect("an index")["pages"]), pages("idx"));

    let map = std::fs::read_to_string(map).expect("the page map");
    let mut listed: Vec<(&str, &str)> = Vec::new();
    for (order, line) in map.lines().skip(1).enumerate() {
        let columns: Vec<&str> = line.split('\t').collect();
        let ["as found", file, role, page, first_touch] = columns.as_slice() else { panic!("{line}") };
        assert_eq!(first_touch.parse(), Ok(order), "{line}");
        if *role == "pack" {
            assert!(file.starts_with("objects/pack/") && file.ends_with(".pack"), "{line}");
            listed.push((file, page));
        }
    }
    listed.sort_unstable();
    listed.dedup();
    assert_eq!(listed.len() as u64, pages("pack"));
}

#[test]
fn hg_traversal_decodes_each_revision_once() {
    for name in ["chains", "history"] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let [record] = traced(&repo, &scratch, &["--workload", "traverse"]).try_into().expect("one record");
        let mut server = HgServer::newest(&repo);
        let revisions: usize = hg::revlogs(&repo).iter().map(|revlog| server.index(revlog).len()).sum();
        assert_eq!(sum(&record, "decodes", |_| true), revisions as u64, "{name}: {record}");
        for files in record["files"].as_array().expect("files") {
            assert_eq!(files["touched"], files["pages"], "{name}: {record}");
        }
    }
}

#[test]
fn models_times_of_repository_and_variants() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let options = ["--workload", "checkout:sink", "--codec", "zstd:5", "--codec", "store", "--memory", "25%,100%"];
    let table = trace(&repo, &scratch, &options).exits(exit::OK).text();
    for word in ["as found", "zlib:6", "zstd:5", "store", "hdd", "sata-ssd", "nvme", "modelled time", "25% ("] {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    let records = traced(&repo, &scratch, &options);
    let specs: Vec<_> = records.iter().map(|record| record["variant"]["spec"]["typed"].as_str()).collect();
    assert_eq!(specs, [Some("zlib:6"), None, Some("zstd:5"), Some("store")], "the baseline is traced first");
    let look_ups: Vec<u64> =
        records.iter().map(|record| sum(record, "accesses", |part| part == "index look-ups")).collect();
    assert!(look_ups.iter().all(|accesses| *accesses == look_ups[0] && *accesses > 0), "{look_ups:?}");
    let time = |device: &Value| number(&device["time"]["secs"]) * 1_000_000_000 + number(&device["time"]["nanos"]);
    for record in &records {
        let devices: Vec<u64> = record["devices"].as_array().expect("devices").iter().map(time).collect();
        assert!(devices[0] > devices[1] && devices[1] > devices[2] && devices[2] > 0, "{devices:?}");
        let short = &record["memory"][0]["devices"][0];
        assert!(time(short) >= devices[0], "less memory cannot take less time: {record}");
    }
    let named = ["--workload", "traverse", "--device", "latency=1ms,bandwidth=1MB/s,readahead=4k"];
    let table = trace(&repo, &scratch, &named).exits(exit::OK).text();
    assert!(table.contains("latency=1ms,bandwidth=1MB/s,readahead=4k") && !table.contains("nvme"), "{table}");
}

/// The chunks and stored bytes that a floor decodes.
fn floor(repo: &Path, workload: &str) -> (u64, u64) {
    let outcome = program::replay(repo, &format!("floor:{workload}"), &[]).exits(exit::OK);
    (outcome.count("chunks decoded"), outcome.count("stored bytes decoded"))
}

#[test]
fn floor_decodes_the_chunks_of_the_trace() {
    let sources = [(Fixture::get("history").repo(), "diff:raw"), (Fixture::hg("chains").repo(), "diff:patch")];
    for (source, workload) in sources {
        let scratch = Scratch::new();
        let mut chunks = Vec::new();
        for codec in ["zlib:6", "lz4", "zstd:9,dict=4k", "zstd:9,prefix", "zstd:9,patch,prefix"] {
            let variant = scratch.join(&codec.replace([':', ','], "-"));
            convert(&source, codec, &variant);
            let [record] = traced(&variant, &scratch, &["--workload", workload]).try_into().expect("one record");
            let (decoded, bytes) = floor(&variant, workload);
            assert_eq!(decoded, sum(&record, "decodes", |_| true), "{codec}: {record}");
            assert!(decoded > 0 && bytes > 0, "{codec}");
            // The deltas of a revlog are merged before they are applied. Those that need their base are not, and other
            // texts are cached.
            if workload == "diff:raw" || !codec.contains("prefix") {
                chunks.push(decoded);
            }
        }
        assert!(chunks.iter().all(|decoded| *decoded == chunks[0]), "{workload}: {chunks:?}");
    }
}

#[test]
fn benchmark_models_the_same_cold_start() {
    for repo in [Fixture::get("history").repo(), Fixture::hg("history").repo()] {
        let scratch = Scratch::new();
        let file = scratch.join("runs.jsonl");
        let devices = ["--device", "hdd", "--device", "latency=1ms,bandwidth=1MB/s,readahead=4k"];
        let mut bench = bench(&scratch);
        bench.args(words("--blocks 1 --codec lz4 --workload diff:raw --workload encode --details --json"));
        bench.arg(&file).args(devices);
        let table = program::run(bench.arg(&repo)).exits(exit::OK).text();
        for words in ["modelled cold, hdd", "modelled cold, latency=1ms", "nothing is modelled: encode."] {
            assert!(table.contains(words), "{words} is not in\n{table}");
        }
        assert!(table.contains("Page cache touched by diff:raw: "), "{table}");

        let options = [&["--workload", "diff:raw", "--codec", "lz4"], &devices[..]].concat();
        let traces = traced(&repo, &scratch, &options);
        let of_variant = |spec: &Value| {
            let same = |record: &&Value| record["variant"]["spec"]["typed"] == spec["typed"];
            traces.iter().find(same).unwrap_or_else(|| panic!("{spec} was not traced"))
        };
        let runs = records::read(&file);
        let (diffs, others): (Vec<&Value>, Vec<&Value>) =
            runs.iter().partition(|run| run["workload"]["name"] == "diff:raw");
        assert!(others.iter().all(|run| run.get("reads").is_none()) && others.len() >= 4, "{others:?}");
        let mut compared = 0;
        // The codec that hg chose is a row of every benchmark, but not of a trace.
        for run in diffs.iter().filter(|run| run["variant"]["spec"]["typed"] != "zstd:3") {
            let record = of_variant(&run["variant"]["spec"]);
            let pages: u64 =
                record["files"].as_array().expect("files").iter().map(|files| number(&files["touched"])).sum();
            assert_eq!(number(&run["reads"]["touched_bytes"]), pages * 4096, "{run}");
            for (at, device) in record["devices"].as_array().expect("devices").iter().enumerate() {
                let modelled = &run["reads"]["modelled"][at];
                assert_eq!(modelled["device"]["name"], device["device"]["name"]);
                for name in ["reads", "seeks", "bytes"] {
                    assert_eq!(modelled[name], device[name], "{name}: {run}");
                }
                let time = number(&device["time"]["secs"]) * 1_000_000_000 + number(&device["time"]["nanos"]);
                assert_eq!(number(&modelled["time_ns"]), time, "{run}");
            }
            compared += 1;
        }
        assert_eq!(compared, 4, "as found, the baseline twice, and lz4");
    }
}

/// Traces, and fails the test if the program leaves a control group. Other programs may make theirs in the meantime.
#[track_caller]
fn trace_in_groups(repo: &Path, scratch: &Scratch, options: &[&str]) -> Outcome {
    let mut trace = trace_command(repo, scratch, options);
    let trace = trace.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
    let prefix = format!("repackbench-{}-", trace.id());
    let output = trace.wait_with_output().expect("its end");
    assert_eq!(groups_below(Path::new("/sys/fs/cgroup"), &prefix), Vec::<PathBuf>::new());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Outcome { code: output.status.code(), stdout: output.stdout, stderr }
}

/// The control groups below `folder` whose names begin with `prefix`.
fn groups_below(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        // Version 1 also has links to hierarchies.
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        found.extend(groups_below(&path, prefix));
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(path);
        }
    }
    found
}

/// Where groups can be made, the fixture is too small for one. Elsewhere the message says why none can be made.
#[test]
fn unlimitable_memory_is_rejected_with_the_reason() {
    let scratch = Scratch::new();
    let disk = Scratch::on_disk();
    let folder = text(disk.path());
    let options = ["--workload", "traverse", "--memory", "50%", "--check-memory", folder];
    let refused = trace_in_groups(&Fixture::get("history").repo(), &scratch, &options).exits(exit::FAILURE);
    let message = refused.error_line();
    let is_expected = message.contains("no memory cgroup can be made here: ") || message.contains("50% of this repo");
    assert!(is_expected, "{message}");
    assert!(refused.stdout.is_empty());
    assert_eq!(std::fs::read_dir(disk.path()).expect("the folder").count(), 0, "copies are left");
}

/// The pack of this repository is large enough for a group of half its size. Where no group can be made, the message
/// says why.
#[test]
fn compares_a_small_page_cache_with_the_kernel() {
    let scratch = Scratch::new();
    // On a disk: files in memory cannot be evicted.
    let disk = Scratch::on_disk();
    let (repo, copies) = (disk.path().join("source"), disk.path().join("copies"));
    for folder in [&repo, &copies] {
        std::fs::create_dir(folder).expect("a folder");
    }
    git::output(&repo, ["init", "--quiet"]);
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for number in 0..20 {
        let content: Vec<u8> = (0..1 << 20).map(|_| byte()).collect();
        std::fs::write(repo.join(format!("file {number}")), content).expect("a file");
    }
    git::output(&repo, ["add", "."]);
    git::output(&repo, ["commit", "--quiet", "-m", "all"]);
    git::output(&repo, ["repack", "--quiet", "-ad"]);
    let folder = text(&copies);
    let options = ["--workload", "cat-all", "--memory", "50%,90%", "--check-memory", folder];
    let outcome = trace_in_groups(&repo, &scratch, &options);
    if outcome.code == Some(exit::FAILURE) {
        assert!(outcome.error_line().contains("no memory cgroup can be made here: "), "{}", outcome.stderr);
    } else {
        let table = outcome.exits(exit::OK).text();
        // Each object is read once, so the whole pack is, under every limit.
        let rows: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|words: &Vec<&str>| words.first().is_some_and(|word| word.ends_with('%')))
            .collect();
        assert_eq!(rows.len(), 2, "{table}");
        for row in rows {
            let number = |at: usize| row.get(at).and_then(|word| word.trim_matches(['(', '%']).parse::<f64>().ok());
            let [limit, modelled, measured, most] = [1, 3, 5, 7].map(number);
            assert!(modelled > Some(20.0), "{table}");
            // It is a dash where the kernel does not count reads.
            assert!(measured.is_none_or(|measured| measured > 20.0), "{table}");
            // Both are rounded to three digits.
            assert!(most.is_none_or(|most| Some(most) <= limit.map(|limit| limit * 1.02)), "{table}");
        }
    }
    assert_eq!(std::fs::read_dir(&copies).expect("the folder").count(), 0, "copies are left");
}

#[test]
fn compares_the_model_with_cold_copies_and_removes_them() {
    let scratch = Scratch::new();
    // On a disk: files in memory are never cold.
    let disk = Scratch::on_disk();
    for repo in [Fixture::get("history").repo(), Fixture::hg("history").repo()] {
        let folder = text(disk.path());
        let json = scratch.join("check.jsonl");
        let file = text(&json);
        let options = ["--workload", "traverse", "--check-device", folder, "--force", "--json", file];
        let table = trace(&repo, &scratch, &options).exits(exit::OK).text();
        for word in ["modelled", "measured: median", "4 copies", "mincore", "readahead"] {
            assert!(table.contains(word), "{word} is not in\n{table}");
        }
        assert_eq!(std::fs::read_dir(disk.path()).expect("the folder").count(), 0, "copies are left");
        let line = std::fs::read_to_string(&json).expect("the record");
        let record: Value = serde_json::from_str(&line).expect("one record");
        assert_eq!((&record["record"], record["copies"].as_array().map(Vec::len)), (&"device-check".into(), Some(4)));
        let reported = program::run(program::command().args(["report", "--quiet"]).arg(&json)).exits(exit::OK).text();
        assert!(reported.contains(table.trim_end()), "{reported}\n{table}");
    }
}

#[test]
fn rejects_cold_reads_in_memory() {
    let scratch = Scratch::new();
    let memory = Scratch::in_memory();
    let folder = text(memory.path());
    let options = ["--workload", "traverse", "--check-device", folder];
    let refused = trace(&Fixture::get("history").repo(), &scratch, &options).exits(exit::FAILURE);
    assert!(refused.error_line().contains("would not be cold"), "{}", refused.error_line());
    assert!(refused.stdout.is_empty());
    assert_eq!(std::fs::read_dir(memory.path()).expect("the folder").count(), 0, "copies are left");
}

#[test]
fn rejects_invalid_workloads_shares_and_devices() {
    let (scratch, repo) = (Scratch::new(), Fixture::get("history").repo());
    for (options, message) in [
        (&["--workload", "encode"][..], "not cover everything that other workloads read"),
        (&["--workload", "traverse", "--memory", "0%"], "expected 1% to 1000%"),
        (&["--workload", "traverse", "--device", "floppy"], "expected hdd, sata-ssd, nvme"),
        (&["--workload", "traverse", "--check-memory", "/tmp"], "--memory"),
    ] {
        let refused = trace(&repo, &scratch, options).exits(exit::USAGE);
        assert!(refused.stderr.contains(message), "{}", refused.stderr);
    }
}

#[test]
fn compares_orders() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("traces.jsonl");
    let options =
        ["--workload", "checkout:sink", "--order", "source,checkout,trees-first", "--force", "--json", text(&file)];
    let table = trace(&repo, &scratch, &options).exits(exit::OK).text();
    for label in ["as found", "zlib:6, order=checkout", "zlib:6, order=trees-first", "nvme"] {
        assert!(table.contains(label), "{label} is not in\n{table}");
    }
    let orders: Vec<Value> =
        records::read(&file).iter().map(|trace| trace["variant"]["layout"]["order"].clone()).collect();
    assert_eq!(orders, [().into(), ().into(), "checkout".into(), "trees-first".into()] as [Value; 4]);
}
