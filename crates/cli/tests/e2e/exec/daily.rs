//! Daily work with git beyond single commands: repositories named from anywhere, several processes at once, processes
//! that outlive their parent or are killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::dictionary::convert_with_dictionary;
use crate::support::fixture::Fixture;
use crate::support::program::{self, Outcome, Scratch, convert, exit};
use crate::support::{git, preload};

/// The number of times that a command is killed.
const KILLS: u64 = 10;

/// A work tree whose `.git` is a variant.
pub(crate) struct Daily {
    pub(crate) scratch: Scratch,
}

impl Daily {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.join("tree/some/folder")).unwrap();
        fs::create_dir(scratch.join("temporary")).unwrap();
        convert(&Fixture::get("work-tree").repo(), "zstd:5", &scratch.join("tree/.git"));
        let daily = Daily { scratch };
        daily.git(&["config", "core.bare", "false"]);
        daily.git(&["reset", "-q", "--hard"]);
        daily
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch.join("tree")
    }

    /// `repackbench exec` with these words, run in `place`.
    pub(crate) fn exec(&self, place: &Path, words: &[&str]) -> Command {
        let mut command = preload::command();
        command.env("TMPDIR", self.scratch.join("temporary")).current_dir(place).arg("exec").args(words);
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, place: &Path, words: &[&str]) -> Outcome {
        program::run(&mut self.exec(place, words))
    }

    /// The output of git in the work tree, which it finds by itself.
    #[track_caller]
    pub(crate) fn git(&self, words: &[&str]) -> String {
        self.run(&self.tree(), &[&["--", "git"], words].concat()).exits(exit::OK).text()
    }

    #[track_caller]
    pub(crate) fn shell(&self, place: &Path, script: &str) -> String {
        self.run(place, &["--", "sh", "-ec", script]).exits(exit::OK).text()
    }

    fn start(&self, place: &Path, script: &str) -> Child {
        let mut command = self.exec(place, &["--", "sh", "-ec", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Fails the test unless all objects are whole, plain git stops, and no temporary file is left.
    #[track_caller]
    pub(crate) fn is_well(&self) {
        let found = self.run(&self.tree(), &["--", "git", "fsck", "--full", "--no-dangling"]);
        assert_eq!((found.code, found.text().as_str()), (Some(exit::OK), ""), "{}", found.stderr);
        git::assert_refuses_plainly(&self.tree());
        assert_eq!(fs::read_dir(self.scratch.join("temporary")).unwrap().count(), 0);
    }
}

#[test]
fn repository_is_named_from_anywhere() {
    let daily = Daily::new();
    let (tree, folder) = (daily.tree(), daily.tree().join("some/folder"));
    fs::write(folder.join("new"), "new\n").unwrap();
    let before = daily.git(&["ls-files"]);
    // git sees the work tree of the repository from every folder, and the folder it runs in.
    for (place, name) in [(&folder, "../.."), (&folder, "../../.git"), (&tree, "."), (&tree, ".git")] {
        assert_eq!(
            daily.run(place, &[name, "--", "git", "rev-parse", "--show-toplevel"]).text().trim_end(),
            tree.to_str().unwrap()
        );
    }
    daily.run(&folder, &["../..", "--", "git", "add", "-A"]).exits(exit::OK);
    daily.run(&folder, &["../..", "--", "git", "commit", "-q", "-m", "from a folder"]).exits(exit::OK);
    assert_eq!(daily.git(&["show", "--format=", "--name-status"]), "A\tsome/folder/new\n");
    assert_eq!(daily.git(&["ls-files"]).lines().count(), before.lines().count() + 1);
    assert_eq!(
        daily.run(daily.scratch.path(), &[tree.to_str().unwrap(), "--", "git", "status", "--porcelain"]).text(),
        ""
    );
    daily.is_well();
}

#[test]
fn respects_core_worktree_and_core_bare() {
    let daily = Daily::new();
    let tree = daily.tree();
    let top = |place: &Path| {
        daily.run(daily.scratch.path(), &[place.to_str().unwrap(), "--", "git", "rev-parse", "--show-toplevel"])
    };
    // The files are elsewhere, so nothing in the named folder is missing.
    let home = daily.scratch.join("home");
    fs::create_dir(&home).unwrap();
    daily.git(&["config", "core.worktree", home.to_str().unwrap()]);
    assert_eq!(top(&tree).text().trim_end(), home.to_str().unwrap());
    daily.git(&["config", "--unset", "core.worktree"]);
    // A bare repository with a linked work tree.
    let linked = daily.scratch.join("linked");
    daily.git(&["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    daily.git(&["config", "core.bare", "true"]);
    assert!(top(&tree).exits(128).stderr.contains("must be run in a work tree"));
    assert_eq!(top(&linked).text().trim_end(), linked.to_str().unwrap());
}

#[test]
fn another_preloaded_build_of_the_library_gives_way() {
    let daily = Daily::new();
    let other = daily.scratch.join("other");
    fs::create_dir(&other).unwrap();
    let library = preload::stand_in();
    let copy = other.join(library.file_name().unwrap());
    fs::copy(library, &copy).unwrap();
    let mut command = daily.exec(&daily.tree(), &["--", "git", "log", "--oneline", "-1"]);
    assert_eq!(program::run(command.env("LD_PRELOAD", &copy)).exits(exit::OK).text().lines().count(), 1);
}

#[test]
fn guard_survives_replacement_of_its_file() {
    let daily = Daily::new();
    let config = daily.tree().join(".git/config");
    let in_place = |mode: &str| {
        let script = format!("import zlib; open('.git/config', '{mode}').write('[a]\\n\\tb = c\\n')");
        daily.run(&daily.tree(), &["--", "env", "REPACKBENCH_READER=1", "python3", "-c", &script])
    };
    // A program that does not see the guard would write a file without it.
    for mode in ["w", "r+"] {
        let refused = in_place(mode);
        assert!(refused.code != Some(exit::OK) && refused.stderr.contains("guard"), "{refused:?}");
    }
    in_place("a").exits(exit::OK);
    assert_eq!(daily.git(&["config", "a.b"]), "c\n");
    daily.is_well();
    // An editor sees the guard, and may replace the file.
    let replace = "import zlib, os; text = open('.git/config').read(); os.rename('.git/config', '.git/config~'); open('.git/config', 'w').write(text)";
    daily.git(&["-c", &format!("core.editor=python3 -c \"{replace}\""), "config", "--edit"]);
    daily.is_well();
    // git writes to a read-only file.
    fs::set_permissions(&config, fs::Permissions::from_mode(0o444)).unwrap();
    daily.git(&["config", "a.b", "e"]);
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o444);
    daily.is_well();
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    // git replaces the target of a link.
    let settings = daily.scratch.join("settings");
    fs::rename(&config, &settings).unwrap();
    std::os::unix::fs::symlink(&settings, &config).unwrap();
    for (key, value) in [("a.b", "d"), ("core.repositoryFormatVersion", "0")] {
        daily.git(&["config", key, value]);
        daily.is_well();
    }
    assert!(config.is_symlink() && fs::read_to_string(&settings).unwrap().contains("b = d"));
}

/// git-lfs gets everything it knows of a repository from git, and then reads objects with its own zlib.
#[test]
fn git_lfs_meets_the_guard_where_it_reads_objects() {
    let daily = Daily::new();
    let asks = "git rev-parse HEAD\nexit $?\n";
    for (command, code) in [("ls-files", 128), ("pre-push", 128), ("filter-process", exit::OK)] {
        fs::write(daily.scratch.join(command), asks).unwrap();
        // A shell under the name of git-lfs. Its script is in the place of the command.
        let script = format!("GIT_DIR='{}' exec -a git-lfs sh {command}", daily.tree().join(".git").display());
        let said = daily.run(daily.scratch.path(), &["--", "bash", "-c", &script]).exits(code);
        assert_eq!(
            said.stderr.contains("unknown repository extension"),
            code != exit::OK,
            "{command}: {}",
            said.stderr
        );
    }
}

#[test]
fn clone_by_path_holds_zlib() {
    let daily = Daily::new();
    let linked = daily.scratch.join("linked");
    daily.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    for (number, place) in [daily.tree(), daily.tree().join(".git"), linked].iter().enumerate() {
        for options in [&[][..], &["--local"], &["--shared"]] {
            let clone = daily.scratch.join(&format!("clone-{number}{}", options.concat()));
            let words =
                [&["--", "git", "clone", "-q", "--bare"], options, &[place.to_str().unwrap(), clone.to_str().unwrap()]];
            daily.run(daily.scratch.path(), &words.concat()).exits(exit::OK);
            git::git(&clone, ["fsck", "--full"]).exits(exit::OK);
            assert!(!clone.join("objects/info/alternates").exists());
        }
    }
    daily.is_well();
}

#[test]
fn chunks_use_the_dictionaries_of_their_own_store() {
    let daily = Daily::new();
    let variants =
        [("history", "zstd:9,dict=file"), ("work-tree", "lz4hc:9,dict=file"), ("content", "zlib:9,dict=file")];
    let places = variants.map(|(name, spec)| {
        let place = daily.scratch.join(name);
        convert_with_dictionary(&Fixture::get(name).repo(), spec, &[], &place);
        place
    });
    // All of them in one process, with a store that has no dictionary.
    let mixed = daily.scratch.join("mixed");
    git::output(daily.scratch.path(), ["init", "-q", "--bare", mixed.to_str().unwrap()]);
    let alternates: Vec<String> = places.iter().map(|place| format!("{}/objects\n", place.display())).collect();
    fs::write(mixed.join("objects/info/alternates"), alternates.concat()).unwrap();
    let all = ["--git-dir", mixed.to_str().unwrap(), "cat-file", "--batch-all-objects", "--batch"];
    let found = daily.run(daily.scratch.path(), &[&["--", "git"], &all[..]].concat()).exits(exit::OK);
    let sources: Vec<String> =
        variants.map(|(name, _)| format!("{}/objects\n", git::path(&Fixture::get(name).repo(), "").display())).into();
    fs::write(mixed.join("objects/info/alternates"), sources.concat()).unwrap();
    assert_eq!(found.stdout, git::git(&mixed, &all[2..]).exits(exit::OK).stdout);
}

/// A chunk that a program copied to memory may come from any store that it has read.
#[test]
fn ambiguous_dictionary_is_an_error() {
    let daily = Daily::new();
    let [one, other] = ["history", "content"].map(|name| {
        let place = daily.scratch.join(name);
        convert_with_dictionary(&Fixture::get(name).repo(), "zstd:9,dict=file", &["--store", "loose"], &place);
        place
    });
    let script = "
import glob, sys, zlib
one, other = (sorted(glob.glob(place + '/objects/??/*')) for place in sys.argv[1:])
copies = [data for data in (open(name, 'rb').read() for name in one) if data[0] & 0x7f == 0x42]
print(len(copies) > 0, all(zlib.decompress(data[:1] + data[1:]) for data in copies))
open(other[0], 'rb').close()
for data in copies:
    try: zlib.decompress(data[:1] + data[1:])
    except zlib.error: continue
    print('decoded')
";
    let words = ["--", "python3", "-c", script, one.to_str().unwrap(), other.to_str().unwrap()];
    let outcome = daily.run(daily.scratch.path(), &words).exits(exit::OK);
    assert_eq!(outcome.text(), "True True\n", "{}", outcome.stderr);
    assert!(outcome.stderr.contains("it is not clear of which"), "{}", outcome.stderr);
}

#[test]
fn variants_that_git_cannot_read_keep_their_guard() {
    let daily = Daily::new();
    for (codec, store, why) in [
        ("zstd:5,prefix", "pack", "need the content of their base"),
        ("zstd:5,patch", "pack", "need the content of their base"),
        ("zstd:5", "btree", "are in a B-tree"),
    ] {
        let variant = daily.scratch.join(&format!("{codec}-{store}"));
        let mut conversion = program::command();
        conversion.args(["convert", "--quiet", "--codec", codec, "--store", store]);
        program::run(conversion.arg(Fixture::get("history").repo()).arg("-o").arg(&variant)).exits(exit::OK);
        let refused = daily.run(&variant, &["--", "git", "log", "-1"]).exits(128);
        assert!(refused.stderr.contains("unknown repository extension"), "{}", refused.stderr);
        assert_eq!(refused.stderr.matches(why).count(), 1, "{}", refused.stderr);
    }
}

#[test]
fn concurrent_commands_see_one_repository() {
    let daily = Daily::new();
    let tree = daily.tree();
    // A shell stays open while another switches the branch. Its commit goes to the new branch.
    let mut open =
        daily.start(&tree, "read line; echo mine > mine; git add mine; git commit -q -m mine; git symbolic-ref HEAD");
    daily.git(&["switch", "-q", "-c", "other"]);
    std::io::Write::write_all(open.stdin.as_mut().unwrap(), b"now\n").unwrap();
    let said = open.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "refs/heads/other\n");
    assert_eq!(daily.git(&["log", "--format=%s", "-1", "other"]), "mine\n");
    assert_eq!(daily.git(&["show", "--format=", "--name-status"]), "A\tmine\n");
    // The gc of another command keeps a commit that only a detached HEAD names.
    let mut open = daily.start(
        &tree,
        "git switch -q --detach; git commit -q --allow-empty -m lone; echo; read line; git log --format=%s -1",
    );
    let mut newline = [0];
    std::io::Read::read_exact(open.stdout.as_mut().unwrap(), &mut newline).unwrap();
    daily.git(&["gc", "-q", "--prune=now"]);
    std::io::Write::write_all(open.stdin.as_mut().unwrap(), b"now\n").unwrap();
    assert_eq!(String::from_utf8_lossy(&open.wait_with_output().unwrap().stdout), "lone\n");
    daily.is_well();
}

#[test]
fn parallel_commits_in_work_trees_are_all_kept() {
    const COMMITS: usize = 12;
    let daily = Daily::new();
    let base = daily.git(&["rev-parse", "HEAD"]);
    let places = ["first", "second"].map(|name| daily.scratch.join(name));
    for place in &places {
        daily.git(&["worktree", "add", "-q", place.to_str().unwrap()]);
    }
    let script = format!("for n in $(seq {COMMITS}); do echo $n > new; git add new; git commit -q -m $n; done");
    let running: Vec<Child> = [&daily.tree(), &places[0], &places[1]].map(|place| daily.start(place, &script)).into();
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    for place in [&daily.tree(), &places[0], &places[1]] {
        git::assert_refuses_plainly(place);
        let counted =
            daily.shell(place, &format!("git status --porcelain; git rev-list --count {}..HEAD", base.trim_end()));
        assert_eq!(counted, format!("{COMMITS}\n"));
    }
    daily.is_well();
}

#[test]
fn detached_gc_outlives_the_command() {
    let daily = Daily::new();
    let packs = || -> Vec<String> {
        let entries = fs::read_dir(daily.tree().join(".git/objects/pack")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.ends_with(".idx") && !name.ends_with(".rev")).collect()
    };
    let before = packs();
    assert!(before.len() > 1, "enough for gc to think that there is something to do: {before:?}");
    for (key, value) in [("gc.auto", "6700"), ("gc.autoPackLimit", "1"), ("gc.autoDetach", "true")] {
        daily.git(&["config", key, value]);
    }
    daily.git(&["gc", "--auto", "-q"]);
    let is_done = || !packs().iter().any(|name| before.contains(name)) && !daily.tree().join(".git/gc.pid").exists();
    // It ends by itself; the limit ends a test that would hang.
    for _ in 0..18_000 {
        if is_done() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(is_done() && !packs().iter().any(|name| name.starts_with("tmp_")), "{:?}", packs());
    daily.is_well();
}

/// Is killed at any moment. It writes down each commit before it continues.
const KILLED: &str = "
    n=$1
    git reset -q --hard; git clean -fdq; git switch -q work || git switch -q -c work || exit
    while :; do
        n=$((n + 1)); echo $n > file-$n; git add file-$n; git commit -q -m $n; git rev-parse HEAD >> ../committed
        git gc -q --prune=now; git repack -adfq
        git switch -q -C side HEAD~1; git commit -q --allow-empty -m side; git rebase -q work; git switch -q work
        git worktree add -q --detach ../linked; git worktree remove --force ../linked
    done";

#[test]
fn kill_loses_no_commit() {
    let daily = Daily::new();
    fs::write(daily.scratch.join("committed"), "").unwrap();
    for round in 0..KILLS {
        let mut command = daily.exec(&daily.tree(), &["--", "sh", "-c", KILLED, "sh", &(1000 * round).to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut running = command.spawn().unwrap();
        // A different moment each time.
        std::thread::sleep(Duration::from_millis(300 + 37 * round));
        program::run(Command::new("kill").args(["-KILL", "--", &format!("-{}", running.id())])).exits(exit::OK);
        running.wait().unwrap();
        // What git asks its users to do after a crash.
        let locks =
            "find .git -name '*.lock' -delete; rm -rf .git/rebase-merge .git/worktrees ../linked; git worktree prune";
        daily.shell(&daily.tree(), locks);
        daily.is_well();
        for commit in fs::read_to_string(daily.scratch.join("committed")).unwrap().lines() {
            daily.git(&["merge-base", "--is-ancestor", commit, "work"]);
        }
    }
    assert!(fs::read_to_string(daily.scratch.join("committed")).unwrap().lines().count() > 0);
}
