//! What `exec --codec` leaves as zlib: other outputs, repositories, folders and programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::writing::{COMMITS, assert_written_with, loose, ordinary, plain, run, stored, writing};
use crate::support::open_pack::OpenPack;
use crate::support::preload::exec;
use crate::support::program::{Outcome, Scratch, convert, exit};
use crate::support::{git, program};

const CODEC: &str = "zstd:1";

/// The first byte of zlib streams at every level that git uses. No chunk of ours begins with it.
const ZLIB: u8 = 0x78;

/// The number of chunks in the packs of `objects` that begin with each byte.
fn first_bytes(objects: &Path) -> BTreeMap<u8, usize> {
    let mut counts = BTreeMap::new();
    for pack in OpenPack::all(objects) {
        pack.headers().for_each(|header| *counts.entry(pack.pack[header.chunk]).or_default() += 1);
    }
    counts
}

/// Fails the test unless the repository holds only zlib streams and plain git finds no fault.
#[track_caller]
fn assert_is_zlibs(repo: &Path) {
    for (object, files) in stored(repo).iter().filter(|(name, _)| *name != "pack") {
        assert!(files.iter().all(|file| file[0] == ZLIB), "{object}");
    }
    assert!(first_bytes(&repo.join("objects")).keys().all(|byte| *byte == ZLIB));
    plain(repo, "git fsck --full --strict --no-dangling").exits(exit::OK);
}

/// A variant of the ordinary repository.
fn variant(scratch: &Scratch) -> std::path::PathBuf {
    let variant = scratch.join("variant");
    convert(&ordinary(scratch), CODEC, &variant);
    variant
}

#[test]
fn other_outputs_equal_those_of_plain_git() {
    let scratch = Scratch::new();
    let variant = variant(&scratch);
    // The file of the last but one begins as loose objects do.
    let outputs = "
        git diff --binary main~5 main
        git format-patch --binary --stdout main~3..main
        git log -p --binary -3 main
        git archive --format=zip main | sha1sum
        git archive --format=tar.gz main | sha1sum
        git -c core.compression=9 diff --binary main~5 main
        printf 'blob 5\\0' > \"$0/header\"
        git diff --no-index --binary /dev/null \"$0/header\" || :
        git fast-export main~2..main";
    let expected = plain(&scratch.join("ordinary"), outputs).exits(exit::OK);
    assert!(expected.text().contains("GIT binary patch"));
    assert_eq!(writing(&variant, CODEC, outputs).exits(exit::OK), expected);
}

#[test]
fn received_objects_get_the_codec() {
    let scratch = Scratch::new();
    let variant = variant(&scratch);
    let newer = scratch.join("newer");
    git::output(
        scratch.path(),
        ["clone", "-q", "--mirror", scratch.join("ordinary").to_str().unwrap(), newer.to_str().unwrap()],
    );
    // Small changes, so that a thin pack has deltas on objects of the variant.
    let more = "
        export GIT_WORK_TREE=\"$0/newer-tree\"; mkdir \"$GIT_WORK_TREE\"; cd \"$GIT_WORK_TREE\"
        git checkout -q -f main
        for number in 1 2 3 4 5 6; do
            for file in file-*; do echo \"more $number\" >> $file; done
            git commit -q -a -m more
        done";
    plain(&newer, more).exits(exit::OK);
    let before = first_bytes(&variant.join("objects"));
    assert!(!before.contains_key(&ZLIB));
    writing(&variant, CODEC, "git -c fetch.unpackLimit=1 fetch -q \"$0/newer\" main:newer").exits(exit::OK);
    let after = first_bytes(&variant.join("objects"));
    // The received entries stay zlib, and the bases added to them have the codec.
    assert!(after[&ZLIB] > 6, "{after:?}");
    let ours =
        |counts: &BTreeMap<u8, usize>| counts.iter().filter(|(byte, _)| **byte != ZLIB).map(|(_, n)| n).sum::<usize>();
    assert!(ours(&after) > ours(&before), "{before:?} {after:?}");

    // A push that is unpacked, first into a quarantine folder.
    let receive = "
        git config transfer.unpackLimit 1000
        view=$GIT_DIR; unset GIT_DIR
        tip=$(git --git-dir=\"$0/newer\" commit-tree -m new main^{tree})
        git --git-dir=\"$0/newer\" push -q \"$view\" $tip:refs/heads/pushed";
    writing(&variant, CODEC, receive).exits(exit::OK);
    let all = "git fsck --full --strict --no-dangling; git repack -adFq; git fsck --full --strict --no-dangling";
    let files = stored(&variant);
    assert!(loose(&files) > 0);
    assert!(files.iter().filter(|(name, _)| *name != "pack").all(|(_, files)| files[0][0] != ZLIB));
    assert_is_zlibs(&newer);
    assert_eq!(writing(&variant, CODEC, all).exits(exit::OK).stderr, "");
    assert_written_with(&variant, CODEC, &scratch);

    // fast-import writes a pack by itself.
    let empty = scratch.join("empty");
    git::output(scratch.path(), ["init", "-q", "--bare", scratch.join("nothing").to_str().unwrap()]);
    convert(&scratch.join("nothing"), CODEC, &empty);
    writing(&empty, CODEC, "git fast-import --quiet < \"$0/stream\"").exits(exit::OK);
    assert_eq!(first_bytes(&empty.join("objects")).values().sum::<usize>(), 3 * COMMITS);
    assert_written_with(&empty, CODEC, &scratch);
}

#[test]
fn work_trees_alternates_and_large_files_get_the_codec() {
    let scratch = Scratch::new();
    let variant = variant(&scratch);
    let linked = "
        git worktree add -q \"$0/linked\" main 2>/dev/null
        cd \"$0/linked\"; unset GIT_DIR
        echo linked > linked; git add linked; git commit -q -m linked";
    writing(&variant, CODEC, linked).exits(exit::OK);
    assert_eq!(loose(&assert_written_with(&variant, CODEC, &scratch)), 3);
    // The same where `exec` is given that work tree.
    let again = "cd \"$0/linked\"; echo again > linked; git commit -q -a -m again";
    writing(&scratch.join("linked"), CODEC, again).exits(exit::OK);
    assert_eq!(loose(&assert_written_with(&variant, CODEC, &scratch)), 6);

    let borrowed = "
        echo \"$0/ordinary/objects\" > \"$GIT_DIR/objects/info/alternates\"
        git repack -adlFq; git fsck --full --strict --no-dangling; git count-objects -v";
    let counts = writing(&variant, CODEC, borrowed).exits(exit::OK).text();
    assert!(counts.contains("alternate: ") && counts.contains("\nin-pack: 6\n"), "{counts}");
    writing(&variant, CODEC, "git repack -adFq; rm \"$GIT_DIR/objects/info/alternates\"").exits(exit::OK);
    assert_written_with(&variant, CODEC, &scratch);

    // What `add` streams into a pack stays zlib, as it looks like a pack that is sent.
    let large = "
        export GIT_WORK_TREE=\"$0\"; cd \"$0\"
        seq 1 800000 > large
        git -c core.bigFileThreshold=1m hash-object -w large > id
        git cat-file blob $(cat id) | cmp - large
        git -c core.bigFileThreshold=1m add large
        git cat-file blob :large | cmp - large";
    writing(&variant, CODEC, large).exits(exit::OK);
    assert_eq!(first_bytes(&variant.join("objects"))[&ZLIB], 1);
    // Repacking writes it with the codec, streamed or not.
    for threshold in ["1m", "1g"] {
        let repack = format!("git commit-tree -m large $(git write-tree) > \"$0/commit\"
            git update-ref refs/heads/large $(cat \"$0/commit\"); git -c core.bigFileThreshold={threshold} repack -adFq; git fsck --full");
        writing(&variant, CODEC, &repack).exits(exit::OK);
        assert!(!first_bytes(&variant.join("objects")).contains_key(&ZLIB));
        assert_written_with(&variant, CODEC, &scratch);
    }

    // Longer than a payload that is encoded at once.
    for codec in ["lz4", "zstd:1"] {
        let longest = "
            head -c 68000000 /dev/zero > zeroes
            git cat-file blob $(git hash-object -w zeroes) | cmp - zeroes";
        writing(&variant, codec, &format!("cd \"$0\"; {longest}")).exits(exit::OK);
    }
}

#[test]
fn other_repositories_folders_and_programs_stay_zlib() {
    let scratch = Scratch::new();
    let variant = variant(&scratch);
    let git_program = program::run(std::process::Command::new("sh").args(["-c", "command -v git"])).text();
    for name in ["unpacked", "sub"] {
        git::output(scratch.path(), ["init", "-q", "--bare", scratch.join(name).to_str().unwrap()]);
    }
    git::output(&scratch.join("unpacked"), ["config", "transfer.unpackLimit", "100000"]);
    git::output(&scratch.join("ordinary"), ["push", "-q", scratch.join("sub").to_str().unwrap(), "main"]);
    let elsewhere = "
        git push -q --mirror \"$0/unpacked\"
        mkdir \"$0/objects\" \"$0/packs\" \"$0/copy\" \"$0/objects/pack\"
        echo one | GIT_OBJECT_DIRECTORY=\"$0/objects\" git hash-object -w --stdin
        git rev-list --objects main | git pack-objects -q --no-reuse-object \"$0/packs/pack\"
        (cd \"$GIT_DIR/objects/pack\"; git rev-list main | git pack-objects -q --no-reuse-object --window 5 \"$0/objects/pack/pack\")
        cp \"$1\" \"$0/copy/other\"; ! echo copied | \"$0/copy/other\" hash-object -w --stdin 2> \"$0/refused\"
        python3 -c \"import sys, zlib
c = zlib.compressobj()
sys.stdout.buffer.write(c.compress(b'blob 5\\\\0') + c.compress(b'12345') + c.flush())\" > \"$0/python\"
        export GIT_WORK_TREE=\"$0/tree\"; mkdir \"$GIT_WORK_TREE\"; cd \"$GIT_WORK_TREE\"
        git checkout -q -f main; git submodule --quiet add \"$0/sub\" sub
        (unset GIT_DIR GIT_WORK_TREE; cd sub; echo new > new; git add new; git commit -q -m new; git gc -q)
        git commit -q -m submodule";
    let mut command = exec(&variant, &["--codec", CODEC], &["sh", "-ec", elsewhere]);
    run(command.arg(scratch.path()).arg(git_program.trim())).exits(exit::OK);

    assert_eq!(loose(&stored(&scratch.join("unpacked"))), 3 * COMMITS);
    assert_is_zlibs(&scratch.join("unpacked"));
    assert_is_zlibs(&variant.join("modules/sub"));
    assert_eq!(first_bytes(&scratch.join("objects")), BTreeMap::from([(ZLIB, COMMITS)]));
    let found = fs::read_dir(scratch.join("packs")).unwrap().count();
    fs::create_dir(scratch.join("moved")).unwrap();
    fs::rename(scratch.join("packs"), scratch.join("moved/pack")).unwrap();
    assert_eq!((found, first_bytes(&scratch.join("moved"))), (2, BTreeMap::from([(ZLIB, 3 * COMMITS)])));
    let one = scratch.join("objects/56/26abf0f72e58d7a153368ba57db4c673c0e171");
    assert_eq!(fs::read(one).unwrap()[0], ZLIB);
    assert_eq!(fs::read(scratch.join("python")).unwrap()[0], ZLIB);
    // A git of another file name is another program, which meets the guard.
    assert!(fs::read_to_string(scratch.join("refused")).unwrap().contains("unknown repository extension"));
    // The commit with the submodule, its tree and the file that names the submodule.
    let ours = stored(&variant).into_iter().filter(|(name, files)| name != "pack" && files[0][0] != ZLIB).count();
    assert_eq!(ours, 3);
}

#[test]
fn rejects_codecs_it_cannot_write() {
    let scratch = Scratch::new();
    let variant = variant(&scratch);
    let refused = |repo: &Path, codec: &str, git: &str| -> Outcome {
        run(&mut exec(repo, &["--codec", codec], &[git, "hash-object", "-w", "/dev/null"]))
    };
    for (codec, named) in
        [("zstd:5,dict=4k", "dictionaries"), ("zstd:5,prefix", "prefix"), ("zstd:5,tree=store", "tree")]
    {
        let line = refused(&variant, codec, "git").exits(exit::USAGE).error_line();
        assert!(line.contains(codec) && line.contains(named), "{line}");
    }
    let source = scratch.join("ordinary");
    let outcome = refused(&source, CODEC, "git").exits(exit::FAILURE);
    assert!(outcome.error_line().contains("ordinary repository"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("repackbench convert --codec zstd:1"), "{}", outcome.stderr);
    assert_eq!(loose(&stored(&source)), 0);

    // A script that starts a git under another name.
    let script = scratch.join("git");
    let copy = "cp \"$(command -v git)\" \"$0/copy\"; printf '#!/bin/sh\\nexec \"%s/copy\" \"$@\"\\n' \"$0\" > \"$0/git\"; chmod +x \"$0/git\"";
    plain(&source, copy).exits(exit::OK);
    let outcome = refused(&variant, CODEC, script.to_str().unwrap()).exits(exit::FAILURE);
    assert!(outcome.error_line().contains("does not write with zstd:1 although it was asked to"), "{}", outcome.stderr);

    // A codec that plain git reads may be written anywhere.
    run(&mut exec(&source, &["--codec", "libdeflate:9"], &["git", "repack", "-adFq"])).exits(exit::OK);
    assert_written_with(&source, "libdeflate:9", &scratch);
    git::git(&source, ["fsck", "--full", "--strict"]).exits(exit::OK);
}
