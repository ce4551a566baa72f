//! `convert --in-place` on Git repositories: afterwards stock git finds the same objects and refs, also when others read
//! and write meanwhile or the program is killed, and the script in the backup goes back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::disturbed::{in_place, kill_in_place, while_disturbed};
use crate::support::program::{self, Outcome, exit};
use crate::support::{CONVERTIBLE, Fixture, Scratch, git, repackbench, snapshot};

/// What git says of a repository.
fn facts(repo: &Path) -> (String, String, Outcome) {
    (git::objects(repo), git::refs(repo), git::git(repo, ["fsck", "--full", "--strict"]))
}

/// The backup folders of a repository.
fn backups(repo: &Path) -> Vec<PathBuf> {
    let folder = git::path(repo, ".");
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the git directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("repackbench-backup-")))
        .collect();
    found.sort();
    found
}

/// Fails the test if anything of a run is left but backups.
#[track_caller]
fn assert_tidy(repo: &Path) {
    for folder in [git::path(repo, "."), git::path(repo, "objects"), git::path(repo, "objects/pack")] {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let is_left = name.starts_with(".repackbench") || name.starts_with("gc.pid") || name.ends_with(".lock");
            assert!(!is_left && !name.starts_with("tmp_"), "{} has {name}", folder.display());
        }
    }
}

/// Fixtures that name their own absolute path, so that a copy would name the fixture. Alternates have a test of their own.
const NAMES_ITSELF: [&str; 5] =
    ["alternates", "linked-work-tree", "partial-clone", "reftable-linked-work-tree", "submodule"];

#[test]
fn every_fixture_is_converted_and_taken_back() {
    for name in CONVERTIBLE.iter().filter(|name| !NAMES_ITSELF.contains(name)) {
        let scratch = Scratch::new();
        let repo = Fixture::copy(name, &scratch).repo();
        let (before, objects) = (facts(&repo), git::path(&repo, "objects"));
        let stored = snapshot::content(&objects);
        if *name == "worktree-config" {
            let outcome = in_place(&repo, "libdeflate:9", &[]).exits(exit::BAD_INPUT);
            assert!(outcome.stderr.contains("preciousObjects"), "{}", outcome.stderr);
            snapshot::assert_same(&stored, &snapshot::content(&objects));
            continue;
        }
        let outcome = in_place(&repo, "libdeflate:9", &[]).exits(exit::OK);
        assert_eq!(outcome.text(), "", "{name}");
        assert_eq!(facts(&repo), before, "{name}");
        assert_tidy(&repo);
        let again = in_place(&repo, "libdeflate:9", &[]).exits(exit::OK);
        assert!(again.stderr.contains("replaced nothing"), "{name}: {}", again.stderr);

        let [backup] = &backups(&repo)[..] else {
            assert!(outcome.stderr.contains("replaced nothing"), "{name}: {}", outcome.stderr);
            continue;
        };
        assert!(outcome.stderr.contains(&backup.display().to_string()), "{name}: {}", outcome.stderr);
        program::run(Command::new("sh").arg(backup.join("go-back"))).exits(exit::OK);
        assert_eq!(facts(&repo), before, "{name}");
        snapshot::assert_same(&stored, &snapshot::content(&objects));
    }
}

/// It ends like a conversion into a new folder.
#[test]
fn last_words_name_readers_the_way_back_and_the_next_step() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let last_words = |spec: &str| {
        let said = in_place(&repo, spec, &[]).exits(exit::OK).stderr;
        said.lines().filter(|line| !line.starts_with("note ")).map(str::to_owned).collect::<Vec<String>>()
    };
    let path = repo.display();
    let backup = git::path(&repo, "repackbench-backup-1");
    let said = last_words("libdeflate:9");
    let [replaced, readers, kept, back, next] = &said[..] else { panic!("{said:?}") };
    assert!(replaced.starts_with(&format!("replaced {path}: 1 pack and 3 loose objects; 0.0")), "{replaced}");
    assert!(replaced.contains(" MB before, ") && replaced.contains(" MB after (0.9"), "{replaced}");
    assert_eq!(readers, "read by  git, as it is");
    assert_eq!(*kept, format!("backup   {}", backup.display()));
    assert_eq!(*back, format!("back     sh {}", backup.join("go-back").display()));
    assert_eq!(*next, format!("next     repackbench bench {path} --codec libdeflate:9"));
    assert_eq!(last_words("zlib:6").last(), Some(&format!("next     repackbench estimate {path}")));
}

/// A conversion makes packs of the same names each time, and an old script must not take them for its own.
#[test]
fn going_back_again_removes_nothing() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let before = facts(&repo);
    in_place(&repo, "zlib:9", &[]).exits(exit::OK);
    let backup = backups(&repo).swap_remove(0);
    let go_back = || program::run(Command::new("sh").arg(backup.join("go-back")));
    assert!(go_back().exits(exit::OK).text().contains("restored;"));
    in_place(&repo, "zlib:9", &["--no-backup"]).exits(exit::OK);
    assert!(go_back().exits(exit::OK).text().contains("restored already;"));
    assert_eq!(facts(&repo), before);
    // As if the first run of the script had been killed before its end.
    fs::remove_file(backup.join("done")).expect("the mark");
    let outcome = go_back().exits(exit::FAILURE);
    assert!(outcome.stderr.contains("nothing is removed"), "{}", outcome.stderr);
    assert_eq!(facts(&repo), before);
}

#[test]
fn going_back_obeys_locks_of_git() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    in_place(&repo, "zlib:9", &[]).exits(exit::OK);
    let (backup, lock) = (backups(&repo).swap_remove(0), git::path(&repo, "gc.pid"));
    fs::write(&lock, "1 here\n").expect("a lock");
    let outcome = program::run(Command::new("sh").arg(backup.join("go-back"))).exits(exit::FAILURE);
    assert!(outcome.stderr.contains("gc.pid"), "{}", outcome.stderr);
}

/// A stranger's repository may look as if a run had been killed in it.
#[test]
fn forged_backups_lead_nowhere_else() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let before = facts(&repo);
    let backup = git::path(&repo, "repackbench-backup-1");
    fs::create_dir(&backup).expect("a folder");
    let precious = scratch.join("precious.pack");
    fs::write(&precious, "precious").expect("a file");
    let stem = precious.with_extension("");
    fs::write(backup.join("new-packs"), format!("{}\n../../../precious\n", stem.display())).expect("a file");
    fs::write(backup.join("incomplete"), "").expect("a file");
    in_place(&repo, "zlib:9", &["--quiet"]).exits(exit::OK);
    assert!(precious.exists());
    assert_eq!(facts(&repo), before);
}

#[test]
fn gc_that_has_ended_does_not_hinder_going_back() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("history", &scratch).repo();
    let before = facts(&repo);
    in_place(&repo, "zlib:9", &[]).exits(exit::OK);
    let host = program::run(Command::new("uname").arg("-n")).exits(exit::OK).text();
    let mut ended = Command::new("true").spawn().expect("a program");
    let dead = format!("{} {}", ended.id(), host.trim_end());
    ended.wait().expect("its end");
    fs::write(git::path(&repo, "gc.pid"), dead).expect("a lock");
    // As of an incremental index that was written since.
    let layers = git::path(&repo, "objects/pack/multi-pack-index.d");
    fs::create_dir(&layers).expect("a folder");
    fs::write(layers.join("multi-pack-index-chain"), "").expect("a file");
    let backup = backups(&repo).swap_remove(0);
    program::run(Command::new("sh").arg(backup.join("go-back"))).exits(exit::OK);
    assert_eq!(facts(&repo), before);
}

/// A repository with two packs, loose objects, bitmaps and a multi-pack-index.
fn indexed(scratch: &Scratch) -> PathBuf {
    let repo = Fixture::copy("history", scratch).repo();
    git::output(&repo, ["repack", "-a", "-d", "-q", "-b"]);
    for number in 0..2 {
        git::output(&repo, ["commit", "--quiet", "--allow-empty", "-m", &format!("commit {number}")]);
        if number == 0 {
            git::output(&repo, ["repack", "-d", "-q"]);
        }
    }
    git::output(&repo, ["multi-pack-index", "write"]);
    git::output(&repo, ["update-server-info"]);
    repo
}

#[test]
fn bitmaps_stay_valid_and_indexes_of_old_packs_go() {
    let scratch = Scratch::new();
    let repo = indexed(&scratch);
    let before = facts(&repo);
    in_place(&repo, "zlib:1", &["--no-backup"]).exits(exit::OK);
    assert_eq!(facts(&repo), before);
    assert_eq!(backups(&repo), [""; 0].map(PathBuf::from));
    assert_eq!(git::pack_files(&repo, "bitmap").len(), 1);
    git::output(&repo, ["rev-list", "--test-bitmap", "HEAD~2"]);
    let packs = git::path(&repo, "objects/pack");
    assert!(!packs.join("multi-pack-index").exists());
    let served = fs::read_to_string(git::path(&repo, "objects/info/packs")).expect("the list of packs");
    let names: Vec<&str> = served.lines().filter_map(|line| line.strip_prefix("P ")).collect();
    assert!(names.len() == 2 && names.iter().all(|name| packs.join(name).exists()), "{served}");
}

/// A repository with a pack of its own that borrows all other objects.
fn borrowing(scratch: &Scratch) -> PathBuf {
    let (lender, repo) = (Fixture::copy("history", scratch).repo(), scratch.join("borrower"));
    git::output(&lender, ["clone", "--quiet", "--shared", ".", &repo.display().to_string()]);
    git::output(&repo, ["commit", "--quiet", "--allow-empty", "-m", "own"]);
    git::output(&repo, ["repack", "-a", "-d", "-l", "-q"]);
    repo
}

#[test]
fn kept_packs_and_alternates_stay_as_they_are() {
    let scratches = [Scratch::new(), Scratch::new()];
    for repo in [Fixture::copy("keep", &scratches[0]).repo(), borrowing(&scratches[1])] {
        let kept: Vec<PathBuf> =
            git::pack_files(&repo, "keep").iter().map(|keep| keep.with_extension("pack")).collect();
        let others = git::object_folders(&repo).split_off(1);
        let state = |paths: &[PathBuf]| paths.iter().map(|path| fs::read(path).expect("a pack")).collect::<Vec<_>>();
        let (packs, folders) = (state(&kept), others.iter().map(|path| snapshot::state(path)).collect::<Vec<_>>());
        let before = facts(&repo);
        in_place(&repo, "zlib:1", &["--quiet"]).exits(exit::OK);
        assert_eq!(facts(&repo), before, "{}", repo.display());
        assert!(!kept.is_empty() || !others.is_empty(), "{}", repo.display());
        assert_eq!(state(&kept), packs, "{}", repo.display());
        assert_eq!(others.iter().map(|path| snapshot::state(path)).collect::<Vec<_>>(), folders, "{}", repo.display());
    }
}

#[test]
fn only_specs_that_stock_git_reads_are_accepted() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("work-tree", &scratch);
    let before = snapshot::state(&fixture.folder);
    for (spec, options) in [
        ("zstd:5", &[][..]),
        ("store", &[]),
        ("zlib:6,dict=8k", &[]),
        ("zlib:6", &["--order", "path"]),
        ("zlib:6", &["--store", "loose"]),
        ("zlib:6", &["-o", "elsewhere"]),
        ("zlib:6", &["--rechosen"]),
    ] {
        let outcome = in_place(&fixture.repo(), spec, options).exits(exit::USAGE);
        assert!(outcome.stderr.contains("--in-place"), "{spec} {options:?}: {}", outcome.stderr);
        assert_eq!(snapshot::content(&fixture.folder).len(), before.len(), "{spec} {options:?}");
    }
}

#[test]
fn locks_of_git_are_obeyed() {
    let scratch = Scratch::new();
    let repo = Fixture::copy("work-tree", &scratch).repo();
    let host = program::run(&mut Command::new("hostname")).exits(exit::OK).text();
    let living = format!("{} {}", std::process::id(), host.trim_end());
    for (name, content) in
        [("gc.pid", living.as_str()), ("objects/maintenance.lock", ""), ("objects/pack/multi-pack-index.lock", "")]
    {
        let lock = git::path(&repo, name);
        fs::write(&lock, content).expect("a lock");
        let outcome = in_place(&repo, "zlib:1", &[]).exits(exit::TRY_AGAIN);
        assert!(outcome.stderr.contains(name), "{name}: {}", outcome.stderr);
        assert_eq!(fs::read_to_string(&lock).expect("the lock"), content);
        fs::remove_file(&lock).expect("the lock");
        assert_tidy(&repo);
    }
    let mut ended = Command::new("true").spawn().expect("a program");
    let dead = format!("{} {}", ended.id(), host.trim_end());
    ended.wait().expect("its end");
    fs::write(git::path(&repo, "gc.pid"), dead).expect("a lock");
    in_place(&repo, "zlib:1", &[]).exits(exit::OK);
    assert_tidy(&repo);
}

/// Converts `repo` in place again and again while `disturb` uses it.
fn withstands(repo: &Path, disturb: impl Fn(u32) + Send, allowed: &[i32]) {
    while_disturbed(disturb, || {
        for round in 0..12 {
            let outcome = in_place(repo, ["zlib:1", "zlib:9"][round % 2], &["--no-backup"]);
            assert!(allowed.iter().any(|code| outcome.code == Some(*code)), "round {round}: {outcome:?}");
        }
    });
    git::output(repo, ["fsck", "--full", "--strict"]);
}

#[test]
fn readers_notice_nothing() {
    let scratch = Scratch::new();
    let repo = indexed(&scratch);
    let expected = git::output(&repo, ["log", "--all", "-p"]);
    withstands(&repo, |_| assert_eq!(git::output(&repo, ["log", "--all", "-p"]), expected), &[exit::OK]);
}

#[test]
fn writers_lose_nothing() {
    let scratch = Scratch::new();
    let repo = indexed(&scratch);
    let disturb = |round: u32| {
        git::output(&repo, ["commit", "--quiet", "--allow-empty", "-m", &format!("more {round}")]);
        if round % 4 == 3 {
            // Without its lock, which it finds taken.
            git::git(&repo, ["repack", "-a", "-d", "-q"]);
        }
    };
    withstands(&repo, disturb, &[exit::OK, exit::TRY_AGAIN]);
}

#[test]
fn killed_runs_are_finished_by_another() {
    let scratch = Scratch::new();
    let (repo, variant) = (indexed(&scratch), scratch.join("variant"));
    program::convert(&repo, "zstd:1", &variant);
    kill_in_place(&repo, ["zlib:1", "zlib:9"], (24, Duration::from_millis(4)), facts, assert_tidy);
    repackbench([Path::new("verify"), &variant, &repo]).exits(exit::OK);
}
