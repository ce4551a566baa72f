//! `repackbench explain`, `compare` and `schema`: what is made of results.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::support::program::{self, Outcome, command, exit};
use super::support::{Fixture, Scratch};

/// Runs the program with its cache in the scratch folder.
#[track_caller]
fn run(scratch: &Scratch, arguments: &[&str]) -> Outcome {
    let mut program = command();
    program::run(program.env("XDG_CACHE_HOME", scratch.join("cache")).args(arguments))
}

fn path(file: &Path) -> &str {
    file.to_str().expect("a path in UTF-8")
}

/// The lines of a table that begin with a word, in single spaces.
fn rows(text: &str, word: &str) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| line.starts_with(word)).map(words).collect()
}

#[test]
fn explain_leads_from_stock_zlib_to_the_codec() {
    let scratch = Scratch::new();
    for (repo, steps) in [
        (Fixture::get("history").repo(), &["framing", "format", "integrity"][..]),
        // No chunk of a revlog has a checksum of ours.
        (Fixture::hg("branches").repo(), &["framing", "format"]),
    ] {
        let arguments = [
            "explain",
            "--min-run-time",
            "1ms",
            "--quiet",
            "--codec",
            "zstd:5",
            "--workload",
            "traverse",
            "--blocks",
            "2",
            path(&repo),
        ];
        let text = run(&scratch, &arguments).exits(exit::OK).text();
        for step in steps {
            assert_eq!(rows(&text, step).len(), 1, "{step} in\n{text}");
        }
        assert_eq!(rows(&text, "integrity").is_empty(), steps.len() == 2, "{text}");
        let measured = rows(&text, "measured");
        assert!(measured.len() == 1 && measured[0].starts_with("measured zlib:6 zstd:5 "), "{text}");
        // Each step begins where the one before ended.
        let format = &rows(&text, "format")[0];
        assert!(rows(&text, "framing")[0].contains(" deflate:6"), "{text}");
        assert!(format.starts_with("format deflate:6"), "{text}");
    }
}

#[test]
fn explain_refuses_what_it_cannot_split() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    for (options, expected) in [
        (&["--codec", "libdeflate:9"][..], "writes zlib streams"),
        (&["--codec", "zstd:5", "--delta-cache", "0,16M"], "under one --delta-cache"),
        (&["--codec", "zstd:5", "--jobs", "2"], "one at a time"),
        (&["--codec", "zstd:5", "--baseline", "zstd:3"], "expected a level of zlib"),
    ] {
        let mut arguments = vec!["explain", "--min-run-time", "1ms", "--workload", "traverse", "--blocks", "1"];
        arguments.extend(options);
        arguments.push(path(&repo));
        let refused = run(&scratch, &arguments).exits(exit::USAGE);
        assert!(refused.stderr.contains(expected), "{options:?}: {}", refused.stderr);
    }
}

/// The records with made-up times: those that a busy machine measures may tell nothing. Those of store, and its size, are multiplied by
/// `factor`.
fn with_times(records: &str, factor: u64) -> Vec<String> {
    let changed = records.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).expect("a record");
        let is_store = record["variant"]["spec"]["canonical"] == "store";
        let factor = if is_store { factor } else { 1 };
        let block = record["place"]["block"].as_u64().expect("a block");
        record["sample"]["user_ns"] = ((5_000_000 + 1_000 * block) * factor).into();
        record["sample"]["sys_ns"] = 0.into();
        let size = record["size"]["total_bytes"].as_u64().expect("a size") * factor;
        record["size"]["total_bytes"] = size.into();
        record.to_string()
    });
    changed.collect()
}

#[test]
fn compare_gates_on_what_became_worse_or_is_gone() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (old, new) = (scratch.join("old.jsonl"), scratch.join("new.jsonl"));
    let options = [
        "bench",
        "--min-run-time",
        "1ms",
        "--quiet",
        "--codec",
        "store",
        "--workload",
        "traverse",
        "--blocks",
        "6",
        "--json",
    ];
    run(&scratch, &[&options[..], &[path(&old), path(&repo)]].concat()).exits(exit::OK);

    let records = fs::read_to_string(&old).expect("the records");
    let records = with_times(&records, 1);
    fs::write(&old, records.join("\n")).expect("the file");
    let same = run(&scratch, &["compare", path(&old), path(&old), "--gate", "3%"]).exits(exit::OK).text();
    assert!(same.contains("store") && same.contains("1.000"), "{same}");

    fs::write(&new, with_times(&records.join("\n"), 10).join("\n")).expect("the file");
    for options in [&["--gate", "3%"][..], &["--gate", "50%", "--absolute"]] {
        let arguments = [&["compare", path(&old), path(&new)][..], options].concat();
        let worse = run(&scratch, &arguments).exits(exit::REGRESSION).text();
        assert!(rows(&worse, path(&repo))[0].contains(" store ") && worse.contains("slower, larger"), "{worse}");
    }
    run(&scratch, &["compare", path(&new), path(&old), "--gate", "3%"]).exits(exit::OK);
    run(&scratch, &["compare", path(&old), path(&new)]).exits(exit::OK);

    let without: Vec<&str> =
        records.iter().map(String::as_str).filter(|line| !line.contains("\"canonical\":\"store\"")).collect();
    fs::write(&new, without.join("\n")).expect("the file");
    let gone = run(&scratch, &["compare", path(&old), path(&new), "--gate", "3%"]).exits(exit::REGRESSION).text();
    assert!(gone.contains("store: only in the older results"), "{gone}");
}

#[test]
fn the_schema_names_what_records_hold() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let schema: Value = serde_json::from_str(&run(&scratch, &["schema"]).exits(exit::OK).text()).expect("JSON");
    let options = [
        "bench",
        "--min-run-time",
        "1ms",
        "--quiet",
        "--codec",
        "store",
        "--workload",
        "traverse",
        "--blocks",
        "1",
        "--json",
    ];
    run(&scratch, &[&options[..], &[path(&file), path(&repo)]].concat()).exits(exit::OK);
    let records = fs::read_to_string(&file).expect("the records");
    let record: Value = serde_json::from_str(records.lines().next().expect("a record")).expect("JSON");
    for name in record.as_object().expect("an object").keys() {
        assert!(schema["properties"][name].is_object(), "{name} is not in the schema");
    }
    for name in schema["required"].as_array().expect("a list") {
        assert!(!record[name.as_str().expect("a name")].is_null(), "{name} is required and not there");
    }
}
