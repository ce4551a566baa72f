//! `repackbench bench`.

pub(crate) mod cold;
mod forge;
mod sessions;
mod stock_client;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::program::{self, bench, cached, each, exit, words};
use crate::support::records::{self, assert_same_results, number};
use crate::support::{Fixture, Scratch, git};

/// Measures, and returns the table with all details, and the records.
#[track_caller]
fn measured(scratch: &Scratch, repo: &Path, options: &[&str]) -> (String, Vec<Value>) {
    let file = scratch.join("records.jsonl");
    let table =
        program::run(bench(scratch).args(options).args(["--details", "--force", "--json"]).arg(&file).arg(repo))
            .exits(exit::OK)
            .text();
    (table, records::read(&file))
}

#[track_caller]
fn assert_contains(table: &str, expected: &[&str]) {
    for word in expected {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
}

#[track_caller]
fn assert_no_variant_was_made(scratch: &Scratch) {
    let listed = program::run(cached(scratch).args(["cache", "list"])).exits(exit::OK).text();
    assert!(!listed.contains("zlib:6"), "a variant was made for nothing:\n{listed}");
}

#[test]
fn measures_every_workload_on_every_variant() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = words("--codec zlib:6 --codec zstd:5 --codec lz4 --blocks 2");
    let (table, records) = measured(&scratch, &repo, &options);
    assert_contains(&table, &["checkout", "traverse", "diff:raw", "diff:pickaxe", "diff:patch"]);
    assert_contains(&table, &["as found", "zlib:6", "zstd:5", "lz4"]);

    let mut runs: BTreeMap<(String, u64), Vec<&str>> = BTreeMap::new();
    for record in &records {
        let run = (record["workload"].to_string(), number(&record["place"]["block"]));
        runs.entry(run).or_default().push(records::spec(record));
    }
    for ((workload, block), mut specs) in runs {
        specs.sort_unstable();
        assert_eq!(specs, ["as found", "lz4", "zlib:6", "zlib:6", "zstd:5"], "block {block} of {workload}");
    }
    // checkout:sink, traverse, diff:raw, diff:pickaxe and diff:patch.
    assert_same_results(&records, 5);
}

#[test]
fn partial_clone_counts_missing_objects() {
    let (repo, scratch) = (Fixture::get("partial-clone").repo(), Scratch::new());
    let (_, records) = measured(&scratch, &repo, &words("--codec zstd:5 --blocks 1"));
    let pickaxe = records.iter().find(|record| record["workload"]["name"] == "diff:pickaxe").expect("a pickaxe run");
    assert!(number(&pickaxe["counts"]["missing"]) > 0);
}

#[test]
fn measures_a_repeated_codec_once() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let codecs = each("--codec", &["zstd:3", "zlib", "zstd", "zstd:3,loose=3", "zlib:6,loose=1", "lz4"]);
    let (_, records) = measured(&scratch, &repo, &[&words("--workload traverse --blocks 1"), &codecs[..]].concat());
    let mut specs: Vec<&str> = records.iter().map(records::spec).collect();
    specs.sort_unstable();
    assert_eq!(specs, ["as found", "lz4", "zlib:6", "zlib:6", "zstd:3"]);
}

#[test]
fn measures_each_level_of_a_list() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let codecs = each("--codec", &["zlib:1..3", "zstd:1,3", "tree=zstd:1,2,prefix"]);
    let (table, _) = measured(&scratch, &repo, &[&words("--workload checkout:sink --blocks 1"), &codecs[..]].concat());
    let rows: Vec<&str> = table.lines().flat_map(str::split_ascii_whitespace).collect();
    for row in ["zlib:1", "zlib:2", "zlib:3", "zstd:1", "zstd:3", "tree=zstd:1,prefix", "tree=zstd:2,prefix", "zlib:6"]
    {
        assert!(rows.contains(&row), "{row} is not in\n{table}");
    }
    assert!(!rows.contains(&"zstd:2"), "{table}");
}

/// Only workloads that start from a revision need one, and they fail before any variant is made.
#[test]
fn unborn_head_fails_only_workloads_that_need_it() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("bare", &scratch).repo();
    git::output(&repo, ["symbolic-ref", "HEAD", "refs/heads/unborn"]);

    let refused = program::run(bench(&scratch).args(words("--codec zstd:5 --blocks 1 --workload diff:raw")).arg(&repo));
    let refused = refused.exits(exit::FAILURE);
    assert!(refused.error_line().contains("HEAD"), "{}", refused.stderr);
    assert_no_variant_was_made(&scratch);

    let (_, records) = measured(&scratch, &repo, &words("--codec zstd:5 --blocks 1 --workload traverse"));
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| record["repository"]["head"].is_null()));
}

#[test]
fn interrupt_is_reported_and_keeps_the_records() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let mut bench = cached(&scratch);
    bench.args(words("bench --min-run-time 1ms --codec store --workload traverse --blocks 100000 --json"));
    bench.arg(&file).arg(&repo);
    let mut running = bench.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program");
    // The first record shows that runs are timed now.
    program::wait_for(&mut running, || std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0));
    let signal = Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill");
    assert!(signal.success());
    let ended = running.wait_with_output().expect("the program's end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("\nrepackbench: stopping...\n"), "{said}");
    let way_on = "repackbench: interrupted\nhint: what was measured is kept; repackbench bench --resume ";
    assert!(said.contains(way_on), "{said}");
    assert!(!records::read(&file).is_empty());
}

/// Each row of the records: its label, and the implementation that decoded.
fn rows(records: &[Value]) -> BTreeMap<u64, (String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let row = |record: &Value| {
        (number(&record["variant"]["row"]), (text(&record["size"]["label"]), text(&record["decoder"])))
    };
    records.iter().map(row).collect()
}

#[test]
fn each_decoder_is_a_row_of_every_variant_it_reads() {
    let scratch = Scratch::new();
    let git = ["zlib:6", "zlib:6 by libdeflate", "zlib:6 by zlib-rs", "zstd:5", "lz4hc:9", "lz4hc:9 by lz4_flex"];
    let hg =
        ["zlib:6", "zlib:6 by libdeflate", "zlib:6 by zlib-rs", "zstd:3", "zstd:5", "lz4hc:9", "lz4hc:9 by lz4_flex"];
    // The hg fixture was written by the newest hg, so with zstd.
    for (repo, variants, found) in [
        (Fixture::get("bare").repo(), &git[..], &["as found", "as found by libdeflate", "as found by zlib-rs"][..]),
        (Fixture::hg("branches").repo(), &hg[..], &["as found"]),
    ] {
        let mut options = words("--workload traverse --blocks 1 --codec zstd:5 --codec lz4hc:9");
        // The second repeats a decoder in another spelling.
        options.extend(each("--decoder", &["zlib=libdeflate,zlib-rs", "lz4=lz4_flex,zlib=libdeflate"]));
        let (table, records) = measured(&scratch, &repo, &options);
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
            let label = record["size"]["label"].as_str().expect("a label");
            assert_eq!(!record["variant"]["decoder"].is_null(), label.contains(" by "), "{record}");
        }
        assert_same_results(&records, 1);
    }
}

#[test]
fn rejects_decoders_with_nothing_to_read() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    for (decoder, expected) in [
        ("lz4=lz4_flex", "no variant has LZ4 blocks"),
        ("zlib=zlib", "read by zlib anyway"),
        ("zstd=zstd", "zlib, deflate or lz4"),
        ("zlib=zopfli", "libdeflate"),
        ("libdeflate", "zlib=libdeflate"),
    ] {
        let mut bench = bench(&scratch);
        bench.args(words("--codec zstd:5 --workload traverse --blocks 1")).args(["--decoder", decoder]).arg(&repo);
        let refused = program::run(&mut bench).exits(exit::USAGE);
        assert!(refused.stderr.contains(expected), "{decoder}: {}", refused.stderr);
    }
    assert_no_variant_was_made(&scratch);
}

#[test]
fn every_order_gives_the_same_results() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let workloads = ["checkout:sink", "traverse", "diff:raw", "sizes", "cat-all", "encode", "ingest", "serve:same"];
    let mut options = words("--codec zstd:5 --order source,checkout,path --blocks 1");
    options.extend(each("--workload", &workloads));
    let (table, records) = measured(&scratch, &repo, &options);
    assert_contains(&table, &["zlib:6, order=checkout", "zstd:5, order=path"]);
    let layout = |record: &Value| format!("{} {}", record["variant"]["role"], record["variant"]["layout"]);
    let layouts: BTreeSet<String> = records.iter().map(layout).collect();
    let of_order =
        |order: &str| format!("\"candidate\" {{\"order\":\"{order}\",\"reference_deltas\":false,\"store\":\"pack\"}}");
    let expected: BTreeSet<String> =
        ["\"as-found\" null", "\"baseline\" null", "\"baseline-again\" null", "\"candidate\" null"]
            .map(str::to_owned)
            .into_iter()
            .chain(["checkout", "path"].map(of_order))
            .collect();
    assert_eq!(layouts, expected);
}

#[test]
fn kept_and_rechosen_deltas_share_a_table() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = words("--rechosen --codec zstd:3 --workload traverse --blocks 1");
    let (table, _) = measured(&scratch, &repo, &options);
    assert_contains(&table, &["as found", "zlib:6 ", "zlib:6, rechosen", "zstd:3 ", "zstd:3, rechosen"]);
}

#[test]
fn wider_window_is_a_further_row() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = words("--window 250 --codec zstd:3 --workload traverse --blocks 1");
    let (table, records) = measured(&scratch, &repo, &options);
    let rows = ["zlib:6, rechosen ", "zlib:6, rechosen with window 250", "zstd:3, rechosen with window 250"];
    assert_contains(&table, &rows);
    let windows: BTreeSet<_> = records.iter().map(|record| record["variant"]["delta_window"].as_u64()).collect();
    assert_eq!(windows, BTreeSet::from([None, Some(250)]));
}

#[test]
fn short_search_for_deltas_is_made_unasked() {
    let scratch = Scratch::new();
    let repo = Fixture::get("history").repo();
    let rows = |options: &[&str]| {
        let options = [&["--codec", "zstd:3", "--workload", "traverse", "--max-blocks", "1"], options].concat();
        let (table, records) = measured(&scratch, &repo, &options);
        let names = records.iter().map(|record| record["variant"]["deltas"].as_str().expect("an origin").to_owned());
        (table, names.collect::<BTreeSet<_>>().len())
    };
    let (table, origins) = rows(&[]);
    assert_eq!(origins, 2);
    assert_contains(
        &table,
        &[
            "zstd:3, rechosen",
            "\nDeltas: `git repack -adFk`: 67 objects, ",
            " MB become ",
            "\nDecoding: ",
            "\nMeasured: 1 block",
        ],
    );
    let (table, origins) = rows(&["--as-found"]);
    assert_eq!(origins, 1);
    assert_contains(&table, &["; new ones (`--rechosen`): about "]);
    let (_, origins) = rows(&["--time", "1ms"]);
    assert_eq!(origins, 1, "the search takes longer than the time");
}

#[test]
fn floor_has_its_own_row() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let options = words("--blocks 1 --codec lz4 --workload traverse --workload floor:traverse");
    let (table, _) = measured(&scratch, &repo, &options);
    assert!(table.lines().any(|line| line.starts_with("floor:traverse")), "{table}");
    assert_contains(&table, &["Codec's share of traverse, at least: as found "]);
}

#[test]
fn every_variant_does_the_same_server_work() {
    let (repo, scratch) = (Fixture::get("duplicates").repo(), Scratch::new());
    let jobs = ["sizes", "cat-all", "encode", "ingest", "serve:same", "serve:zlib", "serve:push"];
    let floors = ["floor:ingest", "floor:serve:same", "floor:serve:zlib"];
    let mut options = each("--codec", &["zstd:5", "lz4", "zstd:9,dict=4k", "zstd:3,prefix,patch,max-chain=3"]);
    options.extend([&each("--workload", &jobs)[..], &each("--workload", &floors), &["--blocks", "1"]].concat());
    let (table, records) = measured(&scratch, &repo, &options);
    assert_contains(&table, &[&jobs[..], &floors].concat());
    for workload in ["ingest", "serve:same", "serve:zlib"] {
        assert!(table.contains(&format!("Codec's share of {workload}")), "{workload}\n{table}");
    }
    let of = |workload: &str, spec: &str, name: &str| {
        let is_it = |record: &&Value| record["workload"]["name"] == workload && records::spec(record) == spec;
        let record = records.iter().find(is_it).unwrap_or_else(|| panic!("no {workload} under {spec}"));
        number(&record["extra"][name])
    };
    for spec in ["zlib:6", "zstd:5", "zstd:3,prefix,patch,max-chain=3"] {
        let encoded = of("serve:zlib", spec, "entries encoded");
        assert_eq!(of("floor:serve:zlib", spec, "payloads encoded"), encoded, "{spec}");
        assert!(of("floor:serve:zlib", spec, "chunks decoded") >= encoded, "{spec}");
        assert_eq!(of("floor:ingest", spec, "stored bytes"), of("ingest", spec, "stored bytes"), "{spec}");
    }
}
