//! Sources with loose objects, in part or without any pack, for every store and order.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::orders::ORDERS;
use crate::support::program::{self, Outcome, command, exit};
use crate::support::{Fixture, Scratch, git, repackbench, snapshot};

/// Workloads that `replay` prints the output of.
const REPLAYS: [&str; 4] = ["traverse", "sizes", "diff:raw", "checkout:sink"];

/// The fixture with all of its packs unpacked by git.
fn unpacked(name: &str, scratch: &Scratch) -> PathBuf {
    let repo = Fixture::copy(name, scratch).repo();
    let packs = git::path(&repo, "objects").join("pack");
    let aside = scratch.join("aside");
    fs::rename(&packs, &aside).expect("packs");
    fs::create_dir(&packs).expect("a folder for packs");
    let entries = fs::read_dir(&aside).expect("packs").map(|entry| entry.expect("an entry").path());
    for pack in entries.filter(|path| path.extension().is_some_and(|extension| extension == "pack")) {
        let pack = File::open(pack).expect("a pack");
        let status = git::command(&repo).args(["unpack-objects", "-q"]).stdin(pack).status().expect("git");
        assert!(status.success(), "{name}: {status}");
    }
    let counts = git::output(&repo, ["count-objects", "-v"]);
    assert!(counts.contains("in-pack: 0\n") && !counts.starts_with("count: 0\n"), "{name}: {counts}");
    repo
}

#[track_caller]
fn convert(source: &Path, options: &[&str], out: &Path) -> Outcome {
    program::run(command().arg("convert").args(options).arg(source).arg("-o").arg(out)).exits(exit::OK)
}

fn replay(repo: &Path, workload: &str) -> (Option<i32>, Vec<u8>) {
    let outcome = program::replay(repo, workload, &[]);
    (outcome.code, outcome.stdout)
}

#[test]
fn loose_objects_convert_to_every_store() {
    for name in ["history", "sha256", "reftable-sha256"] {
        let scratch = Scratch::new();
        let source = unpacked(name, &scratch);
        let before = snapshot::state(&source);
        for workload in REPLAYS {
            let found = replay(&source, workload);
            assert_eq!(found, replay(&Fixture::get(name).repo(), workload), "{name}, {workload}");
            assert_eq!(found.0, Some(exit::OK), "{name}, {workload}");
        }
        for store in ["pack", "loose", "btree"] {
            for codec in ["zlib:6", "zstd:5"] {
                let variant = scratch.join(&format!("{store}-{codec}"));
                convert(&source, &["--quiet", "--store", store, "--codec", codec], &variant);
                repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
                for workload in REPLAYS {
                    let what = format!("{name}, {store}, {codec}, {workload}");
                    assert_eq!(replay(&variant, workload), replay(&source, workload), "{what}");
                }
                if codec == "zlib:6" && store != "btree" {
                    assert_eq!(git::objects(&variant), git::objects(&source), "{name}, {store}");
                    git::output(&variant, ["fsck", "--full", "--strict"]);
                }
            }
        }
        assert_eq!(snapshot::state(&source), before, "the source was written to");
    }
}

#[test]
fn order_without_packs_has_no_effect_and_is_noted() {
    let scratch = Scratch::new();
    let source = unpacked("history", &scratch);
    let plain = scratch.join("plain");
    convert(&source, &["--quiet", "--codec", "zstd:3"], &plain);
    let expected = snapshot::content(&plain);
    for order in ORDERS {
        let (loud, quiet) = (scratch.join(order), scratch.join(&format!("{order}-quiet")));
        let note = convert(&source, &["--codec", "zstd:3", "--order", order], &loud).stderr;
        let message = format!(": --order {order}: no effect, as nothing is packed");
        assert!(note.contains(&message), "{note}");
        snapshot::assert_same(&snapshot::content(&loud), &expected);
        let outcome = convert(&source, &["--quiet", "--codec", "zstd:3", "--order", order], &quiet);
        assert_eq!(outcome.stderr, "", "{order}: --quiet says nothing when all is well");
    }
    let packed = Fixture::get("history").repo();
    let outcome = convert(&packed, &["--codec", "zstd:3", "--order", "kind"], &scratch.join("packed"));
    assert!(!outcome.stderr.contains("note: "), "packed objects have an order: {}", outcome.stderr);
}

#[test]
fn numbers_without_packs_have_no_effect_and_are_noted() {
    let scratch = Scratch::new();
    let source = unpacked("history", &scratch);
    let [plain, loud, quiet] = ["plain", "loud", "quiet"].map(|name| scratch.join(name));
    convert(&source, &["--quiet", "--codec", "zstd:3"], &plain);
    let note = convert(&source, &["--codec", "zstd:3,ids=number"], &loud).stderr;
    assert!(note.contains(": ids=number: no effect, as nothing is packed"), "{note}");
    let objects = |variant: &Path| snapshot::content(&variant.join("objects"));
    snapshot::assert_same(&objects(&loud), &objects(&plain));
    assert_eq!(convert(&source, &["--quiet", "--codec", "zstd:3,ids=number"], &quiet).stderr, "");
    let packed = Fixture::get("history").repo();
    let outcome = convert(&packed, &["--codec", "zstd:3,ids=number"], &scratch.join("packed"));
    assert!(!outcome.stderr.contains("note: "), "packs have numbers: {}", outcome.stderr);
}

#[test]
fn loose_objects_beside_packs_convert_to_every_layout() {
    let (source, scratch) = (Fixture::get("work-tree").repo(), Scratch::new());
    let counts = git::output(&source, ["count-objects", "-v"]);
    assert!(!counts.starts_with("count: 0\n") && !counts.contains("in-pack: 0\n"), "{counts}");
    let layouts = ["loose", "btree"].map(|store| ["--store", store]);
    for layout in layouts.into_iter().chain(ORDERS.map(|order| ["--order", order])) {
        let variant = scratch.join(layout[1]);
        let outcome = convert(&source, &[&["--codec", "zlib:9"][..], &layout].concat(), &variant);
        assert!(!outcome.stderr.contains("note: "), "{layout:?}: {}", outcome.stderr);
        repackbench([Path::new("verify"), &source, &variant]).exits(exit::OK);
        for workload in REPLAYS {
            assert_eq!(replay(&variant, workload), replay(&source, workload), "{layout:?}, {workload}");
        }
        if layout[1] != "btree" {
            assert_eq!(git::objects(&variant), git::objects(&source), "{layout:?}");
        }
    }
}

#[test]
fn loose_objects_convert_to_a_tree_of_files() {
    let scratch = Scratch::new();
    let sources = [unpacked("history", &scratch), Fixture::get("work-tree").repo()];
    for (number, source) in sources.iter().enumerate() {
        let tree = scratch.join(&format!("tree-{number}"));
        let outcome = convert(source, &["--store", "files", "--codec", "store"], &tree);
        let listed = git::output(source, ["ls-tree", "-r", "-z", "HEAD"]);
        let mut files = 0;
        for line in listed.split_terminator('\0').filter(|line| line.starts_with("100")) {
            let (attributes, path) = line.split_once('\t').expect("a path");
            let id = attributes.rsplit(' ').next().expect("an id");
            let expected = git::git(source, ["cat-file", "blob", id]).exits(exit::OK).stdout;
            assert!(fs::read(tree.join("files").join(path)).expect("a file") == expected, "{path}");
            files += 1;
        }
        assert!(files > 0 && outcome.text().starts_with(&format!("{files} files of revision ")), "{}", outcome.text());
    }
}
