//! Bundles that are served, and workloads that look at every revision: stock hg takes the ones and knows the others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::support::hg::{self, Version};
use super::super::support::program::{self, command, convert, exit};
use super::super::support::{Fixture, Scratch};

#[track_caller]
fn replay(repo: &Path, workload: &str) -> Vec<u8> {
    program::run(command().args(["replay", "--workload", workload]).arg(repo)).exits(exit::OK).stdout
}

/// Serves a pull from `repo` into a bundle that hg then unbundles into `client`.
#[track_caller]
fn pull(repo: &Path, options: &[&str], client: &Path, scratch: &Scratch) {
    let bundle = scratch.join("served.hg");
    let _ = fs::remove_file(&bundle);
    let replay = ["replay", "--workload", "serve:zlib"];
    program::run(command().args(replay).args(options).arg("--into").arg(&bundle).arg(repo)).exits(exit::OK);
    hg::output(client, [Path::new("unbundle"), &bundle]);
}

#[test]
fn hg_unbundles_what_is_served_whatever_the_codec() {
    let (every, one) = (&["zlib:6", "lz4", "best-size"][..], &["lz4"][..]);
    for (name, codecs) in
        [("default", every), ("branches", every), ("chains", every), ("history", one), ("names", one), ("zlib", one)]
    {
        let scratch = Scratch::new();
        let (source, judged) = (Fixture::hg(name).repo(), Fixture::hg_copy(name, &scratch).repo());
        for &codec in codecs {
            let (variant, client) = (scratch.join(codec), scratch.join(&format!("client-{codec}")));
            convert(&source, codec, &variant);
            hg::output(scratch.path(), [Path::new("init"), &client]);
            pull(&variant, &[], &client, &scratch);
            assert_eq!(nodes(&client), nodes(&judged), "{name} under {codec}");
            assert_eq!(hg::verify(Version::V72, &client).0, Some(exit::OK), "{name} under {codec}");
        }
    }
}

/// The nodes of all changesets, in their order.
#[track_caller]
fn nodes(repo: &Path) -> String {
    String::from_utf8(hg::output(repo, ["log", "--hidden", "-T", "{node}\n"])).expect("nodes")
}

#[test]
fn a_pull_of_the_last_changesets_completes_what_is_there() {
    let scratch = Scratch::new();
    let (source, judged) = (Fixture::hg("history").repo(), Fixture::hg_copy("history", &scratch).repo());
    let (variant, client) = (scratch.join("variant"), scratch.join("client"));
    convert(&source, "zstd:19", &variant);
    hg::output(scratch.path(), [Path::new("init"), &client]);
    pull(&variant, &[], &client, &scratch);
    hg::output(&client, ["--config", "extensions.strip=", "strip", "--no-backup", "-r", "last(all(), 3)"]);
    let left = nodes(&client).lines().count();
    assert_eq!(left + 3, nodes(&judged).lines().count());
    pull(&variant, &["--commits", "3"], &client, &scratch);
    assert_eq!(nodes(&client), nodes(&judged));
    assert_eq!(hg::verify(Version::V72, &client).0, Some(exit::OK));
}

#[test]
fn a_pull_up_to_a_revision_leaves_out_what_came_later() {
    let scratch = Scratch::new();
    let (source, judged) = (Fixture::hg("history").repo(), Fixture::hg_copy("history", &scratch).repo());
    let client = scratch.join("client");
    hg::output(scratch.path(), [Path::new("init"), &client]);
    let all = nodes(&judged);
    let all: Vec<&str> = all.lines().collect();
    let newest = all.len() - 1;
    pull(&source, &["--rev", &(newest - 4).to_string(), "--commits", "1000"], &client, &scratch);
    assert_eq!(nodes(&client).lines().collect::<Vec<_>>(), all[4..], "logs begin with the newest");
    pull(&source, &["--rev", &(newest - 1).to_string(), "--commits", "3"], &client, &scratch);
    assert_eq!(nodes(&client).lines().collect::<Vec<_>>(), all[1..]);
    assert_eq!(hg::verify(Version::V72, &client).0, Some(exit::OK));
}

#[test]
fn a_roll_out_turns_stream_clones_into_pulls() {
    let (source, scratch) = (Fixture::hg("history").repo(), Scratch::new());
    let serve = |options: &[&str]| {
        let json = scratch.join("rollout.json");
        let mut serve = command();
        serve.env("XDG_CACHE_HOME", scratch.join("cache")).args([
            "serve",
            "--codec",
            "lz4",
            "--rollout",
            "--runs",
            "1",
            "-q",
        ]);
        let table = program::run(serve.args(options).arg("--json").arg(&json).arg(&source)).exits(exit::OK).text();
        assert_eq!(table.matches(" % ").count(), 22, "{table}");
        let rollout: Value = serde_json::from_slice(&fs::read(&json).expect("the figures")).expect("JSON");
        let exchanges = rollout["exchanges"].as_array().expect("exchanges").clone();
        move |store: &str, client: &str, name: &str| {
            let found = exchanges.iter().find(|exchange| exchange["store"] == store && exchange["client"] == client);
            found.unwrap_or_else(|| panic!("no {store} {client}"))[name].as_u64().expect("a number")
        }
    };
    let clone = serve(&[]);
    assert_eq!(clone("zlib", "old", "encoded"), 0, "a stream clone");
    assert_eq!(clone("converted", "upgraded", "encoded"), 0, "a stream clone");
    assert_eq!(clone("converted", "old", "reused"), 0, "a pull");
    assert_eq!(clone("converted", "old", "wire_bytes"), clone("mixed", "old", "wire_bytes"), "the same bundle");
    let (zlib, lz4) = (clone("zlib", "old", "wire_bytes"), clone("converted", "upgraded", "wire_bytes"));
    let mixed = clone("mixed", "upgraded", "wire_bytes");
    assert!(zlib < mixed && mixed < lz4, "{zlib} {mixed} {lz4}");
    let fetch = serve(&["--commits", "3"]);
    for (store, client) in [("converted", "old"), ("converted", "upgraded"), ("mixed", "old"), ("mixed", "upgraded")] {
        assert_eq!(fetch(store, client, "wire_bytes"), fetch("zlib", "old", "wire_bytes"), "{store} {client}");
    }
}

#[test]
fn sizes_are_those_of_the_texts() {
    for name in ["history", "chains", "censored"] {
        let (source, scratch) = (Fixture::hg(name).repo(), Scratch::new());
        let variant = scratch.join("variant");
        convert(&source, "lz4", &variant);
        let sizes = String::from_utf8(replay(&variant, "sizes")).expect("text");
        let texts = replay(&variant, "cat-all");
        assert!(texts == replay(&source, "cat-all"), "{name}");
        let mut rest = texts.as_slice();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for line in sizes.lines() {
            let header = rest.get(..line.len()).expect("a header");
            assert_eq!(String::from_utf8_lossy(header), line, "{name}");
            let size: usize = line.rsplit(' ').next().expect("a size").parse().expect("a size");
            rest = &rest[line.len() + size + 2..];
            *seen.entry(line.split(' ').nth(1).expect("a kind")).or_default() += 1;
        }
        assert!(rest.is_empty());
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), ["changelog", "filelog", "manifest"]);
        assert_eq!(seen["changelog"], nodes(&Fixture::hg_copy(name, &scratch).repo()).lines().count());
    }
}

#[test]
fn a_stream_clone_is_all_files_and_nothing_else() {
    let (source, scratch) = (Fixture::hg("history").repo(), Scratch::new());
    let text = String::from_utf8(replay(&source, "serve:same")).expect("text");
    assert!(text.contains("entries encoded: 0\n"), "{text}");
    let refused = ["replay", "--workload", "serve:same", "--commits", "3"];
    let outcome = program::run(command().args(refused).arg(&source)).exits(exit::FAILURE);
    assert!(outcome.error_line().contains("stream clone"));
    let mut bench = command();
    bench.env("XDG_CACHE_HOME", scratch.join("cache")).args([
        "bench",
        "--min-run-time",
        "1ms",
        "-q",
        "--blocks",
        "1",
        "--codec",
        "lz4",
    ]);
    bench.args(["--codec", "zstd:3,prefix,patch,max-chain=3"]);
    let workloads = ["sizes", "cat-all", "encode", "ingest", "serve:same", "serve:zlib"];
    for workload in workloads.into_iter().chain(["floor:ingest", "floor:serve:same", "floor:serve:zlib"]) {
        bench.args(["--workload", workload]);
    }
    let table = program::run(bench.arg(&source)).exits(exit::OK).text();
    assert!(table.contains("Codec's share of serve:zlib (rev=tip), at least: as found "), "{table}");
    assert!(table.contains("Codec's share of serve:same (rev=tip), at least: as found 0.0 %"), "{table}");
}
