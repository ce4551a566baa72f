//! Files of the store other than revlogs, and differences without effect.

use std::fs;
use std::path::{Path, PathBuf};

use super::{differs, verify};
use crate::support::program::{convert, exit};
use crate::support::{Fixture, Scratch, hg, snapshot};

/// Changes the `.hg` of a variant of a fixture.
#[track_caller]
fn differs_after(fixture: &str, change: impl FnOnce(&Path), words: &[&str]) {
    differs(fixture, "zlib:9", |variant| change(&variant.join(".hg")), words);
}

/// The files below `folder`, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = snapshot::content(folder).into_iter();
    let files = entries.filter(|(_, entry)| matches!(entry, snapshot::Entry::File { .. }));
    files.map(|(path, _)| folder.join(path)).collect()
}

#[test]
fn compares_content_stored_elsewhere() {
    let remove = |folder: &'static str| move |hg: &Path| fs::remove_dir_all(hg.join(folder)).expect("a folder");
    differs_after("lfs", remove("store/lfs"), &["only in ", "store/lfs/objects/9d/"]);
    differs_after("largefiles", remove("largefiles"), &["only in ", "largefiles/22edf016"]);
    for (fixture, folder) in [("lfs", "store/lfs/objects"), ("largefiles", "largefiles")] {
        let damage = |hg: &Path| {
            let file =
                files(&hg.join(folder)).into_iter().find(|file| fs::metadata(file).is_ok_and(|it| it.len() > 1000));
            let file = file.expect("a large file");
            let mut content = fs::read(&file).expect("its content");
            content[500] ^= 1;
            fs::remove_file(&file).expect("a file, perhaps read-only");
            fs::write(file, content).expect("its content");
        };
        differs_after(fixture, damage, &["damaged in ", folder, "expected content that hashes to its name"]);
    }
}

#[test]
fn compares_the_list_of_names() {
    let write =
        |file: &'static str, content: &'static str| move |hg: &Path| fs::write(hg.join(file), content).expect("a file");
    differs_after("default", write("store/fncache", ""), &["different file: store/fncache"]);
    differs_after("names", write("store/fncache", ""), &["different file: store/fncache"]);
    differs_after(
        "default",
        |hg| fs::remove_file(hg.join("store/fncache")).expect("a file"),
        &["different file: store/fncache"],
    );
    let remove = |name: &'static str| {
        move |hg: &Path| {
            let found: Vec<_> =
                files(&hg.join("store")).into_iter().filter(|file| file.to_string_lossy().contains(name)).collect();
            assert!(!found.is_empty());
            found.iter().for_each(|file| fs::remove_file(file).expect("a file"));
        }
    };
    differs_after("fileindex", remove("/fileindex"), &["different file: store/fileindex"]);
    for file in ["/fileindex-list.", "/fileindex-meta.", "/fileindex-tree."] {
        differs_after("fileindex", remove(file), &["damaged in ", file]);
    }
}

#[test]
fn compares_requirements_except_those_of_codecs() {
    let demand = |hg: &Path| {
        let file = hg.join("store/requires");
        let lines = fs::read_to_string(&file).expect("requirements");
        fs::write(file, lines + "treemanifest\n").expect("requirements");
    };
    differs_after("default", demand, &["only in ", ": the requirement treemanifest"]);
}

#[test]
fn ignores_the_order_of_lines() {
    let scratch = Scratch::new();
    let (source, variant) = (Fixture::hg("branches").repo(), scratch.join("variant"));
    convert(&source, "zlib:9", &variant);
    for file in ["store/phaseroots", "store/fncache"].map(|file| variant.join(".hg").join(file)) {
        let content = fs::read_to_string(&file).expect("lines");
        let mut lines: Vec<&str> = content.lines().rev().collect();
        lines.sort_by_key(|line| std::cmp::Reverse(*line));
        let reordered = lines.join("\n") + "\n";
        assert!(lines.len() < 2 || reordered != content || lines.is_sorted(), "{} has another order", file.display());
        fs::write(file, reordered).expect("lines");
    }
    verify(&source, &variant).exits(exit::OK);
    verify(&variant, &source).exits(exit::OK);
}

/// `hg strip` leaves empty revlogs of files that no changeset has any more.
#[test]
fn ignores_revlogs_without_revisions() {
    let scratch = Scratch::new();
    let (source, other) = (Fixture::hg("default").repo(), Fixture::hg_copy("default", &scratch).repo());
    hg::output(&other, ["update", "--quiet", "tip"]);
    fs::write(other.join("stripped.txt"), "soon gone\n").expect("a file");
    hg::output(&other, ["commit", "--quiet", "--addremove", "--message", "soon gone"]);
    verify(&source, &other).exits(exit::FAILURE);
    hg::output(&other, ["--config", "extensions.strip=", "strip", "--no-backup", "tip"]);
    let left = fs::metadata(other.join(".hg/store/data/stripped.txt.i")).expect("hg leaves it");
    assert_eq!(left.len(), 0);
    verify(&source, &other).exits(exit::OK);
    verify(&other, &source).exits(exit::OK);
}
