//! Packs that are served: stock git takes them, with the objects that it would have sent itself.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::support::program::{self, command, convert, exit};
use super::support::{Fixture, Scratch, git};

/// Serves and gives back the pack and what was printed.
#[track_caller]
fn serve(repo: &Path, exchange: &str, options: &[&str], scratch: &Scratch) -> (PathBuf, String) {
    let pack = scratch.join("served.pack");
    let _ = fs::remove_file(&pack);
    let replay = ["replay", "--workload", exchange];
    let outcome = program::run(command().args(replay).args(options).arg("--into").arg(&pack).arg(repo)).exits(exit::OK);
    (pack, outcome.text())
}

/// Lets stock git index `pack` into `repo`.
#[track_caller]
fn index(repo: &Path, pack: &Path, options: &[&str]) {
    let mut index = git::command(repo);
    index.args(["index-pack", "--stdin", "--strict"]).args(options);
    let output = index.stdin(Stdio::from(File::open(pack).expect("the pack"))).output().expect("git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn count(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().expect("a number")
}

/// An empty repository for objects of the same hash.
#[track_caller]
fn empty(scratch: &Scratch, name: &str, like: &Path) -> PathBuf {
    let format = git::output(like, ["rev-parse", "--show-object-format"]);
    git::output(scratch.path(), ["init", "--quiet", "--bare", &format!("--object-format={}", format.trim()), name]);
    scratch.join(name)
}

#[test]
fn clones_hold_everything_reachable_whatever_the_codec() {
    for name in ["history", "refs", "duplicates", "ref-delta", "sha256", "alternates", "work-tree"] {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let listed = git::output(&repo, ["rev-list", "--objects", "--all", "HEAD"]);
        let mut expected: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        expected.sort_unstable();
        for codec in ["zlib:6", "zstd:5", "zlib:9", "zstd:9,dict=4k", "zstd:9,prefix", "best-size"] {
            let variant = scratch.join(codec);
            convert(&repo, codec, &variant);
            let (pack, text) = serve(&variant, "serve:zlib", &[], &scratch);
            assert_eq!(count(&text, "wire bytes"), fs::metadata(&pack).expect("the pack").len());
            assert_eq!(count(&text, "entries"), expected.len() as u64, "{name} under {codec}");
            let clone = empty(&scratch, &format!("{codec}.git"), &repo);
            index(&clone, &pack, &[]);
            let found = git::objects(&clone);
            let found: Vec<&str> = found.lines().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(found, expected, "{name} under {codec}");
        }
    }
}

#[test]
fn zlib_clients_get_the_same_pack_from_zlib_and_from_another_codec() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let served = ["zlib:6", "zstd:5", "lz4"].map(|codec| {
        let variant = scratch.join(codec);
        convert(&repo, codec, &variant);
        let (pack, text) = serve(&variant, "serve:zlib", &[], &scratch);
        let packed = git::git(&repo, ["count-objects", "-v"]).text().contains("count: 0\n");
        if codec == "zlib:6" && packed {
            assert_eq!(count(&text, "entries encoded"), 0, "its bytes are sent as they are");
        } else if packed {
            assert_eq!(count(&text, "entries reused"), 0);
        }
        fs::read(pack).expect("the pack")
    });
    assert!(served[0] == served[1] && served[1] == served[2], "entry by entry, under the same zlib:6");
}

#[test]
fn fetches_lean_on_what_the_client_has() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let commits = git::output(&repo, ["rev-list", "-3", "HEAD"]);
    let parents = git::output(&repo, ["log", "-3", "--format=%P", "HEAD"]);
    let outside: Vec<&str> = parents.split_whitespace().filter(|parent| !commits.contains(parent)).collect();
    assert!(!outside.is_empty());
    for (codec, exchange) in [
        ("zlib:6", "serve:same"),
        ("zstd:5", "serve:zlib"),
        ("best-size", "serve:zlib"),
        ("zstd:9,prefix", "serve:push"),
    ] {
        let variant = scratch.join(codec);
        convert(&repo, codec, &variant);
        let (pack, text) = serve(&variant, exchange, &["--commits", "3"], &scratch);
        let client = empty(&scratch, &format!("{codec}.git"), &repo);
        for commit in &outside {
            let fetch = ["fetch", "--quiet", &repo.to_string_lossy(), commit].map(str::to_owned);
            git::output(&client, fetch);
        }
        index(&client, &pack, &["--fix-thin"]);
        let tip = git::output(&repo, ["rev-parse", "HEAD"]);
        let all = |repo: &Path| git::output(repo, ["rev-list", "--objects", "--no-object-names", tip.trim()]);
        assert_eq!(all(&client), all(&repo), "{codec}");
        assert_eq!(count(&text, "entries reused") + count(&text, "entries encoded"), count(&text, "entries"));
    }
}

#[test]
fn a_roll_out_is_shown_in_steps_and_kept_as_json() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let json = scratch.join("rollout.json");
    let mut serve = command();
    serve.env("XDG_CACHE_HOME", scratch.join("cache"));
    serve.args(["serve", "--codec", "zstd:5", "--rollout", "--runs", "2", "-q", "--json"]).arg(&json).arg(&repo);
    let table = program::run(&mut serve).exits(exit::OK).text();
    assert_eq!(table.matches(" % ").count(), 22, "{table}");
    let rollout: Value = serde_json::from_slice(&fs::read(&json).expect("the figures")).expect("JSON");
    let exchanges = rollout["exchanges"].as_array().expect("exchanges");
    assert_eq!(exchanges.len(), 5);
    let number = |exchange: &Value, name: &str| exchange[name].as_u64().expect("a number");
    for exchange in exchanges {
        assert_eq!(number(exchange, "reused") + number(exchange, "encoded"), number(exchange, "entries"));
        assert_eq!(exchange["cpu_ns"].as_array().map(Vec::len), Some(2));
    }
    let wire = |store: &str, client: &str| {
        let found = exchanges.iter().find(|exchange| exchange["store"] == store && exchange["client"] == client);
        number(found.unwrap_or_else(|| panic!("no {store} {client}")), "wire_bytes")
    };
    assert_eq!(wire("zlib", "old"), wire("converted", "old"));
    assert_eq!(wire("zlib", "old"), wire("mixed", "old"));
    let steps = rollout["steps"].as_array().expect("steps");
    assert_eq!(number(&steps[10], "upgraded_percent"), 100);
    assert_eq!(number(&steps[10], "wire_bytes"), wire("converted", "upgraded"));
}

#[test]
fn every_variant_does_the_same_work() {
    let (repo, scratch) = (Fixture::get("duplicates").repo(), Scratch::new());
    let file = scratch.join("records.jsonl");
    let mut bench = command();
    bench
        .env("XDG_CACHE_HOME", scratch.join("cache"))
        .args(["bench", "--min-run-time", "1ms", "-q", "--blocks", "1", "--json"])
        .arg(&file);
    for codec in ["zstd:5", "lz4", "zstd:9,dict=4k", "zstd:3,prefix,patch,max-chain=3"] {
        bench.args(["--codec", codec]);
    }
    let workloads = [
        "sizes",
        "cat-all",
        "encode",
        "ingest",
        "serve:same",
        "serve:zlib",
        "serve:push",
        "floor:ingest",
        "floor:serve:same",
        "floor:serve:zlib",
    ];
    for workload in workloads {
        bench.args(["--workload", workload]);
    }
    let table = program::run(bench.arg(&repo)).exits(exit::OK).text();
    for workload in workloads {
        assert!(table.contains(workload), "{workload} is not in\n{table}");
    }
    for workload in ["ingest", "serve:same", "serve:zlib"] {
        assert!(table.contains(&format!("Codec's share of {workload}")), "{workload}\n{table}");
    }
    let records = fs::read_to_string(&file).expect("records");
    let records: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    let of = |workload: &str, spec: &str, name: &str| {
        let is_it =
            |record: &&Value| record["workload"]["name"] == workload && record["variant"]["spec"]["typed"] == spec;
        let record = records.iter().find(is_it).unwrap_or_else(|| panic!("no {workload} under {spec}"));
        record["extra"][name].as_u64().expect("a number")
    };
    for spec in ["zlib:6", "zstd:5", "zstd:3,prefix,patch,max-chain=3"] {
        let encoded = of("serve:zlib", spec, "entries encoded");
        assert_eq!(of("floor:serve:zlib", spec, "payloads encoded"), encoded, "{spec}");
        assert!(of("floor:serve:zlib", spec, "chunks decoded") >= encoded, "{spec}");
        assert_eq!(of("floor:ingest", spec, "stored bytes"), of("ingest", spec, "stored bytes"), "{spec}");
    }
}
