//! Gives every target the committed inputs, and checks that the lists of targets agree.

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use repackbench_fuzzing::{TARGETS, Target};

/// What the corpora may take in all, in bytes. They are seeds, and the fuzzer finds the rest again.
const LONGEST_CORPORA: u64 = 300_000;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The paths in `folder`, sorted; none if it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// Gives every target its inputs in `folder`. Returns their number, and names those that fail.
fn replay(folder: &Path) -> (usize, Vec<String>) {
    let inputs = TARGETS
        .iter()
        .flat_map(|target| entries(&folder.join(target.name)).into_iter().map(move |path| (target, path)));
    let (mut count, mut failed) = (0, Vec::new());
    for (Target { name, run }, path) in inputs {
        let input = fs::read(&path).expect("an input");
        count += 1;
        if catch_unwind(|| run(&input)).is_err() {
            failed.push(format!("{name}: {}", path.display()));
        }
    }
    (count, failed)
}

#[test]
fn corpora_pass() {
    let (count, failed) = replay(&fuzz().join("corpus"));
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(count >= TARGETS.len());
}

#[test]
fn mended_crashes_pass() {
    assert_eq!(replay(&fuzz().join("crashes")).1, Vec::<String>::new());
}

#[test]
fn short_inputs_pass() {
    for Target { run, .. } in TARGETS {
        for length in 0..40 {
            for byte in [0, 1, 0x28, 0x78, 0xff] {
                run(&vec![byte; length]);
            }
        }
    }
}

#[test]
fn lists_of_targets_agree() {
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the manifest");
    let bins = manifest.split("[[bin]]").skip(1).map(|bin| bin.split('"').nth(1).expect("a name").to_owned());
    assert_eq!(bins.collect::<BTreeSet<String>>(), targets, "programs in fuzz/Cargo.toml");
    let named = |folder: &str| -> BTreeSet<String> {
        let stem = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
        entries(&fuzz().join(folder)).iter().map(stem).collect()
    };
    assert_eq!(named("fuzz_targets"), targets);
    assert_eq!(named("corpus"), targets);
    assert!(named("crashes").is_subset(&targets));
}

#[test]
fn corpora_are_small() {
    let files = TARGETS.iter().flat_map(|target| entries(&fuzz().join("corpus").join(target.name)));
    let total: u64 = files.map(|path| fs::metadata(path).expect("an input").len()).sum();
    assert!(total <= LONGEST_CORPORA, "{total} bytes");
}
