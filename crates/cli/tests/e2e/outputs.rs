//! Where the output goes, and what is never overwritten.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::support::program::{self, command, convert, exit, wait_for};
use super::support::{Fixture, Scratch, git, repackbench, snapshot};

#[test]
fn the_default_output_is_a_sibling_named_after_the_codec() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("bare", &scratch);
    for (spec, name) in [("zstd:5", "repo.zstd-5"), ("store", "repo.store"), ("zlib:9", "repo.zlib-9")] {
        program::run(command().args(["convert", "--quiet", "--codec", spec]).arg(fixture.repo())).exits(exit::OK);
        assert!(fixture.folder.join(name).join("HEAD").exists(), "{name}");
    }
}

/// As typed from inside the repository: the output is still its sibling.
#[test]
fn the_repository_may_be_the_current_folder() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("work-tree", &scratch);
    program::run(command().current_dir(fixture.repo()).args(["convert", "--quiet", "--codec", "lz4", "."]))
        .exits(exit::OK);
    let variant = fixture.folder.join("repo.lz4-1");
    repackbench(["verify".as_ref(), fixture.repo().as_os_str(), variant.as_os_str()]).exits(exit::OK);
}

#[test]
fn an_existing_output_is_not_overwritten() {
    let (source, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    for existing in ["file", "folder", "variant"] {
        let out = scratch.join(existing);
        match existing {
            "file" => fs::write(&out, "precious").expect("a file"),
            "folder" => fs::create_dir(&out).expect("a folder"),
            _ => convert(&source, "store", &out),
        }
        let before = snapshot::state(scratch.path());
        let outcome = program::run(command().args(["convert", "--codec", "lz4"]).arg(&source).arg("-o").arg(&out));
        assert_eq!(outcome.code, Some(exit::FAILURE), "{existing}: {}", outcome.stderr);
        assert!(outcome.error_line().contains(existing), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--force"), "the way out is named: {}", outcome.stderr);
        assert_eq!(snapshot::state(scratch.path()), before, "{existing}");
    }
}

#[test]
fn force_replaces_an_existing_variant_whole() {
    let (source, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let (out, fresh) = (scratch.join("variant"), scratch.join("fresh"));
    convert(&Fixture::get("work-tree").repo(), "store", &out);
    program::run(command().args(["convert", "--quiet", "--force", "--codec", "lz4"]).arg(&source).arg("-o").arg(&out))
        .exits(exit::OK);
    convert(&source, "lz4", &fresh);
    snapshot::assert_same(&snapshot::content(&fresh), &snapshot::content(&out));
    assert_eq!(scratch.names(), ["fresh", "variant"], "the old one is gone");
}

/// Whatever the user forces, the source is never written to, and never inside.
#[test]
fn the_source_is_never_the_output() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("work-tree", &scratch);
    let (repo, before) = (fixture.repo(), snapshot::state(&fixture.folder));
    let inside = repo.join(".git").join("objects").join("variant");
    for out in [repo.clone(), repo.join(".git"), inside, fixture.folder.clone(), repo.join(".git").join("objects")] {
        for force in [&["--force"][..], &[]] {
            let outcome = program::run(
                command().args(["convert", "--codec", "store"]).args(force).arg(&repo).arg("-o").arg(&out),
            );
            assert_ne!(outcome.code, Some(exit::OK), "{} {force:?}", out.display());
            outcome.error_line();
            assert_eq!(snapshot::state(&fixture.folder), before, "{} {force:?}", out.display());
        }
    }
}

/// The program is told by a signal to stop, or is killed: no half output under the final name, and a second run works.
#[test]
fn an_interrupted_conversion_leaves_no_output() {
    let (source, scratch) = (Fixture::get("large-blob").repo(), Scratch::new());
    let out = scratch.join("variant");
    for delay in [5, 40, 150] {
        let mut child = command()
            .args(["convert", "--quiet", "--codec", "zlib:9"])
            .arg(&source)
            .arg("-o")
            .arg(&out)
            .spawn()
            .expect("the program");
        std::thread::sleep(std::time::Duration::from_millis(delay));
        child.kill().expect("to kill it");
        let finished = child.wait().expect("its status").success();
        // It may be killed when the output is there and the program not yet gone.
        assert!(out.exists() || !finished, "after {delay} ms");
        if out.exists() {
            repackbench(["verify".as_ref(), source.as_os_str(), out.as_os_str()]).exits(exit::OK);
            fs::remove_dir_all(&out).expect("the output");
        }
    }
    convert(&source, "zlib:1", &out);
    assert_eq!(git::objects(&source), git::objects(&out));
}

/// A conversion that would take half a minute, and the cache that it knows of.
struct Slow {
    scratch: Scratch,
    running: Child,
}

impl Slow {
    fn start() -> Self {
        let scratch = Scratch::new();
        let mut convert = command();
        convert.env("XDG_CACHE_HOME", scratch.join("cache")).args(["convert", "--quiet", "--codec", "xz:9"]);
        convert.arg(Fixture::get("large-blob").repo()).arg("-o").arg(scratch.join("slow"));
        let running = convert.stderr(Stdio::null()).spawn().expect("the program");
        Slow { scratch, running }
    }

    /// The folders that it and others work in.
    fn folders(&self) -> Vec<PathBuf> {
        let names = self.scratch.names().into_iter().filter(|name| name.starts_with(".repackbench-"));
        names.map(|name| self.scratch.join(&name)).collect()
    }

    /// Waits until the folder that it works in `is_so`, and sends it a signal.
    fn signal_when(&mut self, is_so: impl Fn(&Path) -> bool, signal: Signal) {
        let Slow { scratch, running } = self;
        let is_there =
            || scratch.names().iter().any(|name| name.starts_with(".repackbench-") && is_so(&scratch.join(name)));
        wait_for(running, is_there);
        self.signal(signal);
    }

    fn signal(&mut self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.running.id()).expect("a number")), signal).expect("the program runs");
        if signal == Signal::SIGKILL {
            assert!(!self.running.wait().expect("its status").success());
        }
    }

    /// Another conversion into the same folder.
    fn convert_beside(&self) {
        convert(&Fixture::get("bare").repo(), "zlib:1", &self.scratch.join("beside"));
    }
}

#[test]
fn what_a_killed_conversion_leaves_goes_with_the_next() {
    let has_bytes = |folder: &Path| {
        let packs = fs::read_dir(folder.join("new/objects/pack")).into_iter().flatten().flatten();
        packs.filter_map(|entry| entry.metadata().ok()).any(|file| file.len() > 0)
    };
    let points: [&dyn Fn(&Path) -> bool; 3] = [&|_| true, &|folder| folder.join("new/objects").is_dir(), &has_bytes];
    for point in points {
        let mut slow = Slow::start();
        slow.signal_when(point, Signal::SIGKILL);
        assert_eq!(slow.folders().len(), 1, "it was killed before it could remove that");
        slow.convert_beside();
        assert_eq!(slow.scratch.names(), ["beside", "cache"]);
    }
}

#[test]
fn what_a_killed_conversion_leaves_goes_when_the_cache_is_pruned() {
    let mut slow = Slow::start();
    slow.signal_when(|folder| folder.join("new/objects").is_dir(), Signal::SIGKILL);
    assert_eq!(slow.folders().len(), 1, "it was killed before it could remove that");
    let prune = || {
        let mut prune = command();
        prune.env("XDG_CACHE_HOME", slow.scratch.join("cache")).env("TMPDIR", slow.scratch.path());
        program::run(prune.args(["cache", "prune"])).exits(exit::OK).text()
    };
    assert!(prune().contains("1 folder of unfinished output that a killed run left"));
    assert!(slow.folders().is_empty(), "{:?}", slow.folders());
    assert_eq!(prune(), "0 variants removed, 0 bytes freed, 0 in use\n");
}

/// Also while it does not move, and with a folder of the user's beside it that is named alike.
#[test]
fn the_folder_of_a_living_conversion_stays() {
    let mut slow = Slow::start();
    slow.signal_when(|folder| folder.join("new/objects").is_dir(), Signal::SIGSTOP);
    let own = slow.folders();
    let users = slow.scratch.join(".repackbench-abc123");
    fs::create_dir(&users).expect("a folder");
    fs::write(users.join("lock"), "mine").expect("a file");
    slow.convert_beside();
    let mut prune = command();
    prune.env("XDG_CACHE_HOME", slow.scratch.join("cache")).args(["cache", "prune"]);
    assert_eq!(program::run(&mut prune).exits(exit::OK).text(), "0 variants removed, 0 bytes freed, 0 in use\n");
    assert!(own[0].join("new/objects").is_dir() && users.join("lock").is_file());
    // It goes on, and ends in order.
    slow.signal(Signal::SIGINT);
    slow.signal(Signal::SIGCONT);
    assert_eq!(slow.running.wait().expect("its status").code(), Some(130));
    assert_eq!(slow.folders(), [users]);
}

#[test]
fn the_summary_tells_objects_and_bytes() {
    let (source, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let outcome = program::run(
        command().args(["convert", "--codec", "zstd:5"]).arg(&source).arg("-o").arg(scratch.join("variant")),
    )
    .exits(exit::OK);
    let said = format!("{}{}", outcome.text(), outcome.stderr);
    let objects = git::objects(&source).lines().count();
    for word in ["commit", "tree", "blob", "MB/s", &objects.to_string()] {
        assert!(said.contains(word), "{word} is not in\n{said}");
    }
}
