//! `repackbench verify A B`: every difference is found and named.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::open_pack::{OpenPack, replace};
use crate::support::program::{self, Outcome, command, convert, exit};
use crate::support::{Fixture, Scratch, git};

fn verify(a: &Path, b: &Path) -> Outcome {
    program::run(command().arg("verify").arg(a).arg(b))
}

/// Changes a variant of a fixture, and verifies it with its source in both directions.
#[track_caller]
fn differs(fixture: &str, codec: &str, change: impl FnOnce(&Path) -> String) {
    let (source, scratch) = (Fixture::get(fixture).repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, codec, &variant);
    let name = change(&variant);
    for (a, b) in [(&source, &variant), (&variant, &source)] {
        let outcome = verify(a, b).exits(exit::FAILURE);
        let said = format!("{}{}", outcome.text(), outcome.stderr);
        assert!(said.contains(&name), "{name} is not named:\n{said}");
    }
}

#[test]
fn repository_agrees_with_itself() {
    for name in ["work-tree", "sha256", "empty", "partial-clone", "shallow", "reftable", "reftable-sha256"] {
        let source = Fixture::get(name).repo();
        verify(&source, &source).exits(exit::OK);
    }
}

#[test]
fn different_repositories_differ() {
    let (a, b) = (Fixture::get("bare").repo(), Fixture::get("history").repo());
    verify(&a, &b).exits(exit::FAILURE);
    verify(&a, &Fixture::get("sha256").repo()).exits(exit::FAILURE);
    verify(&a, &Fixture::get("empty").repo()).exits(exit::FAILURE);
}

#[test]
fn finds_an_added_ref() {
    differs("refs", "zlib:9", |variant| {
        git::output(variant, ["update-ref", "refs/heads/extra", "HEAD"]);
        "refs/heads/extra".to_owned()
    });
}

#[test]
fn finds_changed_refs_in_tables() {
    for (change, name) in [
        (&["update-ref", "refs/heads/extra", "HEAD"][..], "refs/heads/extra"),
        (&["update-ref", "refs/heads/topic/0001", "HEAD~1"], "refs/heads/topic/0001"),
        (&["update-ref", "-d", "refs/tags/topic/0000"], "refs/tags/topic/0000"),
        (&["symbolic-ref", "HEAD", "refs/heads/main"], "HEAD"),
    ] {
        differs("reftable", "zlib:9", |variant| {
            git::output(variant, change);
            name.to_owned()
        });
    }
}

#[test]
fn finds_a_moved_ref() {
    differs("refs", "zlib:9", |variant| {
        git::output(variant, ["update-ref", "refs/heads/topic", "main~1"]);
        "refs/heads/topic".to_owned()
    });
}

#[test]
fn finds_a_symbolic_ref_made_direct() {
    differs("refs", "zlib:9", |variant| {
        let target = git::output(variant, ["rev-parse", "refs/heads/alias"]);
        git::output(variant, ["update-ref", "--no-deref", "refs/heads/alias", target.trim_end()]);
        "refs/heads/alias".to_owned()
    });
}

#[test]
fn finds_a_moved_head() {
    differs("refs", "zlib:9", |variant| {
        git::output(variant, ["symbolic-ref", "HEAD", "refs/heads/topic"]);
        "HEAD".to_owned()
    });
}

/// Files and settings that change the history git shows, while every ref and object stays the same.
#[test]
fn finds_changed_parents() {
    let log = |repo: &Path| git::git(repo, ["log", "--format=%H %P", "HEAD"]).text();
    let changes = |fixture: &'static str, change: &dyn Fn(&Path), name: &str| {
        differs(fixture, "zlib:9", |variant| {
            let before = log(variant);
            change(variant);
            assert_ne!(log(variant), before, "git sees the same: {name}");
            name.to_owned()
        });
    };
    let head = |repo: &Path| git::output(repo, ["rev-parse", "HEAD"]);
    changes("bare", &|variant| fs::write(variant.join("shallow"), head(variant)).expect("shallow"), "shallow: ");
    changes("shallow", &|variant| fs::remove_file(variant.join("shallow")).expect("shallow"), "shallow: ");
    let graft = |variant: &Path| {
        fs::create_dir_all(variant.join("info")).expect("info");
        fs::write(variant.join("info/grafts"), head(variant)).expect("grafts");
    };
    changes("bare", &graft, "info/grafts: commit ");
    changes("grafts", &|variant| fs::remove_file(variant.join("info/grafts")).expect("grafts"), "info/grafts: commit ");
    let replace = |variant: &Path| drop(git::output(variant, ["replace", "HEAD", "HEAD~2"]));
    changes("history", &replace, "reference refs/replace/");
    let ignore = |variant: &Path| drop(git::output(variant, ["config", "core.useReplaceRefs", "false"]));
    changes("replace", &ignore, "core.useReplaceRefs: yes in the ");
}

/// git treats missing objects differently where they are expected.
#[test]
fn finds_a_partial_clone_made_whole() {
    differs("partial-clone", "zlib:9", |variant| {
        let missing = |repo: &Path| git::git(repo, ["fsck", "--connectivity-only"]).code;
        let before = missing(variant);
        for mark in git::pack_files(variant, "promisor") {
            fs::remove_file(mark).expect("a mark");
        }
        for key in ["extensions.partialClone", "remote.origin.promisor", "remote.origin.partialclonefilter"] {
            git::git(variant, ["config", "--unset-all", key]);
        }
        assert_ne!(missing(variant), before, "git sees the same");
        "a partial clone: yes in the ".to_owned()
    });
}

/// Differences that git ignores.
#[test]
fn ignores_differences_that_git_ignores() {
    let (scratch, source) = (Scratch::new(), Fixture::get("grafts").repo());
    let variant = scratch.join("variant");
    convert(&source, "zlib:9", &variant);
    let path = variant.join("info/grafts");
    let mut lines: Vec<String> = fs::read_to_string(&path).expect("grafts").lines().map(str::to_owned).collect();
    lines.reverse();
    lines.push(lines[0].split(' ').next().expect("a commit").to_owned());
    fs::write(&path, format!("# a comment\n\n{}\n", lines.join("\n"))).expect("grafts");
    git::output(&variant, ["pack-refs", "--all"]);
    git::output(&variant, ["config", "core.useReplaceRefs", "false"]);
    verify(&source, &variant).exits(exit::OK);
}

/// Two refs are the same exactly if git reads both as the same.
#[test]
fn reads_refs_as_git_does() {
    let (scratch, source) = (Scratch::new(), Fixture::get("refs").repo());
    let variant = scratch.join("variant");
    convert(&source, "zlib:9", &variant);
    let ask = |repo: &Path, name: &str| {
        let symbolic = git::git(repo, ["symbolic-ref", "--quiet", name]);
        let resolved = git::git(repo, ["rev-parse", "--quiet", "--verify", name]);
        (symbolic.code, symbolic.stdout, resolved.code, resolved.stdout)
    };
    let id = git::output(&source, ["rev-parse", "refs/heads/topic"]).trim_end().to_owned();
    let other = git::output(&source, ["rev-parse", "refs/heads/main"]).trim_end().to_owned();
    assert_ne!(id, other);
    let (mut same, mut different) = (0, 0);
    let mut check = |name: &str, content: &str| {
        let path = variant.join(name);
        let before = fs::read(&path).expect("a loose ref");
        replace(&path, content.as_bytes());
        let expected = ask(&variant, name) == ask(&source, name);
        let outcome = verify(&source, &variant);
        assert_eq!(
            outcome.code == Some(exit::OK),
            expected,
            "{name}: {content:?}: {}{}",
            outcome.text(),
            outcome.stderr
        );
        assert!(expected || format!("{}{}", outcome.text(), outcome.stderr).contains(name), "{}", outcome.stderr);
        *(if expected { &mut same } else { &mut different }) += 1;
        replace(&path, &before);
    };
    let forms = [
        "{}\n",
        "{}",
        "{} and more\n",
        "{}\r\n",
        "{}\t",
        "{}\n{}\n",
        " {}\n",
        "{}x\n",
        "{}\u{b}\n",
        "{}00\n",
        "",
        "{}\0x\n",
    ];
    for form in forms {
        for id in [&id, &id.to_uppercase(), &other] {
            check("refs/heads/topic", &form.replace("{}", id));
        }
    }
    let forms = [
        "ref: {}\n",
        "ref: {}",
        "ref:{}\n",
        "ref:\t {} \t\n",
        "ref: {}\r\n",
        "ref:\n {}\n\n",
        "ref: {}\nmore\n",
        "ref: {}\0x\n",
        "REF: {}\n",
        "ref {}\n",
        "ref: {}.lock\n",
    ];
    for form in forms {
        for name in ["refs/heads/nested/branch/name", "refs/heads/topic"] {
            check("refs/heads/alias", &form.replace("{}", name));
        }
    }
    assert!(same > 10 && different > 10, "{same}, {different}");
}

#[test]
fn finds_an_added_object() {
    differs("bare", "zlib:9", |variant| {
        let file = variant.join("new-content");
        fs::write(&file, "an object that only one has").expect("a file");
        let id = git::output(variant, ["hash-object".as_ref(), "-w".as_ref(), file.as_os_str()]);
        id.trim_end().to_owned()
    });
}

#[test]
fn finds_a_missing_object() {
    for codec in ["zlib:9", "zstd:5"] {
        differs("work-tree", codec, |variant| {
            let (id, file) = some_loose_object(variant);
            fs::remove_file(file).expect("a loose object");
            id
        });
    }
}

#[test]
fn finds_a_damaged_loose_object() {
    for codec in ["zlib:9", "zstd:5", "lz4", "store"] {
        differs("work-tree", codec, |variant| {
            let (_, file) = some_loose_object(variant);
            let mut content = fs::read(&file).expect("a loose object");
            let middle = content.len() / 2;
            content[middle] ^= 1;
            replace(&file, &content);
            file.file_name().expect("a name").to_string_lossy().into_owned()
        });
    }
}

#[test]
fn finds_a_damaged_pack_entry() {
    for codec in ["zlib:9", "zstd:5", "lz4", "store"] {
        differs("bare", codec, |variant| {
            let mut pack = OpenPack::open(variant);
            let middle = pack.pack.len() / 2;
            pack.pack[middle] ^= 1;
            pack.reseal_and_write();
            pack.path.file_stem().expect("a name").to_string_lossy().into_owned()
        });
    }
}

/// A pack with a wrong checksum is bad input, not a difference between two sound repositories.
#[test]
fn rejects_a_damaged_pack() {
    let (source, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "zstd:5", &variant);
    let mut pack = OpenPack::open(&variant);
    let middle = pack.pack.len() / 2;
    pack.pack[middle] ^= 1;
    pack.write();
    let line = verify(&source, &variant).exits(exit::BAD_INPUT).error_line();
    assert!(line.contains(&*pack.path.file_stem().expect("a name").to_string_lossy()), "{line}");
}

/// Every checksum is right, so only hashing the object finds this.
#[test]
fn finds_an_object_under_a_wrong_name() {
    differs("bare", "zlib:9", |variant| {
        let mut pack = OpenPack::open(variant);
        // The last byte of an id: the order of the index stays as it is.
        let last = 1032 + 20 * 10 + 19;
        pack.index[last] ^= 1;
        let id: String = pack.index[last - 19..=last].iter().map(|byte| format!("{byte:02x}")).collect();
        pack.reseal_and_write();
        id
    });
}

/// The id and file of the largest loose object of a variant.
pub(crate) fn some_loose_object(variant: &Path) -> (String, PathBuf) {
    let mut found = Vec::new();
    for folder in fs::read_dir(variant.join("objects")).expect("the objects") {
        let folder = folder.expect("an entry").path();
        let prefix = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if prefix.len() != 2 {
            continue;
        }
        for file in fs::read_dir(&folder).expect("a folder of loose objects") {
            let file = file.expect("an entry");
            let length = file.metadata().expect("metadata").len();
            found.push((length, format!("{prefix}{}", file.file_name().to_string_lossy()), file.path()));
        }
    }
    let (_, id, file) = found.into_iter().max().expect("a loose object");
    (id, file)
}

#[test]
fn result_has_all_forms() {
    let (source, scratch) = (Fixture::get("refs").repo(), Scratch::new());
    let variant = scratch.join("variant");
    convert(&source, "zlib:9", &variant);
    let verify = |options: &[&str]| program::run(command().arg("verify").arg(&source).arg(&variant).args(options));
    let lines = |outcome: Outcome| -> Vec<serde_json::Value> {
        outcome.text().lines().map(|line| serde_json::from_str(line).expect("one document a line")).collect()
    };
    let same = lines(verify(&["--json", "-"]).exits(exit::OK));
    assert_eq!(same.len(), 1);
    let objects = git::output(&source, ["cat-file", "--batch-check=x", "--batch-all-objects"]).lines().count();
    assert_eq!((&same[0]["compared"], &same[0]["differences"]), (&objects.into(), &0.into()));
    git::output(&variant, ["update-ref", "refs/heads/extra", "HEAD"]);
    let differ = lines(verify(&["--json", "-"]).exits(exit::FAILURE));
    assert_eq!((&differ[0]["record"], &differ[1]["differences"]), (&"difference".into(), &1.into()));
    assert!(differ[0]["difference"].as_str().expect("a sentence").contains("refs/heads/extra"), "{differ:?}");
    let markdown = verify(&["--markdown", "-", "--quiet"]).exits(exit::FAILURE).text();
    assert!(markdown.contains("| difference |") && markdown.contains("refs/heads/extra"), "{markdown}");
}
