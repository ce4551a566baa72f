//! Changes that a snapshot has to detect, and events that are no change.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{super::BTREE_FILE, *};

/// Takes a snapshot of the repository, makes `change`, and returns the path that the check reports.
fn after(path: &Path, change: impl FnOnce()) -> Option<PathBuf> {
    let repository = GitRepository::open(path).unwrap();
    let snapshot = repository.snapshot().unwrap();
    snapshot.check().unwrap();
    change();
    match snapshot.check() {
        Ok(()) => None,
        Err(ReaderError::Changed { path }) => Some(path),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn detects_commits_repacks_and_edits() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let git_dir = path.join(".git");
    assert!(after(&path, || commit(&path, "third")).is_some());
    assert_eq!(after(&path, || drop(git(&path, &["tag", "new"]))), Some(git_dir.join("refs/tags/new")));
    // Older versions of git rewrite the packed refs.
    let deleted = after(&path, || drop(git(&path, &["tag", "-d", "new"])));
    let [loose, packed] = ["refs/tags/new", "packed-refs"].map(|name| Some(git_dir.join(name)));
    assert!(deleted == loose || deleted == packed, "{deleted:?}");
    assert_eq!(after(&path, || drop(git(&path, &["config", "a.b", "c"]))), Some(git_dir.join("config")));
    assert_eq!(after(&path, || drop(git(&path, &["pack-refs", "--all"]))), Some(git_dir.join("packed-refs")));
    assert_eq!(after(&path, || drop(git(&path, &["checkout", "-q", "-b", "side"]))), Some(git_dir.join("HEAD")));
    assert_eq!(after(&path, || fs::write(git_dir.join("shallow"), "").unwrap()), Some(git_dir.join("shallow")));
    let hash_object = || {
        fs::write(path.join("new"), "new content").unwrap();
        git(&path, &["hash-object", "-w", "new"]);
    };
    assert!(after(&path, hash_object).is_some_and(|path| path.starts_with(git_dir.join("objects"))));
    let repacked = after(&path, || drop(git(&path, &["repack", "-q", "-a", "-d"])));
    assert!(repacked.is_some_and(|path| path.starts_with(git_dir.join("objects"))));
    let pack = GitRepository::open(&path).unwrap().packs().first().unwrap().pack.clone();
    let keep = pack.with_extension("keep");
    assert_eq!(after(&path, || fs::write(&keep, "").unwrap()), Some(keep.clone()));
    let index = pack.with_extension("idx");
    assert_eq!(after(&path, || fs::rename(&index, scratch.path("aside")).unwrap()), Some(index));
}

#[test]
fn detects_changes_in_linked_work_tree_and_alternate() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["worktree", "add", "-q", "../linked", "-b", "side"]);
    let linked = scratch.path("linked");
    let private = path.join(".git/worktrees/linked/refs/bisect/bad");
    assert_eq!(after(&linked, || drop(git(&linked, &["update-ref", "refs/bisect/bad", "main"]))), Some(private));
    git(scratch.folder.path(), &["clone", "-q", "--shared", "r", "borrower"]);
    let borrower = scratch.path("borrower");
    let changed = after(&borrower, || commit(&path, "in the lender")).unwrap();
    assert!(changed.starts_with(path.join(".git/objects")), "{}", changed.display());
}

#[test]
fn ignores_files_that_are_not_read() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let untouched = after(&path, || {
        fs::write(path.join(".git/FETCH_HEAD"), "").unwrap();
        fs::write(path.join(".git/objects/pack/tmp_pack_x"), "").unwrap();
        fs::write(path.join(".git/refs/heads/main.lock"), "").unwrap();
        git(&path, &["status"]);
        git(&path, &["rev-list", "--objects", "--all"]);
    });
    assert_eq!(untouched, None);
}

#[test]
fn touched_and_hard_linked_packs_are_unchanged() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["repack", "-q", "-a", "-d"]);
    let pack = GitRepository::open(&path).unwrap().packs().first().unwrap().pack.clone();
    let touched = || {
        let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::File::options().append(true).open(&pack).unwrap().set_modified(hour_ago).unwrap();
    };
    // git's packs are read-only, and only their owner may set times through a handle that cannot write.
    let mut permissions = fs::metadata(&pack).unwrap().permissions();
    permissions.set_mode(0o644);
    fs::set_permissions(&pack, permissions).unwrap();
    assert_eq!(after(&path, touched), None);
    assert_eq!(after(&path, || fs::hard_link(&pack, scratch.path("link")).unwrap()), None);
    let local_clone = || drop(git(scratch.folder.path(), &["clone", "-q", "--local", "--bare", "r", "clone"]));
    assert_eq!(after(&path, local_clone), None);
}

#[test]
fn detects_change_between_opening_and_snapshot() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let repository = GitRepository::open(&path).unwrap();
    git(&path, &["repack", "-q", "-a", "-d"]);
    assert!(matches!(repository.snapshot(), Err(ReaderError::Changed { .. })));
}

#[test]
fn detects_new_b_tree_between_opening_and_snapshot() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let repository = GitRepository::open(&path).unwrap();
    let btree = repository.object_dirs()[0].join(BTREE_FILE);
    std::fs::write(&btree, "").unwrap();
    match repository.snapshot() {
        Err(ReaderError::Changed { path }) => assert_eq!(path, btree),
        other => panic!("{other:?}"),
    }
}
