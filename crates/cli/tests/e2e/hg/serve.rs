//! Bundles that are served, and workloads that look at every revision: stock hg takes the ones and knows the others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
    for name in ["default", "branches", "chains", "history", "names", "zlib"] {
        let scratch = Scratch::new();
        let (source, judged) = (Fixture::hg(name).repo(), Fixture::hg_copy(name, &scratch).repo());
        for codec in ["zlib:6", "lz4", "best-size"] {
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
    bench.env("XDG_CACHE_HOME", scratch.join("cache")).args(["bench", "-q", "--blocks", "1", "--codec", "lz4"]);
    for workload in ["sizes", "cat-all", "encode", "ingest", "serve:same", "serve:zlib"] {
        bench.args(["--workload", workload]);
    }
    program::run(bench.arg(&source)).exits(exit::OK);
}
