//! `repackbench exec` by a copy of the program that has no library near it: the program contains them, and writes them
//! to a private folder.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::git;
use crate::support::preload::{CODECS_FILE, copy_embedding};
use crate::support::program::{self, Outcome, Scratch, convert, exit};

const STAND_IN_FILE: &str = "librepackbench_preload.so";

/// A copy of the program, alone in a folder, a user's empty home, and a variant that plain git cannot read.
struct Copied {
    scratch: Scratch,
    expected: String,
}

/// What git is asked.
const LOG: [&str; 4] = ["log", "--all", "--raw", "--format=%H %s"];

impl Copied {
    fn new() -> Self {
        let scratch = Scratch::new();
        copy_embedding(&scratch.join("bin/repackbench"));
        fs::create_dir(scratch.join("home")).expect("a home");
        let source = Fixture::get("history").repo();
        convert(&source, "zstd:5", &scratch.join("variant"));
        Copied { scratch, expected: git::output(&source, LOG) }
    }

    /// `exec VARIANT -- git log` by the copy, with an environment that names the home and nothing else.
    fn log(&self) -> Command {
        let mut log = Command::new(self.scratch.join("bin/repackbench"));
        program::isolate(&mut log);
        git::pin(&mut log);
        for name in ["REPACKBENCH_PRELOAD", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"] {
            log.env_remove(name);
        }
        log.env("HOME", self.scratch.join("home"));
        log.arg("exec").arg(self.scratch.join("variant")).args(["--", "git"]).args(LOG);
        log
    }

    /// Runs git, which must read the variant.
    #[track_caller]
    fn assert_reads(&self) {
        self.assert_output(program::run(&mut self.log()));
    }

    #[track_caller]
    fn assert_output(&self, outcome: Outcome) {
        assert_eq!(outcome.exits(exit::OK).text(), self.expected);
    }

    /// The only private folder in the cache.
    #[track_caller]
    fn folder(&self) -> PathBuf {
        only_entry(&self.scratch.join("home/.cache/repackbench"))
    }
}

#[track_caller]
fn only_entry(folder: &Path) -> PathBuf {
    let entries: Vec<PathBuf> = fs::read_dir(folder).expect("a folder").map(|entry| entry.unwrap().path()).collect();
    let [only] = &entries[..] else { panic!("expected one entry, found {entries:?}") };
    only.clone()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("a file").mode() & 0o7777
}

#[test]
fn copied_program_runs_git_on_a_variant() {
    let copied = Copied::new();
    copied.assert_reads();
    let files = [STAND_IN_FILE, CODECS_FILE].map(|file| copied.folder().join(file));
    assert_eq!((mode(&copied.folder()), files.each_ref().map(|file| mode(file))), (0o700, [0o600; 2]));
    let inodes = || files.each_ref().map(|file| fs::metadata(file).expect("a library").ino());
    let first = inodes();
    copied.assert_reads();
    assert_eq!(inodes(), first, "the second run uses the same files");
    assert_eq!(fs::read_dir(copied.folder()).expect("the folder").count(), files.len());
    assert_eq!(only_entry(&copied.scratch.join("bin")).file_name(), Some(OsStr::new("repackbench")));
}

#[test]
fn copied_program_prints_an_environment_for_git() {
    let copied = Copied::new();
    let mut shell = Command::new("sh");
    let log = copied.log();
    for (name, value) in log.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.args(["-ec", "environment=$(\"$0\" env); eval \"$environment\"; cd \"$1\"; shift; git \"$@\""]);
    shell.arg(log.get_program()).arg(copied.scratch.join("variant")).args(LOG);
    copied.assert_output(program::run(&mut shell));
}

#[test]
fn tampered_library_is_not_loaded() {
    let copied = Copied::new();
    copied.assert_reads();
    for file in [STAND_IN_FILE, CODECS_FILE] {
        let library = copied.folder().join(file);
        let genuine = fs::read(&library).expect("a library");
        let mut tampered = genuine.clone();
        // Of the same length. The loader would not notice: this is not in a header.
        *tampered.last_mut().expect("a byte") ^= 1;
        for content in [&tampered[..], b"no library"] {
            fs::write(&library, content).expect("a tampered library");
            copied.assert_reads();
            assert_eq!(fs::read(&library).expect("a library"), genuine);
        }
    }
}

#[test]
fn library_that_others_can_change_is_replaced() {
    let copied = Copied::new();
    copied.assert_reads();
    let library = copied.folder().join(STAND_IN_FILE);
    let kept = fs::File::open(&library).expect("a library");
    set_mode(&library, 0o666);
    copied.assert_reads();
    assert_eq!(mode(&library), 0o600);
    let inode = kept.metadata().expect("the old file").ino();
    assert_ne!(fs::metadata(&library).expect("the new file").ino(), inode);

    // A link leads to a file that others may control.
    let elsewhere = copied.scratch.join("elsewhere");
    fs::rename(&library, &elsewhere).expect("a library elsewhere");
    symlink(&elsewhere, &library).expect("a link");
    copied.assert_reads();
    assert!(fs::symlink_metadata(&library).expect("a library").is_file());
}

#[test]
fn folder_that_others_can_open_is_refused() {
    let copied = Copied::new();
    copied.assert_reads();
    let folder = copied.folder();
    set_mode(&folder, 0o777);
    let refused = program::run(&mut copied.log()).exits(exit::FAILURE);
    let expected = format!("{}: expected a folder of user ", folder.display());
    assert!(refused.error_line().contains(&expected), "{}", refused.stderr);
    assert!(refused.stderr.contains("with mode 777\nhint: remove it, and it will be made again"), "{}", refused.stderr);
    fs::remove_dir_all(&folder).expect("the hint is followed");
    copied.assert_reads();
}

#[test]
fn unwritable_cache_leads_to_the_runtime_folder() {
    let copied = Copied::new();
    // Not even root can make folders there.
    let nowhere = "/dev/null/nowhere";
    let refused = program::run(copied.log().env("HOME", nowhere)).exits(exit::FAILURE);
    let expected = format!("no folder can hold the preload libraries: {nowhere}/.cache/repackbench: Not a directory");
    assert!(refused.error_line().contains(&expected), "{}", refused.stderr);
    assert!(refused.stderr.contains("\nhint: set XDG_CACHE_HOME to a folder"), "{}", refused.stderr);

    let runtime = copied.scratch.join("runtime");
    fs::create_dir(&runtime).expect("a folder");
    copied.assert_output(program::run(copied.log().env("HOME", nowhere).env("XDG_RUNTIME_DIR", &runtime)));
    assert!(only_entry(&runtime.join("repackbench")).join(STAND_IN_FILE).is_file());
}

/// Runs its arguments after the first, a folder, with a file system mounted there from which no program may be run.
const ON_NOEXEC: &str = "mount -t tmpfs -o noexec none \"$0\" && exec \"$@\"";

#[test]
fn folder_without_execution_is_refused() {
    let copied = Copied::new();
    let cache = copied.scratch.join("cache");
    fs::create_dir(&cache).expect("a folder");
    let on_noexec = |words: &[&OsStr]| {
        let mut command = Command::new("unshare");
        program::isolate(&mut command);
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", ON_NOEXEC]).arg(&cache).args(words);
        command
    };
    if program::run(&mut on_noexec(&[OsStr::new("true")])).code != Some(exit::OK) {
        eprintln!("note: not tested, as this system lets no user mount a file system");
        return;
    }
    let log = copied.log();
    let words: Vec<&OsStr> = std::iter::once(log.get_program()).chain(log.get_args()).collect();
    let refused = program::run(on_noexec(&words).env("XDG_CACHE_HOME", &cache)).exits(exit::FAILURE);
    assert!(refused.error_line().contains("is mounted noexec, so git cannot load a library"), "{}", refused.stderr);
    assert!(refused.stderr.contains("\nhint: set XDG_CACHE_HOME to a folder"), "{}", refused.stderr);
    copied.assert_reads();
}
