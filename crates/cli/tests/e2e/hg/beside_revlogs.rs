//! `repackbench verify A B`: what lies beside the revlogs, and what makes no difference.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::support::hg;
use super::super::support::program::{self, Outcome, command, convert, exit};
use super::super::support::{Fixture, Scratch};

fn verify(a: &Path, b: &Path) -> Outcome {
    program::run(command().arg("verify").arg(a).arg(b))
}

/// A fixture and a variant of it whose `.hg` was changed.
#[track_caller]
fn changed(fixture: &str, scratch: &Scratch, change: impl FnOnce(&Path)) -> [PathBuf; 2] {
    let (source, variant) = (Fixture::hg(fixture).repo(), scratch.join("variant"));
    convert(&source, "zlib:9", &variant);
    verify(&source, &variant).exits(exit::OK);
    change(&variant.join(".hg"));
    [source, variant]
}

/// Fails the test unless the change is found, both ways round, and each of `words` said.
#[track_caller]
fn differs(fixture: &str, change: impl FnOnce(&Path), words: &[&str]) {
    let scratch = Scratch::new();
    let [source, variant] = changed(fixture, &scratch, change);
    for (a, b) in [(&source, &variant), (&variant, &source)] {
        let said = verify(a, b).exits(exit::FAILURE).text();
        for word in words {
            assert!(said.contains(word), "{fixture}: {word} is not said:\n{said}");
        }
    }
}

/// The files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn content_stored_elsewhere_is_compared() {
    let remove = |folder: &'static str| move |hg: &Path| fs::remove_dir_all(hg.join(folder)).expect("a folder");
    differs("lfs", remove("store/lfs"), &["only in ", "store/lfs/objects/9d/"]);
    differs("largefiles", remove("largefiles"), &["only in ", "largefiles/22edf016"]);
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
        differs(fixture, damage, &["damaged in ", folder, "expected content that hashes to its name"]);
    }
}

#[test]
fn the_list_of_names_is_compared() {
    let write =
        |file: &'static str, content: &'static str| move |hg: &Path| fs::write(hg.join(file), content).expect("a file");
    differs("default", write("store/fncache", ""), &["different file: store/fncache"]);
    differs("names", write("store/fncache", ""), &["different file: store/fncache"]);
    differs(
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
    differs("fileindex", remove("/fileindex"), &["different file: store/fileindex"]);
    for file in ["/fileindex-list.", "/fileindex-meta.", "/fileindex-tree."] {
        differs("fileindex", remove(file), &["damaged in ", file]);
    }
}

#[test]
fn requirements_are_compared_but_for_the_codec_s() {
    let demand = |hg: &Path| {
        let file = hg.join("store/requires");
        let lines = fs::read_to_string(&file).expect("requirements");
        fs::write(file, lines + "treemanifest\n").expect("requirements");
    };
    differs("default", demand, &["only in ", ": the requirement treemanifest"]);
}

#[test]
fn the_order_of_lines_makes_no_difference() {
    let scratch = Scratch::new();
    let [source, variant] = changed("branches", &scratch, |hg| {
        for file in ["store/phaseroots", "store/fncache"] {
            let content = fs::read_to_string(hg.join(file)).expect("lines");
            let mut lines: Vec<&str> = content.lines().rev().collect();
            lines.sort_by_key(|line| std::cmp::Reverse(*line));
            let reordered = lines.join("\n") + "\n";
            assert!(lines.len() < 2 || reordered != content || lines.is_sorted(), "{file} has another order");
            fs::write(hg.join(file), reordered).expect("lines");
        }
    });
    verify(&source, &variant).exits(exit::OK);
    verify(&variant, &source).exits(exit::OK);
}

/// Stripping leaves the revlogs of files behind that no changeset has any more.
#[test]
fn revlogs_without_a_revision_make_no_difference() {
    let scratch = Scratch::new();
    let (source, other) = (Fixture::hg("default").repo(), Fixture::hg_copy("default", &scratch).repo());
    hg::output(&other, ["update", "--quiet", "tip"]);
    fs::write(other.join("stripped.txt"), "soon gone\n").expect("a file");
    hg::output(&other, ["commit", "--quiet", "--addremove", "--message", "soon gone"]);
    verify(&source, &other).exits(exit::FAILURE);
    hg::output(&other, ["--config", "extensions.strip=", "strip", "--no-backup", "tip"]);
    let left = fs::metadata(other.join(".hg/store/data/stripped.txt.i")).expect("hg leaves it behind");
    assert_eq!(left.len(), 0);
    verify(&source, &other).exits(exit::OK);
    verify(&other, &source).exits(exit::OK);
}
