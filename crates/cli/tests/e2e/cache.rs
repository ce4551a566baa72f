//! `repackbench cache`, and what makes a variant another variant.

use std::fs;
use std::path::Path;

use crate::support::program::{self, bench, cached, each, exit, words};
use crate::support::{Fixture, Scratch, git, snapshot};

#[track_caller]
fn cache(scratch: &Scratch, options: &str) -> String {
    program::run(cached(scratch).arg("cache").args(words(options))).exits(exit::OK).text()
}

/// Measures a traversal of variants under these codecs.
#[track_caller]
fn measure(scratch: &Scratch, repo: &Path, codecs: &[&str]) {
    let mut bench = bench(scratch);
    bench.args(each("--codec", codecs));
    program::run(bench.args(words("--workload traverse --blocks 1")).arg(repo)).exits(exit::OK);
}

#[test]
fn marks_beside_packs_make_another_variant() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let variants = || {
        measure(&scratch, &repo, &["zlib:6"]);
        cache(&scratch, "list").matches("zlib:6").count()
    };
    assert_eq!([variants(), variants()], [1, 1]);
    let pack = git::pack_files(&repo, "pack").remove(0);
    fs::write(pack.with_extension("keep"), "").expect("a mark");
    assert_eq!(variants(), 2);
    let listed = cache(&scratch, "list");
    assert!(listed.contains("differs from the newest in"), "{listed}");
    assert_eq!(listed.lines().filter(|line| line.ends_with("  state of the source")).count(), 1, "{listed}");
}

#[test]
fn keeps_lists_and_prunes_variants() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let before = snapshot::state(&repo);
    measure(&scratch, &repo, &["zlib:6", "zstd:5"]);
    assert_eq!(snapshot::state(&repo), before, "the source was written to");

    let listed = cache(&scratch, "list");
    assert!(listed.contains("zlib:6") && listed.contains("zstd:5"), "{listed}");

    let json = cache(&scratch, "list --json -");
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["record"] == "cached-variant" && line["bytes"].as_u64() > Some(0)), "{json}");

    let packs = || {
        let mut state = snapshot::state(&scratch.join("cache"));
        state.retain(|path, _| path.extension().is_some_and(|extension| extension == "pack"));
        state
    };
    let kept = packs();
    assert_eq!(kept.len(), 2, "a pack for each variant");
    measure(&scratch, &repo, &["zlib:6", "zstd:5"]);
    assert_eq!(packs(), kept, "the second run makes no variant again");

    cache(&scratch, "prune");
    assert!(packs().is_empty(), "nothing is left after pruning");
    let listed = cache(&scratch, "list");
    assert!(!listed.contains("zstd:5"), "{listed}");
}

/// A process that is killed while it copies or reads leaves such copies.
#[test]
fn lists_and_prunes_copies_left_by_a_killed_run() {
    let scratch = Scratch::new();
    let left = scratch.join("cache").join("repackbench").join("cold-copies-1-2");
    fs::create_dir_all(left.join("0-0")).expect("a folder");
    fs::write(left.join("0-0").join("pack"), [0; 321]).expect("a file");
    let listed = cache(&scratch, "list");
    let line = listed.lines().find(|line| line.contains("copies of a run")).unwrap_or_else(|| panic!("{listed}"));
    assert!(line.contains("321") && line.contains("left by a killed run"), "{listed}");
    let pruned = cache(&scratch, "prune --keep-bytes 1000000");
    assert!(pruned.contains("1 folder of copies left by a killed run removed, 321 bytes freed"), "{pruned}");
    assert!(!left.exists());
}

/// What changes the content of a variant changes its place in the cache.
#[test]
fn a_changed_source_gets_its_own_variants() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let variants = || {
        measure(&scratch, &repo, &["zstd:5"]);
        cache(&scratch, "list").lines().filter(|line| line.contains("zstd:5")).count()
    };
    assert_eq!(variants(), 1);
    git::output(&repo, ["commit", "--quiet", "--allow-empty", "-m", "one more"]);
    assert_eq!(variants(), 2);
}

#[test]
fn names_sources_by_their_absolute_path() {
    let (repo, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let mut bench = bench(&scratch);
    bench.current_dir(&repo).args(words(". --codec store --workload traverse --blocks 1"));
    program::run(&mut bench).exits(exit::OK);
    let listed = cache(&scratch, "list");
    let whole = repo.canonicalize().expect("the repository's path");
    assert!(listed.contains(program::text(&whole)), "{listed}");
}
