//! `exec --codec`: unpatched git writes with every codec. The object store holds that codec, and nothing else does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use repackbench_codec::{CodecSpec, catalogue};

use crate::support::git;
use crate::support::preload::exec;
use crate::support::program::{self, Outcome, Scratch, convert, exit};

/// The number of commits in the repository. Each adds a commit, a tree and a blob.
pub(crate) const COMMITS: usize = 120;

/// The date of all commits, so that the same commands make the same objects.
const DATE: &str = "1500000000 +0000";
const SECONDS: u32 = 1_500_000_000;

/// Options that change what is written.
const WITH_OPTIONS: [&str; 4] =
    ["zstd:3,checksum=no", "zstd:3,frame=standard", "lz4,store-if-larger=no", "zstd:3,loose=1"];

/// What git is asked to compare two repositories.
const QUESTIONS: &str = "git for-each-ref; git rev-list --objects --all; git cat-file --batch-all-objects --batch";

/// Every codec of the registry, at a fast level, and some options.
fn specs() -> Vec<String> {
    let codecs = catalogue().into_iter().map(|codec| match codec.levels {
        Some(levels) if levels.contains(1) => format!("{}:1", codec.name),
        _ => codec.name.to_owned(),
    });
    codecs.chain(WITH_OPTIONS.map(str::to_owned)).collect()
}

/// A new bare repository in `scratch`, with packed objects, some of them deltas.
pub(crate) fn ordinary(scratch: &Scratch) -> PathBuf {
    let repo = scratch.join("ordinary");
    git::output(scratch.path(), ["init", "-q", "--bare", repo.to_str().unwrap()]);
    let mut stream = String::new();
    for number in 0..COMMITS {
        let content: String = (0..number % 40 + 5).map(|line| format!("line {}\n", line * (number % 7 + 1))).collect();
        let content = format!("{content}\0\u{1}{number}\n");
        stream += &git::stream_commit(SECONDS, &format!("c{number:03}\n"));
        stream += &git::stream_file(&format!("file-{}", number % 13), &content);
    }
    git::fast_import(&repo, &stream);
    fs::write(scratch.join("stream"), stream).unwrap();
    git::output(&repo, ["repack", "-adfq"]);
    repo
}

/// Runs a script on `repo` by plain git, which writes zlib. `$0` is the folder that holds the repository.
#[track_caller]
pub(crate) fn plain(repo: &Path, script: &str) -> Outcome {
    let mut command = Command::new("sh");
    program::isolate(&mut command);
    git::pin(&mut command);
    run(command.env("GIT_DIR", repo).args(["-ec", script]).arg(repo.parent().unwrap()))
}

/// Runs the same under `exec --codec`.
#[track_caller]
pub(crate) fn writing(repo: &Path, codec: &str, script: &str) -> Outcome {
    let mut command = exec(repo, &["--codec", codec], &["sh", "-ec", script]);
    run(command.arg(repo.parent().unwrap()))
}

#[track_caller]
pub(crate) fn run(command: &mut Command) -> Outcome {
    program::run(command.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE))
}

/// Every file below `objects`. Packs have only their extension as a name, as git names them by their content.
pub(crate) fn stored(repo: &Path) -> BTreeMap<String, Vec<Vec<u8>>> {
    let mut files: BTreeMap<String, Vec<Vec<u8>>> = BTreeMap::new();
    for folder in fs::read_dir(repo.join("objects")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        if name.len() != 2 && name != "pack" {
            continue;
        }
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let key = match file.extension() {
                Some(extension) if extension == "pack" => "pack".to_owned(),
                Some(_) => continue,
                None => format!("{name}{}", file.file_name().unwrap().to_string_lossy()),
            };
            files.entry(key).or_default().push(fs::read(file).unwrap());
        }
    }
    files.values_mut().for_each(|same| same.sort());
    files
}

pub(crate) fn loose(files: &BTreeMap<String, Vec<Vec<u8>>>) -> usize {
    files.keys().filter(|key| *key != "pack").count()
}

/// Fails the test unless all chunks of `repo` are those that a conversion to `codec` would write, byte for byte.
#[track_caller]
pub(crate) fn assert_written_with(repo: &Path, codec: &str, scratch: &Scratch) -> BTreeMap<String, Vec<Vec<u8>>> {
    let again = scratch.join("again");
    convert(repo, codec, &again);
    let (found, expected) = (stored(repo), stored(&again));
    for (name, files) in &expected {
        assert!(found.get(name) == Some(files), "{codec}: {name} is not what the codec writes");
    }
    assert_eq!(found.len(), expected.len());
    fs::remove_dir_all(again).unwrap();
    found
}

/// Commits, a branch, a merge, a stash, notes and a tag, in a new work tree.
const WORK: &str = "
    export GIT_WORK_TREE=\"$0/$TREE\"
    mkdir \"$GIT_WORK_TREE\"; cd \"$GIT_WORK_TREE\"
    git checkout -q -f main
    seq 1 300 > ours; git add ours; git commit -q -m ours
    git branch side HEAD~1; git checkout -q side
    : > empty; seq 1 20 > theirs; git add .; git commit -q -m theirs
    git checkout -q main; git merge -q -m merged side
    echo more >> ours; git stash push -q -m stashed
    git notes add -m note; git tag -a -m tagged v1
";

#[test]
fn stored_objects_have_the_codec() {
    let folder = Scratch::new();
    let source = ordinary(&folder);
    let counterpart = folder.join("counterpart");
    git::output(folder.path(), ["clone", "-q", "--mirror", source.to_str().unwrap(), counterpart.to_str().unwrap()]);
    plain(&counterpart, &format!("TREE=plain{WORK}")).exits(exit::OK);
    let expected = plain(&counterpart, QUESTIONS).exits(exit::OK).stdout;
    for codec in specs() {
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert(&source, &codec, &variant);
        let outcome = writing(&variant, &codec, &format!("TREE=tree{WORK}")).exits(exit::OK);
        assert_eq!(outcome.stderr, "", "{codec}");
        let files = assert_written_with(&variant, &codec, &scratch);
        assert!(loose(&files) > 15, "{codec}");

        writing(&variant, &codec, "git gc -q").exits(exit::OK);
        assert_eq!(loose(&stored(&variant)), 0, "{codec}");
        let all = "git -c pack.threads=4 repack -adFq; git fsck --full --strict --no-dangling";
        assert_eq!(writing(&variant, &codec, all).exits(exit::OK).stderr, "", "{codec}");
        assert_written_with(&variant, &codec, &scratch);
        assert!(writing(&variant, &codec, QUESTIONS).exits(exit::OK).stdout == expected, "{codec}");
        if !codec.parse::<CodecSpec>().unwrap().is_read_by_git() {
            git::assert_refuses_plainly(&variant);
        }
    }
}

/// Sends packs and single objects by push, bundle, clone and fetch.
const SEND: &str = "
    git push -q --mirror \"$0/pushed\"
    git commit-tree -m last main^{tree} > \"$0/last\"
    git push -q \"$0/pushed\" $(cat \"$0/last\"):refs/heads/last
    git bundle create -q \"$0/all.bundle\" --all
    git clone -q --mirror --no-local \"$GIT_DIR\" \"$0/cloned\"
    view=$GIT_DIR; unset GIT_DIR
    git -C \"$0/fetched\" fetch -q \"$view\" '+refs/*:refs/*'
    git -C \"$0/fetched\" repack -adFq
    echo elsewhere | git -C \"$0/fetched\" hash-object -w --stdin > \"$0/blob\"
";

#[test]
fn objects_sent_elsewhere_are_zlib() {
    let folder = Scratch::new();
    let source = ordinary(&folder);
    for codec in specs() {
        let scratch = Scratch::new();
        let variant = scratch.join("variant");
        convert(&source, &codec, &variant);
        for name in ["pushed", "fetched"] {
            git::output(scratch.path(), ["init", "-q", "--bare", scratch.join(name).to_str().unwrap()]);
        }
        let outcome = writing(&variant, &codec, SEND).exits(exit::OK);
        assert_eq!(outcome.stderr, "", "{codec}");
        // Without the library.
        let bundle = scratch.join("all.bundle");
        git::output(
            scratch.path(),
            ["clone", "-q", "--mirror", bundle.to_str().unwrap(), scratch.join("unbundled").to_str().unwrap()],
        );
        for name in ["pushed", "fetched", "cloned", "unbundled"] {
            let there = scratch.join(name);
            let outcome = git::git(&there, ["fsck", "--full", "--strict", "--no-dangling"]).exits(exit::OK);
            assert_eq!(outcome.stderr, "", "{name} under {codec}");
            let main = git::output(&there, ["rev-list", "--objects", "refs/heads/main"]);
            assert_eq!(main.lines().count(), 3 * COMMITS, "{name} under {codec}");
            // Only zlib streams begin with this byte.
            for (object, files) in stored(&there).iter().filter(|(name, _)| *name != "pack") {
                assert!(files.iter().all(|file| file[0] == 0x78), "{object} of {name} under {codec}");
            }
        }
        assert_eq!(loose(&stored(&scratch.join("pushed"))), 1, "{codec}");
        assert_eq!(loose(&stored(&scratch.join("fetched"))), 1, "{codec}");
        assert_eq!(loose(&assert_written_with(&variant, &codec, &scratch)), 1, "{codec}: what stayed has the codec");
    }
}
