//! The place of the output of `convert`: it overwrites nothing unasked, and failed runs leave no files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::program::{self, cached, command, convert, exit, text, wait_for};
use crate::support::{Fixture, Scratch, git, repackbench, snapshot};

#[test]
fn default_output_is_a_sibling_named_after_the_codec() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("bare", &scratch);
    for (spec, name) in [("zstd:5", "repo.zstd-5"), ("store", "repo.store"), ("zlib:9", "repo.zlib-9")] {
        program::run(command().args(["convert", "--quiet", "--codec", spec]).arg(fixture.repo())).exits(exit::OK);
        assert!(fixture.folder.join(name).join("HEAD").exists(), "{name}");
    }
}

/// Even then the output is a sibling of the repository.
#[test]
fn repository_may_be_the_current_folder() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("work-tree", &scratch);
    program::run(command().current_dir(fixture.repo()).args(["convert", "--quiet", "--codec", "lz4", "."]))
        .exits(exit::OK);
    let variant = fixture.folder.join("repo.lz4-1");
    repackbench(["verify".as_ref(), fixture.repo().as_os_str(), variant.as_os_str()]).exits(exit::OK);
}

#[test]
fn end_names_readers_the_way_back_and_what_is_next() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let out = scratch.join("variant");
    let convert_back = "back     repackbench convert --codec zlib:6 OUT\n";
    let (stock, exec) = ("git, as it is", "your git, by: repackbench exec OUT -- git log");
    for (spec, readers, back, next) in [
        ("zlib:6", stock, "", "verify SOURCE OUT"),
        ("zlib:9", stock, convert_back, "bench SOURCE --codec zlib:9"),
        ("zstd:5,dict=8k", exec, convert_back, "bench SOURCE --codec 'zstd:5,dict=8k'"),
        (
            "best-size",
            "repackbench alone; git has no means for it",
            "back     use SOURCE, which is unchanged\n",
            "bench SOURCE --codec best-size",
        ),
    ] {
        let outcome = program::run(command().args(["convert", "--codec", spec]).arg(&source).arg("-o").arg(&out));
        let named = |line: &str| line.replace("OUT", text(&out)).replace("SOURCE", text(&source));
        let expected = format!("wrote    OUT\nread by  {readers}\n{back}next     repackbench {next}\n");
        assert!(outcome.exits(exit::OK).stderr.ends_with(&named(&expected)), "{spec}");
        fs::remove_dir_all(&out).expect("the variant");
    }
}

#[test]
fn nothing_is_measured_next_where_no_commit_was_made() {
    let (source, scratch) = (Fixture::get("empty").repo(), Scratch::new());
    let out = scratch.join("variant");
    let outcome = program::run(command().args(["convert", "--codec", "lz4"]).arg(&source).arg("-o").arg(&out));
    let next = format!("next     repackbench verify {} {}\n", text(&source), text(&out));
    let printed = outcome.exits(exit::OK).stderr;
    assert!(printed.ends_with(&next), "{printed}");
    repackbench(["verify".as_ref(), source.as_os_str(), out.as_os_str()]).exits(exit::OK);
}

#[test]
fn existing_output_is_not_overwritten() {
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
        assert!(outcome.stderr.contains("--force"), "the option is named: {}", outcome.stderr);
        assert_eq!(snapshot::state(scratch.path()), before, "{existing}");
    }
}

#[test]
fn force_replaces_a_variant_completely() {
    let (source, scratch) = (Fixture::get("bare").repo(), Scratch::new());
    let (out, fresh) = (scratch.join("variant"), scratch.join("fresh"));
    convert(&Fixture::get("work-tree").repo(), "store", &out);
    program::run(command().args(["convert", "--quiet", "--force", "--codec", "lz4"]).arg(&source).arg("-o").arg(&out))
        .exits(exit::OK);
    convert(&source, "lz4", &fresh);
    snapshot::assert_same(&snapshot::content(&fresh), &snapshot::content(&out));
    assert_eq!(scratch.names(), ["fresh", "variant"], "the old one is gone");
}

/// Not even `--force` writes to the source or inside it.
#[test]
fn source_is_never_the_output() {
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

/// No part of an output is under the final name, and a second run works.
#[test]
fn killed_conversion_leaves_no_output() {
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
        // The output may be complete before the program has ended.
        assert!(out.exists() || !finished, "after {delay} ms");
        if out.exists() {
            repackbench(["verify".as_ref(), source.as_os_str(), out.as_os_str()]).exits(exit::OK);
            fs::remove_dir_all(&out).expect("the output");
        }
    }
    convert(&source, "zlib:1", &out);
    assert_eq!(git::objects(&source), git::objects(&out));
}

/// A conversion that takes half a minute, with its cache.
struct Slow {
    scratch: Scratch,
    running: Child,
}

impl Slow {
    fn start() -> Self {
        Slow::start_on(Scratch::new(), &Fixture::get("large-blob").repo(), &[])
    }

    fn start_on(scratch: Scratch, source: &Path, options: &[&str]) -> Self {
        let mut convert = cached(&scratch);
        convert.args(["convert", "--quiet", "--codec", "xz:9"]).args(options);
        convert.arg(source).arg("-o").arg(scratch.join("slow"));
        let running = convert.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program");
        Slow { scratch, running }
    }

    /// The work folders of this conversion and others.
    fn folders(&self) -> Vec<PathBuf> {
        let names = self.scratch.names().into_iter().filter(|name| name.starts_with(".repackbench-"));
        names.map(|name| self.scratch.join(&name)).collect()
    }

    /// Sends a signal as soon as `is_so` holds for its work folder.
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
fn next_conversion_removes_leftovers_of_a_killed_one() {
    let has_bytes = |folder: &Path| {
        let packs = fs::read_dir(folder.join("new/objects/pack")).into_iter().flatten().flatten();
        packs.filter_map(|entry| entry.metadata().ok()).any(|file| file.len() > 0)
    };
    let points: [&dyn Fn(&Path) -> bool; 3] = [&|_| true, &|folder| folder.join("new/objects").is_dir(), &has_bytes];
    for point in points {
        let mut slow = Slow::start();
        slow.signal_when(point, Signal::SIGKILL);
        assert_eq!(slow.folders().len(), 1, "it was killed before it could remove its folder");
        slow.convert_beside();
        assert_eq!(slow.scratch.names(), ["beside", "cache"]);
    }
}

/// Its codec does not end before the process has to.
#[test]
fn interrupted_conversion_leaves_nothing_and_says_so() {
    let mut slow = Slow::start();
    slow.signal_when(|folder| folder.join("new/objects").is_dir(), Signal::SIGINT);
    let Slow { scratch, running } = slow;
    let ended = running.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), &*said), (Some(130), "repackbench: interrupted; nothing was written\n"));
    assert_eq!(scratch.names(), ["cache"]);
    let notes = fs::read_dir(scratch.join("cache/repackbench/outputs")).expect("the folder of notes");
    assert_eq!(notes.count(), 0);
}

/// What it has written of a network is complete, and stays.
#[test]
fn interrupted_conversion_of_a_network_names_what_stays() {
    let scratch = Scratch::new();
    let fixture = Fixture::copy("large-blob", &scratch);
    let shared = scratch.join("shared");
    git::output(scratch.path(), ["clone", "--quiet", "--bare", text(&Fixture::get("bare").repo()), text(&shared)]);
    let info = fixture.repo().join(".git/objects/info");
    fs::create_dir_all(&info).expect("a folder");
    fs::write(info.join("alternates"), format!("{}\n", shared.join("objects").display())).expect("the list");
    let mut slow = Slow::start_on(scratch, &fixture.repo(), &["--keep-alternates"]);
    let variant = slow.scratch.join("shared.xz-9");
    let is_own_part = |folder: &Path| variant.join("HEAD").exists() && folder.join("new/objects").is_dir();
    slow.signal_when(is_own_part, Signal::SIGINT);
    let ended = slow.running.wait_with_output().expect("its end");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130));
    assert!(
        said.ends_with("variants of shared stores are complete, and the same command goes on from there\n"),
        "{said}"
    );
    repackbench(["verify", text(&shared), text(&variant)]).exits(exit::OK);
}

#[test]
fn cache_prune_removes_leftovers_of_a_killed_conversion() {
    let mut slow = Slow::start();
    slow.signal_when(|folder| folder.join("new/objects").is_dir(), Signal::SIGKILL);
    assert_eq!(slow.folders().len(), 1, "it was killed before it could remove its folder");
    let prune = || {
        let mut prune = cached(&slow.scratch);
        program::run(prune.env("TMPDIR", slow.scratch.path()).args(["cache", "prune"])).exits(exit::OK).text()
    };
    assert!(prune().contains("1 folder of unfinished output left by a killed run"));
    assert!(slow.folders().is_empty(), "{:?}", slow.folders());
    assert_eq!(prune(), "0 variants removed, 0 bytes freed, 0 in use\n");
}

/// Also while it is stopped, and beside a folder of the user with a similar name.
#[test]
fn work_folder_of_a_running_conversion_stays() {
    let mut slow = Slow::start();
    slow.signal_when(|folder| folder.join("new/objects").is_dir(), Signal::SIGSTOP);
    let own = slow.folders();
    let users = slow.scratch.join(".repackbench-abc123");
    fs::create_dir(&users).expect("a folder");
    fs::write(users.join("lock"), "mine").expect("a file");
    slow.convert_beside();
    let mut prune = cached(&slow.scratch);
    assert_eq!(
        program::run(prune.args(["cache", "prune"])).exits(exit::OK).text(),
        "0 variants removed, 0 bytes freed, 0 in use\n"
    );
    assert!(own[0].join("new/objects").is_dir() && users.join("lock").is_file());
    // It continues, and ends in an orderly way.
    slow.signal(Signal::SIGINT);
    slow.signal(Signal::SIGCONT);
    assert_eq!(slow.running.wait().expect("its status").code(), Some(130));
    assert_eq!(slow.folders(), [users]);
}

#[test]
fn summary_lists_objects_and_bytes() {
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

#[test]
fn sizes_have_all_forms() {
    let (source, scratch) = (Fixture::get("history").repo(), Scratch::new());
    let (out, json, markdown) = (scratch.join("variant"), scratch.join("sizes.jsonl"), scratch.join("sizes.md"));
    let convert = |options: &[&str]| {
        let mut convert = command();
        convert.args(["convert", "--codec", "zlib:9", "--json"]).arg(&json).arg("--markdown").arg(&markdown);
        program::run(convert.arg(&source).arg("-o").arg(&out).args(options))
    };
    convert(&["--quiet"]).exits(exit::OK);
    let lines = fs::read_to_string(&json).expect("the sizes");
    let size = program::run(command().args(["size", "--as-found", "--json", "-"]).arg(&source).arg(&out));
    let sizes = |lines: &str| -> Vec<serde_json::Value> {
        let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).expect("one document a line");
        lines.lines().map(|text| line(text)["size"].clone()).collect()
    };
    assert_eq!(sizes(&lines), sizes(&size.exits(exit::OK).text()), "what `size` measures");
    assert!(fs::read_to_string(&markdown).expect("a table").contains("| before MB | after MB | ratio |"));
    convert(&["--quiet"]).exits(exit::USAGE);
    convert(&["--quiet", "--force"]).exits(exit::OK);
    let in_place =
        program::run(command().args(["convert", "--in-place", "--codec", "zlib:9", "--json", "-"]).arg(&out));
    assert!(in_place.exits(exit::USAGE).stderr.contains("--in-place has no table of sizes"));
}
