//! Manifests that hg never writes but anyone can forge, and names that only hg or only git forbids.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::hg::{self, Version};
use crate::support::program::{self, Outcome, exit, text};
use crate::support::{Fixture, Scratch, snapshot};

/// A Mercurial extension: `forge PATH...` commits a manifest of just these paths in just this order, unchecked.
const FORGER: &str = r#"
from mercurial import metadata, registrar
cmdtable = {}
command = registrar.command(cmdtable)

@command(b"forge", [], b"")
def forge(ui, repo, *paths):
    with repo.lock(), repo.transaction(b"forge") as transaction:
        link, null, nodes = len(repo.changelog), repo.nullid, {}
        for path in sorted(set(paths)):
            nodes[path] = repo.file(path, writable=True).add(b"[hooks]\n", {}, transaction, link, null, null)
        lines = b"".join(b"%s\0%s\n" % (path, nodes[path].hex().encode()) for path in paths)
        storage = repo.manifestlog.getstorage(b"")._revlog
        rev = storage.addrevision(lines, transaction, link, null, null)
        node = storage.node(rev) if isinstance(rev, int) else rev
        files = metadata.ChangingFiles(touched=set(paths))
        repo.changelog.add(node, files, b"forged", transaction, null, null, b"someone", b"0 0")
"#;

#[track_caller]
fn forged(scratch: &Scratch, paths: &[&str]) -> PathBuf {
    let (repo, extension) = (scratch.join("forged"), scratch.join("forge.py"));
    fs::write(&extension, FORGER).expect("the extension");
    hg::output(scratch.path(), ["init".as_ref(), repo.as_os_str()]);
    let load = format!("extensions.forge={}", extension.display());
    hg::output(&repo, ["--config", &load, "forge"].iter().chain(paths));
    repo
}

#[track_caller]
fn checked_out(repo: &Path, into: &Path) -> Outcome {
    program::replay(repo, "checkout", &["--output", text(into)])
}

/// An hgrc from an untrusted history could run programs.
#[test]
fn checkout_writes_nothing_where_hg_would_not() {
    for path in [".hg/hgrc", "sub/.hg/hgrc", ".HG/hgrc", "../outside", "sub/../../outside"] {
        let scratch = Scratch::new();
        let (repo, into) = (forged(&scratch, &[path]), scratch.join("into"));
        let refused = hg::hg(Version::V72, &repo, ["update", "tip"]);
        assert_ne!(refused.code, Some(exit::OK), "hg itself refuses {path}");
        let line = checked_out(&repo, &into).exits(exit::FAILURE).error_line();
        assert!(line.contains(path) && line.contains("hg forbids"), "{line}");
        assert_eq!(fs::read_dir(&into).expect("the folder").count(), 0, "{path}");
        assert!(!scratch.join("outside").exists());
    }
}

#[test]
fn checkout_writes_names_that_only_git_forbids() {
    let scratch = Scratch::new();
    let (repo, into, expected) = (Fixture::hg_copy("empty", &scratch).repo(), scratch.join("a"), scratch.join("b"));
    fs::create_dir_all(repo.join(".git")).expect("a folder");
    fs::write(repo.join(".git/config"), "a file as any other\n").expect("a file");
    symlink("nowhere", repo.join(".gitmodules")).expect("a link");
    hg::output(&repo, ["commit", "--quiet", "--addremove", "--message", "names"]);
    fs::remove_dir_all(repo.join(".git")).expect("no Git repository");
    checked_out(&repo, &into).exits(exit::OK);
    hg::archive(Version::V72, &repo, "tip", &expected);
    assert!(into.join(".git/config").is_file());
    snapshot::assert_same(&snapshot::content(&expected), &snapshot::content(&into));
}

#[test]
fn rejects_a_manifest_out_of_order() {
    for paths in [&["b", "a"][..], &["a", "b", "b"], &["a", "c", "b", "d"]] {
        let scratch = Scratch::new();
        let repo = forged(&scratch, paths);
        // The command server would end.
        let said = program::run(hg::command(Version::V72, &repo).args(["manifest", "-r", "tip"]));
        assert!(said.stderr.contains("not in sorted order"), "hg itself refuses {paths:?}: {said:?}");
        for workload in ["checkout:sink", "diff:raw", "diff:patch"] {
            let line = program::replay(&repo, workload, &[]).exits(exit::BAD_INPUT).error_line();
            assert!(line.contains("00manifest.i") && line.contains("a line out of order"), "{workload}: {line}");
        }
    }
    let scratch = Scratch::new();
    program::replay(&forged(&scratch, &["a", "b"]), "diff:raw", &[]).exits(exit::OK);
}
