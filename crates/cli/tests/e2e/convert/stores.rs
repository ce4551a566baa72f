//! `convert --store`: a B-tree, and each object in a file of its own. The objects are the same in every store, and
//! every command reports the same of them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;

use crate::support::program::{self, cached, command, exit};
use crate::support::{Fixture, Scratch, git, records, repackbench, snapshot};

/// Together, these fixtures have several packs, duplicates, loose objects, deltas by id, alternates, two hashes, and
/// hidden or missing objects.
const SOURCES: &[&str] = &[
    "history",
    "work-tree",
    "duplicates",
    "ref-delta",
    "alternates",
    "sha256",
    "replace",
    "cruft",
    "shallow",
    "partial-clone",
    "empty",
];

/// Workloads that `replay` prints the output of.
const REPLAYS: &[&str] = &["traverse", "sizes", "cat-all", "diff:raw", "checkout:sink"];

const BTREE: &str = "objects/repackbench.btree";

#[track_caller]
fn convert(source: &Path, store: &str, codec: &str, out: &Path) {
    let mut command = command();
    command.args(["convert", "--quiet", "--store", store, "--codec", codec]).arg(source).arg("-o").arg(out);
    assert_eq!(program::run(&mut command).exits(exit::OK).stderr, "", "--quiet says nothing when all is well");
}

#[track_caller]
fn replay(repo: &Path, workload: &str) -> (Option<i32>, Vec<u8>) {
    let outcome = program::replay(repo, workload, &[]);
    (outcome.code, outcome.stdout)
}

#[track_caller]
fn sizes(repositories: &[&Path]) -> Vec<Value> {
    let scratch = Scratch::new();
    let file = scratch.join("sizes.jsonl");
    program::run(command().args(["size", "--force", "--json"]).arg(&file).args(repositories)).exits(exit::OK);
    records::read(&file).into_iter().map(|mut record| record["size"].take()).collect()
}

#[test]
fn every_store_holds_the_same_objects() {
    for name in SOURCES {
        let fixture = Fixture::get(name);
        let (source, scratch) = (fixture.repo(), Scratch::new());
        let before = snapshot::state(&fixture.folder);
        let expected: Vec<_> = REPLAYS.iter().map(|workload| replay(&source, workload)).collect();
        for store in ["loose", "btree"] {
            for codec in ["zlib:6", "zstd:5"] {
                let variant = scratch.join(&format!("{store}-{codec}"));
                convert(&source, store, codec, &variant);
                let what = format!("{name}, {store}, {codec}");
                repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
                assert_eq!(fs::read_dir(variant.join("objects/pack")).expect("a folder").count(), 0, "{what}");
                assert_eq!(variant.join(BTREE).is_file(), store == "btree", "{what}");
                for (workload, expected) in REPLAYS.iter().zip(&expected) {
                    let found = replay(&variant, workload);
                    assert_eq!(found.0, expected.0, "{what}, {workload}");
                    assert_eq!(sorted(workload, &found.1), sorted(workload, &expected.1), "{what}, {workload}");
                }
                match (store, codec) {
                    ("loose", "zlib:6") => assert_git_reads(&source, &variant, &what),
                    _ => git::assert_refuses_plainly(&variant),
                }
            }
        }
        assert_eq!(snapshot::state(&fixture.folder), before, "the source was written to");
    }
}

/// The output of a workload, in an order that does not depend on the store.
fn sorted(workload: &str, output: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = output.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if workload == "cat-all" {
        lines.sort();
    }
    lines
}

#[track_caller]
fn assert_git_reads(source: &Path, variant: &Path, what: &str) {
    assert_eq!(git::refs(variant), git::refs(source), "{what}");
    assert_eq!(git::objects(variant), git::objects(source), "{what}");
    let fsck = |repo: &Path| git::git(repo, ["fsck", "--full", "--strict"]).code;
    let rev_list = |repo: &Path| git::git(repo, ["rev-list", "--objects", "--all", "--missing=print"]);
    assert_eq!(rev_list(variant).text(), rev_list(source).text(), "{what}");
    // Only packs are marked as promised, so elsewhere git takes an absent object for missing.
    if !git::pack_files(source, "promisor").is_empty() {
        return;
    }
    assert_eq!(fsck(variant), fsck(source), "{what}");
    // Each object is a file of its own.
    let count = git::output(variant, ["count-objects", "-v"]);
    let objects = git::objects(source).lines().count();
    assert!(count.starts_with(&format!("count: {objects}\n")), "{what}: {count}");
}

#[test]
fn streamed_payloads_go_to_every_store() {
    let (source, scratch) = (Fixture::get("large-blob").repo(), Scratch::new());
    for store in ["loose", "btree"] {
        let variant = scratch.join(store);
        convert(&source, store, "zstd:1", &variant);
        repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
        assert_eq!(replay(&variant, "sizes"), replay(&source, "sizes"), "{store}");
        let [record] = sizes(&[&variant]).try_into().expect("one record");
        assert!(record["total_bytes"].as_u64() > Some(0), "{record}");
        fs::remove_dir_all(&variant).expect("the variant");
    }
}

#[test]
fn output_identical_across_threads() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    for store in ["loose", "btree"] {
        let states: Vec<_> = ["1", "2", "5"]
            .map(|threads| {
                let variant = scratch.join(&format!("{store}-{threads}"));
                let mut command = command();
                command.args(["convert", "--quiet", "--store", store, "--codec", "zstd:3", "--threads", threads]);
                program::run(command.arg(&source).arg("-o").arg(&variant)).exits(exit::OK);
                snapshot::content(&variant)
            })
            .into();
        states.windows(2).for_each(|pair| snapshot::assert_same(&pair[0], &pair[1]));
    }
}

#[test]
fn commands_that_need_packs_or_git_reject_a_btree() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "btree", "zlib:6", &variant);
    let mut convert_again = command();
    convert_again.args(["convert", "--codec", "zstd:3"]).arg(&variant).arg("-o").arg(scratch.join("again"));
    let line = program::run(&mut convert_again).exits(exit::BAD_INPUT).error_line();
    assert!(line.contains("repackbench.btree") && line.contains("B-tree"), "{line}");
    let exec = program::run(command().arg("exec").arg(&variant).args(["--", "git", "log"]));
    assert_ne!(exec.code, Some(exit::OK));
    assert!(exec.error_line().contains("B-tree"), "{}", exec.stderr);
    let chains = program::run(command().arg("chains").arg(&variant));
    assert!(chains.stderr.contains("objects of a B-tree, which are in no chain"), "{}", chains.stderr);
    // An alternate that is a B-tree.
    let borrower = scratch.join("borrower");
    git::output(scratch.path(), ["init", "--quiet", "--bare", "borrower"]);
    let objects = format!("{}\n", variant.join("objects").display());
    fs::write(borrower.join("objects/info/alternates"), objects).expect("alternates");
    let line = repackbench([Path::new("verify"), &borrower, &borrower]).exits(exit::BAD_INPUT).error_line();
    assert!(line.contains("the B-tree of an alternate object directory is not supported"), "{line}");
}

/// Bytes allocated for all files below `folder`.
fn allocated(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries
        .map(|path| if path.is_dir() { allocated(&path) } else { path.metadata().expect("a file").blocks() * 512 })
        .sum()
}

#[test]
fn sizes_add_up_and_include_allocated_blocks() {
    let source = Fixture::get("history").repo();
    // In memory: a disk may report another number of blocks once it has written a file.
    let memory = Scratch::in_memory();
    let [loose, btree] = ["loose", "btree"].map(|name| memory.join(name));
    convert(&source, "loose", "zlib:6", &loose);
    convert(&source, "btree", "zlib:6", &btree);
    let records = sizes(&[&loose, &btree]);
    let [loose_size, btree_size] = records.as_slice() else { panic!("{records:?}") };
    let number = |record: &Value, name: &str| record[name].as_u64().unwrap_or(0);
    assert_eq!(number(loose_size, "allocated_bytes"), allocated(&loose));
    assert_eq!(number(btree_size, "allocated_bytes"), allocated(&btree));
    let file = fs::metadata(btree.join(BTREE)).expect("the B-tree").len();
    let stored: u64 = btree_size["objects"]
        .as_object()
        .expect("kinds")
        .values()
        .map(|kind| number(&kind["whole"], "stored_bytes"))
        .sum();
    let parts = ["btree_bytes", "btree_unused_bytes", "entry_header_bytes"].map(|name| number(btree_size, name));
    assert_eq!(parts.iter().sum::<u64>() + stored, file, "{btree_size}");
    assert!(parts.iter().all(|part| *part > 0), "{btree_size}");
    let text = repackbench([Path::new("size"), &loose, &btree]).exits(exit::OK).text();
    for line in ["B-tree keys and pages", "B-tree, unused", "total in disk blocks"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn btree_is_traced_served_and_exported() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let btree = scratch.join("btree");
    convert(&source, "btree", "zstd:3", &btree);
    let mut trace = cached(&scratch);
    let trace = program::run(trace.args(["trace", "--workload", "cat-all"]).arg(&btree)).exits(exit::OK).text();
    assert!(trace.contains("b-tree"), "{trace}");
    for workload in ["serve:same", "serve:zlib", "encode", "ingest", "floor:cat-all", "floor:traverse"] {
        let (found, expected) = (replay(&btree, workload), replay(&source, workload));
        assert_eq!(found.0, Some(exit::OK), "{workload}");
        assert_eq!(expected.0, Some(exit::OK), "{workload}");
    }
    let folder = scratch.join("payloads");
    program::run(command().args(["payloads", "--quiet", "--output"]).arg(&folder).arg(&btree)).exits(exit::OK);
    let listed = fs::read_to_string(folder.join("payloads.tsv")).expect("a list");
    assert!(listed.lines().count() > git::objects(&source).lines().count(), "{listed}");
}
