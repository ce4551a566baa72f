//! Refs, compared with the output of `git for-each-ref`.

use std::{fs, os::unix::fs::symlink};

use super::{super::Target, *};

/// The refs as read here, in the form of [`stock`]. `HEAD` is checked separately, since `for-each-ref` does not list
/// it.
pub(super) fn ours(path: &Path) -> Vec<String> {
    let references = GitRepository::open(path).unwrap().references().unwrap();
    let others = references.iter().filter(|reference| reference.name != "HEAD");
    others
        .map(|reference| match &reference.target {
            Target::Object(id) => format!("{} {id}", reference.name),
            Target::Symbolic(name) => format!("{} {name}", reference.name),
        })
        .collect()
}

/// The refs as git reads them: name, and symbolic target or id.
pub(super) fn stock(path: &Path) -> Vec<String> {
    let format = "--format=%(refname) %(if)%(symref)%(then)%(symref)%(else)%(objectname)%(end)";
    git(path, &["for-each-ref", format]).lines().map(str::to_owned).collect()
}

pub(super) fn head(path: &Path) -> Target {
    let references = GitRepository::open(path).unwrap().references().unwrap();
    references.into_iter().find(|reference| reference.name == "HEAD").unwrap().target
}

/// A repository with loose, packed, symbolic, note and replace refs.
fn repository_with_refs(scratch: &Scratch) -> PathBuf {
    let path = scratch.repository("r", &[]);
    git(&path, &["tag", "-a", "-m", "annotated", "v2"]);
    git(&path, &["notes", "add", "-m", "a note"]);
    git(&path, &["branch", "moved", "v1"]);
    git(&path, &["pack-refs", "--all"]);
    git(&path, &["branch", "-f", "moved", "main"]);
    git(&path, &["branch", "nested/loose"]);
    git(&path, &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main"]);
    git(&path, &["replace", "main", "v1"]);
    path
}

#[test]
fn loose_packed_and_symbolic_refs_match_git() {
    let scratch = Scratch::new();
    let path = repository_with_refs(&scratch);
    assert_eq!(ours(&path), stock(&path));
    assert_eq!(ours(&path).len(), 8);
    assert_eq!(head(&path), Target::Symbolic("refs/heads/main".into()));
}

#[test]
fn private_refs_of_linked_work_tree_match_git() {
    let scratch = Scratch::new();
    let path = repository_with_refs(&scratch);
    git(&path, &["worktree", "add", "-q", "--detach", "../linked", "v1"]);
    let linked = scratch.path("linked");
    git(&linked, &["update-ref", "refs/bisect/bad", "main"]);
    git(&path, &["update-ref", "refs/bisect/good", "v1"]);
    git(&path, &["update-ref", "refs/worktree/main-only", "v1"]);
    for path in [&path, &linked] {
        assert_eq!(ours(path), stock(path));
    }
    assert!(ours(&linked).iter().any(|line| line.starts_with("refs/bisect/bad ")));
    let detached = git(&path, &["rev-parse", "v1"]);
    assert_eq!(head(&linked), Target::Object(gix_hash::ObjectId::from_hex(detached.as_bytes()).unwrap()));
    let reflogs = GitRepository::open(&linked).unwrap().reflog_files().unwrap();
    let log_of_head = reflogs.iter().find(|file| file.name == "logs/HEAD").unwrap();
    assert_eq!(log_of_head.path, path.join(".git/worktrees/linked/logs/HEAD"));
    assert!(reflogs.iter().any(|file| file.name == "logs/refs/heads/main"));
}

#[test]
fn unborn_branch_is_a_symbolic_head() {
    let scratch = Scratch::new();
    git(scratch.folder.path(), &["init", "-q", "-b", "unborn", "r"]);
    assert_eq!(head(&scratch.path("r")), Target::Symbolic("refs/heads/unborn".into()));
    assert!(ours(&scratch.path("r")).is_empty());
}

#[test]
fn symbolic_links_are_refs_or_followed_as_in_git() {
    let scratch = Scratch::new();
    let path = repository_with_refs(&scratch);
    let refs = path.join(".git/refs");
    symlink("refs/heads/main", refs.join("heads/not-listed-since-it-leads-nowhere")).unwrap();
    symlink("moved", refs.join("heads/followed")).unwrap();
    symlink("nested", refs.join("heads/folder")).unwrap();
    assert_eq!(ours(&path), stock(&path));
    assert_eq!(ours(&path).len(), 10);
    fs::remove_file(path.join(".git/HEAD")).unwrap();
    symlink("refs/heads/main", path.join(".git/HEAD")).unwrap();
    assert_eq!(git(&path, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(head(&path), Target::Symbolic("refs/heads/main".into()));
}

#[test]
fn ignores_files_that_git_ignores() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    for name in ["main.lock", ".hidden", "bad..name"] {
        fs::write(path.join(".git/refs/heads").join(name), "nonsense").unwrap();
    }
    assert_eq!(ours(&path), stock(&path));
}

#[test]
fn damaged_ref_error_names_the_file() {
    let scratch = Scratch::new();
    let path = scratch.repository("r", &[]);
    let damage = |name: &str, content: &str| {
        fs::write(path.join(".git").join(name), content).unwrap();
        GitRepository::open(&path).unwrap().references().unwrap_err().to_string()
    };
    let message = damage("refs/heads/main", "not a ref\n");
    assert!(
        message.ends_with("refs/heads/main: expected 'ref: <name>' or 40 hexadecimal digits, found 'not a ref\\n'")
    );
    assert!(damage("refs/heads/main", "").ends_with("found an empty file"));
    let id = git(&path, &["rev-parse", "v1"]);
    fs::write(path.join(".git/refs/heads/main"), &id).unwrap();
    let message =
        damage("packed-refs", &format!("# pack-refs with: peeled fully-peeled sorted \n{id} refs/heads/x\nrubbish\n"));
    assert!(message.ends_with("packed-refs, line 3: expected '<object id> <ref name>', found 'rubbish'"), "{message}");
}

#[test]
fn finds_replacements_unless_disabled() {
    let scratch = Scratch::new();
    let path = repository_with_refs(&scratch);
    let [replaced, by] = ["refs/heads/main", "refs/tags/v1"].map(|name| {
        gix_hash::ObjectId::from_hex(git(&path, &["--no-replace-objects", "rev-parse", name]).as_bytes()).unwrap()
    });
    let found = GitRepository::open(&path).unwrap().replacements().unwrap();
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(replaced, by)]);
    git(&path, &["config", "core.useReplaceRefs", "false"]);
    assert!(GitRepository::open(&path).unwrap().replacements().unwrap().is_empty());
}
