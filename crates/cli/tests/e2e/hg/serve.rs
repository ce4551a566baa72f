//! `serve` and the workloads `serve:*`: stock hg unbundles what is served.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::hg::{self, Version};
use crate::support::program::{self, bench, cached, convert, exit, text, words};
use crate::support::{Fixture, Scratch};

/// Serves a pull from `repo` into a bundle that hg then unbundles into `client`.
#[track_caller]
fn pull(repo: &Path, options: &[&str], client: &Path, scratch: &Scratch) {
    let bundle = scratch.join("served.hg");
    let _ = fs::remove_file(&bundle);
    program::replay(repo, "serve:zlib", &[options, &["--output", text(&bundle)]].concat()).exits(exit::OK);
    hg::output(client, [Path::new("unbundle"), &bundle]);
}

#[test]
fn hg_unbundles_served_bundles_under_any_codec() {
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
fn pull_of_the_last_changesets_completes_a_client() {
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
fn pull_up_to_a_revision_leaves_out_later_ones() {
    let scratch = Scratch::new();
    let (source, judged) = (Fixture::hg("history").repo(), Fixture::hg_copy("history", &scratch).repo());
    let client = scratch.join("client");
    hg::output(scratch.path(), [Path::new("init"), &client]);
    let all = nodes(&judged);
    let all: Vec<&str> = all.lines().collect();
    let newest = all.len() - 1;
    pull(&source, &["--rev", &(newest - 4).to_string(), "--commits", "1000"], &client, &scratch);
    assert_eq!(nodes(&client).lines().collect::<Vec<_>>(), all[4..], "logs start with the newest");
    pull(&source, &["--rev", &(newest - 1).to_string(), "--commits", "3"], &client, &scratch);
    assert_eq!(nodes(&client).lines().collect::<Vec<_>>(), all[1..]);
    assert_eq!(hg::verify(Version::V72, &client).0, Some(exit::OK));
}

#[test]
fn rollout_turns_stream_clones_into_pulls() {
    let (source, scratch) = (Fixture::hg("history").repo(), Scratch::new());
    let serve = |options: &[&str]| {
        let json = scratch.join("rollout.json");
        let mut serve = cached(&scratch);
        serve.args(words("serve --codec lz4 --rollout --blocks 1 -q"));
        let table = program::run(serve.args(options).args(["--force", "--json"]).arg(&json).arg(&source))
            .exits(exit::OK)
            .text();
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
fn stream_clone_encodes_nothing() {
    let (source, scratch) = (Fixture::hg("history").repo(), Scratch::new());
    let text = program::replay(&source, "serve:same", &[]).exits(exit::OK).text();
    assert!(text.contains("entries encoded: 0\n"), "{text}");
    let outcome = program::replay(&source, "serve:same", &["--commits", "3"]).exits(exit::FAILURE);
    assert!(outcome.error_line().contains("stream clone"));
    let mut bench = bench(&scratch);
    bench.args(words("--details --blocks 1 --codec lz4 --codec zstd:3,prefix,patch,max-chain=3"));
    let workloads = ["sizes", "cat-all", "encode", "ingest", "serve:same", "serve:zlib"];
    for workload in workloads.into_iter().chain(["floor:ingest", "floor:serve:same", "floor:serve:zlib"]) {
        bench.args(["--workload", workload]);
    }
    let table = program::run(bench.arg(&source)).exits(exit::OK).text();
    assert!(table.contains("Codec's share of serve:zlib, at least: as found "), "{table}");
    assert!(table.contains("Codec's share of serve:same, at least: as found 0.0 %"), "{table}");
}
