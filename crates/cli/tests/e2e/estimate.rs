//! `repackbench estimate`: what it predicts is what a conversion gives, and nothing is written but the prediction.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::program::{self, Outcome, cached, command, convert, exit, text};
use crate::support::records::{self, number};
use crate::support::{Fixture, Scratch, executable, git, snapshot};

/// Codecs of all forms: with a dictionary, with bases, and neither.
const CODECS: [&str; 4] = ["zlib:9", "zstd:3", "balanced", "zstd:3,patch,prefix"];

fn estimate(repo: &Path, scratch: &Scratch, options: &[&str]) -> (Outcome, Value) {
    let json = scratch.join("estimate.jsonl");
    let mut command = cached(scratch);
    command.args(["estimate", "--quiet", "--force", "--json", text(&json)]).args(options).arg(repo);
    let outcome = program::run(&mut command).exits(exit::OK);
    let records = records::read(&json);
    assert_eq!(records.len(), 1);
    (outcome, records.into_iter().next().expect("a record"))
}

fn codec_options() -> Vec<&'static str> {
    CODECS.iter().flat_map(|codec| ["--codec", codec]).collect()
}

/// The exact total and that of a conversion differ only in the names of codecs in configuration files, and in what a
/// store of another form needs.
fn assert_as_converted(repo: &Path, exact: &Value, scratch: &Scratch) {
    for (number_of, spec) in exact["as_found"]["specs"].as_array().expect("codecs").iter().enumerate() {
        assert!(spec["total_bytes"]["interval"].is_null(), "{spec}");
        let typed = spec["spec"]["typed"].as_str().expect("a spec");
        let variant = scratch.join(&format!("variant-{number_of}"));
        convert(repo, typed, &variant);
        let file = scratch.join(&format!("size-{number_of}.jsonl"));
        program::run(command().args(["size", "--quiet", "--json"]).args([&file, &variant])).exits(exit::OK);
        let total = number(&records::read(&file)[0]["size"]["total_bytes"]);
        let predicted = spec["total_bytes"]["value"].as_f64().expect("bytes") as u64;
        assert!(predicted.abs_diff(total) < 1500, "{typed}: predicted {predicted}, converted {total}");
    }
}

#[test]
fn exact_sizes_are_those_of_conversions() {
    for name in ["history", "sha256", "reftable"] {
        let scratch = Scratch::new();
        let repo = Fixture::get(name).repo();
        let options = [vec!["--exact", "--as-found", "--workload", "traverse"], codec_options()].concat();
        let (_, exact) = estimate(&repo, &scratch, &options);
        assert_as_converted(&repo, &exact, &scratch);
    }
}

/// With numbers in the place of ids, payloads are others.
#[test]
fn sizes_with_numbers_are_those_of_conversions() {
    let numbered = ["zlib:6,ids=number", "zstd:9,dict=64k,ids=number"];
    for name in ["history", "sha256"] {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let options = ["--exact", "--as-found", "--workload", "traverse", "--codec"];
        let options = [&options[..], &[numbered[0], "--codec", "zstd:3", "--codec", numbered[1]]].concat();
        let (outcome, exact) = estimate(&repo, &scratch, &options);
        assert_as_converted(&repo, &exact, &scratch);
        let specs = exact["as_found"]["specs"].as_array().expect("codecs");
        let typed: Vec<_> = specs.iter().map(|spec| spec["spec"]["typed"].as_str().expect("a spec")).collect();
        assert_eq!(typed, ["zlib:6", "zstd:3", numbered[0], numbered[1]], "those without times come last");
        let total = |at: usize| specs[at]["total_bytes"]["value"].as_f64().expect("bytes");
        assert!(total(2) < total(0), "{name}: numbers are shorter");
        assert_eq!(exact["as_found"]["workloads"][0]["ratios"].as_array().map(Vec::len), Some(2));
        assert!(outcome.text().contains("Times under ids=number are not predicted"), "{}", outcome.text());
    }
}

#[test]
fn numbers_are_for_packs() {
    let mut command = cached(&Scratch::new());
    command.args(["estimate", "--quiet", "--codec", "zstd:9,ids=number"]).arg(Fixture::hg("chains").repo());
    let said = program::run(&mut command).exits(exit::USAGE).stderr;
    assert!(said.contains("has no trees that name objects"), "{said}");
}

/// What other codecs gain is counted from what a variant has, so that is predicted though nobody asked for it.
#[test]
fn codec_of_a_variant_is_always_predicted() {
    let scratch = Scratch::new();
    let variant = scratch.join("variant");
    convert(&Fixture::get("history").repo(), "zstd:5", &variant);
    let options = ["--exact", "--as-found", "--workload", "traverse", "--codec", "zlib:9"];
    let (_, record) = estimate(&variant, &scratch, &options);
    let specs = record["as_found"]["specs"].as_array().expect("codecs");
    let typed: Vec<_> = specs.iter().map(|spec| spec["spec"]["typed"].as_str().expect("a spec")).collect();
    assert_eq!(typed, ["zlib:6", "zlib:9", "zstd:5"]);
    let own = specs[2]["total_bytes"]["value"].as_f64().expect("bytes");
    let found = record["as_found"]["total_bytes"].as_f64().expect("bytes");
    assert!((own - found).abs() < 1500.0, "predicted {own}, found {found}");
    let (_, record) =
        estimate(&variant, &scratch, &["--exact", "--as-found", "--workload", "traverse", "--codec", "zstd:5"]);
    assert_eq!(record["as_found"]["specs"].as_array().map(Vec::len), Some(2), "once");
}

/// A log has a line for each step, with the time that is left for all of them.
#[test]
fn progress_off_a_terminal_has_a_line_for_each_step() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let mut estimate = cached(&scratch);
    estimate
        .args(program::words("estimate --as-found --time 3s --codec zstd:3 --workload traverse --workload diff:raw"));
    let said = program::run(estimate.arg(&repo)).exits(exit::OK).stderr;
    for step in ["reading a sample of chunks", "encoding the sample", "replaying traverse", "replaying diff:raw"] {
        let line = format!("repackbench: progress: {step}, ");
        assert_eq!(said.lines().filter(|said| said.starts_with(&line)).count(), 1, "{step}: {said}");
    }
    assert!(said.lines().all(|line| !line.contains("progress: ") || line.ends_with(" left")), "{said}");
}

/// A git that would search for ever.
#[test]
fn search_that_takes_too_long_is_stopped() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let git = scratch.join("git");
    let script =
        "#!/bin/sh\nfor word; do if [ \"$word\" = repack ]; then exec sleep 1000000; fi; done\nexec git \"$@\"\n";
    executable::write(&git, script);
    let (outcome, found) = estimate(
        &repo,
        &scratch,
        &["--time", "4s", "--git", text(&git), "--codec", "zstd:3", "--workload", "traverse"],
    );
    let rechosen = &found["rechosen"];
    assert_eq!(rechosen["outcome"], "too-long", "{rechosen}");
    let stopped = rechosen["stopped_after_seconds"].as_f64().expect("seconds");
    assert!(stopped > 0.0, "{rechosen}");
    assert!(outcome.text().contains("`git repack -adF`: over "), "{}", outcome.text());
    assert_eq!(found["as_found"]["workloads"][0]["workload"]["name"], "traverse", "{found}");
}

/// As with `git repack -adF`, which the answer advises.
#[test]
fn search_drops_what_no_ref_reaches_and_counts_it() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    // The unreachable objects get into the pack, as those of a deleted branch are.
    git::output(&repo, ["repack", "-adkq"]);
    let options = ["--time", "10s", "--codec", "zstd:3", "--workload", "traverse"];
    let (outcome, found) = estimate(&repo, &scratch, &options);
    let chunks = |state: &Value| number(&state["chunks"]);
    let dropped = chunks(&found["as_found"]) - chunks(&found["rechosen"]["state"]);
    git::output(&repo, ["repack", "-adFq"]);
    let left = git::objects(&repo).lines().count() as u64;
    assert_eq!((chunks(&found["rechosen"]["state"]), dropped), (left, 3), "{}", outcome.text());
    assert!(outcome.text().contains(&format!(" become {left} of ")), "{}", outcome.text());
    assert!(found["rechosen"]["cpu_seconds"].as_f64() > Some(0.0), "{}", found["rechosen"]);
}

#[test]
fn commit_graph_that_is_there_is_not_tried() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    for options in [&["--reachable"][..], &["--reachable", "--split"]] {
        git::output(&repo, [&["commit-graph", "write"], options].concat());
        let options = ["--time", "10s", "--codec", "zstd:3", "--workload", "traverse"];
        let (_, found) = estimate(&repo, &scratch, &options);
        assert_eq!(found["rechosen"]["outcome"], "searched", "{found}");
        for state in [&found["as_found"], &found["rechosen"]["state"]] {
            let workload = &state["workloads"][0];
            assert!(workload["own_share"].as_f64().is_some(), "git was timed: {workload}");
            assert!(workload["own_graph_ratio"].is_null(), "{workload}");
        }
        fs::remove_file(repo.join("objects/info/commit-graph")).ok();
    }
}

/// The default search comes first, and is what remains if the other does not fit.
#[test]
fn harder_search_is_another_size() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let options = ["--time", "10s", "--codec", "zstd:3", "--workload", "traverse", "--window", "50"];
    let (outcome, found) = estimate(&repo, &scratch, &options);
    let rechosen = &found["rechosen"];
    assert_eq!((rechosen["outcome"].as_str(), rechosen["window"].as_u64()), (Some("searched"), Some(50)), "{rechosen}");
    assert!(number(&rechosen["other"]["total_bytes"]) > 0, "{rechosen}");
    assert!(outcome.text().contains("`git repack -adF --window=50`: "), "{}", outcome.text());
    assert!(outcome.text().contains("; without --window "), "{}", outcome.text());

    let git = scratch.join("git");
    let script =
        "#!/bin/sh\nfor word; do if [ \"$word\" = --window=50 ]; then exec sleep 1000000; fi; done\nexec git \"$@\"\n";
    executable::write(&git, script);
    let (outcome, found) = estimate(&repo, &scratch, &[&options[..], &["--git", text(&git)]].concat());
    let rechosen = &found["rechosen"];
    assert_eq!((rechosen["outcome"].as_str(), rechosen["window"].as_u64()), (Some("searched"), None), "{rechosen}");
    assert!(rechosen["other"]["total_bytes"].is_null() && rechosen["other"]["window"] == 50, "{rechosen}");
    assert!(outcome.text().contains("; with --window=50 it takes more than the time left"), "{}", outcome.text());
}

/// As in a mirror that lost its configuration: its packs are marked as sent by a promisor, which no remote is.
#[test]
fn deltas_are_searched_for_where_an_object_is_missing() {
    let scratch = Scratch::new();
    let (source, repo) = (Fixture::get("partial-clone").repo().join(".git"), scratch.join("mirror.git"));
    fs::create_dir(&repo).expect("a folder");
    for name in ["HEAD", "packed-refs", "refs", "objects"] {
        program::run(Command::new("cp").arg("-R").args([&source.join(name), &repo])).exits(exit::OK);
    }
    let (_, found) = estimate(&repo, &scratch, &["--codec", "zstd:3", "--workload", "traverse"]);
    let rechosen = &found["rechosen"];
    assert_eq!(rechosen["outcome"], "searched", "{rechosen}");
    assert!(rechosen["is_without_names"].is_null(), "{rechosen}");
    // An object that is in two packs is in one now.
    let packed = git::output(&repo, ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    assert_eq!(number(&rechosen["state"]["chunks"]), packed.lines().count() as u64);
}

#[test]
fn checksums_are_those_at_the_ends_of_packs() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let (_, found) = estimate(&repo, &scratch, &["--as-found", "--codec", "zstd:3", "--workload", "traverse"]);
    let packs =
        fs::read_dir(git::path(&repo, "objects/pack")).expect("packs").map(|entry| entry.expect("a file").path());
    let packs = packs.filter(|path| path.extension().is_some_and(|extension| extension == "pack"));
    let ends = packs.map(|path| {
        let bytes = fs::read(path).expect("a pack");
        bytes[bytes.len() - 20..].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    });
    let mut ends: Vec<String> = ends.collect();
    ends.sort();
    assert!(!ends.is_empty());
    assert_eq!(found["pack_checksums"], serde_json::json!(ends));
}

#[test]
fn exact_sizes_of_revlogs_are_those_of_conversions() {
    let scratch = Scratch::new();
    let repo = Fixture::hg("chains").repo();
    let (_, exact) =
        estimate(&repo, &scratch, &["--exact", "--workload", "traverse", "--codec", "zstd:3", "--codec", "lz4"]);
    assert_as_converted(&repo, &exact, &scratch);
    assert_eq!(exact["rechosen"]["outcome"], "left");
}

#[test]
fn samples_predict_within_their_error() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let options = [vec!["--as-found", "--workload", "traverse", "--seed", "1"], codec_options()].concat();
    let (_, sampled) = estimate(&repo, &scratch, &options);
    let (_, exact) = estimate(&repo, &scratch, &[&["--exact"], &*options].concat());
    let specs = |value: &Value| value["as_found"]["specs"].as_array().expect("codecs").clone();
    for (sampled, exact) in specs(&sampled).iter().zip(specs(&exact)) {
        let value = |spec: &Value| spec["total_bytes"]["value"].as_f64().expect("bytes");
        let (predicted, true_value) = (value(sampled), value(&exact));
        assert!((predicted / true_value - 1.0).abs() < 0.03, "{sampled}: {true_value}");
    }
}

#[test]
fn answer_comes_last_and_in_eight_lines() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let before = snapshot::content(&repo);
    let (outcome, record) = estimate(&repo, &scratch, &["--codec", "zstd:3", "--codec", "zlib:9"]);
    let printed = outcome.text();
    let answer: Vec<&str> = printed.trim_end().rsplit("\n\n").next().expect("an answer").lines().collect();
    assert!(answer.len() <= 8, "{printed}");
    assert!(answer[0].starts_with("Deltas: `git repack -adF`: "), "{printed}");
    assert!(answer.iter().any(|line| line.starts_with("Verdict: ")), "{printed}");
    assert_eq!(record["rechosen"]["outcome"], "searched", "{record}");
    let spec = &record["as_found"]["specs"][1];
    let memory = |side: &str| spec[side].as_u64().expect("bytes");
    assert!(memory("encode_memory_bytes") > memory("decode_memory_bytes"), "{spec}");
    assert!(memory("decode_memory_bytes") > 10_000, "{spec}");
    let traverse = &record["as_found"]["workloads"][1];
    for name in ["own_graph_ratio", "own_graph_elapsed_ratio"] {
        let graph = traverse[name]["value"].as_f64().expect("a trial with a commit-graph");
        assert!(graph > 0.0, "{traverse}");
    }
    assert_eq!(snapshot::content(&repo), before, "the source is untouched");
    let again = program::run(cached(&scratch).args(["report"]).arg(scratch.join("estimate.jsonl"))).exits(exit::OK);
    assert!(again.text().contains("Verdict: "), "{}", again.text());
}

#[test]
fn only_traced_workloads_are_predicted() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let refused = program::run(cached(&scratch).args(["estimate", "--workload", "encode"]).arg(&repo));
    let line = refused.exits(exit::USAGE).error_line();
    assert!(line.contains("encode cannot be predicted"), "{line}");
}

/// Trees of one folder whose last entry alone changes begin with the same stored bytes, and are read into the same
/// buffer.
#[test]
fn loose_objects_with_the_same_beginning_are_told_apart() {
    let scratch = Scratch::new();
    let repo = scratch.join("loose");
    fs::create_dir(&repo).expect("a folder");
    git::git(&repo, ["init", "-q", "--bare", "-b", "main"]).exits(exit::OK);
    git::git(&repo, ["config", "fastimport.unpackLimit", "1000"]).exits(exit::OK);
    let others: String =
        (0..20).map(|file| git::stream_file(&format!("file-{file:02}"), &format!("{file}\n"))).collect();
    let commit = |at: u32| {
        let last = git::stream_file("last", &format!("{at}\n"));
        git::stream_commit(1_600_000_000 + at, "change") + "\n" + if at == 0 { &others } else { "" } + &last
    };
    git::fast_import(&repo, &(0..20).map(commit).collect::<String>());
    assert!(git::pack_files(&repo, "pack").is_empty(), "all objects are loose");
    let options =
        ["--as-found", "--time", "2s", "--codec", "zstd:3", "--workload", "traverse", "--workload", "diff:raw"];
    let (_, record) = estimate(&repo, &scratch, &options);
    assert!(record["as_found"]["specs"].as_array().is_some_and(|specs| specs.len() == 2), "{record}");
}
