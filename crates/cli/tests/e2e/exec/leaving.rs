//! Chunks in a variant's codec never get to a place where plain git would read them or where they would mean something
//! else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::daily::Daily;
use crate::support::dictionary::convert_with_dictionary;
use crate::support::fixture::Fixture;
use crate::support::git;
use crate::support::program::{Scratch, exit};

/// Fails the test unless plain git reads every object, all of them from the store itself.
#[track_caller]
fn assert_is_whole(repository: &Path) {
    assert!(!repository.join("objects/info/alternates").exists());
    assert_eq!(git::git(repository, ["fsck", "--full", "--no-dangling"]).exits(exit::OK).text(), "");
}

/// An ordinary bare repository without objects.
fn empty(scratch: &Scratch, name: &str) -> std::path::PathBuf {
    let place = scratch.join(name);
    git::output(scratch.path(), ["init", "-q", "--bare", place.to_str().unwrap()]);
    place
}

fn borrow(place: &Path, from: &Path) {
    fs::write(place.join("objects/info/alternates"), format!("{}\n", from.join("objects").display())).unwrap();
}

#[test]
fn copy_by_any_program_has_the_guard() {
    let daily = Daily::new();
    let script = "import shutil, zlib; shutil.copytree('tree/.git', 'copy')";
    daily.run(daily.scratch.path(), &["--", "python3", "-c", script]).exits(exit::OK);
    assert!(daily.scratch.join("copy/objects").exists());
    git::assert_refuses_plainly(&daily.scratch.join("copy"));
    // A file that only looks like the configuration is added unchanged.
    fs::create_dir(daily.tree().join("fixture")).unwrap();
    fs::copy(daily.tree().join(".git/config"), daily.tree().join("fixture/config")).unwrap();
    daily.git(&["add", "fixture"]);
    assert!(daily.git(&["show", ":fixture/config"]).contains("\trepackbench = \"1;"));
}

/// Some histories contain repositories, as fixtures of tests.
#[test]
fn work_tree_files_may_be_named_like_objects_and_packs() {
    let daily = Daily::new();
    let fixture = daily.tree().join("fixture.git");
    fs::create_dir(&fixture).unwrap();
    let names =
        ["HEAD", "objects/42/723ad796caa500ddf4e3f6ad37600ed5a65491", "objects/pack/pack-1.pack", "refs/heads/main"];
    for name in names {
        let file = fixture.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, name).unwrap();
    }
    daily.git(&["add", "fixture.git"]);
    daily.git(&["commit", "-q", "-m", "a fixture"]);
    for commands in [&["checkout -q HEAD~", "checkout -q -"][..], &["rm -rq fixture.git", "reset -q --hard"]] {
        for command in commands {
            daily.git(&command.split(' ').collect::<Vec<_>>());
        }
        for name in names {
            assert_eq!(fs::read_to_string(fixture.join(name)).unwrap(), name, "{commands:?}");
        }
    }
    daily.git(&["worktree", "add", "-q", "../linked"]);
    assert!(names.iter().all(|name| daily.scratch.join("linked/fixture.git").join(name).exists()));
}

#[test]
fn dissociated_clone_with_a_variant_as_reference_is_whole() {
    let daily = Daily::new();
    let (source, clone) = (Fixture::get("work-tree").repo(), daily.scratch.join("clone"));
    for spec in ["zstd:5", "zstd:9,dict=file"] {
        let variant = daily.scratch.join(spec);
        convert_with_dictionary(&source, spec, &[], &variant);
        let words = ["clone", "-q", "--bare", "--no-local", "--reference", variant.to_str().unwrap(), "--dissociate"];
        let places = [source.to_str().unwrap(), clone.to_str().unwrap()];
        daily.run(daily.scratch.path(), &[&["--", "git"], &words[..], &places].concat()).exits(exit::OK);
        assert_is_whole(&clone);
        fs::remove_dir_all(&clone).unwrap();
    }
}

/// A chunk names its dictionary by a number that holds only in its own repository.
#[test]
fn variant_reads_chunks_taken_from_an_alternate() {
    let daily = Daily::new();
    let (source, own, others) =
        (Fixture::get("history").repo(), daily.scratch.join("own"), daily.scratch.join("others"));
    convert_with_dictionary(&source, "zstd:9,dict=file", &[], &others);
    convert_with_dictionary(&Fixture::get("content").repo(), "zstd:9,dict=file", &[], &own);
    borrow(&own, &others);
    let own_name = own.to_str().unwrap();
    let script = format!(
        "git update-ref refs/heads/borrowed {}; git repack -a -d -q",
        git::output(&source, ["rev-parse", "HEAD"]).trim_end()
    );
    daily.run(daily.scratch.path(), &[own_name, "--", "sh", "-ec", &script]).exits(exit::OK);
    fs::remove_file(own.join("objects/info/alternates")).unwrap();
    fs::remove_dir_all(&others).unwrap();
    let checked = daily.run(daily.scratch.path(), &[own_name, "--", "git", "fsck", "--full"]).exits(exit::OK);
    assert_eq!(checked.stderr, "");
    git::assert_refuses_plainly(&own);
}

#[test]
fn packs_written_elsewhere_are_zlib() {
    let daily = Daily::new();
    let place = empty(&daily.scratch, "elsewhere");
    let pack = place.join("objects/pack/pack");
    let script = format!("git rev-parse HEAD | git pack-objects -q --revs '{}'", pack.display());
    daily.shell(&daily.tree(), &script);
    let borrower = empty(&daily.scratch, "borrower");
    borrow(&borrower, &daily.tree().join(".git"));
    let lender = empty(&daily.scratch, "lender");
    borrow(&lender, &borrower);
    // A store that borrows from a store that borrows from the variant, served by git under another name.
    let git = daily.shell(&daily.tree(), "command -v git");
    let other = daily.scratch.join("bin/another");
    fs::create_dir(daily.scratch.join("bin")).unwrap();
    symlink(git.trim_end(), &other).unwrap();
    let received = empty(&daily.scratch, "received");
    let tip = daily.git(&["rev-parse", "HEAD"]);
    let script = format!(
        "echo {} | '{}' -C '{}' pack-objects -q --revs --stdout > '{}'",
        tip.trim_end(),
        other.display(),
        lender.display(),
        daily.scratch.join("sent").display()
    );
    daily.shell(&daily.tree(), &script);
    let sent = fs::File::open(daily.scratch.join("sent")).unwrap();
    let mut unpacked = std::process::Command::new("git");
    git::pin(&mut unpacked);
    let status = unpacked
        .current_dir(&received)
        .args(["index-pack", "--stdin", "--strict"])
        .stdin(sent)
        .stdout(std::process::Stdio::null())
        .status();
    assert!(status.unwrap().success());
    assert_is_whole(&place);
    assert_is_whole(&received);
}

#[test]
fn ordinary_repository_receives_zlib_or_an_error() {
    let daily = Daily::new();
    let place = empty(&daily.scratch, "ordinary");
    for command in ["index-pack --stdin", "unpack-objects"] {
        let script =
            format!("for pack in ../tree/.git/objects/pack/*.pack; do git {command} < $pack && exit 1; done; :");
        daily.shell(&place, &script);
        assert_eq!(git::output(&place, ["count-objects"]), "0 objects, 0 kilobytes\n");
        // git leaves unfinished files.
        let mut packs = fs::read_dir(place.join("objects/pack")).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(packs.all(|name| name.to_string_lossy().starts_with("tmp_")));
    }
}

/// libgit2 clones a local path like this, by links or by copies.
#[test]
fn programs_without_the_guard_copy_nothing_out() {
    let daily = Daily::new();
    let place = empty(&daily.scratch, "ordinary");
    let script = "
import glob, os, sys, zlib
pack = glob.glob('tree/.git/objects/pack/*.pack')[0]
def link(to):
    try: os.link(pack, to)
    except PermissionError: return 'refused'
    return 'linked'
def copy(to):
    try: open(to, 'wb').write(open(pack, 'rb').read())
    except PermissionError: return 'refused'
    return 'copied'
copied = 'ordinary/objects/pack/' + os.path.basename(pack)
print(copy(copied), end=' '); os.remove(copied)
open('tree/.git/config').read()
print(copy(copied), copy('tree/.git/objects/pack/copied.pack'), end=' ')
print(link('ordinary/objects/pack/' + os.path.basename(pack)), link('tree/.git/objects/pack/' + 'f' * 40 + '.pack'), link('elsewhere'))
";
    let said = daily.run(daily.scratch.path(), &["--", "env", "REPACKBENCH_READER=1", "python3", "-c", script]);
    assert_eq!(said.exits(exit::OK).text(), "copied refused copied refused linked linked\n");
    assert_eq!(fs::read_dir(place.join("objects/pack")).unwrap().count(), 0);
}
