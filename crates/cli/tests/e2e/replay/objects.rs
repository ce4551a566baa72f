//! Workloads that read or write every object: what they see and write agrees with stock git.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::program::{self, Outcome, bench, command, convert, each, exit, text};
use crate::support::{Fixture, Scratch, git, records};

/// Together, these fixtures have several packs, duplicates, loose objects, deltas by id, alternates and hidden objects.
const STORES: &[&str] =
    &["history", "duplicates", "ref-delta", "alternates", "sha256", "replace", "cruft", "partial-clone", "reftable"];

/// Objects by id, with kind and content.
type Objects = BTreeMap<String, (String, Vec<u8>)>;

#[track_caller]
fn replay(repo: &Path, workload: &str) -> Outcome {
    program::replay(repo, workload, &[]).exits(exit::OK)
}

/// Parses the output of `git cat-file --batch`.
#[track_caller]
fn objects(mut output: &[u8]) -> Objects {
    let mut objects = Objects::new();
    while !output.is_empty() {
        let end = output.iter().position(|byte| *byte == b'\n').expect("a header");
        let header = String::from_utf8_lossy(&output[..end]).into_owned();
        let [id, kind, size] = header.split(' ').collect::<Vec<_>>().try_into().expect("id, kind and size");
        let size: usize = size.parse().expect("a size");
        let content = &output[end + 1..end + 1 + size];
        assert_eq!(output[end + 1 + size], b'\n', "{header}");
        assert!(objects.insert(id.to_owned(), (kind.to_owned(), content.to_vec())).is_none(), "{id} twice");
        output = &output[end + 2 + size..];
    }
    objects
}

#[test]
fn sizes_equal_those_of_git() {
    for name in STORES {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let expected = git::objects(&repo);
        assert!(expected.lines().count() > 3, "{name} has objects");
        assert_eq!(String::from_utf8_lossy(&replay(&repo, "sizes").stdout), expected, "{name}");
        for codec in ["lz4", "zstd:9,prefix", "best-size"] {
            let variant = scratch.join(codec);
            convert(&repo, codec, &variant);
            assert_eq!(String::from_utf8_lossy(&replay(&variant, "sizes").stdout), expected, "{name} under {codec}");
        }
    }
}

#[test]
fn cat_all_equals_cat_file_of_git() {
    for name in STORES {
        let (repo, scratch) = (Fixture::get(name).repo(), Scratch::new());
        let arguments = ["--no-replace-objects", "cat-file", "--batch", "--batch-all-objects", "--unordered"];
        let expected = git::git(&repo, arguments).exits(exit::OK).stdout;
        let seen = replay(&repo, "cat-all").stdout;
        assert!(objects(&seen) == objects(&expected), "{name}");
        let variant = scratch.join("variant");
        convert(&repo, "best-size", &variant);
        assert!(replay(&variant, "cat-all").stdout == seen, "{name}: the order does not depend on the codec");
    }
}

#[test]
fn encode_reproduces_the_stored_bytes() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    for codec in ["zstd:5", "lz4", "commit=zstd:19,dict=4k,blob=lz4hc:9"] {
        let (variant, export) = (scratch.join(codec), scratch.join(&format!("payloads-{codec}")));
        convert(&repo, codec, &variant);
        program::run(command().args(["payloads", "-q"]).arg(&variant).arg("--output").arg(&export)).exits(exit::OK);
        let list = fs::read_to_string(export.join("payloads.tsv")).expect("the list of payloads");
        let column = |line: &str, at: usize| line.split('\t').nth(at).expect("a column").to_owned();
        let bytes =
            |at| list.lines().skip(1).map(|line| column(line, at).parse::<u64>().expect("a number")).sum::<u64>();
        let encoded = replay(&variant, "encode");
        assert_eq!(encoded.count("payloads encoded"), list.lines().count() as u64 - 1, "{codec}");
        assert_eq!(encoded.count("payload bytes encoded"), bytes(3), "{codec}");
        assert_eq!(encoded.count("stored bytes"), bytes(4), "{codec}");
    }
    let based = scratch.join("based");
    convert(&repo, "zstd:9,prefix", &based);
    let outcome = program::replay(&based, "encode", &[]);
    assert!(outcome.exits(exit::BAD_INPUT).error_line().contains("compressed with their bases"));
}

#[test]
fn encode_with_bases_reproduces_the_stored_bytes() {
    for (name, repo) in [("history", Fixture::get("history").repo()), ("hg chains", Fixture::hg("chains").repo())] {
        let scratch = Scratch::new();
        let file = scratch.join("records.jsonl");
        let mut bench = bench(&scratch);
        let specs = ["zstd:5", "zstd:5,prefix", "zstd:5,prefix,patch,max-chain=2", "zstd:10,dict=4k,patch"];
        bench.args(["--blocks", "1", "--workload", "encode"]).args(each("--codec", &specs));
        program::run(bench.args(["--force", "--json"]).arg(&file).arg(&repo)).exits(exit::OK);
        let mut sizes = BTreeMap::new();
        for record in records::read(&file) {
            let Some(spec) = record["variant"]["spec"]["typed"].as_str() else { continue };
            let forms = record["size"]["forms"].as_object().expect("forms");
            let stored: u64 = forms.values().map(|form| form["stored_bytes"].as_u64().expect("a number")).sum();
            assert_eq!(record["extra"]["stored bytes"], stored, "{name} under {spec}");
            sizes.insert(spec.to_owned(), stored);
        }
        assert!(sizes["zstd:5,prefix"] < sizes["zstd:5"], "{name}: {sizes:?}");
        assert_eq!(sizes.len(), if name == "history" { 5 } else { 6 }, "{name}: {sizes:?}");
    }
}

#[test]
fn ingest_writes_loose_objects_that_git_reads() {
    let (repo, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let new = scratch.join("new.git");
    git::output(scratch.path(), ["init", "--quiet", "--bare", "new.git"]);
    let objects = new.join("objects");
    fs::remove_dir_all(&objects).expect("a folder");
    let options = ["--commits", "5", "--output", text(&objects)];
    program::replay(&repo, "ingest", &options).exits(exit::OK);

    let commits = git::output(&repo, ["rev-list", "-5", "HEAD"]);
    let parents = git::output(&repo, ["log", "-5", "--format=%P", "HEAD"]);
    let outside =
        parents.split_whitespace().filter(|parent| !commits.contains(parent)).map(|parent| format!("^{parent}"));
    let arguments: Vec<String> = ["rev-list", "--objects"]
        .map(str::to_owned)
        .into_iter()
        .chain(commits.lines().map(str::to_owned))
        .chain(outside)
        .collect();
    let listed = git::output(&repo, &arguments);
    let mut expected: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    expected.sort_unstable();
    assert!(expected.len() > 5);
    let found = git::objects(&new);
    assert_eq!(found.lines().filter_map(|line| line.split(' ').next()).collect::<Vec<_>>(), expected);
    let checked = git::output(&new, ["fsck", "--no-dangling"].map(str::to_owned));
    assert!(!checked.contains("corrupt"), "{checked}");
}
