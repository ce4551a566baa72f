//! `convert --in-place` on Mercurial repositories: afterwards stock hg judges the repository as before, also when the
//! program is killed, and the script in the backup goes back.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::disturbed::{in_place, kill_in_place};
use crate::support::fixture::HG_CONVERTIBLE;
use crate::support::hg::{self, Version};
use crate::support::program::{self, exit};
use crate::support::{Fixture, Scratch, repackbench, snapshot};

/// What hg says of a repository.
fn facts(repo: &Path) -> ((Option<i32>, Vec<String>), String) {
    (hg::verify(Version::V72, repo), hg::changesets(repo))
}

fn backups(repo: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(repo.join(".hg")).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("repackbench-")))
        .collect()
}

/// Fails the test if anything of a run is left but backups.
#[track_caller]
fn assert_tidy(repo: &Path) {
    for folder in [repo.join(".hg"), repo.join(".hg/store")] {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let is_left = name.starts_with(".repackbench") || name.ends_with("lock") || name == "repackbench-new";
            assert!(!is_left, "{} has {name}", folder.display());
        }
    }
}

/// The store without the files that undo the last transaction.
fn stored(repo: &Path) -> std::collections::BTreeMap<PathBuf, snapshot::Entry> {
    let mut files = snapshot::content(&repo.join(".hg/store"));
    files
        .retain(|path, entry| !path.to_string_lossy().starts_with("undo") && !matches!(entry, snapshot::Entry::Folder));
    files
}

#[test]
fn every_fixture_is_converted_and_taken_back() {
    for name in HG_CONVERTIBLE {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let (before, files, requirements) = (facts(&repo), stored(&repo), hg::requirements(&repo));
        let outcome = in_place(&repo, "zlib:9", &[]).exits(exit::OK);
        assert_eq!(outcome.text(), "", "{name}");
        assert_eq!(facts(&repo), before, "{name}");
        assert!(!hg::requirements(&repo).iter().any(|name| name.contains("zstd")), "{name}");
        assert_tidy(&repo);
        let again = in_place(&repo, "zlib:9", &[]).exits(exit::OK);
        assert!(again.stderr.contains("replaced nothing"), "{name}: {}", again.stderr);

        let [backup] = &backups(&repo)[..] else {
            assert!(outcome.stderr.contains("replaced nothing"), "{name}: {}", outcome.stderr);
            continue;
        };
        program::run(Command::new("sh").arg(backup.join("go-back"))).exits(exit::OK);
        assert_eq!(facts(&repo), before, "{name}");
        assert_eq!(hg::requirements(&repo), requirements, "{name}");
        snapshot::assert_same(&files, &stored(&repo));
    }
}

#[test]
fn hg_goes_on_with_the_new_codec() {
    for name in ["default", "no-share-safe"] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        for (spec, requirement) in [("store", "exp-compression-none"), ("zstd:3", "revlog-compression-zstd")] {
            in_place(&repo, spec, &["--quiet", "--no-backup"]).exits(exit::OK);
            assert!(hg::requirements(&repo).iter().any(|found| found == requirement), "{name}");
            fs::write(repo.join(spec), "content").expect("a file");
            hg::hg(Version::V72, &repo, ["commit", "-A", "-m", spec]).exits(exit::OK);
            assert_eq!(hg::verify(Version::V72, &repo).0, Some(exit::OK), "{name}");
        }
        assert_eq!(backups(&repo), [""; 0].map(PathBuf::from), "{name}");
    }
}

#[test]
fn going_back_does_not_lose_changesets() {
    // The amended changelog is as long as before.
    for commit in [&["commit", "-A", "-m", "new"][..], &["commit", "-A", "--amend", "-m", "amended"]] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy("default", &scratch).repo();
        fs::write(repo.join("draft"), "content").expect("a file");
        hg::hg(Version::V72, &repo, ["commit", "-A", "-m", "draft"]).exits(exit::OK);
        in_place(&repo, "zlib:9", &[]).exits(exit::OK);
        fs::write(repo.join("new"), "content").expect("a file");
        hg::hg(Version::V72, &repo, commit).exits(exit::OK);
        let before = facts(&repo);
        let outcome = go_back(&repo).exits(exit::FAILURE);
        assert!(outcome.stderr.contains("changesets"), "{}", outcome.stderr);
        assert_eq!(facts(&repo), before);
    }
}

fn go_back(repo: &Path) -> program::Outcome {
    program::run(Command::new("sh").arg(backups(repo)[0].join("go-back")))
}

#[test]
fn going_back_again_does_nothing() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let (before, files) = (facts(&repo), stored(&repo));
    in_place(&repo, "zlib:9", &[]).exits(exit::OK);
    // As if the script had been killed half-way.
    let (store, converted) = (repo.join(".hg/store"), backups(&repo)[0].join("converted"));
    fs::rename(&store, &converted).expect("the store");
    let first = go_back(&repo).exits(exit::OK).text();
    let again = go_back(&repo).exits(exit::OK).text();
    assert!(first.contains("restored;") && again.contains("restored already;"), "{first}{again}");
    assert_eq!(facts(&repo), before);
    snapshot::assert_same(&files, &stored(&repo));
}

/// hg adds some with the first commit of a large file, for example.
#[test]
fn requirements_that_came_since_stay() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("no-share-safe", &scratch).repo();
    let before = hg::requirements(&repo);
    assert!(before.iter().any(|name| name == "revlog-compression-zstd"), "{before:?}");
    in_place(&repo, "zlib:9", &[]).exits(exit::OK);
    let requires = repo.join(".hg/requires");
    let text = fs::read_to_string(&requires).expect("requirements");
    fs::write(&requires, text + "came-since\n").expect("requirements");
    go_back(&repo).exits(exit::OK);
    let mut expected = before;
    expected.push("came-since".to_owned());
    expected.sort();
    let text = fs::read_to_string(&requires).expect("requirements");
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn only_specs_that_stock_hg_reads_are_accepted() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    let before = snapshot::content(&repo);
    for spec in ["lz4", "zstd:3,dict=8k", "patch,zstd:3"] {
        in_place(&repo, spec, &[]).exits(exit::USAGE);
        snapshot::assert_same(&before, &snapshot::content(&repo));
    }
}

#[test]
fn locks_of_hg_are_obeyed() {
    let scratch = Scratch::new();
    let repo = Fixture::hg_copy("default", &scratch).repo();
    for name in ["wlock", "store/lock"] {
        let lock = repo.join(".hg").join(name);
        symlink("elsewhere:1", &lock).expect("a lock");
        let outcome = in_place(&repo, "zlib:1", &[]).exits(exit::TRY_AGAIN);
        assert!(outcome.stderr.contains(name), "{}", outcome.stderr);
        fs::remove_file(&lock).expect("the lock");
        assert_tidy(&repo);
    }
    fs::write(repo.join(".hg/store/journal"), "").expect("a journal");
    let outcome = in_place(&repo, "zlib:1", &[]).exits(exit::BAD_INPUT);
    assert!(outcome.stderr.contains("hg recover"), "{}", outcome.stderr);
    assert_tidy(&repo);
}

#[test]
fn killed_runs_are_finished_by_another() {
    for name in ["default", "no-share-safe"] {
        let scratch = Scratch::new();
        let repo = Fixture::hg_copy(name, &scratch).repo();
        let variant = scratch.join("variant");
        program::convert(&repo, "lz4", &variant);
        kill_in_place(&repo, ["zlib:1", "zstd:1"], (12, Duration::from_millis(6)), facts, assert_tidy);
        repackbench([Path::new("verify"), &variant, &repo]).exits(exit::OK);
    }
}
