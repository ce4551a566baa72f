//! Directories, alternates, packs, loose objects, `shallow` and grafts.

use std::{fs, os::unix::fs::symlink};

use gix_hash::ObjectId;

use super::*;

#[test]
fn finds_work_tree_bare_and_git_directory() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(scratch.folder.path(), &["clone", "-q", "--bare", "r", "bare.git"]);
    for (given, git_dir) in [(path.clone(), path.join(".git")), (path.join(".git"), path.join(".git")), {
        let bare = scratch.path("bare.git");
        (bare.clone(), bare)
    }] {
        let repository = GitRepository::open(&given).unwrap();
        assert_eq!((repository.git_dir(), repository.common_dir()), (git_dir.as_path(), git_dir.as_path()));
        assert_eq!(repository.object_dirs(), [git_dir.join("objects")]);
    }
}

#[test]
fn linked_work_tree_shares_the_common_directory() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["worktree", "add", "-q", "../linked", "-b", "side"]);
    let repository = GitRepository::open(&scratch.path("linked")).unwrap();
    assert_eq!(repository.git_dir(), path.join(".git/worktrees/linked"));
    assert_eq!(repository.common_dir(), path.join(".git"));
    assert_eq!(repository.object_dirs(), [path.join(".git/objects")]);
    assert!(repository.notes().is_empty(), "it is the only linked work tree");
    let main = GitRepository::open(&path).unwrap();
    assert!(main.notes().iter().any(|note| note.contains("1 other linked work tree")), "{:?}", main.notes());
}

#[test]
fn follows_gitfile_of_submodule() {
    let scratch = Scratch::new();
    scratch.repository("library", &[]);
    let path = scratch.repository("r", &[]);
    git(&path, &["submodule", "--quiet", "add", "../library", "sub"]);
    assert!(path.join("sub/.git").is_file());
    let repository = GitRepository::open(&path.join("sub")).unwrap();
    assert_eq!(repository.git_dir().canonicalize().unwrap(), path.join(".git/modules/sub"));
    assert_eq!(repository.git_dir(), repository.common_dir());
}

#[test]
fn rejects_what_is_no_repository() {
    let scratch = Scratch::new();
    assert!(refusal(&scratch.path("nowhere")).contains("not a repository: there is no such file or folder"));
    fs::create_dir(scratch.path("empty")).unwrap();
    assert!(refusal(&scratch.path("empty")).contains("not a repository: expected a file HEAD"));
    fs::create_dir(scratch.path("dangling")).unwrap();
    fs::write(scratch.path("dangling/.git"), "gitdir\n").unwrap();
    assert!(refusal(&scratch.path("dangling")).contains("gitdir: <path>"));
    let path = scratch.repository("r", &[]);
    fs::remove_dir_all(path.join(".git/refs")).unwrap();
    assert!(refusal(&path).contains("expected a folder refs/"));
}

/// Adds `entry` to the alternates of `borrower`.
fn borrow(borrower: &Path, entry: &str) {
    let file = borrower.join(".git/objects/info/alternates");
    let mut content = fs::read_to_string(&file).unwrap_or_default();
    content.push_str(entry);
    content.push('\n');
    fs::write(file, content).unwrap();
}

#[test]
fn follows_alternates_depth_first_without_duplicates() {
    let scratch = Scratch::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| scratch.repository(name, &[]));
    borrow(&a, "# a comment");
    borrow(&a, "../../../b/.git/objects");
    borrow(&a, &format!("\"{}/.git/objects/\"", d.display()));
    borrow(&a, "/nowhere/objects");
    borrow(&b, "../../../c/.git/objects");
    borrow(&c, "../../../a/.git/objects");
    let repository = GitRepository::open(&a).unwrap();
    let expected = [&a, &b, &c, &d].map(|path| path.join(".git/objects"));
    assert_eq!(repository.object_dirs(), expected);
    assert_eq!(repository.notes(), [""; 0]);
    let named: Vec<_> = repository.missing_alternates().iter().map(|missing| missing.named.as_path()).collect();
    assert_eq!(named, [Path::new("/nowhere/objects")]);
    // Git lists the same directories in the same order.
    let stock = git(&a, &["count-objects", "-v"]);
    let listed: Vec<String> =
        stock.lines().filter_map(|line| line.strip_prefix("alternate: ")).map(String::from).collect();
    let alternates: Vec<String> = expected.iter().skip(1).map(|path| path.display().to_string()).collect();
    assert_eq!(listed, alternates);
}

#[test]
fn depth_of_alternates_is_limited_as_in_git() {
    let scratch = Scratch::new();
    let chain: Vec<PathBuf> = (0..9).map(|number| scratch.repository(&format!("r{number}"), &[])).collect();
    for (number, borrower) in chain.iter().enumerate().take(8) {
        borrow(borrower, &format!("../../../r{}/.git/objects", number + 1));
    }
    let first = chain.first().unwrap();
    let repository = GitRepository::open(first).unwrap();
    let stock = git(first, &["count-objects", "-v"]);
    let alternates = stock.lines().filter(|line| line.starts_with("alternate: ")).count();
    assert_eq!(repository.object_dirs().len(), 1 + alternates);
    assert!(repository.notes().iter().any(|note| note.contains("nested too deeply")), "{:?}", repository.notes());
}

#[test]
fn lists_packs_with_their_side_files_in_fixed_order() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    git(&path, &["repack", "-q", "-d"]);
    commit(&path, "third");
    git(&path, &["-c", "pack.writeReverseIndex=true", "repack", "-q", "-d"]);
    let folder = path.join(".git/objects/pack");
    let repository = GitRepository::open(&path).unwrap();
    let packs = repository.packs();
    assert_eq!(packs.len(), 2);
    assert!(packs.is_sorted_by_key(|pack| pack.pack.clone()));
    let first = packs.first().unwrap();
    fs::write(first.pack.with_extension("keep"), "").unwrap();
    fs::write(first.pack.with_extension("mtimes"), "").unwrap();
    fs::write(folder.join("pack-lonely.idx"), "").unwrap();
    fs::write(folder.join("pack-single.pack"), "").unwrap();
    fs::write(folder.join("tmp_pack_x"), "").unwrap();
    let repository = GitRepository::open(&path).unwrap();
    let first = repository.packs().first().unwrap();
    assert_eq!(first.keep, Some(first.pack.with_extension("keep")));
    assert_eq!(first.mtimes, Some(first.pack.with_extension("mtimes")));
    assert_eq!((&first.promisor, first.object_dir), (&None, 0));
    assert!(first.reverse_index.is_some());
    assert_eq!(first.files().count(), 5);
    assert_eq!(repository.packs().len(), 2);
    let notes = repository.notes().join("\n");
    assert!(notes.contains("pack-lonely.idx: ignored: an index without its pack"), "{notes}");
    assert!(notes.contains("pack-single.pack: ignored: a pack without its index"), "{notes}");
}

#[test]
fn lists_loose_objects_once_by_id() {
    let scratch = Scratch::new();
    let lender = scratch.repository("lender", &[]);
    let path = scratch.repository("r", &[]);
    commit(&lender, "only in the lender");
    borrow(&path, "../../../lender/.git/objects");
    fs::write(path.join(".git/objects/pack/tmp_obj_x"), "").unwrap();
    let mut fan_out = fs::read_dir(path.join(".git/objects")).unwrap().map(|entry| entry.unwrap().path());
    let fan_out = fan_out.find(|folder| folder.file_name().unwrap().len() == 2).unwrap();
    for ignored in ["tmp_obj_abc", "0123", &"A".repeat(38)] {
        fs::write(fan_out.join(ignored), "").unwrap();
    }
    let repository = GitRepository::open(&path).unwrap();
    let loose = repository.loose_objects().unwrap();
    // Git also lists an upper-case name, but then cannot open it.
    fs::remove_file(fan_out.join("A".repeat(38))).unwrap();
    let stock = git(&path, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    let listed: Vec<String> = loose.as_slice().iter().map(|object| object.id.to_string()).collect();
    assert_eq!(listed, stock.lines().collect::<Vec<_>>());
    assert_eq!(loose.as_slice().iter().filter(|object| object.object_dir == 1).count(), 3);
    for (position, object) in loose.as_slice().iter().enumerate() {
        assert_eq!(loose.position(&object.id), Some(position));
        assert!(loose.path(position).unwrap().is_file());
    }
    assert_eq!(loose.position(&ObjectId::null(gix_hash::Kind::Sha1)), None);
    assert_eq!(loose.path(loose.len()), None);
}

#[test]
fn reads_boundary_of_shallow_clone() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let url = format!("file://{}", path.display());
    git(scratch.folder.path(), &["clone", "-q", "--depth=1", &url, "shallow"]);
    let shallow = scratch.path("shallow");
    let head = git(&path, &["rev-parse", "HEAD"]);
    assert_eq!(GitRepository::open(&shallow).unwrap().shallow(), [ObjectId::from_hex(head.as_bytes()).unwrap()]);
    fs::write(shallow.join(".git/shallow"), format!("{head}\nnonsense\n")).unwrap();
    assert!(refusal(&shallow).contains("shallow, line 2: expected 40 hexadecimal digits, found 'nonsense'"));
}

#[test]
fn reads_grafts_and_notes_lines_that_git_skips() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let [first, second] = ["v1", "main"].map(|name| git(&path, &["rev-parse", name]));
    let lines = format!("# comment\n\n{second}\n{first} {second} {second} \n{second} {first}\n{first}  {second}\n");
    fs::create_dir_all(path.join(".git/info")).unwrap();
    fs::write(path.join(".git/info/grafts"), lines).unwrap();
    let repository = GitRepository::open(&path).unwrap();
    let [first, second] = [first, second].map(|hex| ObjectId::from_hex(hex.as_bytes()).unwrap());
    assert_eq!(repository.grafts().get(&second), Some(&vec![]));
    assert_eq!(repository.grafts().get(&first), Some(&vec![second, second]));
    assert_eq!(repository.grafts().len(), 2);
    let notes = repository.notes();
    assert!(notes.iter().any(|note| note.contains("grafts, line 5: a second graft")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("grafts, line 6: a graft that does not parse")), "{notes:?}");
}

#[test]
fn follows_symbolic_links_only_within_the_repository() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let (objects, within) = (path.join(".git/objects"), path.join(".git/moved"));
    let loose = GitRepository::open(&path).unwrap().loose_objects().unwrap().len();
    fs::rename(&objects, &within).unwrap();
    symlink("moved", &objects).unwrap();
    assert_eq!(GitRepository::open(&path).unwrap().loose_objects().unwrap().len(), loose);
    fs::remove_file(&objects).unwrap();
    fs::rename(&within, scratch.path("elsewhere")).unwrap();
    symlink(scratch.path("elsewhere"), &objects).unwrap();
    assert!(refusal(&path).contains("outside the repository"), "{}", refusal(&path));
}

#[test]
fn rejects_device_in_place_of_a_file() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let alternates = path.join(".git/objects/info/alternates");
    symlink("/dev/zero", &alternates).unwrap();
    assert!(refusal(&path).contains("alternates: a symbolic link to /dev/zero"), "{}", refusal(&path));
}
